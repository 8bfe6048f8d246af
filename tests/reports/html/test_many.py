"""Pages of very many rows: the worst as HTML, all of them as data, harmless and small."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from pqd.reports.escape import visible
from pqd.reports.writers.html import html_text, views
from pqd.reports.writers.html.views import MOST_ROWS
from tests.support import compare_reports, large_reports
from tests.support.audit_reports import CURVED, audit_of, many_queries
from tests.support.check_reports import BROKEN, GROUPED, hostile, many_checks, report_of
from tests.support.drawing import examples
from tests.support.pages import Page

if TYPE_CHECKING:
    from pqd.reports.models.report import Report

LARGE: dict[str, Callable[[int], Report]] = large_reports.LARGE | {
    "check": lambda number: report_of(*(replace(BROKEN, id=str(n)) for n in range(number))),
}
FEW = 8
DATA = re.compile(r'<script type="application/json" id="every-row">(.*?)</script>', re.DOTALL)


def data(text: str) -> Any:
    (found,) = DATA.findall(text)
    return json.loads(found)


@pytest.mark.parametrize("kind", LARGE)
def test_beyond_a_limit_rows_are_data_and_the_first_are_read_without_a_script(kind: str) -> None:
    assert not DATA.search(html_text(LARGE[kind](MOST_ROWS)))
    text = html_text(LARGE[kind](1000), "pqd again")
    rows = data(text)["rows"]
    assert len(rows) == 1000
    assert len({row[0] for row in rows}) == 1000
    page, _, template = text.partition('<template id="blank-row">')
    table = page.rpartition("<table")[2]
    assert table.count('<tbody role="rowgroup">') == 100
    assert template.partition("</template>")[0].count('<tbody role="rowgroup">') == 1
    assert "These are the first 100 of 1,000." in page
    columns = table.count('<th role="columnheader"')
    assert all(len(row[1]) == columns - 1 for row in rows)
    assert "<svg" not in table
    # A page of three thousand queries has three times the data, and all else is as long.
    assert len(text) + 2 * len(DATA.findall(text)[0]) < 3_200_000


def test_the_worst_come_first_on_a_page() -> None:
    rows = data(html_text(audit_of(*many_queries(400))))["rows"]
    assert [row[4] for row in rows] == ["no"] * 100 + ["open"] * 100 + ["yes"] * 200
    assert [row[6] for row in rows[::100]] == [[0], [1], [2], [2]]
    page = Page(html_text(many_checks(400)))
    kinds = [text for place, text in page.texts if place.endswith("td span") and text.isupper()]
    assert kinds[:34] == ["ERROR"] * 33 + ["FAIL"]


def test_a_row_has_what_is_known_of_it() -> None:
    verdict = replace(many_queries(3)[2], candidates=CURVED, replayed=True)
    found = data(html_text(audit_of(*many_queries(400), verdict)))
    row = next(row for row in found["rows"] if row[5] == ["replayed"])
    name, cells, words, said, kind, _, standings, lines, deciders, code = row
    assert (name, words, said, kind) == (
        "query-2", "COUNT(*) where age > 2", "outside tolerance", "no",
    )  # fmt: skip
    assert [cell[0] for cell in cells] == [
        "NO", "1,122", "±56.1", "±10", "about 60", "p\xa0<\xa00.001, replayed", "inv_count",
    ]  # fmt: skip
    assert standings == [0]
    assert ["about 4 people away from the opposite verdict"] in lines
    assert found["heads"][deciders[0]][0] == "Decider"
    assert deciders[1] == ["inv_count (used)", "10", "9.2", "0.1\xa0%", "0.1\xa0%", "0.1"]
    assert code == [["Query", "SELECT COUNT(*) FROM D WHERE age > 2"]]


def test_a_check_keeps_its_place_in_the_query_and_its_groups() -> None:
    rows = data(html_text(report_of(*[BROKEN] * 200, *[GROUPED] * 200)))["rows"]
    assert rows[0][9][0][0] == "The place in the query"
    assert "^^^^^^^" in rows[0][9][0][1]
    assert [
        [name, *cells[:2]] for name, *cells in (row[1::-1] + row[2:3] for row in rows[-1][8][1:])
    ] == [
        ["sex = Male", "NO", "1,122"],
        ["sex = Female", "yes", "1,122"],
    ]


def test_a_comparison_is_found_by_candidate() -> None:
    text = html_text(compare_reports.many_compared(400))
    options = re.findall(r'<option value="([^"]+)">', text)
    assert options[:3] == ["not trusted", "undecided", "trusted"]
    for row in data(text)["rows"]:
        for cell, name in zip(row[1], ("bootstrap", "tree", "copula"), strict=False):
            sign = {"✓": "trusted", "✗": "not trusted", "(": "undecided"}[cell[0][0]]
            assert options.index(f"{name}: {sign}") in row[6]
    assert 'href="#row-' not in text


def test_paper_has_a_query_that_any_candidate_fails() -> None:
    rows = data(html_text(compare_reports.many_compared(400)))["rows"]
    failed = [row for row in rows if any(cell[0] == "✗" for cell in row[1])]
    assert any(row[1][0][0] == "✓" for row in failed)
    assert {row[4] for row in failed} == {"no"}
    assert {row[4] for row in rows if row not in failed} <= {"open", "yes"}


def quoting(text: str) -> Report:
    verdicts = many_queries(FEW)
    odd = replace(verdicts[2], id=text, sql=text, where=text, attribute=text, reason=text)
    return audit_of(*verdicts, replace(odd, p_value=0.0))


@cache
def plain_tags() -> list[tuple[str, tuple[str, ...]]]:
    return Page(html_text(quoting("x"))).tags


@pytest.fixture(scope="module")
def _few_rows_are_many() -> Iterator[None]:
    """Make rows by script beyond a few: what a text does there does not depend on how many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(views, "MOST_ROWS", FEW)
        yield


@pytest.mark.usefixtures("_few_rows_are_many")
@examples(60)
@given(hostile)
def test_hostile_text_stays_text_in_data_and_in_rows(text: str) -> None:
    page = html_text(quoting(text))
    assert Page(page).tags == plain_tags()
    (block,) = DATA.findall(page)
    assert not set(block) & set("<>&\u2028\u2029")
    row = json.loads(block)["rows"][0]
    assert row[0] == visible(text, keep="\n")
    assert row[9][0][1] == visible(text, keep="\n")


def test_a_simulation_is_stamped_in_every_row() -> None:
    verdicts = [replace(verdict, simulated=True) for verdict in many_queries(400)]
    text = html_text(audit_of(*verdicts))
    assert "SIMULATED: the noise of this report has a seed" in text.partition("<section")[0]
    assert all("SIMULATED" in row[5] for row in data(text)["rows"])
    assert text.partition("<template")[0].count('<span class="mark">SIMULATED</span>') == 100
