"""Damaged copies, and which tool finds each damage."""

from collections.abc import Iterator

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.experiments.drawing import bare, rows
from benchmarks.experiments.record import Study, Topic, claim
from benchmarks.paper.pictures import INK, panels
from benchmarks.paper.record import Claim

GOOD, TENTH, TWICE = "none: the good copy", "a tenth of the rows", "rows duplicated"
GATES = ("profile --gate", "init + check")
TOOLS = ("profile", *GATES, "lint", "SDMetrics")
SMALL, SUBTLE = "blood", "subtle"
# Mark and colour of each outcome; the first three are of a tool that fails the copy.
LOOKS = {
    "by name": ("s", "fourth", "fails, and names what is damaged"),
    "unnamed": ("^", "third", "fails, and names something else"),
    "fails": ("D", "second", "fails an honest copy"),
    "missed": ("x", "second", "does not fail a damaged copy"),
    "passes": ("o", "grid", "passes an honest copy"),
}


def outcomes(axis: Axes, part: pd.DataFrame, damages: list[str], tools: list[str]) -> None:
    """Draw a matrix of outcomes: rows are damages, columns are tools."""
    for outcome, (mark, colour, label) in LOOKS.items():
        own = part[part["outcome"] == outcome]
        axis.plot(
            [tools.index(each) for each in own["tool"]],
            [damages.index(each) for each in own["damage"]],
            mark, color=INK[colour], markersize=5, label=label,
        )  # fmt: skip
    rows(axis, damages)
    axis.set_xticks(range(len(tools)), tools, rotation=45, ha="right")
    axis.set_xlim(-0.5, len(tools) - 0.5)
    axis.grid(visible=False)


def draw(frame: pd.DataFrame) -> Figure:
    """Outcomes of all tools on all tables but the one of subtle damages."""
    frame = frame[frame["table"] != SUBTLE]
    damages = list(dict.fromkeys(frame["damage"]))
    figure, axes = panels(6, columns=3, width=2.4, height=2.9)
    for place, (axis, (name, part)) in enumerate(
        zip(axes, frame.groupby("table", sort=False), strict=True)
    ):
        outcomes(axis, part, damages, list(TOOLS))
        if place % 3:
            bare(axis)
        axis.set_title(str(name), loc="left")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3)
    return figure


def claims(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on what each tool finds."""
    frame = frame[frame["table"] != SUBTLE]
    gates = frame[frame["tool"].isin(GATES)]
    large = gates[gates["table"] != SMALL]
    planted = large[~large["damage"].isin([GOOD, TENTH, TWICE])]
    named = int((planted["outcome"] == "by name").sum())
    yield claim(
        "both gates fail every damage of a table with 22,605 rows or more, and name it, but for "
        "two that leave the distribution as it was",
        f"{named} of {len(planted)}",
        holds=named == len(planted),
    )
    honest = gates[gates["damage"].isin([GOOD, TENTH])]
    passed = int((honest["outcome"] == "passes").sum())
    yield claim(
        "both gates pass every good copy, and every honest tenth of one",
        f"{passed} of {len(honest)}",
        holds=passed == len(honest),
    )
    twice = frame[(frame["damage"] == TWICE) & (frame["tool"] == "lint")]
    found = int((twice["outcome"] == "by name").sum())
    yield claim(
        "`lint` finds duplicated rows, which change no distribution",
        f"in {found} of {len(twice)} tables",
        holds=found == len(twice),
    )
    small = gates[(gates["table"] == SMALL) & (gates["outcome"] == "missed")]
    missed = small.groupby("damage", sort=False).size()
    yield claim(
        "of 374 rows (blood) the gates pass what chance and noise explain",
        f"{len(missed)} damages: {', '.join(missed.index)}",
        holds=len(missed) <= 3,
    )
    wide = frame.pivot_table(
        index=["table", "damage"], columns="tool", values="outcome", aggfunc="first"
    )
    ours = (wide[list(GATES)] == "missed").all(axis=1)
    flagged = wide[ours & wide["SDMetrics"].isin(["by name", "unnamed"])]
    yield claim(
        "SDMetrics flags few damages that both gates pass",
        f"{len(flagged)}: {', '.join(f'{table}, {damage}' for table, damage in flagged.index)}",
        holds=len(flagged) <= 1,
    )
    theirs = (wide["SDMetrics"] == "missed") & (wide[list(GATES)] == "by name").all(axis=1)
    yield claim(
        "both gates name damages by which no score of SDMetrics falls by a tenth",
        f"{int(theirs.sum())} of {int(wide['SDMetrics'].notna().sum())} copies that it scored",
        holds=bool(theirs.sum() > 10),
    )


DAMAGES = Topic(
    "damages",
    "Damaged copies",
    (
        Study(
            "found",
            "Which tool fails which damage, on six tables",
            ("damages",),
            draw,
            claims,
            command=(
                "python -m benchmarks.damages run DATA --out results.jsonl --keep PAIRS\n"
                "# The next one in the environment of benchmarks/others.txt:\n"
                "python benchmarks/damages_sdmetrics.py PAIRS > sdmetrics.json\n"
                "python -m benchmarks.damages show results.jsonl --sdmetrics sdmetrics.json "
                "--csv docs/experiments"
            ),
        ),
    ),
)
