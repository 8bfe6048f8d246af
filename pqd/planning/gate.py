"""Gate of a run: one test of all conditions, and the name of the worst if they do not all hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from pqd.accounting.accountant import Accountant, Quote
from pqd.deciders.distances.value_claims import CountKept, FewLost
from pqd.deciders.errors import UnanswerableError
from pqd.deciders.exact import exceeds
from pqd.deciders.single.inverse_sensitivity import margin_ends, verdict_of
from pqd.errors import BudgetError
from pqd.progress import Progress
from pqd.reports.models.check import BoundedColumn, CountFacts, GateFacts, WorstFacts
from pqd.run.execution import measure, quote_dry
from pqd.run.gate import (
    GateCondition,
    GateMeasurement,
    MarginMeasurement,
    Requirement,
    WorstMeasurement,
    with_margin,
)
from pqd.run.measurement import BoundTables, Measurement, MeasurementSet

if TYPE_CHECKING:
    from pqd.deciders import Noise

# Deciders whose margins a gate takes, by aggregate.
INVERSE = {
    "COUNT": "inv_count",
    "SUM": "inv_sum",
    "AVG": "inv_mean",
    "MEDIAN": "inv_median",
    "QUANTILE": "inv_quantile",
    "COUNT DISTINCT": "inv_distinct",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GateTerms:
    """Terms of a gate, all public: its epsilon, the epsilon of a name, and the level of its test.

    ``names`` is None if no condition is named.  ``private_rows`` is the stated number of private
    rows; None if it is not stated.
    """

    epsilon: Fraction
    names: Fraction | None
    alpha: Fraction
    private_rows: int | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class GatePlan:
    """Plan of a gate: what is measured, and what is known without a measurement; all public.

    Attributes
    ----------
    terms
        The terms.
    bound
        The tables; the private table is the same for all conditions.
    measurement
        The measurement; None if every condition is the same for all tables.
    constants
        Names of conditions that no table can fail.
    within
        Columns whose bounds are the copy's.
    """

    terms: GateTerms
    bound: BoundTables
    measurement: GateMeasurement | None
    constants: tuple[str, ...] = ()
    within: tuple[BoundedColumn, ...] = ()

    @property
    def sets(self) -> list[MeasurementSet]:
        """Set with the gate alone; empty if nothing is measured."""
        return [] if self.measurement is None else [_set_of(self.bound, self.measurement)]

    @property
    def number(self) -> int:
        """Number of conditions."""
        drawn = () if self.measurement is None else self.measurement.conditions
        return len(drawn) + len(self.constants)


def _set_of(bound: BoundTables, measurement: GateMeasurement | WorstMeasurement) -> MeasurementSet:
    """Set of one measurement; the warnings of its sets are shown before anything is spent."""
    warnings = dict.fromkeys(note for each in measurement.sets for note in each.warnings)
    return MeasurementSet(
        bound.tables.engine,
        bound.private,
        bound.schema,
        bound.unit,
        (measurement,),
        tuple(warnings),
        tuple(dict.fromkeys(copy for each in measurement.sets for copy in each.copies)),
    )


class GateInput(NamedTuple):
    """One condition of a gate, before it is planned: its tables, its name, what is measured.

    Conditions with one ``requirement`` share it (``plan_gate``).  ``within`` is the column whose
    bounds are the copy's, where the caller accepts them.
    """

    bound: BoundTables
    name: str
    measurement: Measurement[Any]
    expected: bool = True
    requirement: str = ""
    within: BoundedColumn | None = None


def plan_gate(
    terms: GateTerms,
    bound: BoundTables,
    inputs: Sequence[GateInput],
    misses: Mapping[str, int] | None = None,
) -> GatePlan:
    """Plan of a gate over ``inputs``; ``bound`` has the private table.

    Of the conditions with one ``requirement`` so many as ``misses`` says need not hold; by default
    all must.

    Raises
    ------
    UnanswerableError
        If every table within the bounds fails a condition.
    """
    for each in inputs:
        if getattr(each.measurement, "constant_answer", each.expected) not in {None, each.expected}:
            raise UnanswerableError(
                f"{each.name} can never be as expected: no table within the bounds answers so; "
                "correct the query, its bounds or its tolerance. Nothing was spent."
            )
    drawn = [each for each in inputs if not each.measurement.is_constant]
    constants = tuple(each.name for each in inputs if each.measurement.is_constant)
    if not drawn:
        return GatePlan(terms=terms, bound=bound, measurement=None, constants=constants)
    conditions = tuple(
        GateCondition(each.name, with_margin(each.measurement), each.expected) for each in drawn
    )
    places: dict[str, list[int]] = {}
    for place, each in enumerate(drawn):
        places.setdefault(each.requirement, []).append(place)
    requirements = tuple(
        Requirement(tuple(own), (misses or {}).get(name, 0)) for name, own in places.items()
    )
    # Tables are told apart by identity: two readings of one copy have cells of their own.
    tables = {id(each.bound): each.bound for each in drawn}.values()
    readings = tuple(
        one.measurement_set([each.measurement for each in drawn if each.bound is one])
        for one in tables
    )
    measurement = GateMeasurement(
        kinds=(),
        unit=bound.unit,
        epsilon=terms.epsilon,
        name="gate",
        readings=readings,
        conditions=conditions,
        known_rows=terms.private_rows,
        requirements=requirements,
    )
    within = tuple(dict.fromkeys(each.within for each in drawn if each.within))
    return GatePlan(
        terms=terms, bound=bound, measurement=measurement, constants=constants, within=within
    )


def quoted_gate(
    plan: GatePlan, accountant: Accountant | None, progress: Progress
) -> tuple[GateFacts, Quote]:
    """Facts of a gate that is only planned, and its quote; nothing is spent."""
    return _facts(plan), quote_dry(plan.sets, accountant, progress)


def decided_gate(
    plan: GatePlan,
    accountant: Accountant | None,
    noise: Noise,
    progress: Progress,
    *,
    command: str,
) -> tuple[GateFacts, list[Quote]]:
    """Facts of a gate that ``command`` decided, and the quotes of its charges.

    If the gate does not pass, and the terms have an epsilon for a name, a second charge pays for
    the name.  It is on the disk before the name is drawn.  If the budget does not hold it, nothing
    is named, and the facts say so.
    """
    gate = plan.measurement
    if gate is None:
        # Without any condition nothing is shown.
        shown = {"outcome": "holds", "p_value": 0.0}
        return _facts(
            plan, **(shown if plan.number else {"outcome": "undecided", "p_value": 1.0})
        ), []
    outputs = measure(plan.sets, accountant, noise, progress, command=command)
    decision, alpha = outputs[gate], plan.terms.alpha
    rows = decision.released[0] if decision.released else None
    decided = decision.p_value is not None and not exceeds(decision.p_value, alpha)
    outcome = ("holds" if decision.outcome else "fails") if decided else "undecided"
    facts: dict[str, Any] = {
        "outcome": outcome,
        "p_value": decision.p_value,
        "margin": decision.margin,
        "rows": rows,
        "looks": max(1, outputs.looks.get(gate.question, 1)),
        "replayed": outputs.replayed(gate),
        "simulated": noise.simulated,
    }
    quotes = [outputs.quote]
    if outcome != "holds" and plan.terms.names is not None:
        worst = gate.worst(plan.terms.names, rows)
        try:
            worst_set = _set_of(plan.bound, worst)
            named = measure([worst_set], accountant, noise, progress, command=command)
        except BudgetError as error:
            facts["names_refused"] = str(error)
        else:
            quotes.append(named.quote)
            facts["worst"] = _worst(worst, named[worst].numbers, alpha)
    return _facts(plan, **facts), quotes


def _worst(measurement: WorstMeasurement, numbers: Sequence[int], alpha: Fraction) -> WorstFacts:
    """Facts of the condition that was named, with the verdict of its own margin."""
    place, noisy = numbers
    half = measurement.half
    decision = verdict_of(noisy, half)
    low, high = margin_ends(noisy, half, alpha)
    condition = measurement.conditions[place].measurement
    return WorstFacts(
        counts=_counts(condition, measurement.known_rows, high),
        name=measurement.conditions[place].name,
        holds=decision.outcome,
        p_value=float(decision.p_value or 0),
        margin=noisy,
        margin_low=low,
        margin_high=high,
        epsilon=measurement.epsilon,
        alpha=alpha,
    )


def _counts(
    measurement: MarginMeasurement, rows: int | None, margin_high: int
) -> CountFacts | None:
    """Counts that a condition allows, of ``rows`` private rows; None if it is about no count."""
    claim = getattr(measurement, "claim", None)
    if rows is None or not isinstance(claim, CountKept | FewLost):
        return None
    below, above = claim.ends(rows)
    return CountFacts(
        copy=claim.copy,
        least=max(below + 1, 0),
        most=above - 1,
        is_more=below + margin_high * measurement.rows < 0,
    )


def _facts(plan: GatePlan, **facts: Any) -> GateFacts:  # noqa: ANN401 - fields of the facts
    return GateFacts(
        epsilon=plan.terms.epsilon,
        names=plan.terms.names,
        alpha=plan.terms.alpha,
        conditions=plan.number,
        within=plan.within,
        **facts,
    )
