"""Audits, plans and comparisons as Markdown: verdict first, all else folded, text stays text."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from hypothesis import given

import pqd.reports.writers.markup
from pqd.reports.writers.markdown import markdown_text
from tests.reports.markdown.test_check import read
from tests.support import (
    audit_reports,
    compare_reports,
    profile_reports,
    ranking_reports,
    release_reports,
)
from tests.support.audit_reports import AUDIT, AUDITS, PLAN, PLANS, many_groups
from tests.support.check_reports import hostile
from tests.support.compare_reports import LARGE
from tests.support.drawing import examples
from tests.support.release_reports import MANY, RELEASE

ALL: tuple[Any, ...] = (
    *AUDITS, *PLANS, *compare_reports.REPORTS, *release_reports.REPORTS,
    *profile_reports.REPORTS, *ranking_reports.REPORTS,
)  # fmt: skip
QUOTING: dict[str, Callable[[str], Any]] = {
    "audit": audit_reports.quoting_audit,
    "plan": audit_reports.quoting_plan,
    "compare": compare_reports.quoting,
    "release": release_reports.quoting,
    "profile": profile_reports.quoting,
    "ranking": ranking_reports.quoting,
}
TAGS = {
    "h2", "p", "code", "strong", "table", "thead", "tbody", "tr", "th", "td", "details",
    "summary", "pre", "ul", "li",
}  # fmt: skip


# Columns are named by letters where names are as long as this.
LONG_NAME = "x" * 10


@cache
def plain_tags(quoting: Callable[[str], Any]) -> list[tuple[str, tuple[str, ...]]]:
    return read(markdown_text(quoting(LONG_NAME))).tags


def stays_text(quoting: Callable[[str], Any], text: str) -> None:
    source = markdown_text(quoting(f"{LONG_NAME}{text}"))
    page = read(source)
    assert page.tags == plain_tags(quoting)
    remaining = re.sub(r"</?(details|summary|code|pre)>|<!-- -->", "", source)
    assert "<" not in remaining
    assert not re.search(r"https?:|www\.|\bGH-\d", remaining, re.IGNORECASE)
    for _, chunk in page.texts:
        assert not re.search(r"[@#]\w|:\w+:", chunk)


@pytest.mark.parametrize("kind", QUOTING)
@examples(50)
@given(hostile)
def test_hostile_text_stays_text(kind: str, text: str) -> None:
    stays_text(QUOTING[kind], text)


@pytest.mark.parametrize("kind", QUOTING)
def test_a_twin_that_escapes_nothing_is_caught(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stays_text(QUOTING[kind], "<script>x</script>")
    monkeypatch.setattr(pqd.reports.writers.markup, "_SIGNS", re.compile("(?!)"))
    with pytest.raises(AssertionError):
        stays_text(QUOTING[kind], "<script>x</script>")


@pytest.mark.parametrize("number", range(len(ALL)))
def test_every_report_is_balanced(number: int) -> None:
    text = markdown_text(ALL[number])
    assert text.count("<details>") == text.count("</details>")
    assert {tag for tag, _ in read(text).tags} <= TAGS
    assert text == markdown_text(ALL[number])
    # A comment holds 65,536 characters.
    assert len(text) < 65_536


def test_an_audit_says_how_many_first() -> None:
    text = markdown_text(AUDIT)
    assert text.startswith("## pqd audit: 4 of 12 answers can be trusted\n")
    assert (
        "| <code>curved</code> | **yes** within tolerance | &#60; 0.001" in text
        or "**yes**" in text
    )
    assert "<summary><code>by-sex</code>: 1 not trusted, 1 trusted</summary>" in text
    assert "Spent epsilon 0.75" in text
    folded = markdown_text(many_groups(200)).partition("<details>")[0]
    assert "x &#61;" not in folded
    assert folded.count("\n|") == 0


def test_a_plan_says_what_can_be_decided() -> None:
    text = markdown_text(PLAN)
    assert text.startswith("## pqd plan: ")
    assert "Epsilon 0.25 per query decides 10 of 12 queries" in text
    assert "**LOW**" in text
    assert "**LOW**" not in markdown_text(PLANS[-1])


def test_a_comparison_has_the_leaderboard_first_and_then_every_query() -> None:
    text = markdown_text(LARGE)
    first, _, rest = text.partition("<details>")
    assert first.startswith(
        "## pqd compare: Which is the best is undecided between tree and copula\n"
    )
    assert "gan and marginals cannot be told apart at this epsilon" in first
    assert "marginals is a reference: independent marginals." in first
    assert first.count("\n|") == 2 + 5 + 2 + 60
    assert first.count("| <code>q") == 60
    assert "private answer about" in rest


def test_a_release_has_answers_first_and_groups_folded() -> None:
    text = markdown_text(RELEASE)
    first, _, rest = text.partition("<details>")
    assert first.startswith("## pqd release: 20 private answers for epsilon 1\n")
    assert "15 of them have an interval that holds the exact answer with probability 95 %" in first
    assert "| <code>c1</code> | **137** | 106 to 168 | ±15.8 | 144 | -7 |  |" in first
    assert "| 131,072 |" in first
    assert "marst &#61;" not in first
    assert rest.startswith("\n<summary><code>by-marst</code>: 5 groups</summary>")
    assert "| <code>COUNT</code> | 15 | 0.75 | workload | 12.4 |" in rest
    assert "- by-marst: SELECT COUNT(&#42;) FROM D GROUP BY marst\n" in rest
    assert "cut at" not in markdown_text(release_reports.BOUNDED)


def test_many_answers_are_cut_where_a_comment_ends() -> None:
    text = markdown_text(MANY)
    shown = text.partition("<summary>How they were answered")[0].count("\n| <code>")
    assert f"and {1100 - shown:,} more: the page and the JSON report have all of them" in text
    assert shown > 200


@pytest.mark.parametrize(
    "report",
    [audit_reports.SIMULATED, compare_reports.SIMULATED,
     release_reports.SIMULATED,
     profile_reports.SIMULATED, ranking_reports.SIMULATED],
)  # fmt: skip
def test_simulation_is_stamped(report: Any) -> None:
    assert "**SIMULATED: the noise of this report has a seed" in markdown_text(report)
    assert "SIMULATED" not in markdown_text(AUDIT) + markdown_text(LARGE) + markdown_text(RELEASE)
