"""Audits in words: how many verdicts noise alone may turn."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from pqd.reports.text.query import at_once_sentence, chance_sentence
from pqd.reports.writers.terminal import terminal_text
from pqd.reports.writers.terminal.layout import Extent
from tests.support.audit_reports import audit_of, many_groups, many_queries
from tests.support.check_reports import YES


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (30, "decided wrongly with probability 5 % at most: of 30, up to 1.5 on average"),
        (20, "with probability 5 % at most: of 20, up to 1 on average, however few"),
        (19, ""),
    ],
)
def test_the_terminal_cautions_where_chance_alone_turns_a_verdict(number: int, words: str) -> None:
    report = many_groups(number)
    text = " ".join(terminal_text(report, 80).split())
    assert (words in text) if words else ("on average" not in text)
    quiet = terminal_text(report, 80, extent=Extent.QUIET)
    assert "on average" not in quiet


def test_pages_and_markdown_say_it_of_two_verdicts_on() -> None:
    for number in (1, 2):
        report = audit_of(*many_queries(number))
        for text in (report.to_html(), report.to_markdown()):
            assert ("of 2, up to 0.1 on average" in text) == (number == 2)


def test_what_no_table_could_turn_is_not_counted_and_levels_add_up() -> None:
    settled = replace(YES, id="settled", epsilon=Fraction(0))
    assert list(chance_sentence([YES, settled])) == []
    strict = replace(YES, id="strict", alpha=Fraction(1, 100))
    (text,) = chance_sentence([YES, strict, settled])
    assert text == (
        "Each verdict is decided wrongly with probability alpha at most: of 2, up to 0.06 on "
        "average, however few are decided."
    )


def test_verdicts_hold_at_once_where_their_p_values_do_so_together() -> None:
    sure, close = replace(YES, p_value=0.02), replace(YES, id="close", p_value=0.03)
    settled = replace(YES, id="settled", epsilon=Fraction(0))
    # 2 p is at most 5 % of the first alone; what costs nothing is no chance to be wrong.
    assert list(at_once_sentence([sure, close, settled])) == [
        "These hold all together, with probability 95 %: 2 trusted."
    ]
    assert list(at_once_sentence([close, replace(close, id="other")])) == [
        "These hold all together, with probability 95 %: none."
    ]
    assert list(at_once_sentence([sure, settled])) == []
    assert list(at_once_sentence([sure, replace(close, alpha=Fraction(1, 100))])) == []
