"""What was skipped, and how to have it, in a few lines at the end of the tests."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

NO_TABLES = "needs the Adult, census and taxi tables, in ../shared/data beside this repository"
NO_BROWSER = "needs Chromium, Node and two npm packages, which `make browser` installs"
_BEGUN = "Skipped: "
# Of pytest.importorskip.
_MISSING = re.compile(r"(?:Skipped: )?could not import '([^']+)': .*", re.DOTALL)


def tell(reporter: pytest.TerminalReporter) -> None:
    """Write the lines, in the terminal of the process that gathers all reports."""
    for line in lines(reporter.stats.get("skipped", ())):
        reporter.write_line(line)


def lines(reports: Iterable[Any]) -> Iterator[str]:
    """Lines on the tests that pytest's ``reports`` say were skipped; none if none was."""
    reasons = Counter(_reason(report.longrepr) for report in reports)
    if reasons:
        yield "Skipped:"
    for reason, number in sorted(reasons.items(), key=lambda each: (-each[1], each[0])):
        yield f"  {number:,} {'test' if number == 1 else 'tests'}: {reason}"


def _reason(skipped: object) -> str:
    """Reason alone; pytest has it with the place, which is that of the skip, not of the test."""
    reason = str(skipped[-1] if isinstance(skipped, tuple) else skipped)
    found = _MISSING.fullmatch(reason)
    return f"needs {found[1]}, as in requirements.lock" if found else reason.removeprefix(_BEGUN)
