"""Gate of a run: one test of all conditions, and the name of the worst if they do not all hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from pqd.accounting.accountant import Accountant, Quote
from pqd.deciders.exact import exceeds
from pqd.deciders.single.inverse_sensitivity import margin_ends, verdict_of
from pqd.errors import BudgetError
from pqd.planning.planned_verdict import PlannedVerdict
from pqd.progress import Progress
from pqd.reports.models.check import GateFacts, WorstFacts
from pqd.run.execution import measure, quote_sets
from pqd.run.gate import GateCondition, GateMeasurement, Requirement, WorstMeasurement
from pqd.run.measurement import BoundTables, MeasurementSet

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
    """

    terms: GateTerms
    bound: BoundTables
    measurement: GateMeasurement | None
    constants: tuple[str, ...] = ()

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
    )


def plan_gate(
    terms: GateTerms,
    verdicts: Sequence[tuple[BoundTables, str, PlannedVerdict, bool]],
    requirements: Sequence[tuple[Sequence[str], int]] = (),
) -> GatePlan:
    """Plan of a gate over ``verdicts``: the tables, a name, the verdict, the expected answer.

    ``requirements`` are pairs of names and the number of them that need not hold; without any, all
    must hold.  A condition that every table fails is a matter of the caller.
    """
    drawn = [each for each in verdicts if not each[2].is_constant]
    constants = tuple(name for _, name, verdict, _ in verdicts if verdict.is_constant)
    bound = verdicts[0][0]
    if not drawn:
        return GatePlan(terms=terms, bound=bound, measurement=None, constants=constants)
    conditions: list[GateCondition] = []
    places: dict[str, int] = {}
    for _, name, verdict, expected in drawn:
        places[name] = len(conditions)
        conditions.append(GateCondition(name, _with_margin(verdict.measurement), expected))
    every = [Requirement(tuple(range(len(conditions))))]
    stated = [
        Requirement(tuple(places[name] for name in names if name in places), misses)
        for names, misses in requirements
    ]
    # Tables are told apart by identity: two readings of one copy have cells of their own.
    tables = {id(each[0]): each[0] for each in drawn}.values()
    sets = tuple(
        one.measurement_set([verdict.measurement for own, _, verdict, _ in drawn if own is one])
        for one in tables
    )
    measurement = GateMeasurement(
        kinds=(),
        unit=bound.unit,
        epsilon=terms.epsilon,
        name="gate",
        readings=sets,
        conditions=tuple(conditions),
        known_rows=terms.private_rows,
        requirements=tuple(stated or every),
    )
    return GatePlan(terms=terms, bound=bound, measurement=measurement, constants=constants)


def _with_margin(measurement: Any) -> Any:  # noqa: ANN401 - a MarginMeasurement
    """Measurement, of which a margin is known; TypeError of any other one."""
    if not hasattr(measurement, "margin"):
        raise TypeError(measurement.id)
    return measurement


def quoted_gate(
    plan: GatePlan, accountant: Accountant | None, progress: Progress
) -> tuple[GateFacts, Quote]:
    """Facts of a gate that is only planned, and its quote; nothing is spent."""
    budget = accountant.budget if accountant else None
    known = accountant if accountant and accountant.exists() and plan.sets else None
    quote = quote_sets(plan.sets, known, progress, budget=budget)
    return _facts(plan), quote


def decided_gate(
    plan: GatePlan, accountant: Accountant | None, noise: Noise, progress: Progress
) -> tuple[GateFacts, list[Quote]]:
    """Facts of a gate that was decided, and the quotes of its charges.

    If the gate does not pass, and the terms have an epsilon for a name, a second charge pays for
    the name.  It is on the disk before the name is drawn.  If the budget does not hold it, nothing
    is named, and the facts say so.
    """
    gate = plan.measurement
    if gate is None:
        return _facts(plan, outcome="holds", p_value=0.0), []
    outputs = measure(plan.sets, accountant, noise, progress)
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
            named = measure([_set_of(plan.bound, worst)], accountant, noise, progress)
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
    return WorstFacts(
        name=measurement.conditions[place].name,
        holds=decision.outcome,
        p_value=float(decision.p_value or 0),
        margin=noisy,
        margin_low=low,
        margin_high=high,
        epsilon=measurement.epsilon,
        alpha=alpha,
    )


def _facts(plan: GatePlan, **facts: Any) -> GateFacts:  # noqa: ANN401 - fields of the facts
    return GateFacts(
        epsilon=plan.terms.epsilon,
        names=plan.terms.names,
        alpha=plan.terms.alpha,
        conditions=plan.number,
        **facts,
    )


def names_of(verdicts: Sequence[PlannedVerdict], check: str) -> Mapping[str, PlannedVerdict]:
    """Verdicts of one check by the names that a gate gives to them: the check, or its groups."""
    if len(verdicts) == 1:
        return {check: verdicts[0]}
    return {f"{check}: {each.facts()['group']}": each for each in verdicts}
