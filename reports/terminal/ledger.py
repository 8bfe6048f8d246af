"""Terminal rendering of a ledger: one block per private table, then the head."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from pqd.reports.text.escape import visible
from pqd.reports.text.ledger import account_lines, closing_lines

if TYPE_CHECKING:
    from pqd.reports.models.ledger import LedgerReport
    from pqd.reports.writers.terminal.layout import Extent, Screen


def render(report: LedgerReport, screen: Screen, extent: Extent) -> Iterator[Text]:  # noqa: ARG001 - all is told
    """Lines of a ledger."""
    for account in report.tables:
        name = f"table {account.number}   {visible(account.label)}   since {account.since[:10]}"
        yield from screen.wrapped(name, "bold")
        for line in account_lines(account):
            yield from screen.indented(line)
        yield Text()
    yield from screen.paragraphs(closing_lines(report))
