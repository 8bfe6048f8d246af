"""Document of an audit: a row per verdict, worst first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
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
    DECIDER,
    NUMBERS,
    TERMS,
    UNKNOWN,
    mixed_replays,
    omitted_queries,
    verdict_row,
)
from pqd.reports.documents.shared import budget_bar, explain_step, first_names, lines
from pqd.reports.models.standings import VERDICTS, Standing, legend, passes_first
from pqd.reports.text.cost import (
    account_sentences,
    budget_sentence,
    cost_sentences,
    meaning_sentence,
    spent_cell,
    spent_text,
)
from pqd.reports.text.notes import refused_lead
from pqd.reports.text.numbers import EACH_ITS_OWN, counted, spaced
from pqd.reports.text.query import (
    SIMULATED,
    at_once_sentence,
    chance_sentence,
    outside_sentence,
    persons_sentences,
    remarks,
    worth_of_evidence,
)

if TYPE_CHECKING:
    from pqd.reports.models.audit import AuditReport, Verdict

_QUESTION = "Is the private table's answer within the tolerance of the copy's?"


def document(report: AuditReport) -> Document:
    """Document of ``report``."""
    title, lead = _headline(report)
    verdicts = report.verdicts
    counts = Counter(verdict.standing for verdict in verdicts)
    present = legend(counts)
    replayed = [verdict.replayed for verdict in verdicts]
    answers = counted(len(verdicts), "answer")
    tables = f"{report.private}, compared with {report.synthetic}"
    return Document(
        kind="audit",
        title=title,
        lead=lead,
        sure=lines([*chance_sentence(verdicts), *at_once_sentence(verdicts)]),
        subject=f"{answers} of {report.synthetic}, tolerance {spaced(report.tolerance)}",
        spent=spent_text(report.cost, replayed),
        opening=lines([_QUESTION, *persons_sentences(verdicts)], "detail"),
        banner=[Line(SIMULATED, "warning")] if report.simulated else [],
        facts=[
            ("Private table", report.private),
            ("Synthetic table", report.synthetic),
            ("Tolerance", spaced(report.tolerance)),
            ("Epsilon spent", spent_cell(report.cost)),
        ],
        counts=Shares([(each, counts[each], each.badge.tone) for each in passes_first(present)]),
        meaning=meaning_sentence(report.cost),
        body=[Section(title="Queries", blocks=[_verdicts(report)], brief=False)],
        omitted=omitted_queries(report.refused),
        notes=lines([*_conditions(verdicts), *map(str, report.notes)]),
        account=lines(account_sentences(report.cost, report.private, replayed)),
        budget=budget_bar(report.cost),
        cost=[Lines(lines(cost_sentences(report.cost, tables)))],
        reading=[Definitions(TERMS), Lines(lines(remarks(verdicts)))],
        closing=_closing(report),
        made=report.cost.day or "",
        replays="verdicts" if report.cost.ledger is not None else "",
        unknown=UNKNOWN,
    )


def _headline(report: AuditReport) -> tuple[str, str]:
    """Title and lead: how many answers can be trusted, and the verdicts on the others."""
    counts = Counter(verdict.standing.fate for verdict in report.verdicts)
    trusted, total = counts["passed"], len(report.verdicts)
    if not total:
        return "No query was asked", "There is nothing to tell."
    if trusted == total:
        title = "The answer can be trusted" if total == 1 else f"All {total} answers can be trusted"
    elif total == 1:
        title = "The answer cannot be trusted"
        if counts["open"]:
            title = "Whether the answer can be trusted is undecided"
            (only,) = report.verdicts
            if only.outcome != "undecided":
                title = f"The answer: {only.standing.badge.text}"
    else:
        some = f"{trusted:,}" if trusted else "None"
        title = f"{some} of {counted(total, 'answer')} can be trusted"
    lead = (
        "Trusted means: the private table gives the same answer within the tolerance "
        f"{'' if report.tolerance == EACH_ITS_OWN else 'of '}{spaced(report.tolerance)}."
    )
    undecided = sum(verdict.outcome == "undecided" for verdict in report.verdicts)
    others = _others(counts["failed"], undecided, counts["open"] - undecided)
    lead += others + refused_lead(report.refused)
    return title, " ".join([lead, *persons_sentences(report.verdicts)])


def _others(outside: int, undecided: int, unproven: int) -> str:
    parts = []
    if outside:
        parts.append(f"{outside:,} {'is' if outside == 1 else 'are'} outside it")
    if unproven:
        are = "is" if unproven == 1 else "are"
        parts.append(f"{unproven:,} {are} decided on a condition alone, or without a proof")
    if undecided:
        parts.append(f"{undecided:,} could not be decided at this budget")
    return f" {'; '.join(parts)}." if parts else ""


def _conditions(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Sentences on rows beyond that were counted, and on verdicts without a full proof.

    There is one sentence per condition or evidence, with its queries.
    """
    by_words: dict[str, list[str]] = {}
    for verdict in verdicts:
        if verdict.outside is not None:
            by_words.setdefault(outside_sentence(verdict), []).append(verdict.id)
        if verdict.outcome != "undecided" and verdict.standing.is_open:
            words = f"{verdict.standing.words}, {worth_of_evidence(verdict)}"
            by_words.setdefault(words, []).append(verdict.id)
    for words, names in by_words.items():
        yield f"{first_names(names)}: {words}."


def _worst_verdicts(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Verdicts that did not pass, sorted by standing (worst first) and then by p-value."""
    worst = [verdict for verdict in verdicts if verdict.standing.fate != "passed"]
    return sorted(worst, key=_badness)


def _badness(verdict: Verdict) -> tuple[int, float]:
    unsure = 1.0 if verdict.p_value is None else verdict.p_value
    return VERDICTS.index(verdict.standing), unsure


def _verdicts(report: AuditReport) -> Table:
    mixed = mixed_replays(report.verdicts)
    trusted = [verdict for verdict in report.verdicts if verdict.standing.fate == "passed"]
    ordered = [*_worst_verdicts(report.verdicts), *trusted]

    def group(standing: Standing) -> Group:
        verdicts = (verdict for verdict in ordered if verdict.standing is standing)
        rows = [verdict_row(verdict, report.tolerance, mixed=mixed) for verdict in verdicts]
        return Group(name=standing, badge=standing.badge, rows=rows, fate=standing.fate)

    return Table(
        columns=(
            Column("verdict", "badge"),
            Column("query", "name", fold=20),
            *NUMBERS,
            DECIDER,
        ),
        groups=list(map(group, legend({verdict.standing for verdict in report.verdicts}))),
        find="id or words of a query",
        in_full=True,
        empty="No query was asked.",
    )


def _closing(report: AuditReport) -> Closing:
    counts = Counter(verdict.standing for verdict in report.verdicts)
    worst = _worst_verdicts(report.verdicts)
    outside = [verdict.id for verdict in worst if verdict.standing.fate == "failed"]
    others = [
        f", {counts[each]:,} {each if each is Standing.UNDECIDED else each.badge.text}"
        for each in VERDICTS
        if counts[each] and each.is_open
    ]
    by_decider = Counter(verdict.decider for verdict in report.verdicts).most_common()
    deciders = ", ".join(
        decider if len(by_decider) == 1 else f"{decider} {count:,}" for decider, count in by_decider
    )
    return Closing(
        failed=f"Not trusted: {first_names(outside)}." if outside else "",
        counts=(
            f"{counts[Standing.TRUSTED]:,} trusted, {counts[Standing.NOT_TRUSTED]:,} not"
            f"{''.join(others)}{f'; by {deciders}' if deciders else ''}."
        ),
        step=explain_step("pqd audit ...", worst[0].id) if worst else "",
        caution=" ".join(chance_sentence(report.verdicts, least=1)),
        budget=budget_sentence(report.cost, report.private),
    )
