"""A release in words, on its page and in the terminal: intervals, truncation, groups, gaps."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from fractions import Fraction

import pytest

from pqd.reports.text.numbers import to_digits_of
from pqd.reports.text.release import (
    difference,
    how_to_read,
    interval_text,
    level_text,
    query_sentences,
    truncation_text,
)
from pqd.reports.writers.html import html_text
from pqd.reports.writers.terminal import terminal_text
from pqd.reports.writers.terminal.layout import Extent
from tests.support.release_reports import (
    BOUNDED,
    EMPTY,
    LARGE,
    ONE,
    RELEASE,
    REPLAYED,
    UNBOUNDED,
    count,
    grouped,
    report_of,
    total,
)


def panels(text: str) -> list[str]:
    """Text of each row of answers."""
    return text.partition('<table class="rows answers"')[2].split('<tbody role="rowgroup">')[1:]


def test_the_page_of_a_release_has_its_cells_and_marks() -> None:
    text = html.unescape(html_text(RELEASE))
    for words in (
        "<title>20 private answers for epsilon 1: pqd release</title>",
        'composition <span class="mark">used</span></th><td class="number">30,112</td>',
        'data-label="95 % interval" data-value="62.0">106 to 168</td>',
        'data-value="15.811">±15.8</td>',
        "SELECT COUNT(*)\n  FROM D GROUP BY marst</pre>",
        '<th scope="row" data-find>marst = Widowed</th><td class="number"><b>1,410</b></td>',
    ):
        assert words in text, words
    again = html_text(RELEASE, "pqd release")
    assert "the answers are replayed, and nothing more is spent" in again


def test_a_column_without_values_is_left_out() -> None:
    assert " interval</th>" not in html_text(UNBOUNDED)
    assert "Noise</th>" not in html_text(UNBOUNDED)
    assert "95 % interval</th>" in html_text(BOUNDED)
    for report in (UNBOUNDED, BOUNDED, RELEASE):
        page = html_text(report)
        (head,) = re.findall(r'<table class="rows answers".*?</thead>', page, re.DOTALL)
        rows = [row.partition("</tr>")[0] for row in panels(page)]
        assert {len(re.findall("<t[dh] ", row)) for row in rows} == {head.count("<th ")}
        assert set(re.findall(r'colspan="(\d)"', "".join(panels(page)))) == {
            str(head.count("<th "))
        }


def test_few_groups_are_open_and_many_are_folded() -> None:
    (few,) = (part for part in panels(html_text(RELEASE)) if "5 groups" in part)
    assert "<details data-answers open>" in few
    text = html_text(report_of(*grouped(200, total(1), "age")))
    (many,) = (part for part in panels(text) if "200 groups" in part)
    assert "<details data-answers>" in many
    assert many.count('<th scope="row" data-find>age = ') == 200


def test_what_groups_share_is_said_once() -> None:
    page = panels(html_text(LARGE))
    (shared,) = (part for part in page if ">by-sex<" in part)
    assert shared.count("values above 131,072 count as 131,072") == 1
    (own,) = (part for part in page if ">by-job<" in part)
    for number in ("1", "10", "100"):
        assert f"<td>values above {number} count as {number}</td>" in own


def test_the_picture_shows_the_synthetic_answer_or_where_it_would_be() -> None:
    near, _, _, far, *_ = panels(html_text(BOUNDED))
    assert "Private answer 137, 95 % interval 106 to 168; synthetic answer 144" in near
    assert 'class="aside"' not in near
    assert "synthetic answer 1,630, too far off to show" in far
    assert "<svg" not in panels(html_text(UNBOUNDED))[0]


def test_an_answer_beyond_its_own_interval_is_drawn() -> None:
    """A count is never below 0, but its noisy answer may be."""
    query = replace(count(0), answer=-40, low=0, high=0, q_synthetic=2)
    (row,) = panels(html_text(report_of(query)))
    places = [float(place) for place in re.findall(r'(?:x1|x)="([\d.]+)%"', row)]
    assert places
    assert all(0 <= place <= 100 for place in places)


def test_headlines_count_and_say_what_holds() -> None:
    assert "1 private answer for epsilon 1" in html_text(ONE)
    assert "It is noisy; the interval beside it holds" in html_text(ONE)
    assert "no theory gives an interval here" in html_text(UNBOUNDED)
    assert "All of this was paid for before." in html_text(REPLAYED)
    assert html_text(REPLAYED).count('<span class="mark">replayed</span>') == 2
    assert "No query was answered" in html_text(EMPTY)
    assert "exp(1/3) times" in html_text(replace(RELEASE, total_epsilon=Fraction(1, 3)))


@pytest.mark.parametrize(
    ("answer", "synthetic", "expected"),
    [(7, 9, -2), (0.3, 0.1, 0.2), (10**17 + 1, 10**17, 1), (1.5, 2, -0.5), (1e22, 0, 10**22)],
)
def test_a_difference_is_that_of_the_numbers_shown(
    answer: float, synthetic: float, expected: float
) -> None:
    # As doubles, 0.3 - 0.1 would be 0.19999999999999998.
    assert difference(replace(count(0), answer=answer, q_synthetic=synthetic)) == expected


def test_intervals_and_truncation_in_words() -> None:
    assert interval_text(count(0)) == "106 to 168"
    assert interval_text(total(0)) == ""
    assert truncation_text(count(0)) == ""
    assert truncation_text(total(0)) == "values above 131,072 count as 131,072"
    assert [level_text(Fraction(text)) for text in ("1/20", "1/1000", "1/3")] == [
        "95 %", "99.9 %", "66.67 %",
    ]  # fmt: skip
    same = replace(count(0), q_synthetic=count(0).answer)
    told = list(query_sentences(same, BOUNDED))
    assert "the private answer is the same; the synthetic one lies inside the interval" in told[1]


def test_only_what_is_shown_is_explained() -> None:
    names = [[name for name, _ in how_to_read(report)] for report in (BOUNDED, UNBOUNDED)]
    assert {"95 % interval", "Noise"} - {*names[1]} == {"95 % interval", "Noise"}
    assert {"No interval", "Values above T"} & {*names[0]} == set()
    assert {"No interval", "Values above T"} <= {*names[1]}


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_the_terminal_shows_the_interval_in_place_of_the_deviation(width: int) -> None:
    brief, text = (terminal_text(RELEASE, width, each) for each in (Extent.BRIEF, Extent.VERBOSE))
    assert max(map(len, (brief + text).splitlines())) <= max(width, 26)
    assert "106 .. 168" in " ".join(brief.split())
    flat = " ".join(text.split())
    assert "137 106 .. 168; synthetic 144" in flat
    assert flat.count("(standard deviation)") == 1
    assert "low .. high holds the exact answer with probability 95 %, each by itself." in flat
    assert "low .. high" not in str(UNBOUNDED)
    assert "low .. high" in brief or width < 80
    assert "values above 131,072 count as 131,072; synthetic 1,857,336" in flat


def test_json_and_frame_carry_the_ends() -> None:
    found = json.loads(RELEASE.to_json())
    assert found["alpha"] == 0.05
    assert (found["queries"][0]["low"], found["queries"][0]["high"]) == (106, 168)
    assert found["queries"][-1]["low"] is None
    assert RELEASE.to_frame()["high"].tolist()[:2] == [168, 579]


def test_a_group_keeps_its_own_numbers() -> None:
    (row,) = panels(html_text(report_of(*grouped(3, count(0), "sex"))))
    for number, ends in (("137", "106 to 168"), ("147", "116 to 178"), ("157", "126 to 188")):
        assert f'<b>{number}</b></td><td class="number">{ends}</td>' in row


def test_quiet_shows_every_answer_and_no_heading() -> None:
    text = terminal_text(RELEASE, extent=Extent.QUIET)
    assert "private answers beside" not in text
    for query in RELEASE.queries:
        scale = (query.high or 0) - (query.low or 0) or query.deviation or 0
        assert to_digits_of(query.answer, scale) in text
    assert "Answered together" in text
