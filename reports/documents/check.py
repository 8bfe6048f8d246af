"""Document of a check: a row per check, failures first; a broken check opens its details."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pqd.deciders.options import for_spec, option
from pqd.reports.blocks import (
    PAGE,
    Block,
    Cell,
    Closing,
    Code,
    Column,
    Definitions,
    Document,
    Group,
    Line,
    Lines,
    Row,
    Section,
    Shares,
    Table,
    Text,
)
from pqd.reports.documents.queries import (
    DECIDER,
    NUMBERS,
    TERMS,
    mixed_replays,
    question,
    verdict_details,
    verdict_row,
)
from pqd.reports.documents.shared import budget_bar, explain_step, first_names, lines
from pqd.reports.escape import quoted
from pqd.reports.models.standings import CHECKS, Standing, legend, passes_first
from pqd.reports.text.check import (
    HOW_TO_READ,
    NARROW_STEP,
    advice,
    alarms,
    attack_lines,
    baseline_sentence,
    cost_lines,
    counts_sentence,
    detail_lines,
    distance_tolerance,
    message_parts,
    price_lines,
    result,
    step_of_gate,
    worst_first,
)
from pqd.reports.text.cost import (
    account_sentences,
    budget_sentence,
    meaning_sentence,
    persons_text,
    spent_cell,
    spent_text,
    year_sentence,
)
from pqd.reports.text.distances import digits_of
from pqd.reports.text.gate import ALL_CHECKS, names_sentence
from pqd.reports.text.gate import HOW_TO_READ as HOW_TO_READ_GATE
from pqd.reports.text.numbers import (
    LISTED,
    MOST_IN_FULL,
    counted,
    epsilon_text,
    p_value_text,
    points_text,
    spaced,
)
from pqd.reports.text.query import (
    SIMULATED,
    at_once_sentence,
    chance_sentence,
    grouped_text,
    marks,
    remarks,
)

if TYPE_CHECKING:
    from pqd.reports.models.audit import Verdict
    from pqd.reports.models.check import AttackedFacts, CheckReport, CheckResult, GateFacts

_QUESTION = "Are the private table's answers within the tolerance of the copy's, as expected?"
# In a report of many checks, at most this many checks of each standing but FAILED are listed.
_FEW = 10
# If there are at most this many failures, their details are shown at once.
_OPEN = 5
_COLUMNS = (
    Column("verdict", "badge"),
    Column("check", "name", fold=20),
    *NUMBERS,
    Column("expected", drop=PAGE),
)
_PLANS = (Column("status", "badge"), Column("check", "name", fold=14), Column("plan", fold=20))
_GATED = (*_PLANS[:2], Column("condition", fold=20))


def document(report: CheckReport) -> Document:
    """Document of ``report``, which is decided or planned."""
    # No spec stands behind ``pqd.gate``, whose checks are all on line 1.
    with for_spec(stated=any(check.line > 1 for check in report.checks)):
        return _document(report)


def _document(report: CheckReport) -> Document:
    verdicts = _verdicts(report)
    replayed = [verdict.replayed for verdict in verdicts]
    word, counts = result(report), counts_sentence(report)
    tables = f"{report.spec} on {report.private or 'the private table'}"
    return Document(
        kind="check",
        title=f"{word.text}: {counts.removesuffix('.')}",
        lead=tables,
        sure=lines([*chance_sentence(verdicts), *at_once_sentence(verdicts)]),
        subject=f"{counted(len(report.own_checks), 'check')} of {report.spec}",
        spent=_spent(report, replayed),
        opening=[*([] if report.dry else [Line(_QUESTION, "detail")]), *_persons(report)],
        banner=_banner(report),
        facts=list(_facts(report)),
        counts=_counts(report),
        meaning="" if report.dry else meaning_sentence(report.cost),
        body=[Section(title="Checks", blocks=[_checks(report)], brief=False)],
        notes=lines([_names(report), *map(str, report.notes), baseline_sentence(report)]),
        account=lines(_accounts(report, replayed)),
        budget=None if report.dry else budget_bar(report.cost),
        cost=[Lines(lines(cost_lines(report)))],
        reading=[
            Lines(lines([*HOW_TO_READ, *([HOW_TO_READ_GATE] if report.gate else [])])),
            Definitions(TERMS),
            Lines(lines(remarks(verdicts))),
        ],
        closing=_closing(report),
        made=report.cost.day or "",
        replays="verdicts" if report.cost.ledger is not None and not report.dry else "",
        unknown="there is no check {}; its id stands in the report's lines",
    )


def _persons(report: CheckReport) -> list[Line]:
    """Line on how persons count in a gate, whose conditions are shown as they are written."""
    if report.gate is None or report.cost.max_rows is None:
        return []
    return [Line(persons_text(report.cost), "detail")]


def _names(report: CheckReport) -> str:
    """Why a gate that did not pass names no check; empty if it does."""
    return "" if report.gate is None else names_sentence(report.gate)


def _banner(report: CheckReport) -> list[Line]:
    """Lines that head every rendering: copies that are too near, and seeded noise."""
    seeded = [SIMULATED] if report.simulated else []
    return [Line(text, "warning") for text in (*alarms(report), *seeded)]


def _verdicts(report: CheckReport) -> list[Verdict]:
    return [verdict for check in report.checks for verdict in check.verdicts]


def _spent(report: CheckReport, replayed: Sequence[bool]) -> str:
    if report.dry:
        price = f"nothing spent; a run costs epsilon {epsilon_text(report.cost.epsilon)}"
        if report.held_out_cost is None:
            return price
        return f"{price}, and {epsilon_text(report.held_out_cost.epsilon)} on the held-out table"
    return spent_text(report.cost, replayed, report.held_out_cost)


def _accounts(report: CheckReport, replayed: Sequence[bool]) -> Iterator[str]:
    yield from account_sentences(report.cost, report.private, replayed, dry=report.dry)
    if report.held_out_cost and not report.dry:
        yield f"The held-out table has an account of its own: {spent_text(report.held_out_cost)}."


def _facts(report: CheckReport) -> Iterator[tuple[str, str]]:
    yield "Spec", report.spec
    # A run that stopped early does not know its private table.
    if report.private:
        yield "Private table", report.private
    if report.held_out:
        yield "Held-out table", report.held_out
    yield "Epsilon spent", "0" if report.dry else spent_cell(report.cost)


def _counts(report: CheckReport) -> Shares:
    counts = Counter(check.standing for check in report.checks)
    present = [each for each in passes_first(CHECKS) if counts[each]]
    return Shares([(each, counts[each], each.badge.tone) for each in present])


def _checks(report: CheckReport) -> Table:
    verdicts = _verdicts(report)
    mixed = mixed_replays(verdicts)
    is_decided = bool(verdicts) or any(check.attacks for check in report.checks)
    groups = []
    for standing in CHECKS:
        whole = standing in {Standing.FAILED, Standing.NARROW}
        checks = [check for check in report.checks if check.standing is standing]
        rows = [
            _row(check, report.gate, mixed=mixed) if is_decided else _planned(check, report.gate)
            for check in checks
        ]
        if report.gate:
            # The message is a cell, so it is not said twice.
            rows = [row if row.open else replace(row, aside="") for row in rows]
        few = _FEW if not whole and len(report.checks) > MOST_IN_FULL else None
        if rows:
            group = Group(
                name=standing,
                badge=standing.badge,
                rows=rows,
                fate=standing.fate,
                most=few,
                open=standing.tag == "failure" and len(checks) <= _OPEN,
            )
            groups.append(group)
    return Table(
        columns=_COLUMNS if is_decided else _GATED if report.gate and not report.dry else _PLANS,
        groups=groups,
        find="id or words of a check",
        order="What went wrong comes first.",
        in_full=True,
        empty="No check was made.",
    )


def _planned(check: CheckResult, gate: GateFacts | None) -> Row:
    """Row of a check without a verdict."""
    first, under = message_parts(check.message)[0]
    text = "see below" if check.gate == "error" else "" if under else first
    return _named(check, gate, (Cell(text),))


def _row(check: CheckResult, gate: GateFacts | None, *, mixed: bool) -> Row:
    """Row of a check, with a row below it for each group that keeps the check from passing."""
    if len(check.verdicts) == 1:
        return _named(check, gate, _single(check, check.verdicts[0], mixed=mixed))
    if check.attacked:
        return _named(check, gate, _attacked(check, check.attacked))
    unsure, wrong = (
        [verdict for verdict in check.verdicts if check.status_of(verdict) == status]
        for status in ("undecided", "not as expected")
    )
    groups = f"{len(check.verdicts)} groups" if check.verdicts else ""
    counts = (f"{len(wrong)} not as expected", wrong), (f"{len(unsure)} undecided", unsure)
    words = [text for text, verdicts in counts if verdicts]
    public = not check.verdicts and check.status in {"as expected", "not as expected"}
    words = ["see below"] if check.gate == "error" else ["public"] if public else words
    if any(verdict.simulated for verdict in check.verdicts):
        words.append("SIMULATED")
    members = [*wrong, *unsure][:LISTED] if check.gate != "pass" else []
    expected = Cell(check.expect)
    cells = (
        Cell(groups),
        Cell(spaced(check.tolerance)),
        Cell(),
        Cell(),
        Cell(", ".join(words)),
        expected,
    )
    rows = [verdict_row(verdict, check.tolerance, mixed=mixed) for verdict in members]
    parts = [replace(row, cells=(*row.cells[:-1], expected)) for row in rows]
    return _named(check, gate, cells, parts)


def _single(check: CheckResult, verdict: Verdict, *, mixed: bool) -> tuple[Cell, ...]:
    row = verdict_row(verdict, check.tolerance, mixed=mixed)
    copy, tolerance, least, gap, sure = row.cells[2:-1]
    if verdict.is_distance:
        tolerance = tolerance._replace(text=distance_tolerance(verdict, check))
    if check.alarm is not None:
        word = "too near" if check.alarm.standing else "no alarm"
        tolerance = Cell(spaced(check.tolerance).removeprefix("score "))
        return copy, tolerance, least, Cell(word), sure, Cell()
    if check.status == "undecided":
        gap = gap._replace(text="undecided")
    far = ", expected far" if check.expect == "far" else ""
    sure = sure._replace(text=f"{sure.text}{far}")
    return copy, tolerance, least, gap, sure, Cell(check.expect)


def _attacked(check: CheckResult, tried: AttackedFacts) -> tuple[Cell, ...]:
    """Cells of a check of risk: the excess of one attack, and how sure its verdict is.

    It is the worst attack; if all are within the tolerance, the one for which that is least sure.
    """
    judged = [each.held_out for each in check.attacks if each.held_out]
    facts = judged[0]
    if check.status == "as expected":
        facts = max(judged, key=lambda each: each.p_value)
    excess = points_text(facts.excess.value, max(1, digits_of(facts.excess)))
    words = [p_value_text(facts.p_value, tried.alpha)]
    words += ["SIMULATED"] if tried.simulated else ["replayed"] if tried.replayed else []
    number = f"{len(check.attacks)} attacks" if len(check.attacks) > 1 else ""
    gap = Cell("undecided" if check.status == "undecided" else f"{excess} points")
    return Cell(number), Cell(spaced(check.tolerance)), Cell(), gap, Cell(", ".join(words)), Cell()


def _named(
    check: CheckResult,
    gate: GateFacts | None,
    cells: tuple[Cell, ...],
    parts: Sequence[Row] = (),
) -> Row:
    standing = check.standing
    mark = Cell(badge=standing.badge, sort=CHECKS.index(standing))
    broken = check.gate == "error"
    single = check.verdicts[0] if len(check.verdicts) == 1 else None
    return Row(
        id=check.id,
        cells=(mark, Cell(check.id), *cells),
        asks="" if broken else question(single) if single else _groups(check),
        aside="; ".join(_message(check)),
        marks=tuple(marks(single)) if single else (),
        names=(standing,),
        aliases=(check.id.partition("@")[0],),
        open=broken,
        parts=parts,
        details=lambda: _details(check, gate),
    )


def _groups(check: CheckResult) -> str:
    if not check.verdicts:
        return " ".join(check.sql.split())
    return f"{len(check.verdicts)} groups of {grouped_text(check.verdicts[0], check.sql)}"


def _message(check: CheckResult) -> Iterator[str]:
    """First line of the message, and the p-value of a single verdict.

    The line is left out if carets mark a place in it.  The p-value is left out if the message
    already has it.
    """
    first, under = message_parts(check.message)[0]
    if under is None:
        yield first
    if len(check.verdicts) == 1:
        p_value = p_value_text(check.verdicts[0].p_value, check.verdicts[0].alpha)
        if p_value not in check.message:
            yield p_value


def _details(check: CheckResult, gate: GateFacts | None) -> Iterator[Block]:
    first, *others = message_parts(check.message)
    if places := [first, *others] if first[1] is not None else others:
        text = "\n".join(line for line, _ in places)
        yield Code("The place in the query", text, [carets or "" for _, carets in places])
    if check.gate == "error":
        yield Lines(lines([*advice(check, gate), f"see line {check.line} of the spec"]))
        return
    if len(check.verdicts) == 1:
        yield from verdict_details(check.verdicts[0], check.tolerance)
    elif check.verdicts:
        yield _grouped(check)
    if len(check.verdicts) != 1:
        yield Code("Query", check.sql)
    yield Lines(lines(list(detail_lines(check))[:1], "detail"))
    yield Lines(lines(attack_lines(check, check.attacks)))
    yield Lines(lines([*price_lines(check.verdicts), *advice(check, gate)]))


def _grouped(check: CheckResult) -> Table:
    """Table of the groups of a check, worst first."""
    rows = [verdict_row(verdict, check.tolerance, mixed=False) for verdict in check.verdicts]
    return Table(
        columns=(
            Column("verdict", "badge"),
            Column("group", "name", fold=14),
            *NUMBERS,
            DECIDER,
        ),
        groups=[
            Group(
                name=standing,
                badge=standing.badge,
                rows=[_member(row) for row in rows if standing in row.names],
                fate="always",
            )
            for standing in legend({name for row in rows for name in row.names})
        ],
        label="Groups",
        in_full=True,
    )


def _member(row: Row) -> Row:
    badge_cell, _, *others = row.cells
    return replace(row, cells=(badge_cell, Cell(row.member), *others), grouping=None)


def _closing(report: CheckReport) -> Closing:
    failed = [check.id for check in worst_first(report) if check.standing.exit_code]
    if report.gate and len(failed) > 1:
        failed.remove(ALL_CHECKS)
    return Closing(
        failed=f"Failed: {first_names(failed)}." if failed else "",
        word=result(report),
        counts=counts_sentence(report),
        step=_step(report),
        caution=" ".join(chance_sentence(_verdicts(report), least=1)),
        budget=" ".join(filter(None, _budget(report))),
    )


def _budget(report: CheckReport) -> Iterator[str]:
    other = report.held_out_cost
    held_out = [(other, report.held_out)] if other else []
    yield budget_sentence(report.cost, report.private, *held_out)
    if report.dry and report.cost.epsilon:
        yield year_sentence(report.cost.epsilon)


def _step(report: CheckReport) -> Text:
    command = f"pqd check {quoted(report.spec)}"
    if report.dry:
        standings = {check.standing for check in report.checks}
        if Standing.NARROW in standings:
            return NARROW_STEP.format(report.spec)
        if Standing.BROKEN in standings:
            return ""
        # A gate of a profile has no spec.
        of_spec = report.spec.endswith(".toml")
        return command if of_spec else f"the same without {option('--dry-run')}"
    if report.gate is not None:
        return step_of_gate(report)
    for check in worst_first(report):
        if check.gate in {"fail", "warn", "known"}:
            return explain_step(command, check.id)
    return ""
