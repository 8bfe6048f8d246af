"""Relations kept: by a profile of one copy, and by a comparison of several."""

from collections.abc import Iterator

import pandas as pd
from matplotlib.figure import Figure

from benchmarks.experiments.drawing import Series, bare, dots, from_zero, mark
from benchmarks.experiments.record import Study, Topic, claim, per_cent
from benchmarks.paper.pictures import legend, panels
from benchmarks.paper.record import Claim

HALF, SHUFFLED = "other half", "other half, columns shuffled"
COPIES = {
    "half": "the other half",
    "privbayes": "PrivBayes",
    "copula": "Gaussian copula",
    "shuffled": "columns shuffled",
}


def draw(frame: pd.DataFrame) -> Figure:
    """Overall quality and relations kept of each copy; bars are two standard errors."""
    figure, (axis,) = panels(1, width=7.2, height=3.4)
    labels = [f"{t}: {c}" for t, c in zip(frame["table"], frame["copy"], strict=True)]
    names = {"overall": "overall quality", "kept": "relations kept"}
    series = {
        label: Series(frame[name].tolist(), (2 * frame[f"{name}_se"]).tolist())
        for name, label in names.items()
    }
    dots(axis, labels, series)
    mark(axis, 50)
    axis.set_xlabel("per cent; dashed: the bar of relations kept")
    legend(figure, axis)
    return figure


def claims(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on what tells an honest half from shuffled columns."""
    wide = frame.pivot_table(index="table", columns="copy", values=["overall", "kept"])
    gaps = {name: wide[name][HALF] - wide[name][SHUFFLED] for name in ("kept", "overall")}
    yield claim(
        "relations kept tells an honest half from shuffled columns; overall quality hardly does",
        f"{gaps['kept'].min():.0f} to {gaps['kept'].max():.0f} points apart, overall "
        f"{gaps['overall'].min():.1f} to {gaps['overall'].max():.1f}",
        holds=bool(gaps["kept"].min() > 10 * gaps["overall"].drop("blood").max()),
    )
    adult = frame[frame["table"] == "adult"].set_index("copy")
    bayes, copula = adult.loc["PrivBayes, epsilon 1"], adult.loc["Gaussian copula"]
    yield claim(
        "overall quality puts the Gaussian copula above PrivBayes, which kept far more relations",
        f"overall {copula['overall']:.1f} and {bayes['overall']:.1f} %; kept "
        f"{copula['kept']:.1f} and {bayes['kept']:.1f} %",
        holds=bool(copula["overall"] > bayes["overall"] and bayes["kept"] > 10 * copula["kept"]),
    )
    halves = frame[frame["copy"] == HALF].set_index("table")
    real = halves.drop(["blood", "generated"])
    few = halves.loc[["generated", "blood"], "kept"]
    yield claim(
        "an honest half keeps less than all, since two samples differ: 85 % and more of large real "
        "tables",
        f"{real['kept'].min():.1f} to {real['kept'].max():.1f} %; generated {few.iloc[0]:.1f} %, "
        f"blood (374 rows) {few.iloc[1]:.1f} %",
        holds=bool(real["kept"].min() >= 85),
    )
    known = frame[frame["figures"] == frame["seeds"]]
    off = (known["released"] - known["kept"]).abs().max()
    yield claim(
        "at epsilon 1 a table of 22,605 rows or more has a figure, near the exact one in the mean "
        "over five seeds",
        f"{len(known)} of {len(frame) - 2} copies, off by at most {off:.1f} points; of 374 rows "
        f"{frame['figures'].min()} of 5 seeds have a figure",
        holds=bool(len(known) == len(frame) - 2 and off < 5),
    )


def draw_ranking(frame: pd.DataFrame) -> Figure:
    """Mean error of the share kept, and established verdicts, by copy and epsilon."""
    figure, axes = panels(2, columns=2, width=3.6, height=1.3)
    part = frame.assign(error=100 * frame["error"], established=100 * (frame["yes"] + frame["no"]))
    titles = {"error": "mean error, points", "established": "verdict established, per cent"}
    for axis, (figure_of, title) in zip(axes, titles.items(), strict=True):
        wide = part.pivot_table(index="copy", columns="epsilon", values=figure_of).loc[list(COPIES)]
        series = {f"epsilon {each:g}": Series(wide[each].tolist()) for each in wide}
        dots(axis, list(COPIES.values()), series)
        axis.set_xlabel(title)
        from_zero(axis)
    bare(axes[1])
    legend(figure, axes[0])
    return figure


def claims_ranking(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on the relations that a comparison tells."""
    held = frame.groupby("epsilon")["all_held"].first()
    yield claim(
        "the intervals of all four copies hold the true share at once in 95 % of the releases",
        ", ".join(f"{per_cent(share)} at {epsilon:g}" for epsilon, share in held.items()),
        holds=bool(held.min() >= 0.95),
    )
    yield claim(
        "a verdict on a copy is wrong in at most 5 % of the releases",
        f"at most {per_cent(frame['wrong'].max())}",
        holds=bool(frame["wrong"].max() <= 0.05),
    )
    one = frame[(frame["epsilon"] == 1) & (frame["copy"] != "privbayes")]
    sure = one["yes"] + one["no"]
    bayes = frame[(frame["epsilon"] == 1) & (frame["copy"] == "privbayes")].iloc[0]
    yield claim(
        "at a total epsilon of 1 each verdict is established for copies that are far from the bar",
        f"at least {per_cent(sure.min())}; of PrivBayes, which keeps {per_cent(bayes['kept'])}, "
        f"{per_cent(bayes['yes'])}",
        holds=bool(sure.min() >= 0.99),
    )


RELATIONS = Topic(
    "relations",
    "Relations kept",
    (
        Study(
            "kept",
            "Overall quality and relations kept of each copy",
            ("relations",),
            draw,
            claims,
            command=(
                "python -m benchmarks.relations_kept run DATA --out relations.jsonl --seeds 5\n"
                "python -m benchmarks.relations_kept show relations.jsonl --csv docs/experiments"
            ),
        ),
        Study(
            "compare",
            "Errors of the relations that a comparison tells, and its established verdicts",
            ("ranking-relations",),
            draw_ranking,
            claims_ranking,
            command=(
                "python -m benchmarks.ranking_relations DATA --epsilon 0.25 1 4 "
                "--csv docs/experiments"
            ),
        ),
    ),
)
