"""Words of verdicts: which words are given, and how often a word is false."""

from collections.abc import Iterator

import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import binom

from benchmarks.experiments.drawing import Series, bare, dots, rows
from benchmarks.experiments.record import Study, Topic, claim
from benchmarks.paper.pictures import INK, legend, panels
from benchmarks.paper.record import Claim

ALPHA = 0.05
# Colour and strength of each word.
WORDS = {
    "yes": ("fourth", 1.0),
    "yes within": ("fourth", 0.6),
    "leans yes": ("fourth", 0.3),
    "?": ("grid", 1.0),
    "leans NO": ("second", 0.3),
    "NO or beyond": ("second", 0.6),
    "NO": ("second", 1.0),
}


def draw_bounds(frame: pd.DataFrame) -> Figure:
    """Words of each decider, stacked; a row of panels for each case."""
    figure, axes = panels(6, columns=3, width=2.4, height=1.9)
    cases = frame.groupby(["case", "private"], sort=False)
    for place, (axis, ((case, private), part)) in enumerate(zip(axes, cases, strict=True)):
        wide = part.pivot_table(index="decider", columns="word", values="times", fill_value=0)
        wide = wide.reindex(part["decider"].drop_duplicates())
        start = pd.Series(0.0, wide.index)
        for word, (colour, strength) in WORDS.items():
            if word in wide or not place:
                share = 100 * wide.get(word, 0 * start) / part["runs"].iloc[0]
                axis.barh(
                    range(len(wide)), share, left=start, color=INK[colour], alpha=strength,
                    label=word,
                )  # fmt: skip
                start = start + share
        rows(axis, list(wide.index))
        if place % 3:
            bare(axis)
        axis.set_title(f"{'q45' if 'q45' in str(case) else 'far bounds'}: {private}", loc="left")
    legend(figure, axes[0], columns=7)
    figure.supxlabel("per cent of the runs", fontsize=8.5)
    return figure


def claims_bounds(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on bounds far above the values, and on a sum like q45."""
    auto, paper = (frame[frame["decider"] == name] for name in ("auto", "paper"))
    yield claim(
        "`auto` answers wrongly with probability alpha at most, on each of the private tables",
        f"exact error at most {auto['error'].max():.3f}, alpha {ALPHA:g}",
        holds=bool(auto["error"].max() <= ALPHA),
    )
    far = auto[(auto["case"] == "bounds far above the values") & (auto["private"] == "same answer")]
    share = far.loc[far["word"] == "yes within", "times"].sum() / far["runs"].iloc[0]
    yield claim(
        "with bounds far above the values it says yes for values cut to the copy's, nine times of "
        "ten",
        f"`yes within` in {100 * share:g} % of the runs",
        holds=share >= 0.9,
    )
    words = set(paper["word"])
    yield claim(
        "`paper` takes SVT here, whose answers lean: no word of it is proven",
        f"words {', '.join(sorted(words))}; exact error at most {paper['error'].max():.3f}",
        holds=all(word.startswith("leans") for word in words),
    )
    others = frame[frame["decider"].isin(["lm_sum", "r2t_sum"])].groupby("decider")["error"].max()
    yield claim(
        "LM and R2T, which the paper takes elsewhere, err far more often on these tables",
        ", ".join(f"{name} up to {error:.3f}" for name, error in others.items()),
        holds=bool(others.min() > 10 * ALPHA),
    )


def draw_clipped(frame: pd.DataFrame) -> Figure:
    """Shares of verdicts that are decided, conditional and open, by table and bounds."""
    figure, axes = panels(2, columns=2, width=3.6, height=1.9)
    for axis, (epsilon, part) in zip(axes, frame.groupby("epsilon"), strict=True):
        start = pd.Series(0.0, part.index)
        kinds = {"decided": "fourth", "conditional": "first", "open": "grid"}
        for kind, colour in kinds.items():
            share = 100 * part[kind] / part["verdicts"]
            axis.barh(range(len(part)), share, left=start, color=INK[colour], label=kind)
            start = start + share
        rows(axis, [f"{t}, {b}" for t, b in zip(part["table"], part["bounds"], strict=True)])
        axis.set_title(f"epsilon {epsilon:g}", loc="left")
    bare(axes[1])
    legend(figure, axes[0])
    figure.supxlabel("per cent of the verdicts", fontsize=8.5)
    return figure


def claims_clipped(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on copies that end where the private table goes on."""
    own = frame[frame["bounds"] == "of the copy"]
    yield claim(
        "without stated bounds no verdict is given without a condition",
        f"{own['decided'].sum():,} of {own['verdicts'].sum():,}",
        holds=not own["decided"].any(),
    )
    both = frame[frame["bounds"] == "both stated"]
    most = both["worst"] / both["runs"]
    yield claim(
        "with both bounds stated no query is false in more than 5 % of its runs",
        f"the worst in {100 * most.max():.1f} %; {both['false'].sum()} of all "
        f"{both['decided'].sum():,} decided verdicts",
        holds=bool(most.max() <= ALPHA),
    )
    lower = frame[frame["bounds"] == "lower one stated"]
    worst, runs = int(lower["worst"].max()), int(lower["runs"].iloc[0])
    chance = float(binom.sf(worst - 1, runs, ALPHA))
    yield claim(
        "with the lower bound stated the worst query is not false clearly more often than in 5 % "
        "of its runs",
        f"{worst} of {runs}; 5 % give as many with probability {chance:.2f}, and the worst of many "
        "queries is shown",
        holds=chance > ALPHA,
    )


def draw_paper(frame: pd.DataFrame) -> Figure:
    """Mean error of auto and paper, a panel for each aggregate."""
    figure, axes = panels(3, columns=3, width=2.4, height=1.2)
    parts = frame.groupby("aggregate", sort=False)
    for place, (axis, (aggregate, part)) in enumerate(zip(axes, parts, strict=True)):
        wide = part.pivot_table(index=["tau", "epsilon"], columns="asked", values="error")
        wide = wide.reindex(part.set_index(["tau", "epsilon"]).index.drop_duplicates())
        labels = [f"tau {tau}, epsilon {epsilon:g}" for tau, epsilon in wide.index]
        dots(axis, labels, {name: Series(wide[name].tolist()) for name in ("auto", "paper")})
        if place:
            bare(axis)
        axis.set_xlim(0, 0.85)
        axis.set_xticks([0, 0.25, 0.5, 0.75])
        axis.set_title(f"{part['queries'].iloc[0]} {aggregate}", loc="left")
    legend(figure, axes[0])
    figure.supxlabel("mean error on test tables", fontsize=8.5)
    return figure


def claims_paper(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on the paper's 60 queries."""
    wide = frame.pivot_table(index=["aggregate", "tau", "epsilon"], columns="asked", values="error")
    less = wide["auto"] < wide["paper"]
    sums = less.drop("COUNT")
    ratio = (wide["auto"] / wide["paper"]).drop("COUNT")
    yield claim(
        "`auto` errs less than the paper's choice on SUM and MEDIAN at every tau and epsilon",
        f"in {sums.sum()} of {len(sums)} settings; its error is {ratio.min():.2f} to "
        f"{ratio.max():.2f} of the paper's",
        holds=bool(sums.all()),
    )
    counts = less.drop(["SUM", "MEDIAN"])
    yield claim(
        "on COUNT it errs less, although it counts a verdict without a p-value as wrong",
        f"in {counts.sum()} of {len(counts)} settings",
        holds=bool(counts.all()),
        partly=bool(counts.any()),
        why="`paper` takes EM, which errs less at epsilon 0.25 and proves nothing",
    )


WORDS_OF_VERDICTS = Topic(
    "verdict-words",
    "Words of verdicts",
    (
        Study(
            "bounds",
            "Words of each decider where bounds lie far above the values, and for a sum like q45",
            ("words-bounds",),
            draw_bounds,
            claims_bounds,
            command=("python -m benchmarks.verdict_words bounds --runs 200 --csv docs/experiments"),
        ),
        Study(
            "clipped",
            "Verdicts that are decided, conditional and open on copies that are cut",
            ("words-clipped",),
            draw_clipped,
            claims_clipped,
            command=(
                "python -m benchmarks.verdict_words clipped DATA --runs 200 --csv docs/experiments"
            ),
        ),
        Study(
            "paper",
            "Mean error of auto and of the paper's choice on the paper's 60 queries",
            ("words-paper",),
            draw_paper,
            claims_paper,
            command="python -m benchmarks.verdict_words paper --csv docs/experiments",
        ),
    ),
)
