"""Pictures of DP-PQD: the score of Figure 3, the profiles of Figure 4, and the sweeps."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.paper.patwa.closed_forms import CENTRE, TAUS_OF_FIGURE
from benchmarks.paper.patwa.errors import EPSILON, EPSILONS, TAU, TAUS
from benchmarks.paper.pictures import INK, LINES, MARKS, STYLES, legend, panels

# Place of each decider in the order of colours; those of the paper come first.
LOOKS = {
    "lm_count": 0, "em_count": 1, "inv_count": 3,
    "lm_sum": 0, "r2t_sum": 2, "svt_sum": 4, "r2t_sum_tight": 5, "inv_sum": 3,
    "em_median": 1, "hist_median": 2, "em_median_corrected": 5, "inv_median": 3,
}  # fmt: skip


_LABELS = {"tau": "tau, per cent of q(Ds)", "epsilon": "epsilon"}


def sweep(queries: Sequence[str], *along: str) -> Callable[[pd.DataFrame], Figure]:
    """Function that draws a panel for each query: error against tau, or epsilon, or both."""

    def draw(frame: pd.DataFrame) -> Figure:
        rows = frame[frame["answers"] == "printed"]
        columns = 2 if len(queries) in {2, 4} else 3
        figure, axes = panels(len(queries) * len(along), columns=columns, width=5.4 / columns)
        places = [(what, query) for what in along for query in queries]
        for axis, (what, query) in zip(axes, places, strict=True):
            _sweep(axis, rows[rows["query"] == query], what)
            axis.set_title(query, loc="left")
            if len(along) > 1:
                axis.set_xlabel(_LABELS[what])
        legend(figure, axes[0])
        if len(along) == 1:
            figure.supxlabel(_LABELS[along[0]], fontsize=8.5)
        figure.supylabel("error", fontsize=8.5)
        return figure

    return draw


def _sweep(axis: Axes, rows: pd.DataFrame, along: str) -> None:
    """Lines of the exact errors, and marks of the trials where they were made."""
    labels, other, default = (
        (TAUS, "epsilon", EPSILON) if along == "tau" else (EPSILONS, "tau", TAU)
    )
    rows = rows[rows[other] == float(default)]
    places = range(len(labels))
    for name, line in rows.groupby("decider", sort=False):
        look = LOOKS[str(name)]
        ordered = line.sort_values(along)
        axis.plot(places, ordered["error"], color=LINES[look], linestyle=STYLES[look], label=name)
        if ordered["trials"].notna().all():
            axis.plot(places, ordered["trials"], MARKS[look], color=LINES[look], alpha=0.6)
    if along == "tau":
        inside = rows.drop_duplicates("tau").sort_values("tau")["inside"].to_numpy()
        if inside.any():
            axis.axvline(int(np.argmax(inside)), color=INK["text"], linestyle=":", linewidth=1)
    axis.set_xticks(list(places), labels)
    axis.set_ylim(-0.04, 1.04)


def histogram(frame: pd.DataFrame) -> Figure:
    """Bars of Figure 1: numbers of people in five ranges of capital gain."""
    figure, (axis,) = panels(1, width=4.5, height=2.4)
    for place, name in enumerate(("D", "Ds")):
        rows = frame[frame["table"] == name]
        axis.bar(
            np.arange(len(rows)) + 0.4 * place - 0.2, rows["rows"], width=0.38, label=name,
            color=LINES[1 - place],
        )  # fmt: skip
    starts = sorted(frame["from"].unique())
    axis.set_xticks(range(len(starts)), [f"[{start}, {start + 200})" for start in starts])
    axis.set_yscale("symlog", linthresh=100)
    axis.set_xlabel("capital-gain")
    axis.set_ylabel("people")
    legend(figure, axis)
    return figure


def score() -> Figure:
    """Score u' of EM count (Figure 3), in units of tau around q(Ds)."""
    figure, (axis,) = panels(1, width=4.5, height=2.0)
    gaps = np.array([-3.0, -2.0, 0.0, 2.0, 3.0])
    yes = np.maximum(0, 1 - np.abs(gaps) / 2)
    axis.plot(gaps, 1 - yes, color=LINES[0], label="output 0 (no)")
    axis.plot(gaps, yes, color=LINES[1], linestyle=STYLES[1], label="output 1 (yes)")
    for end in (-1, 1):
        axis.axvline(end, color=INK["text"], linestyle=":", linewidth=1)
    axis.set_xticks([-2, -1, 0, 1, 2], ["l - tau", "l", "q(Ds)", "r", "r + tau"])
    axis.set_xlabel("q(D)")
    axis.set_ylabel("score")
    legend(figure, axis)
    return figure


def profiles(frame: pd.DataFrame) -> Figure:
    """Errors of Figure 4 against q(D): exact ones, and the paper's bound for LM outside."""
    figure, axes = panels(2, columns=2, width=2.8, height=2.2)
    for axis, tau in zip(axes, TAUS_OF_FIGURE, strict=True):
        rows = frame[frame["tau"] == tau]
        for name, line in rows.groupby("decider", sort=False):
            look = LOOKS[str(name)]
            axis.plot(
                line["private"],
                line["error"],
                color=LINES[look],
                linestyle=STYLES[look],
                label=name,
            )
        bound = rows[rows["decider"] == "lm_count"]
        axis.plot(
            bound["private"], bound["bound"], color=LINES[0], linestyle=":", linewidth=1,
            label="lm_count, Proposition 4.2",
        )  # fmt: skip
        for place in (CENTRE - tau, CENTRE, CENTRE + tau):
            axis.axvline(place, color=INK["text"], linestyle=":", linewidth=0.8)
        axis.set_title(f"tau = {tau}", loc="left")
        axis.set_xlabel("q(D)")
    axes[0].set_ylabel("error")
    legend(figure, axes[0], 2)
    return figure


def ratios(frame: pd.DataFrame) -> Figure:
    """Bars of Table 3's seconds: printed, the transcription here, and an audit by pqd."""
    figure, (axis,) = panels(1, width=5.6, height=2.4)
    for place, name in enumerate(("printed", "transcription", "audit")):
        axis.bar(
            np.arange(len(frame)) + 0.27 * place - 0.27, frame[name], width=0.25, label=name,
            color=LINES[place],
        )  # fmt: skip
    axis.set_xticks(range(len(frame)), frame["decider"])
    axis.set_yscale("log")
    axis.set_ylabel("seconds per query")
    legend(figure, axis)
    return figure


def real_means(frame: pd.DataFrame) -> Figure:
    """Mean errors on real tables against tau: a panel for each table and aggregate."""
    rows = frame[frame["epsilon"] == float(EPSILON)]
    groups = list(rows.groupby(["answers", "aggregate"], sort=False))
    figure, axes = panels(len(groups), columns=3)
    for axis, ((table, aggregate), group) in zip(axes, groups, strict=True):
        for name, line in group.groupby("decider", sort=False):
            look = LOOKS[str(name)]
            means = line.groupby("tau")["error"].mean()
            axis.plot(
                range(len(means)), means, color=LINES[look], linestyle=STYLES[look], label=name
            )
        axis.set_xticks(range(len(TAUS)), TAUS)
        axis.set_ylim(-0.04, 1.04)
        axis.set_title(f"{table}, {group['query'].nunique()} {aggregate}", loc="left")
        axis.legend(fontsize=5)
    figure.supxlabel("tau, per cent of q(Ds)", fontsize=8.5)
    figure.supylabel("mean error", fontsize=8.5)
    return figure
