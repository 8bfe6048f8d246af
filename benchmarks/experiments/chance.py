"""Chance and the alarm of a profile: planted copies, and independent halves."""

from collections.abc import Iterator

import pandas as pd
from matplotlib.figure import Figure

from benchmarks.experiments.drawing import bare, rows
from benchmarks.experiments.record import Study, Topic, claim, per_cent
from benchmarks.paper.pictures import INK, panels
from benchmarks.paper.record import Claim

INDEPENDENT = "an independent half"
# Copies that stand on the rows of the private table one by one.
NEAR = ("the table less one row", "1 % of its cells changed")
TREES = ("trees, leaves of 5", "trees, leaves of 20")


def draw(frame: pd.DataFrame) -> Figure:
    """Shares of runs with an error, a note, and neither, by copy; a panel for each setting."""
    ordered = frame.sort_values(["rows", "epsilon"], ascending=[False, True], kind="stable")
    settings = list(ordered.groupby(["rows", "epsilon"], sort=False))
    figure, axes = panels(3, columns=3, width=2.4, height=1.9)
    for place, (axis, ((number, epsilon), part)) in enumerate(zip(axes, settings, strict=True)):
        start = pd.Series(0.0, part.index)
        for word, colour in (("error", "second"), ("note", "fifth")):
            share = 100 * part[word] / part["runs"]
            axis.barh(range(len(part)), share, left=start, color=INK[colour], label=word)
            start = start + share
        rows(axis, list(part["copy"]))
        axis.set_xlim(0, 100)
        if place:
            bare(axis)
        axis.set_title(f"{number:,} rows, epsilon {epsilon:g}", loc="left")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2)
    figure.supxlabel("per cent of the runs", fontsize=8.5)
    return figure


def claims(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on the alarm."""
    own = frame[frame["copy"] == INDEPENDENT]
    alarms = int(own[["note", "error"]].to_numpy().sum())
    yield claim(
        "an independent half of the rows has no alarm",
        f"{alarms} alarms in {own['runs'].sum()} runs",
        holds=not alarms,
    )
    near = frame[frame["copy"].isin(NEAR)]
    told = near["error"].sum()
    yield claim(
        "the table less one row, or with 1 % of its cells changed, has the error",
        f"in {told} of {near['runs'].sum()} runs",
        holds=bool(told >= 0.9 * near["runs"].sum()),
    )
    large = frame[(frame["rows"] > 20_000) & frame["copy"].str.startswith("half of it")]
    yield claim(
        "of 24,421 rows half of them is an error, too, also with 1 % of the cells changed",
        f"in {large['error'].sum()} of {large['runs'].sum()} runs",
        holds=bool((large["error"] == large["runs"]).all()),
    )
    four, one = (
        frame[(frame["rows"] == 2_000) & (frame["epsilon"] == epsilon)][["note", "error"]].sum()
        for epsilon in (4, 1)
    )
    yield claim(
        "of 2,000 rows noise at epsilon 1 hides some of this, which epsilon 4 shows",
        f"errors {one['error']} and {four['error']}, notes {one['note']} and {four['note']}",
        holds=bool(four.sum() > one.sum()),
    )
    trees = frame[frame["copy"].isin(TREES) & (frame["rows"] > 20_000)]
    yield claim(
        "copies of trees that are fitted to the table have no alarm: they are no closer than an "
        "independent sample",
        f"{trees[['note', 'error']].to_numpy().sum()} alarms in {trees['runs'].sum()} runs, with a "
        f"marginal beyond chance in {trees['a marginal beyond'].sum()}",
        holds=not trees[["note", "error"]].to_numpy().any(),
    )


def shown_marks(frame: pd.DataFrame) -> pd.DataFrame:
    """Table of the words of independent halves."""
    words = ("overall beyond", "a marginal beyond", "anything beyond", "note", "error")
    found = pd.DataFrame(
        {
            "rows of each half": frame["rows"].map("{:,}".format),
            "halves": frame["halves"].map("{:,}".format),
        }
    )
    for word in words:
        found[word] = (100 * frame[word] / frame["halves"]).map("{:.1f} %".format)
    return found


def claims_marks(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on the marks of chance without noise."""
    share = (frame["anything beyond"] / frame["halves"]).to_numpy()
    error = (0.025 * 0.975 / frame["halves"]).to_numpy() ** 0.5
    yield claim(
        "the marks of chance are passed by independent halves in 2.5 % of the runs at most",
        ", ".join(
            f"{per_cent(s)} of {n:,} rows" for s, n in zip(share, frame["rows"], strict=True)
        ),
        holds=bool((share <= 0.025 + 2 * error).all()),
        why="where pairs have few rows for each cell, marks of single marginals are too near; a "
        "profile of a copy below 2,000 rows has marks of its scores alone",
    )
    overall = int(frame["overall beyond"].sum())
    yield claim(
        "overall quality is never beyond chance, and no half has the error",
        f"{overall} and {frame['error'].sum()} of {frame['halves'].sum():,} halves",
        holds=not overall and not frame["error"].any(),
    )
    note = frame["note"] / frame["halves"]
    yield claim(
        "a note is given in 5 % of the runs at most",
        f"{per_cent(note.min())} to {per_cent(note.max())}",
        holds=bool(note.max() <= 0.05),
    )


CHANCE = Topic(
    "chance",
    "Chance and the alarm",
    (
        Study(
            "plants",
            "Alarms of planted copies, by size and epsilon",
            ("alarm-plants",),
            draw,
            claims,
            command=(
                "python -m benchmarks.alarm_level DATA/adult_private.parquet --rows 24421 --runs 6 "
                "--plants 3 --epsilon 1 --csv docs/experiments\n"
                "python -m benchmarks.alarm_level DATA/adult_private.parquet --rows 2000 --runs 5 "
                "--plants 5 --epsilon 1 4 --csv docs/experiments"
            ),
        ),
        Study(
            "marks",
            "Words of independent halves, without noise",
            ("alarm-marks",),
            claims=claims_marks,
            command=(
                "python -m benchmarks.alarm_level DATA/adult_private.parquet --marks --rows 500 "
                "--runs 300 --csv docs/experiments\n"
                "# and --rows 2000 --runs 1000, and --rows 24421 --runs 200"
            ),
            shown=shown_marks,
        ),
    ),
)
