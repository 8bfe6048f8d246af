"""The tests end by saying what was skipped, and what it needs."""

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

from tests.support.skipped import lines

ROOT = Path(__file__).parents[2]
NEEDS = "needs a server (apt-get install server)"


def test_each_reason_has_a_line_the_most_frequent_first() -> None:
    reports = [
        SimpleNamespace(longrepr=("conftest.py", 9, f"Skipped: {reason}"))
        for reason in ["needs Java", NEEDS, NEEDS, "could not import 'twine': No module named 'x'"]
    ]
    assert list(lines(reports)) == [
        "Skipped:",
        f"  2 tests: {NEEDS}",
        "  1 test: needs Java",
        "  1 test: needs twine, as in requirements.lock",
    ]


def test_nothing_is_said_where_nothing_was_skipped() -> None:
    assert list(lines([])) == []


TESTS = """
import pytest
from tests.support.skipped import tell

def pytest_terminal_summary(terminalreporter):
    tell(terminalreporter)

@pytest.mark.skip(reason="needs a server")
def test_marked():
    pass

def test_called():
    pytest.skip("needs a server")
"""


def test_what_workers_skipped_is_told(
    tmp_path: Path, process: Callable[..., tuple[int, str, str]]
) -> None:
    (tmp_path / "test_few.py").write_text(TESTS)
    options = ["-q", "-n", "2", "-p", "test_few", "test_few.py"]
    code, shown, _ = process(
        "-m", "pytest", *options, cwd=tmp_path, PYTHONPATH=f"{ROOT}{os.pathsep}{tmp_path}"
    )
    assert code == 0
    assert "Skipped:\n  2 tests: needs a server\n2 skipped in " in shown
