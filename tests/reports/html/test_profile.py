"""Page of a profile: every shade says its standing, colours hold for all eyes, and it is small."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pqd.reports.blocks import Bars, Section
from pqd.reports.documents.cells import difference_heat, difference_shade
from pqd.reports.documents.marginals import distance_shade, pair_heat
from pqd.reports.documents.profile import document
from pqd.reports.models.refusals import LeftOut
from pqd.reports.models.standings import Standing
from pqd.reports.writers.html import html_text
from tests.support.pages import Page, contrast, themes
from tests.support.profile_reports import (
    ADULT_PROFILE,
    AGES,
    DEGREES,
    DRY,
    NUMBERS,
    WIDE,
    ZOOMED,
    zoomed,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

PAGE = html_text(ADULT_PROFILE)
# How someone without one kind of cones sees linear RGB (Machado, Oliveira and Fernandes 2009).
EYES = {
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413),
                     (-0.011820, 0.042940, 0.968881)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216),
                   (-0.003882, -0.048116, 1.051998)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602),
                   (0.004733, 0.691367, 0.303900)),
}  # fmt: skip


def seen(colour: str, eye: str) -> NDArray[np.float64]:
    """Linear RGB of a colour as an eye sees it."""
    parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (0, 2, 4)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    colours: NDArray[np.float64] = np.array(EYES[eye]) @ linear
    return np.clip(colours, 0, 1)


def text_of(colour: NDArray[np.float64]) -> str:
    parts = np.where(colour <= 0.0031308, colour * 12.92, 1.055 * colour ** (1 / 2.4) - 0.055)
    return "".join(f"{round(255 * part):02x}" for part in parts)


@pytest.mark.parametrize("eye", EYES)
def test_shades_are_told_apart_by_every_eye(eye: str) -> None:
    for theme in themes(PAGE):
        steps = [text_of(seen(theme[f"t{number}"], eye)) for number in range(5)]
        for one, other in pairwise(steps):
            assert contrast(one, other) >= 1.15
        # From the ground of the page on, each is farther from it than the one before.
        paper = text_of(seen(theme["paper"], eye))
        apart = [contrast(step, paper) for step in steps]
        assert apart == sorted(apart)
        for number in (1, 2, 3):
            less, more = (seen(theme[f"{side}{number}"], eye) for side in ("less", "more"))
            assert np.abs(less - more).max() > 0.03
    # Red and green of one lightness are what this must reject.
    assert (
        contrast(text_of(seen("cf4238", "deuteranopia")), text_of(seen("7f7a20", "deuteranopia")))
        < 1.4
    )


def difference(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Distance of two linear RGB colours in CIELAB: about 2 is the least that is seen."""

    def lab(colour: NDArray[np.float64]) -> NDArray[np.float64]:
        to_xyz = np.array(
            [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
        )
        shares = to_xyz @ colour / np.array([0.9505, 1.0, 1.089])
        x, y, z = np.where(shares > 0.008856, np.cbrt(shares), 7.787 * shares + 16 / 116)
        return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])

    return float(np.linalg.norm(lab(one) - lab(other)))


# What stands for yes, no and undecided, each with how far apart any two of it are.
VERDICT_COLOURS = {
    ("good-bar", "bad-bar", "care-bar"): 19,
    ("good", "bad", "care"): 13,
    ("good-deep", "bad-deep"): 30,
    ("good-soft", "bad-soft"): 12,
}


@pytest.mark.parametrize("eye", ["deuteranopia", "protanopia"])
def test_verdicts_are_told_apart_without_red_or_green(eye: str) -> None:
    for theme in themes(PAGE):
        for names, least in VERDICT_COLOURS.items():
            for one, other in combinations(names, 2):
                apart = difference(seen(theme[one], eye), seen(theme[other], eye))
                assert apart >= least, (one, other)
    # A green and a red as traffic lights have them, which is what this must reject.
    lights = [
        difference(seen(one, "deuteranopia"), seen(other, "deuteranopia"))
        for one, other in combinations(("2e8b3d", "c0392b", "b97b16"), 2)
    ]
    assert min(lights) < 15


def test_a_shade_never_stands_alone() -> None:
    found = pair_heat(ADULT_PROFILE)
    assert found is not None
    cells = [cell for _, row in found.rows for cell in row if cell is not None]
    assert len(cells) == 120
    for cell in cells:
        if cell.text.startswith("<"):
            # A distance that the noise hid is at most the high end of its interval.
            assert f" to {cell.text[1:]})" in cell.told
        else:
            assert cell.text in cell.told
        assert {"beyond": "\u2717", "undecided": "?", "within": ""}[cell.name] == cell.sign
        assert f", {cell.name}, p" in cell.told
    shown = re.findall(r'<td class="cell (?:t\d|hatched)" title="[^"]*">.*?</td>', PAGE)
    assert sum('<span class="sr"> ' in each for each in shown) == 120


def test_shades_begin_at_stated_shares_of_the_tolerance() -> None:
    levels = {distance_shade(each): each.value for each in ADULT_PROFILE.of_ways(2)}
    assert set(levels) == {"t0", "t1", "t2", "t3", "t4", "hatched"}
    for each in ADULT_PROFILE.marginals:
        undecided = each.standing is Standing.UNDECIDED
        assert (distance_shade(each) == "hatched") == undecided
        if not undecided:
            assert (distance_shade(each) >= "t3") == ((each.value or 0) >= each.tau)


def test_differences_have_a_sign_and_noise_has_no_shade() -> None:
    found = difference_heat(ZOOMED[1], 0.0, 1)
    assert list(found.columns) == list(DEGREES)
    assert [name for name, _ in found.rows] == list(AGES)
    largest = max(abs(cell.difference.value) for cell in ZOOMED[1].cells)
    for cell in ZOOMED[1].cells:
        level = difference_shade(cell, 0.0, largest)
        if cell.difference.low <= 0 <= cell.difference.high:
            assert level == "z0"
        else:
            assert level.startswith("more" if cell.difference.value > 0 else "less")


def test_what_noise_may_do_to_the_worst_cell_has_no_shade() -> None:
    largest = max(abs(cell.difference.value) for cell in ZOOMED[1].cells)
    shades = {difference_shade(cell, largest, largest) for cell in ZOOMED[1].cells}
    assert shades == {"z0"}


def test_a_map_of_many_cells_shows_those_with_the_largest_differences() -> None:
    found = difference_heat(ZOOMED[2], 0.0, 1)
    assert len(found.rows) == 20
    assert list(found.columns) == list(NUMBERS)
    assert found.note == (
        "Shown are 20 of 44 cells of native-country, those with the largest differences."
    )


def test_a_page_stays_small() -> None:
    labels = tuple(f"a value of some length, number {place}" for place in range(52))
    many = tuple(zoomed(("education", labels), ("native-country", labels)) for _ in range(5))
    large = replace(ADULT_PROFILE, zoomed=many)
    assert len(html_text(large)) < 1_000_000
    assert len(html_text(WIDE)) < 1_000_000


def test_a_page_has_its_parts_and_a_plan_only_what_is_public() -> None:
    def heads(text: str) -> list[str]:
        found = re.findall(r'<h2 id="[^"]*">(.*?)</h2>', text)
        return [html.unescape(head) for head in found]

    assert heads(PAGE) == [
        "Quality", "15 columns", "Rare and lost values", "Pairs", "105 pairs", "Where it is wrong",
        "education-num: worst cells",
        "age, education: worst cells",
        "native-country, education-num: worst cells", "Target income",
        "1 column is not judged, 1 is only in the copy, 1 is missing in the copy", "Budget",
        "How to read this",
    ]  # fmt: skip
    planned = html_text(DRY)
    assert heads(planned)[:4] == ["Quality", "15 columns", "Pairs", "105 pairs"]
    assert "Sure?</th>" in PAGE
    assert "Sure?</th>" not in planned


def test_bars_of_a_single_column_stand_in_the_order_of_its_cells() -> None:
    sections = [part for part in document(ADULT_PROFILE).body if isinstance(part, Section)]
    (bars,) = (block for part in sections for block in part.blocks if isinstance(block, Bars))
    assert [label for label, _ in bars.rows] == list(NUMBERS)
    assert Page(PAGE).open == []


def test_an_option_is_not_broken_at_its_hyphens_and_what_stands_beside_it_stays_text() -> None:
    note = LeftOut(columns=("<b>",), reason="<i> & --max-rows '")
    page = html_text(replace(ADULT_PROFILE, left_out=(note,)))
    assert '&lt;i&gt; &amp; <span class="word">--max-rows</span> &#x27;' in page
    assert "<i>" not in page


def test_columns_that_are_off_are_drawn_beside_the_copy_unless_they_are_zoomed_into() -> None:
    off = (zoomed(("education-num", NUMBERS)), zoomed(("age", AGES)))
    page = html_text(replace(ADULT_PROFILE, histograms=off))
    drawn = page.partition("Columns that are off")[2].partition("<section")[0]
    assert "<h3>age</h3>" in drawn
    assert "education-num" not in drawn
    assert drawn.count("<li><span>") == len(AGES)
    assert "Columns that are off" not in PAGE
