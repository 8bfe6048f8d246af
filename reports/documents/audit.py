"""Document of an audit: a row per verdict, the worst first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pqd.reports.blocks import (
    Closing,
    Column,
    Definitions,
    Document,
    Group,
    Line,
    Lines,
    Section,
    Shares,
    Table,
)
from pqd.reports.documents.queries import (
    NUMBERS,
    TERMS,
    UNKNOWN,
    badge_of,
    mixed_replays,
    omitted_queries,
    verdict_row,
)
from pqd.reports.documents.shared import budget_bar, first_names, lines, step
from pqd.reports.models.outcomes import BY_STANDING, VERDICTS
from pqd.reports.text.audit import (
    SIMULATED,
    audit_costs,
    chance_sentence,
    headline,
    remarks,
    worst_verdicts,
)
from pqd.reports.text.cost import (
    account_sentences,
    budget_sentence,
    meaning_sentence,
    spent_cell,
    spent_text,
)
from pqd.reports.text.words import counted, tally

if TYPE_CHECKING:
    from pqd.reports.models.audit import AuditReport, Verdict

_QUESTION = "Is the private table's answer within the tolerance of the copy's?"


def document(report: AuditReport) -> Document:
    """Document of ``report``."""
    title, lead = headline(report)
    verdicts = report.verdicts
    counts = tally(verdict.standing for verdict in verdicts)
    replayed = [verdict.replayed for verdict in verdicts]
    answers = counted(len(verdicts), "answer")
    return Document(
        kind="audit",
        title=title,
        lead=lead,
        subject=f"{answers} of {report.synthetic}, tolerance {report.tolerance}",
        spent=spent_text(report.cost, replayed),
        opening=[Line(_QUESTION, "detail")],
        banner=[Line(SIMULATED, "warning")] if report.simulated else [],
        facts=[
            ("Private table", report.private),
            ("Synthetic table", report.synthetic),
            ("Tolerance", report.tolerance),
            ("Epsilon spent", spent_cell(report.cost)),
        ],
        counts=Shares([(name, number, BY_STANDING[name].tone) for name, number in counts]),
        meaning=meaning_sentence(report.cost),
        body=[Section(title="Queries", blocks=[_verdicts(report)], brief=False)],
        omitted=omitted_queries(report.refused),
        notes=lines(report.notes),
        account=lines(account_sentences(report.cost, report.private, replayed)),
        budget=budget_bar(report.cost),
        cost=[Lines(lines(audit_costs(report)))],
        reading=[Definitions(TERMS), Lines(lines(remarks(verdicts, ())))],
        closing=_closing(report, dict(counts)),
        made=report.cost.day or "",
        replays="verdicts" if report.cost.ledger is not None else "",
        unknown=UNKNOWN,
    )


def _verdicts(report: AuditReport) -> Table:
    mixed = mixed_replays(report.verdicts)
    trusted = [verdict for verdict in report.verdicts if verdict.standing == "trusted"]
    ordered = [*worst_verdicts(report.verdicts), *trusted]

    def group(name: str, found: Sequence[Verdict]) -> Group:
        rows = [verdict_row(verdict, report.tolerance, mixed=mixed) for verdict in found]
        outcome = BY_STANDING[name]
        return Group(name=name, badge=badge_of(outcome), rows=rows, fate=outcome.fate)

    return Table(
        columns=(Column("verdict", "badge"), Column("query", "name", fold=20), *NUMBERS),
        groups=[
            group(outcome.name, [each for each in ordered if each.standing == outcome.name])
            for outcome in VERDICTS
        ],
        find="id or words of a query",
        in_full=True,
        empty="No query was asked.",
    )


def _closing(report: AuditReport, counts: dict[str, int]) -> Closing:
    worst = worst_verdicts(report.verdicts)
    outside = [verdict.id for verdict in worst if verdict.standing == "not trusted"]
    undecided = f", {counts['undecided']:,} undecided" if counts["undecided"] else ""
    return Closing(
        failed=f"Not trusted: {first_names(outside)}." if outside else "",
        counts=f"{counts['trusted']:,} trusted, {counts['not trusted']:,} not{undecided}.",
        step=step("audit ...", explain=worst[0].id) if worst else "",
        caution=" ".join(chance_sentence(report.verdicts, least=1)),
        budget=budget_sentence(report.cost, report.private),
    )
