"""Tables of persons: intervals, marks of chance, and gates."""

from collections.abc import Iterator

import pandas as pd
from matplotlib.figure import Figure

from benchmarks.experiments.drawing import Series, dots, from_zero, mark
from benchmarks.experiments.record import Study, Topic, claim, per_cent
from benchmarks.paper.pictures import legend, panels
from benchmarks.paper.record import Claim

LAW = ["numbers", "rows"]
MARKED = {"anything beyond": "anything beyond", "note": "note", "error": "error"}


def share_error(number: pd.Series, runs: pd.Series) -> pd.Series:
    """Standard error of the share of the runs, where no run counts as one."""
    share = (number / runs).clip(lower=1 / runs)
    return (share * (1 - number / runs) / runs) ** 0.5


def draw_coverage(frame: pd.DataFrame) -> Figure:
    """Shares of intervals that hold; bars are two standard errors."""
    figure, (axis,) = panels(1, width=7.2, height=1.9)
    labels = [
        f"{name} ({n:,})" for name, n in zip(frame["figure"], frame["intervals"], strict=True)
    ]
    held, errors = frame["held"].tolist(), (2 * frame["held_se"]).tolist()
    dots(axis, labels, {"held": Series(held, errors)})
    mark(axis, 95)
    axis.set_xlabel("per cent of the intervals that contain the exact figure; dashed: as stated")
    return figure


def claims_coverage(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on intervals."""
    short = frame[frame["held"] + 2 * frame["held_se"] < 95]
    worst = frame.sort_values("held").iloc[0]
    yield claim(
        "every kind of interval on persons holds in 95 %, up to chance",
        f"lowest: {worst['figure']}, {worst['held']:.1f} +- {worst['held_se']:.1f} % of "
        f"{worst['intervals']}",
        holds=short.empty,
    )
    distance = frame.set_index("figure").loc["distance"]
    yield claim(
        "intervals of distances are careful",
        f"{distance['held']:.1f} % of {distance['intervals']:,.0f} hold",
        holds=bool(distance["held"] > 99),
    )


def draw_marks(frame: pd.DataFrame) -> Figure:
    """Shares of runs with each word, by law and bound; bars are two standard errors."""
    figure, (axis,) = panels(1, width=7.2, height=3.0)
    labels = [f"{n}, {r}, k = {k}" for n, r, k in frame[[*LAW, "k"]].to_numpy()]
    series = {
        label: Series(
            (100 * frame[word] / frame["runs"]).tolist(),
            (200 * share_error(frame[word], frame["runs"])).tolist(),
        )
        for word, label in MARKED.items()
    }
    dots(axis, labels, series)
    from_zero(axis)
    axis.set_xlabel("per cent of the runs")
    legend(figure, axis)
    return figure


def claims_marks(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on marks of chance."""
    sums = frame[["runs", "overall beyond", "error", "anything beyond", "note"]].sum()
    yield claim(
        "the scores of two samples of one law are hardly ever beyond chance, and no pair has the "
        "error",
        f"overall beyond in {sums['overall beyond']} and an error in {sums['error']} of "
        f"{sums['runs']:,} runs",
        holds=bool(sums["overall beyond"] < 0.01 * sums["runs"] and not sums["error"]),
    )
    laws = frame.groupby(LAW)[["runs", "anything beyond"]].sum()
    share = laws["anything beyond"] / laws["runs"]
    told = ", ".join(
        f"{per_cent(part)} ({law})"
        for law, part in zip(laws.index.map(", ".join), share, strict=True)
    )
    above = share[share - 2 * share_error(laws["anything beyond"], laws["runs"]) > 0.025]
    yield claim(
        "anything is beyond the marks in 2.5 % of the runs at most, without noise",
        f"{per_cent(sums['anything beyond'] / sums['runs'])} of all; by law {told}",
        holds=above.empty,
        partly=len(above) <= 1,
        why="where the rows of persons are alike and numbers even, marks of single columns and "
        "pairs are too near, so a profile of a copy below 2,000 rows has marks of its scores alone",
    )
    part = sums["note"] / sums["runs"]
    yield claim(
        "a note is given in about 5 % of the runs",
        f"{per_cent(part)} of {sums['runs']:,}",
        holds=bool(0.03 < part < 0.08),
    )


def claims_halves(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on gates."""
    sums = frame.groupby("gate", sort=False)[["green", "pairs"]].sum()
    yield claim(
        "a gate passes copies of other persons of the same law",
        "; ".join(f"{gate}: {green} of {pairs}" for gate, green, pairs in sums.itertuples()),
        holds=bool((sums["green"] == sums["pairs"]).all()),
    )


SHUFFLED = "columns shuffled"


def claims_specs(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on the specs that ``pqd init`` writes."""
    honest = frame[frame["copy"] == "honest"]
    green, pairs = honest["green"].sum(), honest["pairs"].sum()
    yield claim(
        "the first spec passes an honest copy in 95 % of the runs and more",
        "; ".join(
            f"{table}, {persons:,} persons: {passed} of {runs}"
            for table, persons, passed, runs in honest[
                ["table", "persons", "green", "pairs"]
            ].to_numpy()
        ),
        holds=bool(green >= 0.95 * pairs),
    )
    damaged = frame[(frame["copy"] != "honest") & (frame["copy"] != SHUFFLED)]
    yield claim(
        "it fails a copy with a common value lost, other numbers, or a third of the persons",
        f"{damaged['pairs'].sum() - damaged['green'].sum()} of {damaged['pairs'].sum()}",
        holds=bool(damaged["green"].sum() == 0),
    )
    shuffled = frame[frame["copy"] == SHUFFLED]
    yield claim(
        "it fails a copy whose columns were shuffled",
        "; ".join(
            f"{table}, {persons:,} persons: {runs - passed} of {runs}"
            for table, persons, passed, runs in shuffled[
                ["table", "persons", "green", "pairs"]
            ].to_numpy()
        ),
        holds=bool(shuffled["green"].sum() == 0),
        partly=True,
        why="relations of few persons are not judged, and `pqd init` says so",
    )


def _command(table: str, runs: int, persons: int) -> str:
    return (
        f"python -m benchmarks.persons run {table} --out persons.jsonl --runs {runs} "
        f"--persons {persons}\n"
        "python -m benchmarks.persons show persons.jsonl --csv docs/experiments"
    )


PERSONS = Topic(
    "persons",
    "Tables of persons",
    (
        Study(
            "coverage",
            "Intervals that contain the exact figure, by kind",
            ("persons-coverage",),
            draw_coverage,
            claims_coverage,
            command=_command("coverage", 200, 150),
        ),
        Study(
            "marks",
            "Words of two samples of one law, by law and by rows counted of each person",
            ("persons-marks",),
            draw_marks,
            claims_marks,
            command=_command("marks", 95, 300),
        ),
        Study(
            "halves",
            "Copies of other persons that a gate passes",
            ("persons-halves",),
            claims=claims_halves,
            command=_command("halves", 7, 1500),
        ),
        Study(
            "specs",
            "Copies that the spec of pqd init passes",
            ("persons-specs",),
            claims=claims_specs,
            command=_command("specs", 24, 300),
        ),
    ),
)
