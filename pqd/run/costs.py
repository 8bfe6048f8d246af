"""Cost of a run, as a report shows it, and the day of a report."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from pqd.accounting.accountant import Accountant, Quote
from pqd.accounting.composition import (
    CONCENTRATED,
    NOTHING,
    OPTIMAL,
    PARALLEL,
    SEQUENTIAL,
    Charge,
)
from pqd.deciders.note import Note, note
from pqd.engine.scan_plan import PrivacyUnit
from pqd.reports.models.audit import CompositionGroup, Cost, LedgerPlace


def cost_of(quote: Quote, accountant: Accountant | None, unit: PrivacyUnit | None) -> Cost:
    """Cost of a run, with the totals that the ledger holds after it."""
    charge = quote.charge
    cost = Cost(
        charge.epsilon,
        charge.delta,
        charge.rule,
        tuple(CompositionGroup(g.names, g.epsilon, g.proof()) for g in quote.groups),
        unit=unit.column if unit else None,
        max_rows=unit.max_rows if unit else None,
        row_is_person=accountant is not None and accountant.row_is_person,
        day=today(),
    )
    if accountant is None or quote.table is None:
        return cost
    ledger, table = accountant.ledger, quote.table
    account, data_set = ledger.account(table.fingerprint), ledger.data_set(table)
    spent = data_set.spent if data_set else Charge()
    return replace(
        cost,
        ledger=ledger.path.name,
        ledger_place=_place(ledger.path, table.folder),
        total=spent.epsilon,
        total_delta=spent.delta,
        limit=ledger.tightest_limit(table, accountant.budget).epsilon,
        earlier=account.earlier_runs(quote.paid_before) if account else (),
        versions=len(data_set.versions) if data_set else 1,
        runs=len(data_set.runs) if data_set else 0,
        since=data_set.versions[0].since[:10] if data_set else None,
        periods=ledger.period_facts(data_set) if data_set else (),
    )


def dry_notes(
    quotes: Sequence[Quote], accountant: Accountant | None, private: str
) -> tuple[Note, ...]:
    """Note on what the price of a dry run takes for granted, since it reads no private row.

    Without a ledger nothing is.
    """
    if accountant is None or not accountant.exists():
        return ()
    ledger = accountant.ledger.path.name
    if any(quote.new and quote.table is None for quote in quotes):
        return (note("account-unseen", table=private, ledger=ledger),)
    if any(quote.paid_before for quote in quotes):
        return (note("taken-as-unchanged", table=private, ledger=ledger),)
    return ()


def _place(ledger: Path, tables: Path | None) -> LedgerPlace | None:
    """Place of a ledger in words; None unless it is in the table's or the working folder."""
    folder = ledger.resolve().parent
    if folder == tables:
        return "beside the table"
    return "working folder" if folder == Path.cwd() else None


def added_costs(costs: Sequence[Cost]) -> Cost:
    """Cost of several charges in turn, with the totals after the last charge."""
    rules = [cost.rule for cost in costs]
    strongest = max(rules, key=(NOTHING, SEQUENTIAL, PARALLEL, OPTIMAL, CONCENTRATED).index)
    return replace(
        costs[-1],
        epsilon=sum((cost.epsilon for cost in costs), Fraction(0)),
        delta=sum((cost.delta for cost in costs), Fraction(0)),
        rule=strongest,
        groups=tuple(group for cost in costs for group in cost.groups),
        earlier=tuple(dict.fromkeys(run for cost in costs for run in cost.earlier)),
    )


# Environment variable with the time of a reproducible file, in seconds since 1970
# (reproducible-builds.org).
_STATED = "SOURCE_DATE_EPOCH"


def today() -> str:
    """Day of a report in UTC, such as ``2026-11-23``; the variable SOURCE_DATE_EPOCH sets it.

    The ledger does not use it: charges are dated by the system's clock.
    """
    stated = os.environ.get(_STATED, "")
    try:
        moment = datetime.fromtimestamp(int(stated), UTC)
    except (ValueError, OverflowError, OSError):
        moment = datetime.now(UTC)
    return moment.date().isoformat()
