"""Plans: whether the epsilon that they name is enough, and whether their choices are right."""

from collections.abc import Iterator

import pandas as pd
from matplotlib.figure import Figure

from benchmarks.experiments.drawing import Series, bare, dots, from_zero, mark
from benchmarks.experiments.record import Study, Topic, claim
from benchmarks.paper.pictures import legend, panels
from benchmarks.paper.record import Claim

SAME = "the copy itself"
FIGURES = {
    "on_stand_ins": "error on stand-ins",
    "threshold": "threshold in tau",
    "on_real_table": "error on the real table",
    "unproven": "undecided there",
}


def shown_runs(frame: pd.DataFrame) -> pd.DataFrame:
    """Table of the four queries."""
    share = {name: 100 * frame[name] / frame["runs"] for name in ("on_hardest", "on_copy")}
    return pd.DataFrame(
        {
            "query": [f"`{query}`" for query in frame["query"]],
            "tau": frame["tau"],
            "decider": frame["decider"],
            "epsilon": frame["epsilon"].map("{:g}".format),
            "decided: hardest stand-in": share["on_hardest"].map("{:.1f} %".format),
            "on the copy itself": share["on_copy"].map("{:.1f} %".format),
        }
    )


def claims_runs(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on runs at exactly the epsilon that a plan names."""
    shares = frame["on_hardest"] / frame["runs"]
    error = (0.09 / frame["runs"]) ** 0.5
    yield claim(
        "at exactly the epsilon that a plan names nine runs of ten are decided, on the stand-in "
        "that sets it",
        f"{100 * shares.min():.1f} to {100 * shares.max():.1f} % of {frame['runs'].min():,} runs "
        f"(standard error {100 * error.max():.2f} %)",
        holds=bool(((shares - 0.9).abs() < 2 * error).all()),
    )
    copy = frame["on_copy"] / frame["runs"]
    yield claim(
        "on the copy itself at least as many are decided",
        f"{100 * copy.min():.1f} to {100 * copy.max():.1f} %",
        holds=bool((copy > 0.9 - 2 * error).all()),
    )


def draw_promises(frame: pd.DataFrame) -> Figure:
    """Shares of queries that keep the promise, by copy and aggregate."""
    figure, (axis,) = panels(1, width=7.2, height=3.0)
    names = {"alone": "the copy's own shape alone", "kept": "worst of six shapes, as planned"}
    series = {
        label: Series(frame[name].tolist(), frame[f"{name}_error"].tolist())
        for name, label in names.items()
    }
    labels = [f"{name} ({n:,})" for name, n in zip(frame["group"], frame["queries"], strict=True)]
    dots(axis, labels, series)
    axis.set_xlabel("per cent of the queries whose promise is kept on the real table")
    legend(figure, axis)
    return figure


def claims_promises(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on the promise of a plan on the real table."""
    group = frame.set_index("group")
    whole = group.loc["all"]
    yield claim(
        "the epsilon of a plan is enough on the real table for nearly all queries",
        f"{whole['kept']:.1f} +- {whole['kept_error']:.1f} % of {whole['queries']:,.0f}; on the "
        f"copy's own shape alone {whole['alone']:.1f} %",
        holds=bool(whole["kept"] > 95),
    )
    adult = group.loc[[name for name in group.index if name.startswith("adult/")]]
    yield claim(
        "also for generators' copies, which are farther from their table",
        f"{adult['kept'].min():.1f} to {adult['kept'].max():.1f} % of {adult['queries'].sum():.0f}",
        holds=bool(adult["kept"].min() > 90),
        partly=bool(adult["kept"].min() > 80),
        why="copies that are far from the table about the answer need more",
    )
    yield claim(
        "the price: in the median half of the epsilon would have done",
        f"{whole['median_times']:g} of it; {whole['beyond_4_times']:.1f} % need over four times",
        holds=bool(whole["median_times"] == 0.5),
    )


def shown_sure(frame: pd.DataFrame) -> pd.DataFrame:
    """Table of the shares by aggregate at a gap of 0, then by table and gap."""
    first = frame[frame["aggregate"] != "all"]
    rest = frame[
        (frame["aggregate"] == "all") & ~((frame["table"] != SAME) & (frame["gap"] == "0"))
    ]
    shown = pd.concat([first, rest])
    share = {name: shown[name].map("{:.1f} %".format) for name in ("right", "wrong", "undecided")}
    error = shown["error"].map("{:.2f} %".format)
    names = shown["table"].replace("all", "all of these")
    return pd.DataFrame(
        {
            "private table": names,
            "gap": shown["gap"],
            "aggregate": shown["aggregate"],
            "queries": shown["queries"].map(str),
            **share,
            "standard error": error,
        }
    )


def claims_sure(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on audits in which each query has the epsilon that it needs."""
    first = frame[frame["aggregate"] != "all"]
    low = first.sort_values("right").iloc[0]
    yield claim(
        "with `--sure 95%` nine verdicts of ten are right where the gap is 0, for each aggregate",
        f"{low['right']:.1f} ({low['aggregate']}, standard error {low['error']:.2f} %) to "
        f"{first['right'].max():.1f} %",
        holds=bool((first["right"] > 90 - 2 * first["error"]).all()),
    )
    far = frame[frame["gap"] == "above 2 tau"]
    yield claim(
        "and where it is above two tolerances, on real tables",
        f"{far['right'].min():.1f} to {far['right'].max():.1f} %",
        holds=bool((far["right"] > 90).all()),
    )
    yield claim(
        "a verdict is wrong once in twenty at most, also near the tolerance; the rest is undecided",
        f"at most {frame['wrong'].max():.1f} %",
        holds=bool((frame["wrong"] <= 5).all()),
    )


def draw_sharpest(frame: pd.DataFrame) -> Figure:
    """Means of both deciders, a panel for each figure."""
    figure, axes = panels(4, columns=4, width=1.8, height=1.0)
    for axis, (name, title) in zip(axes, FIGURES.items(), strict=True):
        part = frame[frame["figure"] == name]
        series = {
            "margin decider": Series(part["ours"].tolist()),
            "the paper's": Series(part["published"].tolist()),
        }
        dots(axis, list(part["aggregate"]), series)
        from_zero(axis)
        axis.set_title(title, loc="left")
    for axis in axes[1:]:
        bare(axis)
    legend(figure, axes[0])
    return figure


def claims_sharpest(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on the deciders of AVG and QUANTILE."""
    public, real, unproven = (
        frame[frame["figure"] == name].set_index("aggregate")
        for name in ("on_stand_ins", "on_real_table", "unproven")
    )
    less = [f"{each['less']} of {each['queries']}" for _, each in public.iterrows()]
    larger = int(unproven["less"].sum())
    yield claim(
        "on stand-ins the paper's deciders of AVG and QUANTILE never err less than those of "
        "margins, so `auto` does not evaluate them",
        f"less in {less[0]} and {less[1]} problems",
        holds=not public["less"].any(),
    )
    yield claim(
        "where the paper's bit is right more often on a real table, neither decider is reliable, "
        "and the chance of a proof is never larger",
        f"right more often {' and '.join(map(str, real['less']))} times; a larger chance {larger} "
        "times",
        holds=not larger and bool((real["less"] == real["less_above_alpha"]).all()),
    )


def draw_likely(frame: pd.DataFrame) -> Figure:
    """Mean chance that a likely bit is false, by decider; bars are two standard errors."""
    part = frame[frame["bits"] == "of any decider without p-values"]
    figure, (axis,) = panels(1, width=7.2, height=1.7)
    labels = [f"{name} ({n:,})" for name, n in zip(part["decider"], part["likely"], strict=True)]
    errors = (2 * part["false_error"]).tolist()
    dots(axis, labels, {"false": Series(part["false"].tolist(), errors)})
    mark(axis, 5)
    from_zero(axis)
    axis.set_xlabel("per cent of the likely bits that are false; dashed: alpha")
    return figure


def claims_likely(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on likely verdicts."""
    part = frame[frame["bits"] == "of any decider without p-values"].set_index("decider")
    whole = part.loc["all"]
    yield claim(
        "a likely verdict is false with probability alpha at most, on average over real tables",
        f"{whole['false']:.1f} +- {whole['false_error']:.1f} % of {whole['likely']:,}; the worst "
        f"decider {part['false'].max():.1f} %",
        holds=bool((part["false"] - 2 * part["false_error"] <= 5).all()),
    )
    yield claim(
        "but on any one real table the chance may be above alpha: it is likely, not proven",
        f"{whole['above_alpha']} of {whole['likely']:,} bits",
        holds=bool(whole["above_alpha"] > 0),
    )
    taken = frame[(frame["bits"] == "taken by auto") & (frame["decider"] == "all")]
    number = int(taken["likely"].sum())
    yield claim(
        "`auto` hardly ever needs one: it takes a bit only where no decider with p-values is "
        "reliable",
        f"{number} of {whole['problems']:,} problems",
        holds=bool(number < 0.01 * whole["problems"]),
    )


PLANS = Topic(
    "plans",
    "What a plan promises",
    (
        Study(
            "runs",
            "Runs that are decided at exactly the epsilon that a plan names",
            ("needed-epsilon-runs",),
            None,
            claims_runs,
            command="python -m benchmarks.needed_epsilon DATA --csv docs/experiments",
            shown=shown_runs,
        ),
        Study(
            "promises",
            "Queries whose promise is kept on the real table",
            ("needed-epsilon",),
            draw_promises,
            claims_promises,
            command="python -m benchmarks.needed_epsilon DATA --csv docs/experiments",
        ),
        Study(
            "sure",
            "Audits in which each query has the epsilon that it needs",
            ("sure-verdicts",),
            None,
            claims_sure,
            command="python -m benchmarks.sure_verdicts DATA --csv docs/experiments",
            shown=shown_sure,
        ),
        Study(
            "sharpest",
            "Margin deciders of AVG and QUANTILE beside the paper's",
            ("sharpest",),
            draw_sharpest,
            claims_sharpest,
            command="python -m benchmarks.sharpest DATA --seeds 2 --csv docs/experiments",
        ),
        Study(
            "likely",
            "How often a likely verdict is false",
            ("likely-verdicts",),
            draw_likely,
            claims_likely,
            command=(
                "python -m benchmarks.likely_verdicts DATA --seeds 2 --queries 32 "
                "--csv docs/experiments"
            ),
        ),
    ),
)
