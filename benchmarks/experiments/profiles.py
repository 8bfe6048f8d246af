"""Profiles: their claims against the truth, and the same copies scored by other tools."""

from collections.abc import Iterator

import pandas as pd
from matplotlib.figure import Figure

from benchmarks.experiments.drawing import Series, bare, dots, from_zero, logarithmic, mark
from benchmarks.experiments.record import Study, Topic, claim, per_cent
from benchmarks.paper.pictures import INK, legend, panels
from benchmarks.paper.record import Claim

TOOLS = ("pqd, exact", "SDMetrics, all pairs", "mostlyai-qa")
PAIR = ["table", "copy"]


def _names(frame: pd.DataFrame) -> list[str]:
    """Names of the rows: a table, its copy, and the budget where it is not epsilon 1."""
    found = []
    for table, copy, epsilon, delta in frame[[*PAIR, "epsilon", "delta"]].to_numpy():
        epsilons = f", epsilon {epsilon:g}" if epsilon != 1 else ""
        deltas = "" if pd.isna(delta) else f", delta {delta:g}"
        found.append(f"{table}, {copy}{epsilons}{deltas}")
    return found


def draw_claims(frame: pd.DataFrame) -> Figure:
    """Missed intervals and false verdicts on the left, errors of a distance on the right."""
    figure, axes = panels(2, columns=2, width=3.6, height=2.8)
    labels = _names(frame)
    names = {
        "missed": "intervals that miss",
        "rows_missed": "the same of the number of rows",
        "worst": "false verdicts on the worst distance",
    }
    dots(axes[0], labels, {t: Series((100 * frame[n]).tolist()) for n, t in names.items()})
    mark(axes[0], 5)
    from_zero(axes[0])
    axes[0].set_xlabel("per cent of the runs; dashed: alpha")
    dots(axes[1], labels, {"error": Series(frame["error"].tolist())})
    logarithmic(axes[1])
    axes[1].set_xlabel("mean error of a distance")
    bare(axes[1])
    legend(figure, axes[0])
    return figure


def claims_claims(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on intervals, verdicts and errors."""
    runs = frame["runs"].min()
    yield claim(
        "an interval of 95 % misses the true distance in 5 % of the runs at most",
        f"{per_cent(frame['missed'].min())} to {per_cent(frame['missed'].max())} over "
        f"{len(frame)} settings of {runs:,} runs",
        holds=bool((frame["missed"] <= 0.05).all()),
    )
    error = (0.05 * 0.95 / runs) ** 0.5
    rows = frame["rows_missed"]
    yield claim(
        "the number of rows is outside its interval in 5 %, up to chance",
        f"{per_cent(rows.min())} to {per_cent(rows.max())} (standard error {per_cent(error)})",
        holds=bool((rows <= 0.05 + 2 * error).all()),
    )
    yield claim(
        "a false verdict has probability 5 % at most on any one distance",
        f"{per_cent(frame['worst'].max())} on the worst distance of all",
        holds=bool((frame["worst"] <= 0.05 + 2 * error).all()),
    )
    yield claim(
        "of the verdicts that hold at once any is false in 5 % of the runs at most",
        f"at most {per_cent(frame['false_at_once'].max())}",
        holds=bool((frame["false_at_once"] <= 0.05).all()),
    )
    adult = frame[(frame["table"] == "adult") & frame["delta"].isna()]
    one = adult[adult["epsilon"] == 1]
    yield claim(
        "at epsilon 1 a distance of Adult (120 columns and pairs) is off by 0.002, the overall "
        "score by 0.0003",
        f"{one['error'].min():.5f} to {one['error'].max():.5f}; overall "
        f"{one['overall_error'].min():.5f} to {one['overall_error'].max():.5f}",
        holds=bool(one["error"].max() < 0.0021 and one["overall_error"].max() < 0.0003),
    )
    large, blood = one["decided"], frame[frame["table"] == "blood"]["decided"]
    yield claim(
        "nearly all verdicts are decided on large tables; of 748 rows a profile says less",
        f"Adult {per_cent(large.min())} to {per_cent(large.max())}, blood "
        f"{per_cent(blood.min())} to {per_cent(blood.max())}",
        holds=bool(large.min() > 0.95 and blood.max() < large.min()),
    )


def draw_scores(frame: pd.DataFrame) -> Figure:
    """Scores of columns and pairs by each tool."""
    figure, axes = panels(2, columns=2, width=3.6, height=1.3)
    copies = list(dict.fromkeys(map(tuple, frame[PAIR].to_numpy().tolist())))
    labels = [", ".join(each) for each in copies]
    for axis, kind in zip(axes, ("columns", "pairs"), strict=True):
        wide = frame.set_index([*PAIR, "tool"])[kind]
        series = {
            tool: Series([100 * float(wide[(*each, tool)]) for each in copies]) for tool in TOOLS
        }
        dots(axis, labels, series)
        axis.set_xlabel(f"score of {kind}, per cent")
    bare(axes[1])
    legend(figure, axes[0])
    return figure


def claims_scores(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on the scores of the three tools."""
    wide = frame.pivot_table(index=PAIR, columns="tool", values="pairs")
    off = (wide - wide[[TOOLS[0]]].to_numpy()).abs()[list(TOOLS[1:])]
    yield claim(
        "scores of columns agree within some points, since the definitions do",
        f"apart by {100 * _spread(frame, 'columns').min():.1f} to "
        f"{100 * _spread(frame, 'columns').max():.1f} points",
        holds=bool(_spread(frame, "columns").max() < 0.06),
    )
    yield claim(
        "scores of pairs do not: SDMetrics compares two numbers by their correlation alone",
        f"apart from pqd by up to {100 * off[TOOLS[1]].max():.1f} points, mostlyai-qa by up to "
        f"{100 * off[TOOLS[2]].max():.1f}",
        holds=bool(off[TOOLS[1]].max() > off[TOOLS[2]].max()),
    )


def _spread(frame: pd.DataFrame, kind: str) -> pd.Series:
    wide = frame.pivot_table(index=PAIR, columns="tool", values=kind)[list(TOOLS)]
    found: pd.Series = wide.max(axis=1) - wide.min(axis=1)
    return found


def draw_order(frame: pd.DataFrame) -> Figure:
    """Rank correlations of pqd's exact distances with the other tools, by kind of marginal."""
    figure, axes = panels(4, columns=4, width=1.9, height=1.4)
    kinds = list(dict.fromkeys(frame["marginals"]))
    names = {"sdmetrics": "SDMetrics", "mostly": "mostlyai-qa", "released": "pqd, released"}
    for axis, (pair, part) in zip(axes, frame.groupby(PAIR, sort=False), strict=True):
        own = part.set_index("marginals").reindex(kinds)
        dots(axis, kinds, {label: Series(own[name].tolist()) for name, label in names.items()})
        axis.axvline(0, color=INK["grid"], linewidth=0.8)
        axis.set_xlim(-0.15, 1.05)
        axis.set_title(", ".join(map(str, pair)), loc="left")
    for axis in axes[1:]:
        bare(axis)
    legend(figure, axes[0])
    return figure


def claims_order(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on the order of columns and pairs."""
    kind = frame.set_index("marginals")
    texts = kind.loc[["columns that are text", "pairs of two texts"], "sdmetrics"]
    yield claim(
        "where the definitions agree, texts and pairs of them, pqd and SDMetrics have one order",
        f"rank correlation {texts.min():.3f}",
        holds=bool(texts.min() > 0.999),
    )
    numbers = kind.loc[["pairs by CorrelationSimilarity"], "sdmetrics"]
    yield claim(
        "on pairs of two numbers they do not",
        f"{', '.join(f'{each:.3f}' for each in numbers)} on the copies of Adult",
        holds=bool(numbers.abs().max() < 0.5),
    )
    released = frame.dropna(subset=["released"])
    large = released[released["table"] == "adult"]["released"]
    census = released[(released["table"] == "census") & (released["marginals"] == "columns")]
    yield claim(
        "a release at epsilon 1 keeps the exact order",
        f"Adult {large.min():.3f} to {large.max():.3f}; columns of census, nearer than noise, "
        f"{census['released'].min():.3f} to {census['released'].max():.3f}",
        holds=bool(large.min() > 0.94),
    )


def shown_time(frame: pd.DataFrame) -> pd.DataFrame:
    """Table of CPU time and memory."""
    return pd.DataFrame(
        {
            "tool": frame["tool"],
            "CPU seconds": frame["cpu_seconds"].map("{:.1f}".format),
            "peak MB": frame["peak_mb"],
        }
    )


def claims_time(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on time and memory."""
    seconds = frame.set_index("tool")["cpu_seconds"]
    yield claim(
        "a whole profile takes no longer than the scores of the other tools together",
        "; ".join(f"{tool}: {each:.1f} s" for tool, each in seconds.items()),
        holds=bool(seconds.iloc[0] <= seconds.iloc[1:].sum()),
    )


_BESIDE = (
    "# The first one in an environment of its own, which its first lines name:\n"
    "python benchmarks/other_reports.py PRIVATE NAME=FILE... --out other_reports.json\n"
    "python -m benchmarks.profile_quality PRIVATE NAME=FILE... --others other_reports.json "
    "--csv docs/experiments"
)

PROFILES = Topic(
    "profiles",
    "What a profile claims, against the truth",
    (
        Study(
            "claims",
            "Missed intervals, false verdicts and errors of simulated profiles",
            ("profile-claims",),
            draw_claims,
            claims_claims,
            command=(
                "python -m benchmarks.profile_claims PRIVATE NAME=FILE... --runs 1000 "
                "--csv docs/experiments"
            ),
        ),
        Study(
            "scores",
            "Scores of columns and pairs by pqd, SDMetrics and mostlyai-qa",
            ("profile-scores",),
            draw_scores,
            claims_scores,
            command=_BESIDE,
        ),
        Study(
            "order",
            "Rank correlation with pqd's exact distances, by kind of marginal",
            ("profile-order",),
            draw_order,
            claims_order,
            command=_BESIDE,
        ),
        Study(
            "time",
            "CPU time and memory on Adult",
            ("profile-time",),
            claims=claims_time,
            command=_BESIDE,
            shown=shown_time,
        ),
    ),
)
