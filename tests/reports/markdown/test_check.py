"""A check as Markdown, HTML and GitHub commands: hostile text stays text."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from markdown_it import MarkdownIt

import reports.github
import reports.markdown.markup
from reports.github import github_text
from reports.html import html_text
from reports.markdown import markdown_text
from reports.models.check import CheckReport, CheckResult
from reports.text.escape import inert, visible
from tests.support.check_reports import (
    ALL,
    BASED,
    BROKEN,
    DRY,
    FAIL,
    GROUPED,
    KNOWN,
    LENIENT,
    PASS,
    PLAN,
    REPORTS,
    SIMULATED,
    UNDECIDED,
    UNSURE,
    WARN,
    hostile,
    quoting,
    report_of,
)
from tests.support.drawing import examples
from tests.support.pages import Page

MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


# Markdown


def read(text: str) -> Page:
    return Page(MARKDOWN.render(text))


def stays_text_in_markdown(text: str) -> None:
    source = markdown_text(quoting(text))
    assert read(source).tags == read(markdown_text(quoting("x"))).tags
    remaining = re.sub(r"</?(details|summary|code|pre)>|<!-- -->", "", source)
    assert "<" not in remaining
    assert not re.search(r"https?:|www\.|\bGH-\d", remaining, re.IGNORECASE)
    for line in source.splitlines():
        assert "\x1b" not in line
        if line.startswith("|"):
            assert line.count("|") == 7
    for _, chunk in read(source).texts:
        assert not re.search(r"[@#]\w|:\w+:", chunk)
    # The check of the longest name: what is shown is the text itself.
    codes = read(source.partition("</details>")[0] + "</details>")
    wanted = " ".join(text.split())
    shown = "".join(t for place, t in codes.texts if place.endswith("th code"))
    assert shown == ""
    cells = "".join(t for place, t in codes.texts if place.endswith("td code"))
    assert cells == visible(wanted) * 3


@examples(80)
@given(hostile)
def test_hostile_text_stays_text_in_markdown(text: str) -> None:
    stays_text_in_markdown(text)


@pytest.mark.parametrize("text", ["<script>x</script>", "a|b", "@someone", "[x](y)", "www.e.com"])
def test_a_markdown_twin_that_escapes_nothing_is_caught(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stays_text_in_markdown(text)
    monkeypatch.setattr(reports.markdown.markup, "_SIGNS", re.compile("(?!)"))
    with pytest.raises(AssertionError):
        stays_text_in_markdown(text)


def test_markdown_puts_the_worst_first_and_folds_what_passed() -> None:
    text = markdown_text(BASED)
    assert text.startswith("## pqd check: BROKEN\n")
    rows = [line for line in text.splitlines() if line.startswith("| <code>")]
    assert [row.split("**")[1] for row in rows] == (
        ["ERROR"] + ["FAIL"] * 5 + ["WARN"] * 2 + ["KNOWN", "PLAN"] + ["PASS"] * 2
    )
    assert "| <code>pay</code> | **FAIL** | outside tolerance, expected close | 0.010 |" in text
    assert "| 1,122 | ±56.1 (5%) |" in text
    assert text.index("<summary>2 passed</summary>") < text.index("| <code>rows</code>")
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


# HTML


# GitHub

COMMAND = re.compile(
    r"::(error|warning|notice) file=([^:,\r\n]*),line=(\d+),title=([^:,\r\n]*)::([^\r\n]*)"
)
CODES = {"%25": "%", "%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ","}


def unescaped(text: str) -> str:
    """Return what GitHub reads: the reverse of its toolkit's escaping."""
    return re.sub("|".join(CODES), lambda found: CODES[found[0]], text)


def commands(report: CheckReport, path: str = "audit.toml") -> list[tuple[str, ...]]:
    text = github_text(report, path)
    assert text.endswith("\n")
    found = []
    for line in text[:-1].split("\n"):
        match = COMMAND.fullmatch(line)
        assert match, line
        found.append(match.groups())
    return found


@pytest.mark.parametrize(
    ("entry", "level"),
    [
        (PASS, None), (PLAN, None), (FAIL, "error"), (UNDECIDED, "error"), (BROKEN, "error"),
        (GROUPED, "error"), (WARN, "warning"), (KNOWN, "warning"), (UNSURE, "warning"),
        (LENIENT, "warning"),
    ],
)  # fmt: skip
def test_a_check_becomes_at_most_one_command(entry: CheckResult, level: str | None) -> None:
    *found, summary = commands(report_of(entry))
    assert [command[0] for command in found] == ([level] if level else [])
    assert summary[0] == "notice"
    for _, path, line, title, message in found:
        assert (path, line) == ("audit.toml", str(entry.line))
        assert unescaped(title).endswith(f" {entry.id}")
        assert unescaped(message).startswith(entry.message)


def names_one_command_each(text: str) -> None:
    found = commands(quoting(text), path=text)
    assert [command[0] for command in found] == ["error", "error", "error", "notice"]
    for _, path, _, title, _ in found:
        assert unescaped(path) == inert(visible(text))
        assert title == "pqd check" or unescaped(title).endswith(inert(f"x {visible(text)}")[1:])
    assert "##[" not in github_text(quoting(text), text)


@examples(80)
@given(hostile)
def test_no_text_starts_a_command(text: str) -> None:
    names_one_command_each(text)


@pytest.mark.parametrize(
    ("table", "text"), [("_DATA", "x\n::error::y"), ("_PROPERTY", "x,line=1::y")]
)
def test_github_twins_that_escape_nothing_are_caught(
    table: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names_one_command_each(text)
    monkeypatch.setattr(reports.github, table, {})
    with pytest.raises(AssertionError):
        names_one_command_each(text)


def test_commands_of_lines_before_the_first_are_on_the_first() -> None:
    assert github_text(DRY, "a%,b").count("file=a%25%2Cb,line=1,") == 1


@pytest.mark.parametrize(
    "rendering", [markdown_text, html_text, lambda report: github_text(report, "audit.toml")]
)
def test_simulation_is_stamped(rendering: Callable[[CheckReport], str]) -> None:
    stamped = sum(bool(entry.verdicts) for entry in ALL)
    text = rendering(SIMULATED)
    assert "SIMULATED: these verdicts come from seeded noise" in text
    assert text.count("SIMULATED") >= stamped
    assert "SIMULATED" not in rendering(BASED)
