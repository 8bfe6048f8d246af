"""Document of a ledger: the spending on each private data set, and the head of the hash chain."""

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
    from pqd.reports.models.ledger import AccountFacts, DataSetFacts, LedgerReport, RunFacts

_MOST_NAMED = 8


def document(report: LedgerReport) -> Document:
    """Document of ``report``."""
    body: list[Block] = [*map(_section, report.data_sets), Lines(lines(_closing_lines(report)))]
    return Document(kind="ledger", title="Ledger", lead="", body=body)


def _section(data_set: DataSetFacts) -> Section:
    since = data_set.versions[0].since[:10]
    names = " and ".join(data_set.names) or data_set.label
    title = f"data set {data_set.number}   {names}   since {since}"
    return Section(title=title, blocks=[Lines(lines(data_set_lines(data_set)))], folded=True)


def data_set_lines(data_set: DataSetFacts) -> Iterator[str]:
    """Lines on the spending on one private data set: the total, then each version."""
    spent = f"spent epsilon {epsilon_text(data_set.epsilon)}"
    if data_set.limit is not None:
        left = max(data_set.limit - data_set.epsilon, Fraction(0))
        spent += f" of {epsilon_text(data_set.limit)}, {epsilon_text(left)} left"
    if data_set.delta or data_set.limit_delta:
        spent += f"; delta {float(data_set.delta):.3g}"
    if data_set.limit_delta is not None and (data_set.delta or data_set.limit_delta):
        left = max(data_set.limit_delta - data_set.delta, Fraction(0))
        spent += f" of {float(data_set.limit_delta):.3g}, {float(left):.3g} left"
    yield spent
    if data_set.rows_per_person is not None:
        yield f"for persons with at most {counted(data_set.rows_per_person, 'row')}"
    if data_set.ended is not None:
        yield f"ended: {data_set.ended}"
    for account in data_set.versions:
        yield from account_lines(account)


def account_lines(account: AccountFacts) -> Iterator[str]:
    """Lines on one version of a private table: its name, then each run."""
    public = "" if account.public is None else f"; declared public: {account.public}"
    answers = counted(account.answers, "measurement")
    yield (
        f"table {account.number}   {account.label}   since {account.since[:10]}; {answers} stored, "
        f"and repeating them costs nothing{public}"
    )
    yield from map(_run_line, account.runs)


def _run_line(run: RunFacts) -> str:
    names = names_and_more(run.queries, _MOST_NAMED)
    moment = run.time[:16].replace("T", " ")
    whom = f", per {run.unit}" if run.unit else ""
    spent = f"epsilon {epsilon_text(run.epsilon)}"
    spent += f", delta {float(run.delta):.3g}" if run.delta else ""
    if run.counted is not None:
        spent += f", counts {epsilon_text(run.counted)}"
        spent += f" and delta {float(run.counted_delta):.3g}" if run.counted_delta else ""
    unused = "; nothing was drawn for it: the same run again uses this charge" if run.unused else ""
    return f"{moment}  {spent} ({run.rule}{whom}): {names}{unused}"


def _closing_lines(report: LedgerReport) -> Iterator[str]:
    """Lines that hold for all data sets, and the head of the hash chain."""
    if not report.data_sets:
        yield "Nothing was ever charged."
    if report.limit is not None:
        yield f"At most epsilon {epsilon_text(report.limit)} on every data set."
    if len(report.data_sets) > 1:
        yield "Each data set has a budget of its own: a person in several pays in each."
    yield f"{report.entries} entries, head {report.head}"
