"""Terminal rendering of an audit: a line per verdict, the worst first; or a verdict in full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from pqd.reports.terminal.blocks import (
    BADGES,
    Blocks,
    chart,
    grouped,
    left_out,
    of_name,
    questions_of,
)
from pqd.reports.terminal.frame import (
    LEAD,
    Standing,
    closing,
    first_names,
    heading,
    notes_lines,
    stamp,
    table,
)
from pqd.reports.terminal.rows import NUMBERS, badge_of, mixed_replays, numbers_of
from pqd.reports.text.audit import SIMULATED, audit_costs, chance_sentence, remarks, worst_verdicts
from pqd.reports.text.cost import budget_sentence, spent_text
from pqd.reports.text.escape import quoted, visible
from pqd.reports.text.numbers import p_value_text
from pqd.reports.text.query import marks, sentences, verdict_words
from pqd.reports.text.words import counted
from pqd.reports.writers.terminal.grid import Cells, Column
from pqd.reports.writers.terminal.layout import STYLES, Extent

if TYPE_CHECKING:
    from pqd.reports.models.audit import AuditReport, Verdict
    from pqd.reports.writers.terminal.layout import Screen

_QUESTION = "Is the private table's answer within the tolerance of the copy's?"
_COLUMNS = (Column("verdict"), Column("query", least=20), *NUMBERS)


def render(report: AuditReport, screen: Screen, extent: Extent) -> Iterator[Text]:
    """Lines of an audit; in full with the charts that were computed."""
    yield from stamp(SIMULATED, screen, shown=report.simulated)
    if extent is Extent.VERBOSE:
        yield from _in_full(report, screen)
        return
    if extent is not Extent.QUIET:
        answers = counted(len(report.verdicts), "answer")
        subject = f"{answers} of {visible(report.synthetic)}, tolerance {visible(report.tolerance)}"
        replayed = [verdict.replayed for verdict in report.verdicts]
        yield from heading(subject, spent_text(report.cost, replayed), _QUESTION, screen)
    yield from _table(report, screen, extent)
    yield from left_out(report.refused, screen, extent)
    yield from notes_lines(report.notes, screen, extent)
    worst = worst_verdicts(report.verdicts)
    outside = [visible(v.id) for v in worst if v.standing == "not trusted"]
    failures = f"Not trusted: {first_names(outside)}." if outside else ""
    step = f"pqd audit ... --explain {quoted(worst[0].id)}" if worst else ""
    counts = _counts([verdict.standing for verdict in report.verdicts])
    budget = budget_sentence(report.cost, report.private)
    caution = " ".join(chance_sentence(report.verdicts, least=1))
    yield from closing(failures, counts, step, budget, screen, extent, caution)


def explain(report: AuditReport, name: str, screen: Screen) -> Iterator[Text]:
    """Lines on one verdict in full, or on those of one grouped query.

    Raises
    ------
    ParameterError
        The report has no such query.
    """
    found, refused = of_name(report.verdicts, report.refused, name)
    yield from stamp(SIMULATED, screen, shown=report.simulated)
    if len(found) > 1:
        yield from grouped(found, screen)
        yield Text()
    else:
        for verdict in found:
            yield from _verdict(verdict, report.tolerance, screen)
    yield from left_out(refused, screen, Extent.VERBOSE)
    yield from screen.paragraphs(remarks(found, ()))


def _table(report: AuditReport, screen: Screen, extent: Extent) -> Iterator[Text]:
    worst, mixed = worst_verdicts(report.verdicts), mixed_replays(report.verdicts)

    def lines(verdicts: Sequence[Verdict]) -> Iterator[Cells | Text]:
        blocks = Blocks(verdicts)
        for verdict in blocks.entries:
            yield from blocks.head(verdict, LEAD)
            numbers = numbers_of(verdict, screen.sign, mixed=mixed)
            yield badge_of(verdict), blocks.name(verdict), *numbers

    outside = [verdict for verdict in worst if verdict.standing == "not trusted"]
    unsure = [verdict for verdict in worst if verdict.standing == "undecided"]
    trusted = [verdict for verdict in report.verdicts if verdict.standing == "trusted"]
    standings = (
        Standing(Text("NO", BADGES["NO"]), outside, failed=True),
        Standing(Text("?", BADGES["?"]), unsure),
        Standing(Text("yes", BADGES["yes"]), trusted, passed=True),
    )
    yield from table(
        _COLUMNS,
        standings,
        lines,
        lambda each: visible(each.id),
        screen,
        extent,
        questions=questions_of(report.verdicts),
    )


def _counts(standings: Sequence[str]) -> Text:
    trusted, outside, undecided = map(standings.count, ("trusted", "not trusted", "undecided"))
    more = f", {undecided:,} undecided" if undecided else ""
    return Text(f"{trusted:,} trusted, {outside:,} not{more}.", style="bold")


def _in_full(report: AuditReport, screen: Screen) -> Iterator[Text]:
    """Every verdict in full, and all that is known of the run."""
    for verdict in report.verdicts:
        yield from _verdict(verdict, report.tolerance, screen)
    yield from screen.wrapped(_counts([verdict.standing for verdict in report.verdicts]))
    yield from left_out(report.refused, screen, Extent.VERBOSE)
    yield from screen.paragraphs((*audit_costs(report), *remarks(report.verdicts, report.notes)))


def _verdict(verdict: Verdict, tolerance: str, screen: Screen) -> Iterator[Text]:
    yield from screen.wrapped(_head(verdict))
    for text, role in sentences(verdict, tolerance, screen.sign):
        yield from screen.indented(text, STYLES[role])
    for line in chart(verdict, screen):
        yield from screen.indented(line)
    yield Text()


def _head(verdict: Verdict) -> Text:
    badge, words = verdict_words(verdict)
    head = Text.assemble((f"{badge:<5}{words}", BADGES[badge]))
    head.append(f"   {p_value_text(verdict.p_value, verdict.alpha)}")
    head.append(f"   {visible(verdict.id)}", style="bold")
    for mark in marks(verdict):
        head.append(f"   {mark}", style="bold yellow" if verdict.simulated else "")
    return head
