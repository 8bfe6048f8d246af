"""Choice of a batch's mechanism by simulated errors on the synthetic table, which cost nothing.

The same queries must lead to the same choice.  Otherwise the ledger would not find an answer that
was paid for.  For that reason a simulation draws the quantiles of the noise at fixed points.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import count
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from pqd.batches.batch_plan import BatchPlan
from pqd.batches.workload_laplace import BatchCounts, exact_answers
from pqd.deciders.distances.cube_law import CubeLaw
from pqd.deciders.distributions import Floats
from pqd.deciders.errors import ParameterError, PqdError
from pqd.deciders.noise import check_scale
from pqd.deciders.note import Note, note
from pqd.engine.scan_plan import ScanPlan


class QuasiRandomNoise:
    """Noise at the same points in every run; for public data only, never for a release."""

    simulated = True

    def __init__(self, run: int) -> None:
        """Start at the first point of a ``run``."""
        self._run, self._place = run, count()

    def _point(self) -> float:
        """Next point inside (0, 1)."""
        name = f"{self._run} {next(self._place)}"
        return (int.from_bytes(hashlib.sha256(name.encode()).digest()[:6]) + 0.5) / 2**48

    def laplace(self, statistic: int, scale: Fraction) -> int:
        """``statistic`` plus the difference of two geometric draws; the scale is checked."""
        check_scale(scale)
        size = float(scale)
        first, second = (math.floor(-size * math.log(self._point())) for _ in range(2))
        return statistic + first - second

    def gaussian(self, statistic: int, sigma: Fraction) -> int:
        """``statistic`` plus a rounded quantile of the normal law; the scale is checked."""
        check_scale(sigma)
        return statistic + round(NormalDist(sigma=float(sigma)).inv_cdf(self._point()))

    def cube(self, statistics: Sequence[int], scale: Fraction) -> tuple[int, ...]:
        """``statistics`` plus a point of a cube: its radius is a quantile; the scale is checked."""
        check_scale(scale)
        radius = CubeLaw(len(statistics), scale).radius(self._point())
        places = (math.floor((2 * radius + 1) * self._point()) - radius for _ in statistics)
        return tuple(x + z for x, z in zip(statistics, places, strict=True))

    def least_place(self, scores: Sequence[int], scale: Fraction) -> int:
        """Raise NotImplementedError: no mechanism of a batch selects a place."""
        raise NotImplementedError

    def choose(self, logit: float) -> bool:
        """Choice that is True for the share ``1 / (1 + exp(-logit))`` of the points."""
        point = self._point()
        return math.log(point) - math.log1p(-point) < logit


class ErrorSimulation:
    """Simulation of plans on the synthetic table, given its ``counts``."""

    def __init__(self, workload: ScanPlan, counts: BatchCounts, epsilon: Fraction) -> None:
        """Compute the exact answers, which are public."""
        self._counts, self._epsilon = counts, epsilon
        self.truth: Floats = exact_answers(workload, counts).astype(np.float64)
        # Keep the rows that a plan reads.  They depend only on the type of the plan, and reading
        # is slow.
        self._rows: dict[type, Any] = {}

    def errors(self, plan: BatchPlan, runs: int) -> Floats:
        """Errors ``released - exact`` of each run and each query, of shape (runs, queries)."""
        if type(plan) not in self._rows:
            self._rows[type(plan)] = plan.read(self._counts)
        rows = self._rows[type(plan)]
        noises = map(QuasiRandomNoise, range(runs))
        drawn = [plan.release(rows, self._epsilon, noise).answers for noise in noises]
        errors: Floats = np.array(drawn, np.float64) - self.truth
        return errors


class SimulatedChoice(NamedTuple):
    """Choice of a plan, the reason, and the mean simulated error of every plan, in units.

    ``by_query`` is the mean absolute error of the plan that is taken, of each query, in units.
    ``is_weak`` says whether the error is at least half the mean absolute answer of the synthetic
    table, in a batch of several measures for one of them.
    """

    plan: BatchPlan
    reason: Note
    errors: Mapping[str, float]
    by_query: tuple[float, ...]
    is_weak: bool

    @property
    def error(self) -> float:
        """Simulated error of the plan that is taken."""
        return self.errors[self.plan.id]


def is_weak(errors: Floats, answers: Floats) -> bool:
    """Whether the mean of some ``errors`` is at least half that of the absolute ``answers``."""
    return bool(errors.mean() >= np.abs(answers).mean() / 2 > 0)


def choose_mechanism(
    plans: Mapping[str, BatchPlan],
    workload: ScanPlan,
    counts: BatchCounts,
    epsilon: Fraction,
    unit: Fraction,
    importance: Sequence[Fraction] = (),
) -> SimulatedChoice:
    """Choice of the plan with the least mean absolute error on the synthetic table.

    If the caller names a mechanism, ``plans`` holds only this mechanism.  ``counts`` are
    those of the synthetic table.  ``unit`` is the size of a unit of the answers.  With an
    ``importance`` of each query, means over the queries are weighted.

    Raises
    ------
    PqdError
        If no plan fits; the first reason is raised.
    """
    errors: dict[str, float] = {}
    by_query: dict[str, tuple[float, ...]] = {}
    weights = [float(each) for each in importance] or None
    simulation = ErrorSimulation(workload, counts, epsilon)
    refusal: PqdError | None = None
    for name, plan in plans.items():
        try:
            sizes = np.abs(simulation.errors(plan, plan.simulation_runs))
            of_query = sizes.mean(axis=0)
            errors[name] = float(np.average(of_query, weights=weights))
            by_query[name] = tuple(of_query.tolist())
        except PqdError as error:
            refusal = refusal or error
    if not errors:
        raise refusal or ParameterError("no mechanism fits these queries")
    taken = min(errors, key=errors.__getitem__)
    others = sorted((e, n) for n, e in errors.items() if n != taken)
    if len(plans) == 1:
        reason = note("named-error", error=errors[taken], unit=unit)
    else:
        rivals = tuple((name, error) for error, name in others)
        reason = note("least-error", error=errors[taken], others=rivals, unit=unit)
    weak = is_weak(np.array(by_query[taken]), simulation.truth)
    return SimulatedChoice(plans[taken], reason, errors, by_query[taken], weak)
