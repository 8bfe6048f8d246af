"""Terminal rendering of an audit: one block per verdict, then the summary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rich.text import Text

from reports.terminal.blocks import (
    BADGES,
    chart,
    entry_lines,
    excerpt,
    grouped,
    left_out,
    where_all_are,
)
from reports.terminal.layout import STYLES
from reports.text.audit import SIMULATED, audit_costs, headline, remarks, worst_verdicts
from reports.text.escape import visible
from reports.text.numbers import p_value_text
from reports.text.query import marks, sentences, verdict_words
from reports.text.words import MOST_IN_FULL, first_of

if TYPE_CHECKING:
    from reports.models.audit import AuditReport, Verdict
    from reports.terminal.layout import Screen


def render(report: AuditReport, screen: Screen, *, verbose: bool) -> Iterator[Text]:
    """Lines of an audit; ``verbose`` adds the charts that were computed.

    Of many verdicts the worst alone are told, without ``verbose``.
    """
    if report.simulated:
        yield from screen.wrapped(SIMULATED, "bold yellow")
        yield Text()
    if len(report.verdicts) > MOST_IN_FULL and not verbose:
        yield from screen.wrapped(headline(report)[0], "bold")
        yield Text()
        worst = worst_verdicts(report.verdicts)
        yield from excerpt(worst, lambda one: entry_lines(_head(one), one, screen), screen)
        yield from where_all_are(screen)
    else:
        yield from _verdicts(report, screen, verbose=verbose)
    yield from screen.paragraphs(_summary(report, verbose=verbose))


def _verdicts(report: AuditReport, screen: Screen, *, verbose: bool) -> Iterator[Text]:
    for block, members in groupby(report.verdicts, key=lambda verdict: verdict.block):
        if block is None or verbose:
            for verdict in members:
                yield from _verdict(verdict, report.tolerance, screen, verbose=verbose)
        else:
            yield from grouped(list(members), screen)
            yield Text()


def _verdict(verdict: Verdict, tolerance: str, screen: Screen, *, verbose: bool) -> Iterator[Text]:
    yield from screen.wrapped(_head(verdict))
    for text, role in sentences(verdict, tolerance, screen.sign):
        yield from screen.indented(text, STYLES[role])
    if verbose:
        for line in chart(verdict, screen):
            yield from screen.indented(line)
    yield Text()


def _head(verdict: Verdict) -> Text:
    badge, words = verdict_words(verdict)
    head = Text.assemble((f"{badge:<5}{words}", BADGES[badge]))
    head.append(f"   {p_value_text(verdict.p_value)}")
    head.append(f"   {visible(verdict.id)}", style="bold")
    for mark in marks(verdict):
        head.append(f"   {mark}", style="bold yellow" if verdict.simulated else "")
    return head


def _summary(report: AuditReport, *, verbose: bool) -> Iterator[Text | str]:
    yield Text(_counts([verdict.standing for verdict in report.verdicts]), style="bold")
    yield from left_out(report.refused, verbose=verbose)
    yield from audit_costs(report)
    told = remarks(report.verdicts, report.notes)
    yield from told if verbose else first_of(told)


def _counts(standings: Sequence[str]) -> str:
    trusted, outside, undecided = map(standings.count, ("trusted", "not trusted", "undecided"))
    return f"{trusted} trusted, {outside} not{f', {undecided} undecided' if undecided else ''}."
