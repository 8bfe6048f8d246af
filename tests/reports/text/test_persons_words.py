"""Words for persons with several rows stand beside the query, in every format."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from pqd.reports.models.query import SHARE, SUM_PER_ROW
from pqd.reports.text.query import (
    grouped_text,
    persons_sentence,
    query_text,
)


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
