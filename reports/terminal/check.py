"""Terminal rendering of ``pqd check``: a line per check, failures first; or a check in full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from pqd.deciders.errors import ParameterError
from pqd.reports.terminal.blocks import chart, group_lines
from pqd.reports.terminal.frame import (
    PASSES,
    Standing,
    closing,
    first_names,
    heading,
    notes_lines,
    stamp,
    table,
)
from pqd.reports.terminal.rows import NUMBERS, badge_of, mixed_replays, numbers_of
from pqd.reports.text.audit import SIMULATED, chance_sentence
from pqd.reports.text.carets import caret_lines
from pqd.reports.text.check import (
    BADGES,
    PLANNED,
    advice,
    badge,
    baseline_sentence,
    cost_lines,
    counts_sentence,
    distance_tolerance,
    group_line,
    message_head,
    message_parts,
    remark_lines,
    result,
    worst_first,
)
from pqd.reports.text.cost import budget_sentence, spent_text
from pqd.reports.text.escape import quoted, visible
from pqd.reports.text.numbers import epsilon_text, p_value_text
from pqd.reports.text.query import marks, sentences
from pqd.reports.text.words import LISTED, MOST_IN_FULL, counted
from pqd.reports.writers.terminal.grid import Cells, Column
from pqd.reports.writers.terminal.layout import STYLES, Extent

if TYPE_CHECKING:
    from pqd.reports.models.audit import Verdict
    from pqd.reports.models.check import CheckReport, CheckResult
    from pqd.reports.writers.terminal.layout import Screen

_INDENT = " " * 6
_BROKEN = 5
_STYLES = {"PASS": "bold green", "FAIL": "bold red", "ERROR": "bold red", PLANNED: "dim"}
_RESULTS = {"PASSED": "bold green", "PLANNED": "bold"}
_QUESTION = "Are the private table's answers within the tolerance of the copy's, as expected?"
_COLUMNS = (Column("verdict"), Column("check", least=20), *NUMBERS)
_PLANS = (Column(""), Column("check", least=14), Column("plan", least=20))


def render(report: CheckReport, screen: Screen, extent: Extent) -> Iterator[Text]:
    """Lines of a check report; in full with all that is known of every check."""
    yield from stamp(SIMULATED, screen, shown=report.simulated)
    if extent is Extent.VERBOSE:
        yield from _in_full(report, screen)
        return
    if extent is not Extent.QUIET:
        subject = f"{counted(len(report.checks), 'check')} of {visible(report.spec)}"
        yield from heading(subject, _spent(report), "" if report.dry else _QUESTION, screen)
    yield from _table(report, screen, extent)
    yield from _broken(report, screen, extent)
    notes = [*report.notes, *filter(None, [baseline_sentence(report)])]
    yield from notes_lines(notes, screen, extent)
    failed = [check for check in worst_first(report) if check.gate in {"error", "fail"}]
    names = first_names([visible(check.id) for check in failed])
    counts = _counts(report)
    budget = budget_sentence(report.cost, report.private)
    failures = f"Failed: {names}." if failed else ""
    verdicts = [verdict for check in report.checks for verdict in check.verdicts]
    caution = " ".join(chance_sentence(verdicts, least=1))
    yield from closing(failures, counts, _step(report), budget, screen, extent, caution)


def explain(report: CheckReport, name: str, screen: Screen) -> Iterator[Text]:
    """Lines on one check in full.

    Raises
    ------
    ParameterError
        The report has no such check.
    """
    found = [check for check in report.checks if name in {check.id, check.id.partition("@")[0]}]
    if not found:
        raise ParameterError(f"there is no check {name!r}; its id stands in the report's lines")
    yield from stamp(SIMULATED, screen, shown=report.simulated)
    for check in found:
        inner = screen.inner(len(_INDENT))
        yield from _block(check, screen, _details(check, inner, every=False))
        yield Text()
    yield from screen.paragraphs(remark_lines(report))


def _broken(report: CheckReport, screen: Screen, extent: Extent) -> Iterator[Text]:
    """Checks that could not be decided: what is wrong has no room in a line."""
    broken = [check for check in report.checks if check.gate == "error"]
    shown = broken if extent is Extent.ALL else broken[:_BROKEN]
    for check in shown:
        yield from _block(check, screen, ())
        yield Text()
    if more := len(broken) - len(shown):
        yield from screen.wrapped(f"{more:,} more could not be decided (--all tells why)")
        yield Text()


def _spent(report: CheckReport) -> str:
    if report.dry:
        return f"nothing spent; a run costs epsilon {epsilon_text(report.cost.epsilon)}"
    every = [verdict.replayed for check in report.checks for verdict in check.verdicts]
    return spent_text(report.cost, every)


def _counts(report: CheckReport) -> Text:
    word = result(report)
    style = _RESULTS.get(word, "bold red")
    return Text.assemble((f"{word}: ", style), (counts_sentence(report), "bold"))


def _step(report: CheckReport) -> str:
    command = f"pqd check {quoted(report.spec)}"
    if report.dry:
        return "" if result(report) == "BROKEN" else command
    for check in worst_first(report):
        if check.gate in {"fail", "warn", "known"}:
            return f"{command} --explain {quoted(check.id)}"
    return ""


def _table(report: CheckReport, screen: Screen, extent: Extent) -> Iterator[Text]:
    verdicts = [verdict for check in report.checks for verdict in check.verdicts]
    mixed = mixed_replays(verdicts)
    planned = not verdicts

    def lines(checks: Sequence[CheckResult]) -> Iterator[Cells]:
        for check in checks:
            if planned:
                text = "see below" if check.gate == "error" else message_head(check.message)[0]
                yield _badge(check), visible(check.id), text
            else:
                yield from _cells(check, screen, mixed=mixed)

    standings = []
    for word in (*list(BADGES.values())[:-1], PLANNED, BADGES["pass"]):
        checks = [check for check in report.checks if badge(check) == word]
        if checks:
            failed, passed = word in {"ERROR", "FAIL"}, word in {PLANNED, "PASS"}
            # Of many those that only warn, or have no verdict, leave room for failures.
            few = PASSES if word != "FAIL" and len(report.checks) > MOST_IN_FULL else None
            standings.append(Standing(_badge(checks[0]), checks, failed, passed, few))
    columns = _PLANS if planned else _COLUMNS
    yield from table(columns, standings, lines, lambda each: visible(each.id), screen, extent)


def _cells(check: CheckResult, screen: Screen, *, mixed: bool) -> Iterator[Cells]:
    """Row of a check, and one for each of its groups that keeps it from passing."""
    badge_, name = _badge(check), visible(check.id)
    if len(check.verdicts) == 1:
        (verdict,) = check.verdicts
        *numbers, gap, sure = numbers_of(verdict, screen.sign, mixed=mixed)
        if verdict.is_distance:
            numbers = ["", distance_tolerance(verdict, check)]
        far = ", expected far" if check.expect == "far" else ""
        gap = "undecided" if check.status == "undecided" else gap
        yield badge_, name, *numbers, gap, sure + far
        return
    expected = "not trusted" if check.expect == "far" else "trusted"
    unsure = [verdict for verdict in check.verdicts if verdict.standing == "undecided"]
    wrong = [each for each in check.verdicts if each.standing not in {expected, "undecided"}]
    odd = [*wrong, *unsure]
    groups = f"{len(check.verdicts)} groups" if check.verdicts else ""
    parts = (f"{len(wrong)} not as expected", wrong), (f"{len(unsure)} undecided", unsure)
    told = ", ".join(text for text, those in parts if those)
    told = "see below" if check.gate == "error" else told
    if any(verdict.simulated for verdict in check.verdicts):
        told = ", ".join(filter(None, [told, "SIMULATED"]))
    yield badge_, name, groups, visible(check.tolerance), "", told
    for verdict in odd[:LISTED] if check.gate != "pass" else ():
        label = Text.assemble("  ", visible(verdict.group or verdict.id))
        yield badge_of(verdict), label, *numbers_of(verdict, screen.sign, mixed=mixed)


def _badge(check: CheckResult) -> Text:
    word = badge(check)
    return Text(word, style=_STYLES.get(word, "bold yellow"))


def _in_full(report: CheckReport, screen: Screen) -> Iterator[Text]:
    """Every check with all that is known of it, and of the run."""
    for check in report.checks:
        inner = screen.inner(len(_INDENT))
        yield from _block(check, screen, _details(check, inner, every=True))
        yield Text()
    yield from screen.wrapped(_counts(report))
    for line in (*cost_lines(report), *remark_lines(report)):
        indent = line[: len(line) - len(line.lstrip(" "))]
        for piece in screen.inner(len(indent)).wrapped(line[len(indent) :]):
            yield Text.assemble(indent, piece)


def _block(
    check: CheckResult, screen: Screen, details: Iterator[Text] | tuple[()]
) -> Iterator[Text]:
    """Badge of a check with the message beside it, and all else below that."""
    inner = screen.inner(len(_INDENT))
    lead = Text.assemble((f"{badge(check):<6}", _badge(check).style))
    for line in (*_message(check, inner), *details):
        yield lead + line
        lead = Text(_INDENT)
    for line in (*inner.paragraphs(advice(check)), *_place(check, inner)):
        yield lead + line


def _message(check: CheckResult, screen: Screen) -> Iterator[Text]:
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
            yield from map(Text, caret_lines(line, carets, screen.width))


def _place(check: CheckResult, screen: Screen) -> Iterator[Text]:
    if check.gate == "error":
        yield from screen.wrapped(f"see line {check.line} of the spec")


def _marks(check: CheckResult) -> Iterator[str]:
    if len(check.verdicts) == 1:
        p_value = p_value_text(check.verdicts[0].p_value, check.verdicts[0].alpha)
        if p_value not in check.message:
            yield p_value
        yield from marks(check.verdicts[0])


def _details(check: CheckResult, screen: Screen, *, every: bool) -> Iterator[Text]:
    """Lines on the verdicts of a check; of a grouped one in full if ``every``."""
    verdicts = check.verdicts
    if len(verdicts) == 1:
        yield from _verdict(verdicts[0], check, screen)
        return
    if verdicts or badge(check) == PLANNED:
        groups = f"{len(verdicts)} groups of " if verdicts else ""
        yield from screen.wrapped(groups + visible(" ".join(check.sql.split())))
    if every:
        for verdict in verdicts:
            yield from screen.wrapped(group_line(verdict, screen.sign), "bold")
            yield from _verdict(verdict, check, screen)
    elif verdicts:
        # The head of the check has said what is their title.
        yield from group_lines(verdicts, screen)


def _verdict(verdict: Verdict, check: CheckResult, screen: Screen) -> Iterator[Text]:
    for text, role in sentences(verdict, check.tolerance, screen.sign):
        yield from screen.wrapped(text, STYLES[role])
    yield from chart(verdict, screen)
