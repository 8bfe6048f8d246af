"""Batch deciders against epsilon/N: 100 range sums that share one budget."""

from collections.abc import Iterator

import pandas as pd
from matplotlib.figure import Figure

from benchmarks.experiments.drawing import Series, bare, dots, mark
from benchmarks.experiments.record import Study, Topic, claim, number
from benchmarks.paper.pictures import legend, panels
from benchmarks.paper.record import Claim

CASE = ["measure", "column", "tau"]
PROVING = ("alone", "workload", "identity")
# Columns in the titles of panels.
_SHORT = {"hours-per-week": "hours", "capital-loss": "capital-loss", "age": "age"}
_ALONE = " at epsilon/100"


def draw(frame: pd.DataFrame) -> Figure:
    """Expected errors above, undecided verdicts below; a column for each workload."""
    workloads = list(frame.groupby(["measure", "column"], sort=False))
    ways = [way for way in frame["way"].drop_duplicates() if not way.startswith("auto")]
    figure, axes = panels(6, columns=3, width=2.4, height=2.7)
    for place, axis in enumerate(axes):
        shown = "undecided" if place >= 3 else "expected"
        (measure, column), rows = workloads[place % 3]
        wide = rows.pivot_table(index="way", columns="tau", values=shown).reindex(ways)
        series = {f"tau {tau}": Series(wide[tau].tolist()) for tau in ("5%", "20%")}
        dots(axis, [way.removeprefix("batch: ") for way in ways], series)
        if place % 3:
            bare(axis)
        axis.set_title(f"{_SHORT[str(measure)]} by {_SHORT[str(column)]}", loc="left")
        axis.set_xlabel(f"{shown}, per cent")
    legend(figure, axes[0])
    return figure


def claims(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on errors, undecided verdicts and misled ones."""
    cases = [rows.set_index("way") for _, rows in frame.groupby(CASE, sort=False)]
    batches = [
        case.loc[[way for way in case.index if not way.startswith("auto")]] for case in cases
    ]
    least = sum(case["expected"].idxmin() == "batch: identity" for case in batches)
    taken = sum("auto: identity_batch" in case.index for case in cases)
    yield claim(
        "a batch by `identity` has the fewest expected errors of all ways, and `auto` takes it",
        f"fewest in {least}, taken in {taken} of {len(cases)} tables; hours by age at tau 5 %: "
        f"{_figure(cases[0], 'expected')}",
        holds=least == taken == len(cases),
    )
    und = [
        (
            number(case, f"inv_sum{_ALONE}", "undecided"),
            number(case, "batch: identity", "undecided"),
        )
        for case in cases
    ]
    yield claim(
        "it leaves fewer verdicts undecided than the best decider at epsilon/100",
        f"{min(b for _, b in und):.1f} to {max(b for _, b in und):.1f} % against "
        f"{min(a for a, _ in und):.1f} to {max(a for a, _ in und):.1f} % of `inv_sum`",
        holds=all(batch < alone for alone, batch in und),
    )
    five = frame[frame["tau"] == "5%"]
    ranges: dict[str, tuple[float, float]] = {}
    for name in ("lm", "r2t", "svt"):
        own = five.loc[five["way"] == f"{name}_sum{_ALONE}", "undecided"]
        ranges[name] = (float(own.min()), float(own.max()))
    yield claim(
        "the paper's deciders at epsilon/100 leave most verdicts undecided at tau 5 %",
        "; ".join(
            f"{name.upper()} {low:.1f} to {high:.1f} %" for name, (low, high) in ranges.items()
        ),
        holds=min(low for low, _ in ranges.values()) > 50,
        partly=ranges["r2t"][0] > 50 and ranges["svt"][0] > 50,
        why="LM decides more than half on two of the three workloads",
    )
    ratio = [
        number(case, f"inv_sum{_ALONE}", "expected") / number(case, f"lm_sum{_ALONE}", "expected")
        for case in cases
    ]
    yield claim(
        "`inv_sum` has about two thirds of the expected errors of LM",
        f"{min(ratio):.2f} to {max(ratio):.2f} of them",
        holds=min(ratio) > 0.55 and max(ratio) < 0.78,
    )
    fewer = sum(
        number(case, "batch: alone", "expected") < number(case, f"inv_sum{_ALONE}", "expected")
        for case in cases
    )
    yield claim(
        "alone, disjoint ranges pay once, so there are fewer expected errors than at epsilon/100",
        f"in {fewer} of {len(cases)} tables",
        holds=fewer == len(cases),
    )
    yield claim(
        "a report hardly ever calls a wrong verdict of `identity` decided",
        f"at most {max(number(case, 'batch: identity', 'misled') for case in cases):.1f} % of all; "
        f"`inv_sum` {max(number(case, f'inv_sum{_ALONE}', 'misled') for case in cases):.1f} %",
        holds=all(number(case, "batch: identity", "misled") <= 0.1 for case in cases),
    )
    less = [
        number(case, "batch: numerical_two", "expected")
        < number(case, "batch: numerical", "expected")
        for case in cases
    ]
    yield claim(
        "two steps of multiplicative weights, which take longer, never err less than one step",
        f"`numerical_two` has fewer expected errors than `numerical` in {sum(less)} of "
        f"{len(cases)} tables",
        holds=not sum(less),
        partly=sum(less) < len(cases) / 2,
        why="they err less on hours by hours; `auto` takes neither, since both lack a p-value",
    )
    mute = frame[frame["way"].str.startswith("batch") & ~frame["way"].str[7:].isin(PROVING)]
    yield claim(
        "mechanisms without a p-value leave every verdict undecided, so `auto` never takes them",
        f"{mute['way'].nunique()} mechanisms, {mute['undecided'].min():.1f} % undecided",
        holds=bool((mute["undecided"] == 100).all()),
    )


def draw_one_batch(frame: pd.DataFrame) -> Figure:
    """Errors of one batch of several measures, as parts of those of a batch for each measure."""
    figure, (axis,) = panels(1, width=5.2, height=4.6)
    labels = [f"{row['workload']}: {row['measure']}" for _, row in frame.iterrows()]
    dots(axis, labels, {"one batch": Series(frame["ratio"].tolist())})
    mark(axis, 1.0)
    axis.set_xlim(0, 1.05)
    axis.set_xlabel("mean error, as a part of that of a batch for each measure")
    return figure


def claims_one_batch(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on one batch of several measures."""
    counted = frame[~frame["workload"].str.startswith("sums alone")]
    counts = counted.loc[counted["measure"] == "COUNT", "ratio"]
    sums = counted.loc[counted["measure"] != "COUNT", "ratio"]
    apart = frame.loc[frame["workload"].str.startswith("sums alone"), "ratio"]
    yield claim(
        "a mean released as SUM and COUNT in one batch has about half of the SUM's error",
        f"{sums.min():.2f} to {sums.max():.2f} of it; of the COUNT's {counts.min():.2f} to "
        f"{counts.max():.2f}",
        holds=bool(sums.max() < 0.67 and counts.max() < 1),
    )
    yield claim(
        "two SUMs without a COUNT gain less",
        f"{apart.min():.2f} to {apart.max():.2f} of the errors of separate batches",
        holds=bool(sums.max() < apart.min() and apart.max() < 1),
    )


def _figure(case: pd.DataFrame, name: str) -> str:
    batch, alone = number(case, "batch: identity", name), number(case, f"inv_sum{_ALONE}", name)
    return f"{batch:.1f} % against {alone:.1f} % of `inv_sum` at epsilon/100"


BATCHES = Topic(
    "batches",
    "Batch deciders against epsilon/N",
    (
        Study(
            "shared budget",
            "Expected errors and undecided verdicts on 100 range sums that share one epsilon",
            ("batches",),
            draw,
            claims,
            command=(
                "python -m benchmarks.shared_budget_verdicts DATA/adult_private.parquet "
                "DATA/adult_privbayes_eps1.parquet --epsilon 1 --trials 100 --csv docs/experiments"
            ),
        ),
        Study(
            "one batch",
            "Errors of one batch of COUNT and SUMs, as parts of those of separate batches",
            ("one-batch",),
            draw_one_batch,
            claims_one_batch,
            command=(
                "python -m benchmarks.one_batch_errors --epsilon 1 --seeds 40 "
                "--csv docs/experiments"
            ),
        ),
    ),
)
