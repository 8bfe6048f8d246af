"""One batch for several measures, weighed against a batch for each at equal shares.

The errors of different measures have different units.  So each measure's mean simulated error is
taken as a multiple of the mean simulated error that the measure has at equal shares.  The *relative
error* of one batch is the mean of these multiples, each weighed by the weights of the measure's
queries.  One batch is taken if its relative error is below 0.95.  The batch need not have all
measures: those that would err more in it are left out, one after the other.  All of this is public.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from pqd.batches.batch_measurement import BatchMeasurement, BatchPlanner
from pqd.batches.batch_plan import BatchPlan
from pqd.batches.common_mass import ClassesPlan, JointPlan, SelectionsPlan
from pqd.batches.mechanisms import BY_QUERY, JOINT, SEVERAL_MEASURES, WORKLOAD
from pqd.batches.simulation import ErrorSimulation, SimulatedChoice, is_weak
from pqd.deciders.distributions import Floats
from pqd.deciders.errors import ParameterError, PqdError
from pqd.deciders.note import note
from pqd.planning.bound_workload import BoundQuery, BoundWorkload
from pqd.stated.budgets import AUTO

# Relative error above which the gain of one batch may be chance: there are few simulation runs.
ENOUGH = 0.95
# Least error that is told from none, in units.
_LEAST = 1e-3


class MeasureErrors(NamedTuple):
    """Mean simulated error of each query of a measure at equal shares, in units of its answers.

    ``name`` is that of the measure's queries, and ``unit`` is the size of a unit.  ``weights`` are
    those of the queries.
    """

    name: str
    errors: tuple[float, ...]
    unit: Fraction
    weights: tuple[Fraction, ...]

    @property
    def mean(self) -> float:
        """Weighted mean over the queries."""
        return self.mean_of(np.array(self.errors))

    @property
    def weight(self) -> float:
        """Sum of the weights."""
        return float(sum(self.weights))

    def mean_of(self, errors: Floats) -> float:
        """Weighted mean of one error for each query."""
        return float(np.average(errors, weights=[float(each) for each in self.weights]))


class WeighedBatch(NamedTuple):
    """Best batch of all queries, and the choice of its mechanism by relative errors.

    ``multiples`` has the error of each measure as a multiple of that at equal shares.  ``weight``
    is the sum of the weights of all queries.  ``refusal`` says why no mechanism with row classes
    was weighed, if none was.
    """

    batch: BatchMeasurement
    choice: SimulatedChoice
    multiples: tuple[float, ...]
    weight: float
    refusal: ParameterError | None


def one_batch(
    bound: BoundWorkload,
    queries: Sequence[BoundQuery],
    mechanism: str,
    epsilon: Fraction,
    shares: Sequence[MeasureErrors],
) -> WeighedBatch | None:
    """Best batch of all ``queries`` with the named mechanism, or for ``auto`` any that fits.

    None if no mechanism fits all measures.  ``queries`` are those of the first measure, then those
    of the next, in the order of ``shares``.  ``epsilon`` is the budget of all of them.
    """
    planner = BatchPlanner(queries, bound, epsilon)
    plans, refusal = _plans(planner, mechanism)
    simulation = ErrorSimulation(planner.workload, planner.counts, epsilon)
    errors: dict[str, Floats] = {
        name: np.abs(simulation.errors(plan, plan.simulation_runs)).mean(axis=0)
        for name, plan in plans.items()
    }
    if not errors:
        return None
    relative = {name: relative_error(each, shares) for name, each in errors.items()}
    taken = min(relative, key=relative.__getitem__)
    parts, answers = (_by_measure(each, shares) for each in (errors[taken], simulation.truth))
    reason = note(
        "one-batch",
        error=relative[taken],
        measures=tuple(
            (share.name, share.mean_of(part), share.mean, share.unit)
            for share, part in zip(shares, parts, strict=True)
        ),
        others=tuple(sorted((e, name) for name, e in relative.items() if name != taken)),
    )
    by_query, weak = tuple(errors[taken].tolist()), any(map(is_weak, parts, answers))
    choice = SimulatedChoice(plans[taken], reason, relative, by_query, weak)
    name = ", ".join(share.name for share in shares)
    batch, multiples = planner.measurement(name, plans[taken]), _multiples(errors[taken], shares)
    weight = math.fsum(share.weight for share in shares)
    return WeighedBatch(batch, choice, multiples, weight, refusal)


def relative_error(errors: Floats, shares: Sequence[MeasureErrors]) -> float:
    """Relative error of one batch, given the mean error of each query in it."""
    pairs = zip(_multiples(errors, shares), shares, strict=True)
    weighted = math.fsum(multiple * share.weight for multiple, share in pairs)
    return weighted / math.fsum(share.weight for share in shares)


def _multiples(errors: Floats, shares: Sequence[MeasureErrors]) -> tuple[float, ...]:
    """Mean error of each measure as a multiple of that at equal shares.

    Both are taken as at least ``_LEAST``.
    """
    pairs = zip(_by_measure(errors, shares), shares, strict=True)
    return tuple(max(share.mean_of(e), _LEAST) / max(share.mean, _LEAST) for e, share in pairs)


def _by_measure(numbers: Floats, shares: Sequence[MeasureErrors]) -> list[Floats]:
    """Numbers of the queries of each measure."""
    return np.split(numbers, np.cumsum([len(share.errors) for share in shares])[:-1])


def _plans(
    planner: BatchPlanner, mechanism: str
) -> tuple[dict[str, BatchPlan], ParameterError | None]:
    """Plans by mechanism, and why none with row classes is among them, if none is for ``auto``."""
    names = BY_QUERY if planner.workload.unit else SEVERAL_MEASURES
    refusal = None
    plans: dict[str, BatchPlan] = {}
    for name in names if mechanism == AUTO else {mechanism} & {*names}:
        if name not in BY_QUERY and isinstance(planner.classes, ParameterError):
            refusal = planner.classes
            continue
        try:
            plan = _plan(planner, name)
        except PqdError:
            continue
        if plan.quick or mechanism != AUTO:
            plans[name] = plan
    return plans, refusal


def _plan(planner: BatchPlanner, name: str) -> BatchPlan:
    if name == JOINT:
        return JointPlan.of(planner.workload, planner.epsilon)
    if name == WORKLOAD:
        return SelectionsPlan.of(planner.workload, planner.epsilon)
    if isinstance(planner.classes, ParameterError):
        raise planner.classes
    return ClassesPlan.of(planner.workload, planner.classes, planner.epsilon)
