"""A release in words, on its page and in the terminal: intervals, truncation, groups, gaps."""

from __future__ import annotations

import html
import io
import json
import re
from dataclasses import replace
from fractions import Fraction

import pytest
from rich.console import Console

from pqd.reports.blocks import Definitions, Document, Lines, Row
from pqd.reports.models.report import document_of
from pqd.reports.text.numbers import to_digits_of
from pqd.reports.writers.html import html_text
from pqd.reports.writers.terminal import TerminalReport, terminal_text
from pqd.reports.writers.terminal.layout import Extent
from tests.support.release_reports import (
    BOUNDED,
    EMPTY,
    LARGE,
    MARST,
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
    table = text.partition('<table class="rows"')[2].partition("<section")[0]
    return re.split('<tbody role="rowgroup"[^>]*>', table)[1:]


def answers(document: Document) -> list[Row]:
    """Rows of answers."""
    return list(next(document.tables).rows)


def details(row: Row) -> str:
    """Sentences on one answer."""
    told = (part for part in row.details() if isinstance(part, Lines))
    return " / ".join(str(line.text) for part in told for line in part.lines)


def test_the_page_of_a_release_has_its_cells_and_marks() -> None:
    text = html.unescape(html_text(RELEASE))
    for words in (
        "<title>20 private answers for epsilon 1: pqd release</title>",
        'composition <span class="mark">used</span></th><td class="number">30,112</td>',
        'data-label="95\xa0% interval" data-value="62.0">106 to 168</td>',
        "15 queries together at epsilon 0.75",
        'data-value="15.811">±15.8</td>',
        "SELECT COUNT(*)\n  FROM D GROUP BY marst</pre>",
        (
            'data-find>marst = Widowed<i hidden data-standing="COUNT"></i></th>'
            '<td class="number"><b>1,410</b></td>'
        ),
    ):
        assert words in text, words
    again = html_text(RELEASE, "pqd release")
    assert "the answers are replayed, and nothing more is spent" in again


def test_a_column_without_values_is_left_out() -> None:
    for report, shown in ((UNBOUNDED, {"cut at", "noise"}), (BOUNDED, {"95 % interval", "noise"})):
        optional = {"cut at", "95 % interval", "noise"}
        head = terminal_text(report, 120).split("\n\n")[1].split("\n")[0]
        assert {title for title in optional if title in head} == shown
        (row,) = re.findall(r"^\| query .*$", report.to_markdown(), re.MULTILINE)
        assert {title for title in optional if title in row} == shown
        (titles,) = re.findall(r'<table class="rows".*?</thead>', html_text(report), re.DOTALL)
        titles = titles.replace("\xa0", " ")
        assert {title for title in optional if title in titles.lower()} == shown


def test_few_groups_are_open_and_many_are_folded() -> None:
    (few,) = (part for part in panels(html_text(RELEASE)) if "5 groups" in part)
    assert "<details open>" in few
    text = html_text(report_of(*grouped(200, total(1), "age")))
    (many,) = (part for part in panels(text) if "200 groups" in part)
    assert "<details open>" not in many.partition('<div class="panel">')[0]
    assert many.count('<th scope="row" data-find>age = ') == 200


def test_each_answer_says_where_values_were_cut() -> None:
    rows = {row.id: row for row in answers(document_of(LARGE))}
    assert "values below -0.5 count as -0.5" in details(rows["s1"])
    for place, number in (("0", "1"), ("1", "10"), ("2", "100")):
        row = next(
            row for name, row in rows.items() if name == f"by-job[job = {MARST[int(place)]}]"
        )
        assert row.cells[-2].text == number
        assert f"values above {number} count as {number};" in details(row)


def test_the_picture_shows_the_synthetic_answer_or_where_it_would_be() -> None:
    near, _, _, far, *_ = panels(html_text(BOUNDED))
    assert "private answer 137, 95\xa0% interval 106 to 168; synthetic answer 144" in near
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
    assert "1.4 times" in html_text(replace(RELEASE, total_epsilon=Fraction(1, 3)))


@pytest.mark.parametrize(
    ("answer", "synthetic", "expected"),
    [(7, 9, -2), (0.3, 0.1, 0.2), (10**17 + 1, 10**17, 1), (1.5, 2, -0.5), (1e22, 0, 10**22)],
)
def test_a_difference_is_that_of_the_numbers_shown(
    answer: float, synthetic: float, expected: float
) -> None:
    # As doubles, 0.3 - 0.1 would be 0.19999999999999998.
    query = replace(count(0), answer=answer, q_synthetic=synthetic)
    (row,) = answers(document_of(report_of(query)))
    assert row.cells[5].sort == expected


def test_intervals_and_gaps_in_words() -> None:
    for alpha, level in (("1/20", "95 %"), ("1/1000", "99.9 %"), ("1/3", "66.67 %")):
        document = document_of(replace(BOUNDED, alpha=Fraction(alpha)))
        told = details(answers(document)[0])
        assert f"with probability {level} the exact one lies in 106 to 168" in told
    same = replace(count(0), q_synthetic=count(0).answer)
    (row,) = answers(document_of(report_of(same)))
    assert "the private answer is the same; the synthetic one lies inside the interval" in details(
        row
    )


def test_only_what_is_shown_is_explained() -> None:
    names = []
    for report in (BOUNDED, UNBOUNDED):
        (block,) = document_of(report).reading
        assert isinstance(block, Definitions)
        names.append({name for name, _ in block.pairs})
    assert {"95 % interval", "Noise"} & names[1] == set()
    assert {"95 % interval", "Noise"} <= names[0]
    assert {"No interval", "Cut at"} & names[0] == set()
    assert {"No interval", "Cut at"} <= names[1]


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_the_terminal_shows_answers_at_any_width(width: int) -> None:
    brief, text = (terminal_text(RELEASE, width, each) for each in (Extent.BRIEF, Extent.VERBOSE))
    assert max(map(len, (brief + text).splitlines())) <= max(width, 26)
    assert "106 to 168" in " ".join(brief.split())
    flat = " ".join(text.split())
    assert "with probability 95 % the exact one lies in 106 to 168" in flat
    assert flat.count("the standard deviation of its noise is") == 1
    assert "values above 131,072 count as 131,072; by how much" in flat
    assert "How they were answered" not in brief
    assert "How they were answered" in terminal_text(RELEASE, width, Extent.ALL) or width < 40


def test_an_answer_is_explained_with_its_batch() -> None:
    console = Console(width=100, file=io.StringIO())
    console.print(TerminalReport(RELEASE, explained="c1"))
    text = " ".join(console.file.getvalue().split())  # type: ignore[attr-defined]
    assert "15 queries together at epsilon 0.75" in text
    assert "smallest simulated error: 12.4 on average" in text
    assert "SUM(inctot)" not in text
    assert "c2" not in text


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
