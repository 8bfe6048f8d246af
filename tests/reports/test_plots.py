"""Plots: small, the same every time, with the theme's colours; and on anyone's axes."""

from __future__ import annotations

import io
import re
import sys
from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from pqd.deciders.errors import ParameterError
from pqd.reports.blocks import Interval
from pqd.reports.models.compare import CompareReport
from pqd.reports.models.standings import Standing
from pqd.reports.plots import curves_svg, drawn, frame_svg
from pqd.reports.writers.html.pictures import Scale, interval_picture, side_by_side
from tests.support import compare_reports, profile_reports, ranking_reports
from tests.support.audit_reports import AUDIT, BARE, CURVED, PLAN, curve
from tests.support.profile_reports import ADULT_PROFILE, DRY, quoting

if TYPE_CHECKING:
    from pqd.reports.models.audit import AuditReport
    from pqd.reports.models.plan import PlanReport

CURVES = [candidate.curve or () for candidate in CURVED[:3]]


def test_a_picture_is_small_and_its_text_is_text() -> None:
    scale, (curves,) = frame_svg(), curves_svg([CURVES])
    assert len(scale) + len(curves) < 6000
    for words in ("0", "tau", "2 tau", "0 %", "50 %", "100 %", "true gap", "chance of a yes"):
        assert f">{words}</text>" in scale
    assert curves.count("<path") == 3


def test_a_picture_has_classes_for_colours_and_no_names() -> None:
    picture = frame_svg() + "".join(curves_svg([CURVES]))
    assert set(re.findall(r'class="([^"]*)"', picture)) == {
        "text", "grid", "mark", "line first", "line second", "line third",
    }  # fmt: skip
    assert not re.search(r"#|style|id=|font|[0-9]{4}-[0-9]{2}", picture)


def test_a_picture_is_the_same_whatever_the_user_has_set() -> None:
    once = [frame_svg(), *curves_svg([CURVES, CURVES[:1]])]
    with mpl.rc_context({"font.size": 30, "axes.grid": True, "lines.linewidth": 9}):
        assert [frame_svg(), *curves_svg([CURVES, CURVES[:1]])] == once
    assert [frame_svg(), *curves_svg([CURVES, CURVES[:1]])] == once


def test_a_gap_that_no_table_has_is_left_out() -> None:
    (whole,) = curves_svg([[[0.5] * 21]])
    (broken,) = curves_svg([[[0.5] * 4 + [None] + [0.5] * 16]])
    assert (whole.count("M "), broken.count("M ")) == (1, 2)


def test_the_decider_taken_comes_first_then_the_least_erring() -> None:
    names = [candidate.decider for candidate in drawn(CURVED, "em_count")]
    assert names == ["em_count", "inv_count", "lm_count"]


@pytest.mark.parametrize("report", [AUDIT, PLAN], ids=["audit", "plan"])
def test_a_plot_shows_the_curves(report: AuditReport | PlanReport) -> None:
    axes = report.plot_operating_characteristic("curved")
    heights = [np.asarray(line.get_ydata(), float) for line in axes.lines]
    shown = [height for height in heights if len(height) == 21]
    assert len(shown) == 3
    assert isnan(shown[0][3])
    assert shown[0][0] == curve(8)[0]
    assert axes.get_title("left") == "curved"
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["inv_count", "lm_count", "em_count"]
    # The keys are those of the curves, not of the scale.
    keys = [line.get_linestyle() for line in legend.get_lines()]
    assert keys == [line.get_linestyle() for line in axes.lines[-3:]] == ["-", "--", ":"]


def test_a_plot_of_its_own_is_shown_by_notebooks_and_unknown_to_pyplot() -> None:
    axes = PLAN.plot_operating_characteristic()
    picture = axes._repr_svg_()  # type: ignore[attr-defined]
    assert "<svg" in picture
    assert ">curved</text>" in picture
    assert picture == PLAN.plot_operating_characteristic()._repr_svg_()  # type: ignore[attr-defined]
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or not pyplot.get_fignums()


def test_a_plot_goes_on_the_axes_that_are_given() -> None:
    axes = Figure().add_subplot()
    assert AUDIT.plot_operating_characteristic("curved", ax=axes) is axes
    assert len(axes.lines) == 4 + 3


def test_without_curves_it_says_what_to_do() -> None:
    bare = replace(AUDIT, verdicts=(replace(AUDIT.verdicts[0], candidates=BARE),))
    with pytest.raises(ParameterError, match="detailed=True"):
        bare.plot_operating_characteristic()
    with pytest.raises(ValueError, match="it has: curved, again"):
        AUDIT.plot_operating_characteristic("nothing")


def test_names_are_not_read_as_formulas() -> None:
    verdict = replace(AUDIT.verdicts[0], id="$\\frac{$")
    axes = replace(AUDIT, verdicts=(verdict,)).plot_operating_characteristic()
    assert "$" in axes._repr_svg_()  # type: ignore[attr-defined]


@pytest.mark.parametrize("least", [None, 0.0, 3.0, 10.0, 1e9, float("inf")])
@pytest.mark.parametrize("claim", ["inside", "outside", "open", "none"])
@pytest.mark.parametrize("tau", [0, 1e-9, 5.0, 1e12])
def test_an_interval_stays_within_its_picture(least: float | None, claim: Any, tau: float) -> None:
    picture = interval_picture(Interval(100, 100 - tau, 100 + tau, least, claim, ""))
    for part in (picture.inside, picture.least):
        if part is not None:
            assert 0 <= part.left <= part.right <= 100
    assert (picture.least is None) == (least is None or least == float("inf"))


def test_boxes_fill_the_width_in_proportion() -> None:
    assert [box.width for box in side_by_side([1, 2, 1])] == [25, 50, 25]
    assert [box.width for box in side_by_side([0, 0])] == [0, 0]
    assert Scale(0, 10).box(-5, 5).width == 50


def test_a_profile_is_drawn_as_a_heat_map_of_all_pairs() -> None:
    axes = ADULT_PROFILE.plot()
    (image,) = axes.images
    shown: Any = image.get_array()
    values = np.asarray(np.ma.filled(shown.astype(float), np.nan))
    assert values.shape == (15, 15)
    # One triangle, with the columns themselves on its long side.
    names = [column.name for column in ADULT_PROFILE.columns]
    empty = np.triu(np.ones((15, 15), bool), 1)
    # What is undecided has no shade but is hatched.
    undecided = 0
    for each in (*ADULT_PROFILE.of_ways(1), *ADULT_PROFILE.of_ways(2)):
        if each.standing is Standing.UNDECIDED:
            places = sorted(names.index(name) for name in each.columns)
            empty[places[-1], places[0]] = True
            undecided += 1
    assert np.array_equal(np.isnan(values), empty)
    assert sum(patch.get_hatch() == "////" for patch in axes.patches) == undecided > 0
    assert [label.get_text() for label in axes.get_yticklabels()] == names
    for one, other in (("age", "age"), ("sex", "race"), ("income", "education-num")):
        first, second = sorted((names.index(one), names.index(other)))
        pair = {one, other}
        assert values[second, first] == ADULT_PROFILE.of_columns(*pair).value
    assert "12.9" in {text.get_text() for text in axes.texts}
    assert "<svg" in axes._repr_svg_()  # type: ignore[attr-defined]


def test_a_profile_is_drawn_on_given_axes_with_any_names() -> None:
    figure = Figure()
    axes = figure.add_subplot()
    assert quoting("$\\frac{$").plot(axes) is axes
    figure.savefig(io.BytesIO())


@pytest.mark.parametrize("report", [compare_reports.SMALL, ranking_reports.RANKING])
def test_a_leaderboard_is_drawn_with_its_intervals_the_best_above(report: Any) -> None:
    axes = report.plot()
    if isinstance(report, CompareReport):
        rows = [(row.candidate, row.share, row.low, row.high) for row in report.leaderboard]
    else:
        rows = [(copy.candidate, *copy.overall.estimate) for copy in report.copies]
    assert [label.get_text() for label in axes.get_yticklabels()] == [name for name, *_ in rows]
    intervals, points = axes.lines[::2], axes.lines[1::2]
    assert [100 * value for _, value, *_ in rows] == [line.get_xdata()[0] for line in points]
    assert [[100 * low, 100 * high] for *_, low, high in rows] == [
        list(line.get_xdata()) for line in intervals
    ]
    assert [line.get_ydata()[0] for line in points] == list(range(len(rows)))
    below, above = axes.get_ylim()
    assert below > above
    assert "<svg" in axes._repr_svg_()


@pytest.mark.parametrize(
    ("low", "high", "ends"),
    [
        (0.331, 0.331, (27.1, 39.1)),
        (0.99, 1.0, (89, 101)),
        (0.0, 0.02, (-1, 11)),
        (0.2, 0.8, (19, 81)),
        (0.0, 1.0, (-1, 101)),
    ],
)
def test_what_is_all_but_equal_does_not_look_far_apart(
    low: float, high: float, ends: tuple[float, float]
) -> None:
    small = compare_reports.SMALL
    row = replace(small.leaderboard[0], share=low, low=low, high=high)
    axes = replace(small, leaderboard=(row,)).plot()
    assert axes.get_xlim() == pytest.approx(ends)


def test_references_are_hollow() -> None:
    points = compare_reports.SMALL.plot().lines[1::2]
    kinds = [row.kind == "candidate" for row in compare_reports.SMALL.leaderboard]
    assert [line.get_markerfacecolor() != "white" for line in points] == kinds
    assert len(set(kinds)) == 2


@pytest.mark.parametrize(
    "report",
    [compare_reports.SIMULATED, ranking_reports.SIMULATED, profile_reports.SIMULATED],
    ids=["compare", "ranking", "profile"],
)
def test_a_plot_of_seeded_noise_says_so(report: Any) -> None:
    assert report.plot().get_title("left").startswith("SIMULATED: ")
    assert not replaced(report).plot().get_title("left").startswith("SIMULATED")


def replaced(report: Any) -> Any:
    """The same report as if its noise had been secure."""
    if isinstance(report, CompareReport):
        return replace(report, queries=tuple(replace(q, simulated=False) for q in report.queries))
    return replace(report, simulated=False)


def test_a_comparison_of_nothing_has_nothing_to_draw() -> None:
    with pytest.raises(ParameterError, match="nothing to draw: nothing was compared"):
        compare_reports.EMPTY.plot()


def test_names_of_candidates_are_not_read_as_formulas() -> None:
    axes = compare_reports.quoting("$\\frac{$").plot(Figure().add_subplot())
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    figure.savefig(io.BytesIO())


def test_a_plan_of_a_profile_has_nothing_to_draw() -> None:
    with pytest.raises(ParameterError, match="nothing to draw"):
        DRY.plot()


def test_a_noisy_answer_is_drawn_where_it_lies_and_not_on_both_sides() -> None:
    picture = interval_picture(Interval(100, 90, 110, 5, "no", "5", 130, 126, 134, "about 130"))
    assert picture.claim == "estimated no"
    assert picture.between is not None
    assert picture.estimate is not None
    assert picture.inside.right < picture.between.left < picture.estimate < picture.between.right
    assert picture.between.right < 100
    assert "private answer about 130" in picture.label
    # An end that nothing bounds reaches to the edge of the picture.
    bounded = interval_picture(
        Interval(100, 90, 110, 5, "no", "5", None, 126, None, "at least 126")
    )
    assert bounded.between is not None
    assert (bounded.between.right, bounded.estimate) == (100, None)
