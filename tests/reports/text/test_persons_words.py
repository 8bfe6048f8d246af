"""Words for persons with several rows stand beside the query, in every format."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from pqd.reports.models.query import SHARE, SUM_PER_ROW
from pqd.reports.text.query import (
    grouped_text,
    persons_sentence,
    persons_sentences,
    query_text,
)
from tests.support.audit_reports import VERDICTS, audit_of, plan_of


@dataclass(frozen=True)
class Asked:
    aggregate: str
    attribute: str | None = "pay"
    where: str | None = None
    max_rows: int | None = 1
    p: float | None = None


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (Asked("COUNT", None, "a > 1"), "COUNT(*) of persons where a > 1"),
        (Asked("COUNT", max_rows=9), "COUNT(pay) of persons"),
        (Asked("SUM", where="a  >\n1"), "SUM(pay) of persons' totals where a > 1"),
        (Asked("AVG"), "AVG(pay), each person counted once"),
        (Asked("AVG", where="b"), "AVG(pay), each person counted once, where b"),
        (Asked("AVG", max_rows=1_000), "AVG(pay), each person counted as at most 1,000 rows"),
        (Asked("QUANTILE", p=0.9), "QUANTILE(pay, 0.9), each person counted once"),
        (Asked("COUNT DISTINCT"), "COUNT(DISTINCT pay), at most 1 value of each person"),
        (Asked("COUNT DISTINCT", max_rows=2), "COUNT(DISTINCT pay), at most 2 values of each"),
        (Asked(SHARE, None, "b"), "share of rows, each person counted once, where b"),
        (Asked(SUM_PER_ROW), "SUM(pay) per row, each person counted once"),
        (Asked("COUNT", None, "b", None), "COUNT(*) where b"),
        (Asked("AVG", max_rows=None), "AVG(pay)"),
    ],
)
def test_the_line_of_a_query(asked: Asked, words: str) -> None:
    assert query_text(asked).startswith(words)
    assert (persons_sentence(asked) == "") == (asked.max_rows is None)


def test_the_line_of_a_grouped_query() -> None:
    assert grouped_text(Asked("COUNT", None), None) == "COUNT(*) of persons per group"
    assert grouped_text(Asked("AVG"), None) == "AVG(pay), each person counted once, per group"
    assert grouped_text(Asked("AVG", max_rows=None), "SELECT\n 1") == "SELECT 1"
    assert grouped_text(Asked("SUM"), "SELECT\n 1") == "SELECT 1 (of persons' totals)"
    assert grouped_text(Asked("AVG"), "SELECT 1") == "SELECT 1 (each person counted once)"


def test_an_audit_and_a_plan_say_once_how_persons_count() -> None:
    asked = Asked("COUNT"), Asked("COUNT"), Asked("SUM"), Asked("AVG"), Asked(SHARE)
    words = "COUNT is of persons; SUM is of persons' totals; AVG, each person counted once"
    told = f"In both tables {words}; a share of rows, each person counted once."
    assert list(persons_sentences(asked)) == [told]
    assert not list(persons_sentences([Asked("COUNT", max_rows=None)]))
    of_persons = [replace(each, aggregate="COUNT", max_rows=1) for each in VERDICTS]
    for report in (audit_of(*of_persons), plan_of(*of_persons)):
        for text in (str(report), report.to_markdown(), report.to_html()):
            assert text.count("In both tables COUNT is of persons.") == 1
    assert "In both tables" not in str(audit_of(*VERDICTS)) + str(plan_of(*VERDICTS))
