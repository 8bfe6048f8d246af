"""Which mechanism answers a batch: each is rehearsed on the synthetic table, which costs nothing.

The choice must be the same whenever the same is asked, or a question that was paid for would not
be found again.  So a rehearsal draws from the distribution of the noise at fixed points.
"""

from __future__ import annotations

import hashlib
import math
from fractions import Fraction
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from deciders.errors import ParameterError, PqdError
from deciders.noise import check_scale
from pqd.batches.workload_laplace import exact_answers
from reports.text.reasons import least_simulated_error, named_mechanism

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deciders.distributions import Floats
    from pqd.batches.batch_plan import BatchPlan
    from pqd.engine.contingency import ContingencyTable
    from pqd.engine.scan_plan import ScanPlan


class QuasiRandomNoise:
    """Noise at points that are the same in every run: for public data only, never for a release."""

    simulated = True

    def __init__(self, run: int) -> None:
        """Begin the points of one ``run``."""
        self._run, self._place = run, count()

    def _point(self) -> float:
        """Return a number inside (0, 1)."""
        name = f"{self._run} {next(self._place)}"
        return (int.from_bytes(hashlib.sha256(name.encode()).digest()[:6]) + 0.5) / 2**48

    def laplace(self, statistic: int, scale: Fraction) -> int:
        """Return ``statistic`` and a difference of two geometric draws; refuse as others do."""
        check_scale(scale)
        size = float(scale)
        first, second = (math.floor(-size * math.log(self._point())) for _ in range(2))
        return statistic + first - second

    def choose(self, logit: float) -> bool:
        """Return True for the share ``1 / (1 + exp(-logit))`` of the points."""
        point = self._point()
        return math.log(point) - math.log1p(-point) < logit


class ErrorSimulation:
    """The synthetic table, on which plans are rehearsed."""

    def __init__(
        self, workload: ScanPlan, contingency: ContingencyTable, epsilon: Fraction
    ) -> None:
        """Keep the exact answers, which are public."""
        self._contingency, self._epsilon = contingency, epsilon
        self._truth = exact_answers(workload, contingency)
        self.size = float(np.abs(self._truth).mean())
        # What a plan reads depends on its kind alone; it takes time with the rows.
        self._rows: dict[type, Any] = {}

    def errors(self, plan: BatchPlan, runs: int, first: int = 0) -> Floats:
        """Return ``released - exact`` of (runs, queries), from the run ``first`` on."""
        if type(plan) not in self._rows:
            self._rows[type(plan)] = plan.read(self._contingency)
        rows = self._rows[type(plan)]
        noises = (QuasiRandomNoise(run) for run in range(first, first + runs))
        drawn = [plan.release(rows, self._epsilon, noise).answers for noise in noises]
        found: Floats = np.array(drawn, np.float64) - self._truth
        return found


class SimulatedChoice(NamedTuple):
    """The plan taken, why, and the mean error of every plan that was rehearsed, in units.

    ``size`` is the mean size of the synthetic table's answers.
    """

    plan: BatchPlan
    reason: str
    errors: Mapping[str, float]
    size: float

    @property
    def error(self) -> float:
        """That of the plan taken."""
        return self.errors[self.plan.id]


def choose_mechanism(
    plans: Mapping[str, BatchPlan],
    workload: ScanPlan,
    contingency: ContingencyTable,
    epsilon: Fraction,
    unit: Fraction,
) -> SimulatedChoice:
    """Return the plan with the least mean absolute error on the synthetic table's ``contingency``.

    A plan that is named is the only one.  ``unit`` is what a unit of the answers is worth.

    Raises
    ------
    PqdError
        If no plan fits: the first reason.
    """
    errors: dict[str, float] = {}
    stage = ErrorSimulation(workload, contingency, epsilon)
    refusal: PqdError | None = None
    for name, plan in plans.items():
        try:
            errors[name] = float(np.abs(stage.errors(plan, plan.runs)).mean())
        except PqdError as error:
            refusal = refusal or error
    if not errors:
        raise refusal or ParameterError("no mechanism fits these queries")
    taken = min(errors, key=errors.__getitem__)
    others = sorted((e, n) for n, e in errors.items() if n != taken)
    reason = least_simulated_error(errors[taken], [(n, e) for e, n in others], unit)
    if len(plans) == 1:
        reason = named_mechanism(errors[taken], unit)
    return SimulatedChoice(plans[taken], reason, errors, stage.size)
