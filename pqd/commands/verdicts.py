"""Verdicts of a run in the form that a report holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from pqd.deciders.exact import exceeds
from pqd.deciders.note import Note, note
from pqd.deciders.numbers import plain_ratio
from pqd.deciders.running_sums import Exact
from pqd.deciders.single.inverse_sensitivity import least_margin
from pqd.deciders.single.registered import RegisteredDecider
from pqd.planning.planned_verdict import PlannedVerdict
from pqd.planning.query_warnings import size_notes
from pqd.reports.models.audit import Outside, Verdict
from pqd.reports.models.query import PER_ROW
from pqd.reports.models.standings import Evidence
from pqd.run.execution import Outputs
from pqd.run.measurement import BoundTables

if TYPE_CHECKING:
    from pqd.accounting.accountant import Accountant
    from pqd.deciders import Decision, Noise

_ZERO = Fraction(0)


def verdicts_of(
    verdicts: Sequence[PlannedVerdict],
    outputs: Outputs,
    synthetic: str,
    noise: Noise,
    shown: set[object] | None = None,
) -> tuple[Verdict, ...]:
    """Verdicts in the planned order; a verdict counts as replayed if ``shown`` has its identity."""
    shown = set() if shown is None else shown
    rows = []
    for planned in verdicts:
        replayed = outputs.replayed(planned.measurement) or planned.identity in shown
        rows.append(_verdict(planned, outputs, synthetic, noise, replayed=replayed))
        if not planned.is_constant:
            shown.add(planned.identity)
    return tuple(rows)


def _verdict(
    planned: PlannedVerdict, outputs: Outputs, synthetic: str, noise: Noise, *, replayed: bool
) -> Verdict:
    facts, scale, decision = planned.facts(), planned.scale, planned.decision(outputs)
    p_value, estimate = decision.p_value, planned.rule.estimate(decision)
    value, low, high = (None if x is None else _plain(x, scale) for x in estimate)
    gap, gap_low, gap_high = (
        None if x is None else _plain(x, scale, planned.answer) for x in estimate
    )
    margin_low, margin_high = planned.rule.margin_ends(decision, estimate) or (None, None)
    if planned.is_constant:
        facts["reason"] = str(note("settled"))
    evidence: Evidence = "none"
    if p_value is not None and not exceeds(p_value, planned.criteria.alpha):
        evidence = "proof"
    elif p_value is None and planned.is_likely:
        evidence = "likely"
    outside = _outside(planned, decision)
    if outside and outside.low > 0 and not decision.by_stated_bound:
        # What is said of the values that were cut would not hold for all.
        evidence = "none"
    known = dict(
        facts,
        lower=_plain(planned.interval.lower, scale),
        upper=_plain(planned.interval.upper, scale),
        epsilon=planned.measurement.cost,
        leans="yes" if decision.outcome else "no",
        evidence=evidence,
        condition=None if evidence == "none" or decision.by_stated_bound else planned.condition,
        p_value=p_value,
        margin=decision.margin,
        margin_low=margin_low,
        margin_high=margin_high,
        estimate=value,
        low=low,
        high=high,
        gap=gap,
        gap_low=gap_low,
        gap_high=gap_high,
        synthetic=synthetic,
        replayed=replayed,
        looks=max(1, outputs.looks.get(planned.measurement.question, 1)),
        simulated=noise.simulated,
        outside=outside,
    )
    return Verdict(**known, candidates=planned.candidates, tau_min=planned.taken.tau_min)


def _outside(planned: PlannedVerdict, decision: Decision) -> Outside | None:
    """Number of rows beyond the bounds, and its ends, each wrong with probability at most alpha.

    The ends invert the law of the noise: on every table it exceeds ``reach`` with probability at
    most alpha, and falls short of ``-reach`` as often.
    """
    noisy, condition = decision.rows_beyond, planned.condition
    if noisy is None or condition is None:
        return None
    reach = least_margin(planned.outside_epsilon, planned.criteria.alpha) - 1
    rows, low, high = (max(0, noisy + step) for step in (0, -reach, reach))
    return Outside(rows, low, high, 2 * reach + 1, condition.lower, condition.upper)


def look_notes(verdicts: Iterable[Verdict]) -> tuple[Note, ...]:
    """Notes on verdicts whose question was drawn several times, one for each number of times."""
    asked: dict[tuple[int, Fraction], list[str]] = {}
    for verdict in verdicts:
        if verdict.looks > 1:
            asked.setdefault((verdict.looks, verdict.alpha), []).append(verdict.id)
    return tuple(
        note("looked-again", queries=tuple(names), looks=looks, alpha=alpha)
        for (looks, alpha), names in sorted(asked.items(), reverse=True)
    )


# One NO alone does not suggest that the copy has another size.
_LEAST_VERDICTS = 2


def unlike_sizes(
    verdicts: Iterable[Verdict],
    bound: BoundTables,
    private_rows: int | None,
    outputs: Outputs,
    accountant: Accountant | None,
) -> tuple[Note, ...]:
    """Note that another number of private rows may be why every COUNT and SUM is a NO.

    It follows from the verdicts.  It is left out if the number ``private_rows`` is stated, if a
    warning said so before, and if the number was released and is that of the copy.
    """
    growing = [each for each in verdicts if each.aggregate in PER_ROW]
    if len(growing) < _LEAST_VERDICTS or any(each.outcome != "no" for each in growing):
        return ()
    if private_rows is not None:
        return ()
    table = outputs.quote.table
    account = accountant.ledger.account(table.fingerprint) if accountant and table else None
    known = account.released_rows if account else None
    is_warned = any(each.code == "other-size" for each in bound.notes)
    if is_warned or (known and not [*size_notes(bound.tables, known)]):
        return ()
    engine, copy = bound.tables.copies[0]
    return (
        note(
            "sizes-unlike",
            aggregates=tuple(sorted({each.aggregate for each in growing})),
            table=copy.label,
            rows=None if bound.unit else engine.rows(),
        ),
    )


def registered_notes(verdicts: Iterable[PlannedVerdict]) -> tuple[Note, ...]:
    """Note on each registered decider: the promise of its epsilon is its author's."""
    own: dict[str, RegisteredDecider] = {}
    for verdict in verdicts:
        decider = getattr(verdict.measurement, "decider", None)
        if isinstance(decider, RegisteredDecider):
            own[decider.id] = decider
    return tuple(
        note("registered-decider", decider=name, package=f"{each.package} {each.version}")
        for name, each in own.items()
    )


def _plain(units: Exact, scale: Fraction, centre: Fraction = _ZERO) -> int | float:
    """``units`` times ``scale``, minus ``centre``; only the last step rounds."""
    (number, share), (step, whole) = units.as_integer_ratio(), scale.as_integer_ratio()
    taken, of = centre.as_integer_ratio()
    return plain_ratio(number * step * of - taken * share * whole, share * whole * of)
