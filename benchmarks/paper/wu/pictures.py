"""Pictures of Wu et al. 2019: answers and relative errors against the bounds of the queries."""

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.paper.pictures import INK, LINES, MARKS, STYLES, panels
from benchmarks.paper.wu.mechanisms import (
    MECHANISMS,
    SQM,
    SQM_PRINTED,
    STEPS,
    TAMM,
    TAMM_OURS,
    TIMM,
    TIMM_OURS,
    TRUNCATIONS,
    label,
)

# Place of each mechanism in the order of colours; the GreedyH of a tree does not change it.
LOOKS = {
    "identity": 0, TIMM: 1, TIMM_OURS: 1, TAMM: 2, TAMM_OURS: 2, "workload": 3, SQM: 4,
    SQM_PRINTED: 5,
}  # fmt: skip
TRUNCATION_LOOKS = {"none": 3, "svt": 0, "recursive": 4}
NAMES = {"none": "NOTRUNC", "svt": "SVT", "recursive": "RECURSIVE"}
_BAND = 0.2


def _lines(
    axis: Axes, frame: pd.DataFrame, column: str, looks: Mapping[str, int], scale: float = 1
) -> None:
    """Mean lines with bands of 5 to 95 per cent, one for each value of a column in ``looks``."""
    for name, look in looks.items():
        rows = frame[frame[column] == name]
        bounds = rows["bound"] / 1000
        axis.fill_between(
            bounds, rows["low"] / scale, rows["high"] / scale, color=LINES[look], alpha=_BAND,
            linewidth=0,
        )  # fmt: skip
        axis.plot(
            bounds, rows["mean"] / scale, color=LINES[look], linestyle=STYLES[look],
            label=NAMES.get(name, label(name)),
        )  # fmt: skip


def _looks(*names: str) -> dict[str, int]:
    return {name: LOOKS[name] for name in names}


def _labels(figure: Figure, axes: Sequence[Axes], titles: Sequence[str], values: str) -> None:
    for axis, title in zip(axes, titles, strict=True):
        axis.set_title(title, loc="left")
    figure.supxlabel("bound of the query, thousand dollars", fontsize=8.5)
    figure.supylabel(values, fontsize=8.5)


def figure_2(frame: pd.DataFrame) -> Figure:
    """Noisy answers: IDENTITY with three truncations, and the mechanisms with SVT."""
    figure, axes = panels(3, columns=3, width=2.4, height=2.4)
    identity, svt = frame[frame["mechanism"] == "identity"], frame[frame["truncation"] == "svt"]
    billion = 1e9
    _lines(axes[0], identity, "truncation", TRUNCATION_LOOKS, billion)
    _lines(axes[1], svt, "mechanism", _looks("identity", TIMM, TAMM), billion)
    _lines(axes[2], svt, "mechanism", _looks("identity", TIMM_OURS, TAMM_OURS), billion)
    truth = identity[identity["truncation"] == "none"]
    for axis in axes:
        axis.plot(
            truth["bound"] / 1000, truth["true"] / billion, color=INK["text"], linewidth=1,
            label="true",
        )  # fmt: skip
        axis.set_ylim(-0.3, 5.5)
        axis.legend(loc="upper left", fontsize=6.5)
    titles = "(a) IDENTITY", "(b) MM, SVT", "(b) with pqd's GreedyH"
    _labels(figure, axes, titles, "answer, billion dollars")
    return figure


def figure_3(frame: pd.DataFrame) -> Figure:
    """Relative errors with SVT on a log scale: the matrix mechanisms, and the baselines."""
    figure, axes = panels(3, columns=3, width=2.4, height=2.4)
    groups = (
        ("identity", TIMM, TAMM),
        ("identity", TIMM_OURS, TAMM_OURS),
        ("identity", "workload", SQM, SQM_PRINTED),
    )
    for axis, names in zip(axes, groups, strict=True):
        _lines(axis, frame, "mechanism", _looks(*names))
        axis.set_yscale("log")
        axis.set_ylim(1e-4, 1e6)
        axis.legend(loc="upper right", fontsize=6.5)
    titles = "(a) truncated MM", "(a) with pqd's GreedyH", "(b) baselines"
    _labels(figure, axes, titles, "relative error")
    return figure


def figure_4(frame: pd.DataFrame) -> Figure:
    """Relative errors for Q2, without and with isotonic regression."""
    figure, axes = panels(2, columns=2, width=3.2, height=2.6)
    for isotonic, axis in enumerate(axes):
        rows = frame[frame["isotonic"] == isotonic]
        _lines(axis, rows, "mechanism", _looks("workload", SQM, SQM_PRINTED))
        axis.set_yscale("log")
        axis.set_ylim(1e-4, 1e3)
        axis.legend(loc="upper right", fontsize=6.5)
    titles = "(a) without isotonic regression", "(b) with isotonic regression"
    _labels(figure, axes, titles, "relative error")
    return figure


def table_1(frame: pd.DataFrame) -> Figure:
    """Expected root mean squared errors of all configurations, a panel for each workload."""
    workloads = [name for name in STEPS if name in set(frame["workload"])]
    figure, axes = panels(len(workloads), columns=3, width=2.4, height=2.2)
    rows = frame[frame["parameters"] == "paper"]
    places = list(reversed(MECHANISMS))
    for axis, workload in zip(axes, workloads, strict=True):
        here = rows[rows["workload"] == workload]
        for name in TRUNCATIONS:
            look, line = TRUNCATION_LOOKS[name], here[here["truncation"] == name]
            axis.plot(
                line["expected"], [places.index(m) for m in line["mechanism"]], MARKS[look],
                color=LINES[look], label=NAMES[name], alpha=0.8,
            )  # fmt: skip
        axis.set_xscale("log")
        names = [label(name) if axis is axes[0] else "" for name in places]
        axis.set_yticks(range(len(places)), names)
        axis.set_title(workload, loc="left")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3)
    figure.supxlabel("expected root mean squared error, dollars", fontsize=8.5)
    return figure
