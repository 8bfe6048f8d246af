"""Pictures of the scores against epsilon, one panel for each aggregate."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, PercentFormatter

from benchmarks.paper.pictures import LINES, MARKS, STYLES, legend, panels
from benchmarks.quality.problems import AGGREGATES

# Entrants in the pictures; each keeps its colour, dash and mark.
SHOWN = (
    "auto",
    "paper",
    "OpenDP by hand",
    "OpenDP by hand, with interval",
    "column score",
    "score of the selected rows",
)
# Entrants that may stay undecided.
CAREFUL = ("auto", "paper", "OpenDP by hand, with interval")


def against_epsilon(
    scores: pd.DataFrame, column: str, label: str, entrants: Sequence[str]
) -> Figure:
    """Figure of ``column`` on plain problems, with bars of two standard errors by query."""
    plain = scores[scores["hard"] == 0]
    figure, axes = panels(len(AGGREGATES), width=2.5, height=1.9)
    for axis, aggregate in zip(axes, AGGREGATES, strict=True):
        for entrant in entrants:
            rows = plain[(plain["aggregate"] == aggregate) & (plain["entrant"] == entrant)]
            place = SHOWN.index(entrant)
            axis.errorbar(
                rows["epsilon"],
                rows[column],
                yerr=2 * rows[f"{column}_se"],
                color=LINES[place],
                linestyle=STYLES[place],
                marker=MARKS[place],
                elinewidth=0.7,
                label=entrant,
            )
        axis.set_title(aggregate)
        axis.set_xscale("log")
        epsilons = sorted(plain["epsilon"].unique())
        axis.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
        axis.xaxis.set_minor_locator(NullLocator())
        axis.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        axis.set_ylim(bottom=0)
    figure.supxlabel("epsilon of one query", fontsize=8.5)
    figure.supylabel(label, fontsize=8.5)
    legend(figure, axes[0], columns=3)
    return figure
