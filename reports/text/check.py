"""Checks in words: what all renderings of ``pqd check`` share."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from rich.cells import cell_len

from reports.text.audit import remarks
from reports.text.cost import cost_sentences
from reports.text.escape import visible
from reports.text.numbers import epsilon_text, number_text, p_cell
from reports.text.query import group_parts, sentences, tolerance, verdict_words

if TYPE_CHECKING:
    from reports.models.audit import Verdict
    from reports.models.check import CheckReport, CheckResult

# Worst first, which is how a reader wants them.
BADGES = {"error": "ERROR", "fail": "FAIL", "warn": "WARN", "known": "KNOWN", "pass": "PASS"}
PLANNED = "PLAN"
_WORST_FIRST = (*list(BADGES.values())[:-1], PLANNED, BADGES["pass"])
_COUNTED = {
    "PASS": "passed",
    "FAIL": "failed",
    "WARN": "warned",
    "KNOWN": "known",
    "ERROR": "broken",
    PLANNED: "planned",
}
HOW_TO_READ = (
    (
        "PASS: as expected, or undecided where the spec lets that pass. FAIL: not as expected, or "
        "undecided where the spec does not. WARN: the same, but the spec only warns. KNOWN: failed "
        "in the baseline too. ERROR: could not be asked. PLAN: not asked yet."
    ),
    (
        "A verdict says whether the private answer lies within the tolerance of the synthetic one. "
        "It is drawn under differential privacy, so noise can turn it; a small p says that this is "
        "unlikely."
    ),
)


def badge(entry: CheckResult) -> str:
    """Return what became of a check in one word."""
    planned = entry.status == "planned" and entry.gate != "error"
    return PLANNED if planned else BADGES[entry.gate]


def worst_first(report: CheckReport) -> list[CheckResult]:
    """Return the checks, errors and failures first, else in the order of the spec."""
    return sorted(report.checks, key=lambda entry: _WORST_FIRST.index(badge(entry)))


def result(report: CheckReport) -> str:
    """Return what became of the whole in a word; no check at all is no success."""
    badges = {badge(entry) for entry in report.checks}
    if "ERROR" in badges:
        return "BROKEN"
    if "FAIL" in badges:
        return "FAILED"
    if report.dry or PLANNED in badges:
        return "PLANNED"
    return "PASSED" if badges else "NOTHING CHECKED"


def counts_sentence(report: CheckReport) -> str:
    """Return ``3 passed, 1 failed.``."""
    counts = Counter(badge(entry) for entry in report.checks)
    parts = [f"{counts[word]} {name}" for word, name in _COUNTED.items() if counts[word]]
    return f"{', '.join(parts) or 'no checks'}."


def message_parts(message: str) -> list[tuple[str, str | None]]:
    """Return the lines of a message, each with the line of carets under it, if there is one."""
    parts: list[tuple[str, str | None]] = []
    for line in message.split("\n"):
        carets = "^" in line and not line.strip(" ^")
        if carets and parts and parts[-1][1] is None:
            parts[-1] = (parts[-1][0], line)
        else:
            parts.append((line, None))
    return parts


def aligned(line: str, carets: str, width: float = math.inf) -> Iterator[str]:
    """Yield a line and its carets in pieces of ``width`` cells, the carets below what they mark.

    Signs that take two cells, or are written out, have as many carets; every piece is indented
    as the line is.
    """
    indent = " " * min(len(line) - len(line.lstrip(" ")), 8)
    shown = under = ""
    for sign, caret in zip_longest(line, carets[: len(line) + 1], fillvalue=" "):
        piece = visible(sign)
        if cell_len(shown + piece) > width and shown != indent:
            yield from _pair(shown, under)
            shown = under = indent
        shown, under = shown + piece, under + caret * cell_len(piece)
    yield from _pair(shown, under)


def _pair(shown: str, under: str) -> Iterator[str]:
    if shown.strip():
        yield shown.rstrip()
    if under.strip():
        yield under.rstrip()


def message_text(message: str, width: float = math.inf) -> str:
    """Return a message, harmless, its carets in place; lines with carets have ``width`` cells."""
    lines: list[str] = []
    for line, carets in message_parts(message):
        lines += [visible(line)] if carets is None else aligned(line, carets, width)
    return "\n".join(lines)


def message_head(message: str, width: float = math.inf) -> tuple[str, str]:
    """Return the sentence that a message begins with, and all else as ``message_text`` does."""
    first, _, others = message_text(message, width).partition("\n")
    return first, others


def stamped(entry: CheckResult, text: str) -> str:
    """Return ``text``, marked if a verdict of the check comes from seeded noise."""
    return f"SIMULATED: {text}" if any(v.simulated for v in entry.verdicts) else text


@dataclass(frozen=True, slots=True)
class Row:
    """A check as a row of a table: p, the synthetic answer and the tolerance, blank without."""

    p: str
    answer: str
    tolerance: str


def row(entry: CheckResult) -> Row:
    """Return the cells that a check has beside its message."""
    if len(entry.verdicts) != 1:
        groups = f"{len(entry.verdicts)} groups" if entry.verdicts else ""
        return Row("", groups, visible(entry.tolerance))
    (verdict,) = entry.verdicts
    amount = tolerance(verdict.tau, entry.tolerance, "±").removeprefix("tolerance ")
    answer = number_text(verdict.q_synthetic)
    return Row(p_cell(verdict.p_value), answer, amount)


def detail_lines(entry: CheckResult, sign: str = "±") -> Iterator[str]:
    """Yield all that is known of a check below its message."""
    place = f"line {entry.line} of the spec"
    # What stopped a run is no check.
    stated = f"; expected: {visible(entry.expect)}; tolerance {visible(entry.tolerance)}"
    yield place + (stated if entry.expect else "")
    if len(entry.verdicts) == 1:
        for text, _ in sentences(entry.verdicts[0], entry.tolerance, sign):
            yield text
    for verdict in entry.verdicts if len(entry.verdicts) > 1 else ():
        yield group_line(verdict, sign)
    yield from advice(entry)


def group_line(verdict: Verdict, sign: str = "±") -> str:
    """Return the verdict of one group in one line."""
    return "   ".join([verdict_words(verdict)[0], *group_parts(verdict, sign)])


def advice(entry: CheckResult) -> Iterator[str]:
    """Yield what to do next about a check that is not as it should be, if its message does not."""
    step = _next_step(entry) if entry.gate in {"fail", "warn"} else None
    if step:
        yield f"next: {step} (line {entry.line})"


def _next_step(entry: CheckResult) -> str | None:
    if entry.status == "undecided":
        remedy = "give this check a larger epsilon or tau"
        milder = ', or set on_undecided = "warn"' if entry.gate == "fail" else ""
        return f"{remedy}{milder}"
    if entry.status == "not as expected":
        if entry.expect == "far":
            return 'the answers are close; if they should be, set expect = "close"'
        accept = 'a larger tau or severity = "warn"' if entry.gate == "fail" else "a larger tau"
        return (
            f"do not rely on this query on {_tables(entry.verdicts, 'the copy')}; make "
            f"that table better, or accept the gap with {accept}"
        )
    # The message of an error says itself what to do.
    return None


def _tables(verdicts: Sequence[Verdict], several: str) -> str:
    names = {verdict.synthetic for verdict in verdicts}
    return visible(names.pop()) if len(names) == 1 else several


def _verdicts(report: CheckReport) -> list[Verdict]:
    return [verdict for entry in report.checks for verdict in entry.verdicts]


def cost_lines(report: CheckReport) -> Iterator[str]:
    """Yield what the run spent, or would spend if it is dry, and what is charged only once."""
    public = _tables(_verdicts(report), f"the copies of {visible(report.spec)}")
    # A run that stopped early does not know it.
    private = visible(report.private) or "the private table"
    first, *others = cost_sentences(report.cost, f"{private}, compared with {public}")
    if report.dry:
        first = f"Would spend{first.removeprefix('Spent')} Nothing was decided, nothing was spent."
    yield first
    yield from others
    if report.dry:
        yield from _shared_lines(report)


def _shared_lines(report: CheckReport) -> Iterator[str]:
    for group in report.cost.groups:
        if len(group.ids) > 1:
            names = ", ".join(map(visible, group.ids))
            once = f"charged once (epsilon {epsilon_text(group.epsilon)})"
            yield f"{once}, as no row can take part in two of: {names}"
            for line in group.proof:
                yield f"  {visible(line)}"


def remark_lines(report: CheckReport) -> Iterator[str]:
    """Yield how to read the verdicts, the report's notes, and what it was compared with."""
    yield from remarks(_verdicts(report), report.notes)
    if report.baseline is not None:
        known, new = report.count("known"), report.count("fail")
        failures = f"{known} failed there too, {new} did not"
        yield f"Compared with the baseline {visible(report.baseline)}: {failures}."
