"""A check as Markdown: hostile text stays text, and every rendering is stamped."""

import re
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import example, given
from markdown_it import MarkdownIt

import pqd.reports.github
import pqd.reports.writers.markup
from pqd.reports.escape import visible
from pqd.reports.github import github_text
from pqd.reports.models.check import CheckReport
from pqd.reports.writers.html import html_text
from pqd.reports.writers.markdown import markdown_text
from tests.support.check_reports import (
    ALL,
    BASED,
    BROKEN,
    REPORTS,
    SIMULATED,
    hostile,
    quoting,
    report_of,
)
from tests.support.drawing import examples
from tests.support.pages import Page

MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def read(text: str) -> Page:
    return Page(MARKDOWN.render(text))


@cache
def plain_tags(plain: str) -> list[tuple[str, tuple[str, ...]]]:
    return read(markdown_text(quoting(plain))).tags


def stays_text_in_markdown(text: str) -> None:
    source = markdown_text(quoting(text))
    page = read(source)
    # A message of blanks has no paragraph of its own.
    assert page.tags == plain_tags("x" if text.strip() else " ")
    remaining = re.sub(r"</?(details|summary|code|pre)>|<!-- -->", "", source)
    assert "<" not in remaining
    assert not re.search(r"https?:|www\.|\bGH-\d", remaining, re.IGNORECASE)
    for line in source.splitlines():
        assert "\x1b" not in line
        if line.startswith("|"):
            assert line.count("|") in {7, 8}
    for _, chunk in page.texts:
        assert not re.search(r"[@#]\w|:\w+:", chunk)
    # The check of the longest name: what is shown is the text itself.
    codes = read(source.partition("</details>")[0] + "</details>")
    wanted = " ".join(text.split())
    shown = "".join(t for place, t in codes.texts if place.endswith("th code"))
    assert shown == ""
    cells = "".join(t for place, t in codes.texts if place.endswith("td code"))
    assert cells.replace(visible(wanted), "") == ""


@examples(80)
@given(hostile.filter(bool))
@example(" ")
@example("\t\n\u2028")
def test_hostile_text_stays_text_in_markdown(text: str) -> None:
    stays_text_in_markdown(text)


@pytest.mark.parametrize("text", ["<script>x</script>", "a|b", "@someone", "[x](y)", "www.e.com"])
def test_a_markdown_twin_that_escapes_nothing_is_caught(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stays_text_in_markdown(text)
    monkeypatch.setattr(pqd.reports.writers.markup, "_SIGNS", re.compile("(?!)"))
    with pytest.raises(AssertionError):
        stays_text_in_markdown(text)


def test_markdown_puts_the_worst_first() -> None:
    text = markdown_text(BASED)
    assert text.startswith("## pqd check: BROKEN: 2 passed")
    rows = [line for line in text.partition("<details>")[0].splitlines() if "<code>" in line]
    assert [row.split("**")[1] for row in rows] == (
        ["ERROR"] + ["FAIL"] * 4 + ["UNDECIDED"] + ["WARN"] * 2 + ["KNOWN", "PLAN"] + ["PASS"] * 2
    )
    assert "| **FAIL** | <code>pay</code> | 1,122 | ±56.1 | ±10 | about 60 | p = 0.010 |" in text
    assert "<summary>Cost</summary>" in text
    assert "Spent epsilon 1/3" in text


def test_markdown_keeps_carets_in_place() -> None:
    drawn = Page(MARKDOWN.render(markdown_text(report_of(BROKEN))))
    pre = "".join(t for place, t in drawn.texts if "pre" in place.split())
    assert pre.startswith(BROKEN.message.partition("\n")[2])


@pytest.mark.parametrize("number", range(len(REPORTS)))
def test_every_report_is_balanced_markdown(number: int) -> None:
    text = markdown_text(REPORTS[number])
    assert text.count("<details>") == text.count("</details>")
    assert {tag for tag, _ in read(text).tags} <= {
        "h2", "p", "code", "strong", "table", "thead", "tbody", "tr", "th", "td", "details",
        "summary", "pre", "ul", "li",
    }  # fmt: skip


@pytest.mark.parametrize(
    "rendering", [markdown_text, html_text, lambda report: github_text(report, "audit.toml")]
)
def test_simulation_is_stamped(rendering: Callable[[CheckReport], str]) -> None:
    stamped = sum(bool(entry.verdicts) for entry in ALL)
    text = rendering(SIMULATED)
    assert "SIMULATED: the noise of this report has a seed" in text
    assert text.count("SIMULATED") >= stamped
    assert "SIMULATED" not in rendering(BASED)
