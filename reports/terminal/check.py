"""Terminal rendering of ``pqd check``: one block per check, verdict first, then the summary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from reports.terminal.blocks import chart, excerpt, group_lines, where_all_are
from reports.terminal.layout import STYLES
from reports.text.audit import SIMULATED
from reports.text.check import (
    PLANNED,
    advice,
    aligned,
    badge,
    cost_lines,
    counts_sentence,
    group_line,
    message_head,
    message_parts,
    not_passed,
    remark_lines,
    result,
)
from reports.text.escape import visible
from reports.text.numbers import p_value_text
from reports.text.query import asked_sentence, marks, query_text, sentences
from reports.text.words import MOST_IN_FULL, first_of

if TYPE_CHECKING:
    from reports.models.audit import Verdict
    from reports.models.check import CheckReport, CheckResult
    from reports.terminal.layout import Screen

_INDENT = " " * 6
_BADGES = {"PASS": "bold green", "FAIL": "bold red", "ERROR": "bold red", PLANNED: "dim"}
_RESULTS = {"PASSED": "bold green", "PLANNED": "bold"}


def render(report: CheckReport, screen: Screen, *, verbose: bool) -> Iterator[Text]:
    """Lines of a check report; ``verbose`` tells as much of what passed.

    Of many verdicts those that did not pass are told, and the first of them alone, without
    ``verbose``.
    """
    if report.simulated:
        yield from screen.wrapped(SIMULATED, "bold yellow")
        yield Text()
    if sum(max(1, len(check.verdicts)) for check in report.checks) > MOST_IN_FULL and not verbose:
        yield from excerpt(not_passed(report), lambda check: _brief(check, screen), screen)
        yield from where_all_are(screen)
    else:
        for check in report.checks:
            yield from _block(check, screen.inner(len(_INDENT)), verbose=verbose)
            yield Text()
    for line in _summary(report, verbose=verbose):
        plain = line.plain
        indent = plain[: len(plain) - len(plain.lstrip(" "))]
        for piece in screen.inner(len(indent)).wrapped(line[len(indent) :]):
            yield Text.assemble(indent, piece)


def _brief(check: CheckResult, screen: Screen) -> Iterator[Text]:
    """Badge, message and marks of a check, and its query below."""
    word = badge(check)
    head = Text.assemble((f"{word:<6}", _BADGES.get(word, "bold yellow")))
    head.append(visible(check.id), style="bold")
    for part in (message_head(check.message)[0], *_marks(check)):
        head.append(f"   {part}")
    yield from screen.wrapped(head)
    for line in screen.inner(len(_INDENT)).wrapped(visible(" ".join(check.sql.split()))):
        yield Text.assemble(_INDENT, line)


def _block(check: CheckResult, screen: Screen, *, verbose: bool) -> Iterator[Text]:
    """Badge of a check with the message beside it, and all else below that."""
    word = badge(check)
    lead: Text | tuple[str, str] = (f"{word:<6}", _BADGES.get(word, "bold yellow"))
    for line in _lines(check, screen, verbose=verbose):
        yield Text.assemble(lead, line)
        lead = Text(_INDENT)


def _lines(check: CheckResult, screen: Screen, *, verbose: bool) -> Iterator[Text]:
    head = Text(visible(check.id), style="bold")
    first, *others = message_parts(check.message)
    if first[1] is not None:
        first, others = ("", None), [first, *others]
    head = Text.assemble(head, *(("   ", visible(first[0])) if first[0] else ()))
    for part in _marks(check):
        head.append(f"   {part}")
    yield from screen.wrapped(head)
    for line, carets in others:
        if carets is None:
            yield from screen.wrapped(visible(line))
        else:
            yield from map(Text, aligned(line, carets, screen.width))
    yield from _verdicts(check, screen, verbose=verbose)
    yield from screen.paragraphs(advice(check))
    if check.gate == "error":
        yield from screen.wrapped(f"see line {check.line} of the spec")


def _marks(check: CheckResult) -> Iterator[str]:
    if len(check.verdicts) == 1:
        p_value = p_value_text(check.verdicts[0].p_value)
        if p_value not in check.message:
            yield p_value
        yield from marks(check.verdicts[0])


def _verdicts(check: CheckResult, screen: Screen, *, verbose: bool) -> Iterator[Text]:
    verdicts = check.verdicts
    if len(verdicts) == 1:
        yield from _verdict(verdicts[0], check, screen, verbose=verbose)
        return
    if verdicts or badge(check) == PLANNED:
        groups = f"{len(verdicts)} groups of " if verdicts else ""
        yield from screen.wrapped(groups + visible(" ".join(check.sql.split())))
    if verbose:
        for verdict in verdicts:
            yield from screen.wrapped(group_line(verdict, screen.sign), "bold")
            yield from _verdict(verdict, check, screen, verbose=True)
    elif verdicts:
        # The head of the check has said what is their title.
        yield from group_lines(verdicts, screen)


def _verdict(
    verdict: Verdict, check: CheckResult, screen: Screen, *, verbose: bool
) -> Iterator[Text]:
    if not verbose and check.gate == "pass":
        text = query_text(verdict.aggregate, verdict.attribute, verdict.p, verdict.where)
        yield from screen.wrapped(text)
        yield from screen.wrapped(asked_sentence(verdict, check.tolerance, screen.sign))
        return
    told = list(sentences(verdict, check.tolerance, screen.sign))
    # The last one lists what other deciders would be worth.
    for text, role in told if verbose else told[:-1]:
        yield from screen.wrapped(text, STYLES[role])
    if verbose:
        yield from chart(verdict, screen)


def _summary(report: CheckReport, *, verbose: bool) -> Iterator[Text]:
    word = result(report)
    yield Text.assemble(
        (f"{word}: ", _RESULTS.get(word, "bold red")), (counts_sentence(report), "bold")
    )
    told = (*cost_lines(report), *remark_lines(report))
    for line in told if verbose else first_of(told):
        yield Text(line)
