"""Comparisons: their claims against the truth, by queries and by overall quality."""

from collections.abc import Iterator

import pandas as pd
from matplotlib.figure import Figure

from benchmarks.experiments.drawing import Series, bare, dots, logarithmic
from benchmarks.experiments.record import Study, Topic, claim, number, per_cent
from benchmarks.paper.pictures import INK, legend, panels
from benchmarks.paper.record import Claim

_RANKED = ("epsilon", "runs", "error", "coverage", "told_apart", "runs_with_a_false_pair")


def draw(frame: pd.DataFrame, copies: pd.DataFrame) -> Figure:
    """Pairs that are told apart, and what is false, by epsilon; the true shares."""
    figure, axes = panels(3, columns=3, width=2.4, height=1.6)
    labels = [f"{epsilon:g}" for epsilon in frame["epsilon"]]
    axes[0].bar(labels, frame["pairs_told_apart"], color=INK["first"], width=0.6)
    axes[0].set_ylim(0, 10)
    axes[0].set_title("pairs told apart, of 10", loc="left")
    names = {"false": "false verdicts", "worst_false": "on the worst query", "missed": "missed"}
    for place, (name, label) in enumerate(names.items()):
        colour = INK[("first", "second", "third")[place]]
        axes[1].plot(labels, frame[name], "os^"[place], color=colour, label=label)
    axes[1].axhline(5, color=INK["text"], linewidth=0.8, linestyle="--")
    axes[1].set_ylim(0, 6)
    axes[1].set_title("per cent; dashed: alpha", loc="left")
    for axis in axes[:2]:
        axis.set_xlabel("epsilon")
    dots(axes[2], list(copies["copy"]), {"": Series((100 * copies["within"]).tolist())})
    axes[2].set_title("truly within, per cent", loc="left")
    axes[2].set_xlim(0, 100)
    legend(figure, axes[1])
    return figure


def claims(frame: pd.DataFrame, copies: pd.DataFrame) -> Iterator[Claim]:
    """Claims on a comparison by queries."""
    runs = int(frame["runs"].sum())
    wrong = int(frame["runs_with_a_wrong_pair"].sum())
    yield claim(
        "no run tells two copies apart wrongly, and no band misses the true share",
        f"{wrong} and {frame['runs_with_a_wrong_band'].sum()} of {runs:,} runs, at a stated 5 %",
        holds=not wrong and not frame["runs_with_a_wrong_band"].any(),
    )
    told = frame.set_index("epsilon")["pairs_told_apart"]
    yield claim(
        f"of the 10 pairs of {len(copies)} copies most are told apart at epsilon 1",
        ", ".join(f"{pairs:g} at {epsilon:g}" for epsilon, pairs in told.items()),
        holds=bool(told[1] > 5),
    )
    error = (0.05 * 0.95 / frame["runs"]) ** 0.5 * 100
    yield claim(
        "a false verdict has probability alpha at most on any one query and copy",
        f"all {frame['false'].max():.2f} %, the worst {frame['worst_false'].max():.1f} % (standard "
        f"error {error.max():.1f} %)",
        holds=bool((frame["worst_false"] <= 5 + 2 * error).all()),
    )
    yield claim(
        "intervals of the private answer hold in 95 %",
        f"missed by {frame['missed'].min():.1f} to {frame['missed'].max():.1f} %",
        holds=bool((frame["missed"] <= 5).all()),
    )


def draw_ranking(frame: pd.DataFrame) -> Figure:
    """Mean error of each copy's score, by what is measured; the exact scores."""
    own = frame[frame["copy"] != "all"]
    copies = list(dict.fromkeys(own["copy"]))
    figure, axes = panels(2, columns=2, width=3.6, height=1.4)
    series = {
        measured: Series(part.set_index("copy").loc[copies, "error"].tolist())
        for measured, part in own.groupby("measured", sort=False)
    }
    dots(axes[0], copies, {str(name): each for name, each in series.items()})
    logarithmic(axes[0])
    axes[0].set_xlim(1e-4, 1e-2)
    axes[0].set_xlabel("mean error of a score")
    exact = own.drop_duplicates("copy").set_index("copy").loc[copies, "score"]
    dots(axes[1], copies, {"": Series((100 * exact).tolist())})
    axes[1].set_xlabel("exact score, per cent")
    bare(axes[1])
    legend(figure, axes[0])
    return figure


def claims_ranking(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on a ranking by overall quality."""
    whole = frame[frame["copy"] == "all"].set_index("measured")
    one, each = (
        {name: number(whole, measured, name) for name in _RANKED}
        for measured in ("one mean distance per copy", "each marginal")
    )
    yield claim(
        "one mean distance per copy is far more accurate than each marginal by itself",
        f"a score is off by {one['error']:.5f} against {each['error']:.4f}, at a total epsilon of "
        f"{one['epsilon']:g}",
        holds=one["error"] < each["error"] / 5,
    )
    yield claim(
        "its 95 % intervals hold, up to chance",
        f"{per_cent(one['coverage'])} and {per_cent(each['coverage'])} of {one['runs']:,.0f} runs "
        "of five copies",
        holds=min(one["coverage"], each["coverage"]) > 0.92,
    )
    yield claim(
        "all ten pairs are told apart, none falsely",
        f"{one['told_apart']:g} and {each['told_apart']:.1f} of 10; false in "
        f"{one['runs_with_a_false_pair']:g} and {each['runs_with_a_false_pair']:g} runs",
        holds=one["told_apart"] == 10 and not one["runs_with_a_false_pair"],
    )


COMPARISONS = Topic(
    "comparisons",
    "What a comparison claims, against the truth",
    (
        Study(
            "queries",
            "Pairs told apart, false verdicts and missed intervals, by epsilon",
            ("compare", "compare-copies"),
            draw,
            claims,
            command=(
                "python -m benchmarks.comparison_claims DATA/adult_private.parquet NAME=FILE... "
                "--queries FILE --tau 10% --epsilon 0.25 1 4 --runs 500 --csv docs/experiments"
            ),
        ),
        Study(
            "ranking",
            "Errors of the scores of a ranking, and the exact scores",
            ("ranking",),
            draw_ranking,
            claims_ranking,
            command=(
                "python -m benchmarks.ranking_claims DATA --epsilon 0.25 --runs 50 "
                "--csv docs/experiments"
            ),
        ),
    ),
)
