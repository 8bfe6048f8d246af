"""The reports that the first pages show are what their commands print, but for the noise."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.shown import missing_rows, shape

ROOT = Path(__file__).parents[2]
PAGES = {"README.md": 1, "docs/first-report.md": 3}
SHOWN = re.compile(
    r"```console\n\$ (?:\.venv/bin/)?(pqd (?:audit|profile) [^\n]*)\n```\n+```text\n(.*?)```",
    re.DOTALL,
)
# What noise may move.
GAP = re.compile(r"[-+][\d,]+ ±[\d,]+")
Command = Callable[..., tuple[int, str, str]]


def blocks(page: str) -> list[tuple[str, str]]:
    """Commands of a page that print a report, each with the report that is shown below it."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [(line, shown) for line, shown in SHOWN.findall(text)]


@pytest.mark.parametrize("page", PAGES)
def test_reports_on_the_first_pages_have_the_shape_of_real_ones(
    page: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    found = blocks(page)
    assert len(found) == PAGES[page]
    for line, shown in found:
        words = [word for word in shlex.split(line)[1:] if not word.endswith(".html")]
        code, out, _ = command(*[word for word in words if word != "--html"])
        assert code == 0
        assert missing_rows(shown, out) == [], out


def test_the_readme_shows_an_audit_as_it_is_printed(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    ((line, shown),) = blocks("README.md")
    _, out, _ = command(*shlex.split(line)[1:])
    same, printed = (re.sub(r" +", " ", GAP.sub("GAP", text)).splitlines() for text in (shown, out))
    assert len(same) > 6
    assert set(same) <= {*printed, ""}


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("yes  age  1.5 %  < 0.001", "NO   age 12.5 %  0.32", True),
        ("about 19,950 rows\n(1 to 2)", "about 5 rows (0.5 to 0.7)", True),
        ("yes  age  1.5 %", "yes  sex  1.5 %", False),
        ("Of columns 1 %", "Of pairs 1 %", False),
    ],
)
def test_shapes(first: str, second: str, same: bool) -> None:
    assert (shape(first) == shape(second)) is same
