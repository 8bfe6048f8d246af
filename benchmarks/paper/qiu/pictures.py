"""Pictures of Qiu et al. (KDD 2022): boxes of errors on a logarithmic axis, as in the paper."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from benchmarks.paper.pictures import INK, LINES, MARKS, STYLES, legend, panels
from benchmarks.paper.qiu.facts import BOUNDS
from benchmarks.paper.qiu.runs import ZEROS

NAMES = {
    "clipped_composition": "composition",
    "normalization": "normalization",
    "global_truncation": "global truncation",
    "numerical": "Algorithm 2",
    "numerical_two": "two PMW",
    "dyadic": "range mechanism",
}
PARTS = ("max", "upper", "median", "lower")
_WIDTH = 0.8


def errors(frame: pd.DataFrame, key: str = "epsilon", label: str = "epsilon") -> Figure:
    """Boxes of the errors of all queries, by ``key`` and mechanism: means over the seeds.

    A box spans 25 % to 75 %, its line is the median and its whisker the maximum.  Lines show the
    median and the maximum error of answering every query by 0.
    """
    figure, (axis,) = panels(1, columns=1, width=6.6, height=2.9)
    means = frame.groupby([key, "mechanism"], sort=False)[list(PARTS)].mean()
    groups = list(dict.fromkeys(frame[key]))
    mechanisms = [name for name in NAMES if name in set(frame["mechanism"])]
    floor = _floor(means.to_numpy())
    for number, name in enumerate(mechanisms):
        step = _WIDTH / len(mechanisms)
        places = [place - _WIDTH / 2 + (number + 0.5) * step for place in range(len(groups))]
        boxes = [means.loc[(group, name)].to_numpy() for group in groups]
        _boxes(axis, places, boxes, 0.8 * step, LINES[number], NAMES[name], floor)
    for place, group in enumerate(groups):
        zeros = means.loc[(group, ZEROS)]
        for part, style in (("median", "--"), ("max", ":")):
            axis.plot(
                [place - _WIDTH / 2, place + _WIDTH / 2], [zeros[part]] * 2, style,
                color=INK["text"], linewidth=0.9,
                label=f"all zeros, {part}" if not place else None,
            )  # fmt: skip
    axis.set_yscale("log")
    axis.set_ylim(bottom=floor)
    axis.grid(visible=False, axis="x")
    axis.set_xticks(range(len(groups)), [f"{group:g}" for group in groups])
    axis.set_xlabel(label)
    axis.set_ylabel("error")
    legend(figure, axis, columns=4)
    return figure


def _floor(values: NDArray[np.float64]) -> float:
    """Lower end of the axis: boxes that begin at 0 reach it."""
    return float(10 ** np.floor(np.log10(values[values > 0].min())))


def _boxes(
    axis: Axes,
    places: Sequence[float],
    boxes: Sequence[NDArray[np.float64]],
    width: float,
    colour: str,
    name: str,
    floor: float,
) -> None:
    statistics = [
        {"med": median, "q1": max(lower, floor), "q3": upper, "whislo": max(lower, floor)}
        | {"whishi": largest, "fliers": []}
        for largest, upper, median, lower in boxes
    ]
    line = {"color": colour, "linewidth": 1.0}
    axis.bxp(
        statistics, positions=places, widths=width, patch_artist=True, showfliers=False,
        boxprops={"facecolor": colour, "edgecolor": colour, "alpha": 0.55, "linewidth": 0.8},
        medianprops={"color": INK["text"], "linewidth": 1.2}, whiskerprops=line, capprops=line,
        manage_ticks=False,
    )  # fmt: skip
    axis.plot([], [], "s", color=colour, label=name, markersize=5)


def bounds(*frames: pd.DataFrame) -> Figure:
    """Boxes of the bounds of Table 1, without logarithms, for each table."""
    frame = pd.concat(frames)
    problems = list(dict.fromkeys(frame["problem"]))
    figure, axes = panels(len(problems), columns=3, width=2.3, height=1.8)
    for axis, problem in zip(axes, problems, strict=True):
        rows = frame[frame["problem"] == problem].set_index("bound")
        values = rows[list(PARTS)]
        floor = _floor(values.to_numpy())
        for number, bound in enumerate(BOUNDS):
            _boxes(
                axis, [number], [values.loc[bound].to_numpy()], 0.6, LINES[number],
                bound.replace("_", " "), floor,
            )  # fmt: skip
        axis.set_yscale("log")
        axis.set_xticks([])
        axis.set_title(f"{problem}\nn = {_short(rows['rows'])}, {_short(rows['queries'])} queries")
    legend(figure, axes[0], columns=4)
    return figure


def _short(numbers: pd.Series) -> str:
    number = float(numbers.iloc[0])
    return f"{number:,.0f}" if number < 1e6 else f"$10^{{{np.log10(number):.0f}}}$"


def by_rounds(frame: pd.DataFrame) -> Figure:
    """Share of the answers that are 0, and the median error over that of all zeros, by rounds."""
    figure, axes = panels(2, columns=2, width=3.2, height=2.2)
    frame = frame.assign(part=frame["median"] / frame["zeros_median"])
    means = frame.groupby(["epsilon", "rounds"])[["zeros", "part"]].mean()
    for number, epsilon in enumerate(dict.fromkeys(frame["epsilon"])):
        rows = means.loc[epsilon]
        for axis, column in zip(axes, ("zeros", "part"), strict=True):
            axis.plot(
                rows.index, rows[column], color=LINES[number], linestyle=STYLES[number],
                marker=MARKS[number], label=f"epsilon {epsilon:,.0f}",
            )  # fmt: skip
    for axis, title in zip(
        axes, ("share of the answers that are 0", "median error / that of all zeros"), strict=True
    ):
        axis.set_xscale("log")
        axis.set_ylim(0, 1.05)
        axis.set_title(title)
        axis.set_xlabel("rounds T")
        rounds = sorted(set(frame["rounds"]))
        axis.set_xticks(rounds, [str(number) for number in rounds])
        axis.minorticks_off()
    legend(figure, axes[0], columns=3)
    return figure
