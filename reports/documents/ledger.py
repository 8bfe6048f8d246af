"""Document of a ledger: the spending on each private table, and the head of the whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pqd.reports.blocks import Document, Lines, Section
from pqd.reports.documents.shared import lines
from pqd.reports.text.ledger import account_lines, closing_lines

if TYPE_CHECKING:
    from pqd.reports.blocks import Block
    from pqd.reports.models.ledger import AccountFacts, LedgerReport


def document(report: LedgerReport) -> Document:
    """Document of ``report``."""
    body: list[Block] = [*map(_account, report.tables), Lines(lines(closing_lines(report)))]
    return Document(kind="ledger", title="Ledger", lead="", body=body)


def _account(account: AccountFacts) -> Section:
    title = f"table {account.number}   {account.label}   since {account.since[:10]}"
    return Section(title=title, blocks=[Lines(lines(account_lines(account)))], folded=True)
