"""What a notebook shows of a report: a summary and a table, no script, no page around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reports.html.check import KINDS
from reports.html.page import fragment
from reports.html.query import WORDS, verdict_cells
from reports.models.audit import AuditReport
from reports.models.check import CheckReport
from reports.models.compare import CompareReport
from reports.models.refusals import refused_lines
from reports.models.release import ReleaseReport
from reports.terminal.audit import SIMULATED
from reports.terminal.release import SIMULATED as SIMULATED_ANSWERS
from reports.text.audit import budget_text, threshold_text
from reports.text.check import badge, counts_sentence, message_head, result, row, worst_first
from reports.text.compare import SYMBOLS, cell_sign, percent, rank_text, tie_sentences
from reports.text.headlines import (
    audit_headline,
    compare_headline,
    gap_text,
    plan_headline,
    release_headline,
)
from reports.text.numbers import epsilon_text, number_text
from reports.text.release import (
    difference,
    error_text,
    interval_text,
    level_text,
    noise_text,
)

if TYPE_CHECKING:
    from reports.models.plan import PlanReport
    from reports.models.report import Report

# A notebook is no place for hundreds of rows; to_html and to_frame have them all.
_MOST = 60
# Each is its text, and how it is marked: yes, no, open, name, number or nothing.
Marked = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Table:
    """A table; a column is a title and ``number`` where it is one."""

    columns: tuple[Marked, ...]
    rows: Sequence[Sequence[Marked]]

    @property
    def shown(self) -> Sequence[Sequence[Marked]]:
        """The rows that there is room for."""
        return self.rows[:_MOST]

    @property
    def more(self) -> int:
        """How many there are beyond them."""
        return max(0, len(self.rows) - _MOST)


def notebook_html(report: Report) -> str:
    """Return ``report`` as a piece of HTML for a notebook's cell."""
    lines: list[str] = []
    stamp = SIMULATED_ANSWERS if isinstance(report, ReleaseReport) else SIMULATED
    if isinstance(report, AuditReport):
        kind, (title, lead), tables = "audit", audit_headline(report), [_audit(report)]
    elif isinstance(report, CheckReport):
        kind, title, lead, tables = (
            "check",
            result(report),
            counts_sentence(report),
            [_check(report)],
        )
    elif isinstance(report, CompareReport):
        kind, (title, lead), tables = "compare", compare_headline(report), [*_compare(report)]
        lines = list(tie_sentences(report))
    elif isinstance(report, ReleaseReport):
        kind, (title, lead), tables = "release", release_headline(report), [*_release(report)]
    else:
        kind, (title, lead), tables = "plan", plan_headline(report), [_plan(report)]
    lines += refused_lines(getattr(report, "refused", ()))
    return fragment(
        "notebook.html.j2",
        kind=kind,
        title=title,
        lead=lead,
        stamp=stamp if getattr(report, "simulated", False) else "",
        lines=lines,
        tables=[table for table in tables if table.rows],
    )


def _audit(report: AuditReport) -> _Table:
    rows = []
    for verdict in report.verdicts:
        cells = verdict_cells(verdict)
        signs = "".join(f" {mark}" for mark in cells["marks"])
        rows.append(
            [
                (f"{cells['badge']}{signs}", WORDS[verdict.standing]),
                (verdict.id, "name"),
                *((cells[name], "number") for name in ("p", "answer", "tau", "people")),
            ]
        )
    titles = ("p", "synthetic answer", "tolerance", "margin")
    return _Table((("verdict", ""), ("query", ""), *_numbers(titles)), rows)


def _plan(plan: PlanReport) -> _Table:
    words = {True: ("OK", "yes"), False: ("LOW", "open"), None: ("", "")}
    rows = [
        [
            words[entry.decidable],
            (entry.id, "name"),
            (number_text(entry.q_synthetic), "number"),
            (f"±{number_text(entry.tau, 4)}", "number"),
            (threshold_text(entry.chosen.tau_min), "number"),
            (budget_text(entry.chosen.epsilon_needed), "number"),
        ]
        for entry in plan.queries
    ]
    titles = ("synthetic answer", "tolerance", "least tau", "epsilon for tau, about")
    return _Table((("budget", ""), ("query", ""), *_numbers(titles)), rows)


def _check(report: CheckReport) -> _Table:
    rows = []
    for entry in worst_first(report):
        cells, word = row(entry), badge(entry)
        signs = " SIMULATED" if any(verdict.simulated for verdict in entry.verdicts) else ""
        amounts = ((text, "number") for text in (cells.p, cells.answer, cells.tolerance))
        why = message_head(entry.message)[0]
        rows.append([(f"{word}{signs}", KINDS[word]), (entry.id, "name"), (why, ""), *amounts])
    titles = ("p", "synthetic answer", "tolerance")
    return _Table((("result", ""), ("check", ""), ("why", ""), *_numbers(titles)), rows)


def _compare(report: CompareReport) -> Iterator[_Table]:
    board = [
        [
            (rank_text(standing), ""),
            (standing.candidate, "name"),
            (percent(standing.share), "number"),
            (f"{percent(standing.low)} to {percent(standing.high)}", "number"),
            *((str(n), "number") for n in (standing.trusted, standing.not_trusted)),
            (str(standing.undecided), "number"),
        ]
        for standing in report.leaderboard
    ]
    titles = ("within tolerance", "between", "trusted", "not", "undecided")
    yield _Table((("rank", ""), ("candidate", ""), *_numbers(titles)), board)
    names = [standing.candidate for standing in report.leaderboard]
    rows = []
    for query in report.queries:
        cells = {cell.candidate: cell for cell in query.cells}
        marked = (
            (cell_sign(cells[name], SYMBOLS[True]), WORDS[cells[name].standing])
            for name in names
            if name in cells
        )
        simulated = " SIMULATED" if query.simulated else ""
        rows.append([(f"{query.id}{simulated}", "name"), *marked])
    yield _Table((("query", ""), *((name, "") for name in names)), rows)


def _release(report: ReleaseReport) -> Iterator[_Table]:
    simulated = " SIMULATED" if report.simulated else ""
    answers = [
        [
            (f"{query.id}{simulated}", "name"),
            (number_text(query.answer), "number"),
            (interval_text(query), "number"),
            (noise_text(query), "number"),
            (number_text(query.q_synthetic), "number"),
            (gap_text(difference(query)), "number"),
        ]
        for query in report.queries
    ]
    titles = ("private answer", f"{level_text(report.alpha)} interval", "noise")
    yield _Table((("query", ""), *_numbers((*titles, "synthetic answer", "difference"))), answers)
    batches = [
        [
            (f"{batch.name}{' (replayed)' if batch.replayed else ''}", "name"),
            (f"{batch.queries:,}", "number"),
            (epsilon_text(batch.epsilon), "number"),
            (error_text(batch.error), "number"),
            (batch.mechanism, ""),
        ]
        for batch in report.batches
    ]
    titles = ("queries", "epsilon", "mean error, rehearsed")
    yield _Table((("batch", ""), *_numbers(titles), ("mechanism", "")), batches)


def _numbers(titles: Sequence[str]) -> Iterator[Marked]:
    for title in titles:
        yield title, "number"
