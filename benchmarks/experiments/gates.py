"""Gates: honest halves that they pass, and the least damages that they find."""

from collections.abc import Iterator

import pandas as pd
from matplotlib.figure import Figure

from benchmarks.experiments.damages import GOOD, SMALL, SUBTLE
from benchmarks.experiments.drawing import bare, rows
from benchmarks.experiments.record import Study, Topic, claim
from benchmarks.paper.pictures import INK, LINES, MARKS, legend, panels
from benchmarks.paper.record import Claim

TOGETHER, EVERY = "together", "every size"


def draw_halves(frame: pd.DataFrame) -> Figure:
    """Shares of pairs that pass, with lower bounds, by table and size."""
    own = frame[frame["table"] != TOGETHER]
    figure, axes = panels(3, columns=3, width=2.4, height=1.5)
    for place, (axis, (size, part)) in enumerate(
        zip(axes, own.groupby("size", sort=False), strict=True)
    ):
        tables = list(dict.fromkeys(part["table"]))
        for number, (gate, each) in enumerate(part.groupby("gate", sort=False)):
            share = 100 * each["green"] / each["pairs"]
            heights = [tables.index(table) + 0.24 * (number - 0.5) for table in each["table"]]
            below = share - 100 * each["at_least"]
            axis.errorbar(
                share, heights, xerr=[below, 0 * below], fmt=MARKS[number], color=LINES[number],
                elinewidth=1, label=gate,
            )  # fmt: skip
        rows(axis, tables)
        if place:
            bare(axis)
        axis.set_xlim(0, 104)
        axis.set_xticks([0, 50, 100])
        axis.set_title("all rows" if size == "all" else str(size), loc="left")
    legend(figure, axes[0])
    figure.supxlabel("per cent of the pairs that pass; bars: down to the lower bound", fontsize=8.5)
    return figure


def claims_halves(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on honest pairs."""
    own = frame[~frame["table"].isin([TOGETHER, SMALL])]
    sums = own.groupby("gate", sort=False)[["green", "pairs"]].sum()
    yield claim(
        "a gate passes nearly every honest pair of a table with 3,000 rows or more",
        "; ".join(f"{gate}: {green} of {pairs}" for gate, green, pairs in sums.itertuples()),
        holds=bool((sums["green"] >= 0.99 * sums["pairs"]).all()),
    )
    every = frame[frame["size"] == EVERY].set_index("gate")
    yield claim(
        "the lower bound of the share of all pairs that pass is 95 % and more",
        "; ".join(
            f"{gate}: {row['green']} of {row['pairs']}, at least {100 * row['at_least']:.1f} %"
            for gate, row in every.iterrows()
        ),
        holds=bool((every["at_least"] >= 0.95).all()),
    )
    refused = frame[(frame["table"] == SMALL) & frame["failed"].fillna("").str.contains("refused")]
    yield claim(
        "what fails on blood (748 rows) is mostly refused before anything is spent",
        "; ".join(f"{size}: {failed}" for size, failed in refused[["size", "failed"]].to_numpy()),
        holds=len(refused) > 0,
    )


def draw_least(frame: pd.DataFrame) -> Figure:
    """Least numbers of lost and invented rows that are found."""
    figure, (axis,) = panels(1, width=7.2, height=1.5)
    labels = [
        f"{own:,} against {copy:,}, epsilon {epsilon:g}"
        for own, copy, epsilon in frame[["private_rows", "copy_rows", "epsilon"]].to_numpy()
    ]
    labels = [label.replace(".0", "") for label in labels]
    for number, name in enumerate(("lost", "invented")):
        heights = [place + 0.38 * (number - 0.5) for place in range(len(frame))]
        axis.barh(heights, frame[name], 0.36, color=LINES[number], label=f"{name} rows")
    rows(axis, labels)
    axis.set_xlabel("rows")
    legend(figure, axis)
    return figure


def shown_least(frame: pd.DataFrame) -> pd.DataFrame:
    """Table of the least damages."""
    found = pd.DataFrame(
        {
            "private rows, copy": [
                f"{a:,}, {b:,}"
                for a, b in zip(frame["private_rows"], frame["copy_rows"], strict=True)
            ],
            "epsilon": frame["epsilon"].map("{:g}".format),
            "lost rows": frame["lost"],
            "invented rows": frame["invented"],
        }
    )
    for share in (1, 5, 25):
        ends = zip(frame[f"low_{share}"], frame[f"high_{share}"], strict=True)
        title = f"a value of {share} % of the rows, off by per cent"
        found[title] = [f"{low} to +{high}" for low, high in ends]
    return found


def claims_least(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on the least damages that a gate finds."""
    large = frame[(frame["private_rows"] > 20_000) & (frame["copy_rows"] > 20_000)]
    gate, one = (large[large["epsilon"] == each].iloc[0] for each in (0.25, 1))
    yield claim(
        "a gate of epsilon 0.25 finds a lost value of a quarter per cent of the rows and more",
        f"{gate['lost']:.0f} of {gate['private_rows']:,.0f} rows; at epsilon 1 {one['lost']:.0f}",
        holds=bool(gate["lost"] <= 0.003 * gate["private_rows"]),
    )
    yield claim(
        "a common value must be off by more than a quarter of its rows, since a copy may differ by "
        "a fifth",
        f"{gate['low_25']:.0f} to +{gate['high_25']:.0f} % of a value of 25 % of the rows, of a "
        f"value of 1 % {gate['low_1']:.0f} to +{gate['high_1']:.0f} %",
        holds=bool(gate["high_25"] >= 25),
    )


def draw_subtle(frame: pd.DataFrame) -> Figure:
    """Outcomes of the gate on the damages that the twelve do not name."""
    part = frame[(frame["table"] == SUBTLE) & (frame["damage"] != GOOD)]
    part = part.sort_values("outcome", key=lambda each: each == "missed", kind="stable")
    figure, (axis,) = panels(1, width=7.2, height=3.4)
    for place, (outcome, line) in enumerate(zip(part["outcome"], part["line"], strict=True)):
        passes = outcome == "missed"
        axis.plot([0], [place], "x" if passes else "s", color=INK["second" if passes else "fourth"])
        axis.text(0.02, place, "passes" if passes else f"fails: {line}", va="center", fontsize=8)
    rows(axis, list(part["damage"]))
    axis.set_xlim(-0.02, 1)
    axis.set_xticks([])
    axis.spines["bottom"].set_visible(False)
    return figure


def claims_subtle(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on the subtle damages."""
    part = frame[(frame["table"] == SUBTLE) & (frame["damage"] != GOOD)]
    passed = part.loc[part["outcome"] == "missed", "damage"]
    yield claim(
        "a gate fails most of 25 further damages: units, tails, texts, gaps, broken pairs",
        f"{len(part) - len(passed)} of {len(part)}; passed: {', '.join(passed)}",
        holds=bool(len(passed) < len(part) / 3),
    )


GATES_PAGE = Topic(
    "gates",
    "What a gate passes, and what it cannot see",
    (
        Study(
            "halves",
            "Honest pairs that each gate passes",
            ("honest-halves",),
            draw_halves,
            claims_halves,
            command=(
                "python -m benchmarks.honest_halves run DATA --out halves.jsonl --repeats 20\n"
                "python -m benchmarks.honest_halves show halves.jsonl --csv docs/experiments"
            ),
        ),
        Study(
            "least",
            "Least damages that a gate finds in 95 runs of 100",
            ("least-damage",),
            draw_least,
            claims_least,
            command="python -m benchmarks.least_damage --csv docs/experiments",
            shown=shown_least,
        ),
        Study(
            "subtle",
            "Subtle damages, and what the gate of a table names",
            ("damages",),
            draw_subtle,
            claims_subtle,
            command=(
                'python -m benchmarks.damages run DATA --tables subtle --tools "profile --gate" '
                "--out subtle.jsonl\n"
                "python -m benchmarks.damages show subtle.jsonl --csv docs/experiments"
            ),
        ),
    ),
)
