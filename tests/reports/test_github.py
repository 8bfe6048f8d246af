"""A check as GitHub's workflow commands: one a check at most, and no text starts one."""

import re

import pytest
from hypothesis import given

import pqd.reports.github
from pqd.reports.escape import inert, visible
from pqd.reports.github import github_text
from pqd.reports.models.check import CheckReport, CheckResult
from tests.support.check_reports import (
    BROKEN,
    DRY,
    FAIL,
    GROUPED,
    KNOWN,
    LENIENT,
    PASS,
    PLAN,
    UNDECIDED,
    UNSURE,
    WARN,
    hostile,
    quoting,
    report_of,
)
from tests.support.drawing import examples

COMMAND = re.compile(
    r"::(error|warning|notice) file=([^:,\r\n]*),line=(\d+),title=([^:,\r\n]*)::([^\r\n]*)"
)
CODES = {"%25": "%", "%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ","}


def unescaped(text: str) -> str:
    """Text as GitHub reads it: the reverse of its toolkit's escaping."""
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
    monkeypatch.setattr(pqd.reports.github, table, {})
    with pytest.raises(AssertionError):
        names_one_command_each(text)


def test_commands_of_lines_before_the_first_are_on_the_first() -> None:
    assert github_text(DRY, "a%,b").count("file=a%25%2Cb,line=1,") == 1
