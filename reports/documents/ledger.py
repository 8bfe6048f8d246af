"""Document of a ledger: the spending on each private table, and the head of the hash chain."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from pqd.deciders.names import names_and_more
from pqd.reports.blocks import Document, Lines, Section
from pqd.reports.documents.shared import lines
from pqd.reports.text.numbers import counted, epsilon_text

if TYPE_CHECKING:
    from pqd.reports.blocks import Block
    from pqd.reports.models.ledger import AccountFacts, LedgerReport, RunFacts

_MOST_NAMED = 8


def document(report: LedgerReport) -> Document:
    """Document of ``report``."""
    body: list[Block] = [*map(_account, report.tables), Lines(lines(_closing_lines(report)))]
    return Document(kind="ledger", title="Ledger", lead="", body=body)


def _account(account: AccountFacts) -> Section:
    title = f"table {account.number}   {account.label}   since {account.since[:10]}"
    return Section(title=title, blocks=[Lines(lines(account_lines(account)))], folded=True)


def account_lines(account: AccountFacts) -> Iterator[str]:
    """Lines on the spending on one private table: the total, then each run."""
    spent = f"spent epsilon {epsilon_text(account.epsilon)}"
    if account.limit is not None:
        left = max(account.limit - account.epsilon, Fraction(0))
        spent += f" of {epsilon_text(account.limit)}, {epsilon_text(left)} left"
    if account.delta or account.limit_delta:
        spent += f"; delta {float(account.delta):.3g}"
    if account.limit_delta is not None and (account.delta or account.limit_delta):
        left = max(account.limit_delta - account.delta, Fraction(0))
        spent += f" of {float(account.limit_delta):.3g}, {float(left):.3g} left"
    yield spent
    yield f"{counted(account.answers, 'measurement')} stored; repeating them costs nothing"
    yield from map(_run_line, account.runs)


def _run_line(run: RunFacts) -> str:
    names = names_and_more(run.queries, _MOST_NAMED)
    moment = run.time[:16].replace("T", " ")
    whom = f", per {run.unit}" if run.unit else ""
    spent = f"epsilon {epsilon_text(run.epsilon)}"
    spent += f", delta {float(run.delta):.3g}" if run.delta else ""
    unused = "; nothing was drawn for it: the same run again uses this charge" if run.unused else ""
    return f"{moment}  {spent} ({run.rule}{whom}): {names}{unused}"


def _closing_lines(report: LedgerReport) -> Iterator[str]:
    """Lines that hold for all tables, and the head of the hash chain."""
    if not report.tables:
        yield "Nothing was ever charged."
    if report.limit is not None:
        yield f"At most epsilon {epsilon_text(report.limit)} on every table."
    if len(report.tables) > 1:
        yield "Each table has a budget of its own: a person in several pays in each."
    yield f"{report.entries} entries, head {report.head}"
