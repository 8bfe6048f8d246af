"""Suggested checks of a copy: rows, quality, an alarm, columns, strong pairs, means and medians.

Only the copy is read.  Each tolerance is the copy's own sampling noise plus the least difference
that can be decided at this epsilon.  So if the copy and the private table are samples of the same
distribution, with about the same number of rows, the copy passes with high probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pqd.deciders.decided import DECIDED
from pqd.deciders.distances.chance import drawn_distance, independent_distance
from pqd.deciders.distances.decider import DistanceDecider
from pqd.deciders.errors import PqdError
from pqd.deciders.numbers import number_text
from pqd.marginals.bound_profile import BoundMarginal, BoundProfile, mean_weights
from pqd.marginals.chance import CopyChance
from pqd.parameters import Criteria
from pqd.planning.bound_workload import BoundQuery, BoundWorkload, QueryRequest
from pqd.planning.lattices import lattice_of
from pqd.planning.query_verdict import planned_verdict
from pqd.sql.query import Query
from pqd.sql.schema import Kind, quote_identifier

if TYPE_CHECKING:
    from pqd.deciders import Histogram

_MOST_COLUMNS, _MOST_PAIRS, _MOST_NUMBERS = 20, 5, 5
# Both tables are taken as samples, so their difference has twice the variance of one sample.
_TWO_SAMPLES = math.sqrt(2)
# The number of standard errors by which a mean or a median may differ; and the chance that the
# distance between two samples exceeds its mean by more than is allowed (McDiarmid 1989).
_DEVIATIONS, _UNLIKELY = 3, 0.01
# Level at which the least tolerance is computed: the usual level of the p-value, times the chance
# with which noise may hide a right answer, so small that a run decides all checks of a spec.  A
# threshold at the product of two levels leaves enough rows for both (docs/theory.md, section 4).
_LEVEL = Fraction(1, 20) * Fraction(1, 1000)
# A check with a tolerance above this share of the rows, or of the column's range, is left out: it
# would say too little.
_MOST_TAU, _MOST_OF_RANGE = Fraction(1, 2), Fraction(1, 4)
_USUAL = Fraction(1, 20)


class SuggestedCheck(NamedTuple):
    """Check of the new spec: its name, its keys with their TOML values, and a comment."""

    name: str
    keys: dict[str, object]
    comment: str


# Function from a budget to a check, or to None if nothing can be decided at that budget.
Candidate = Callable[[Fraction], SuggestedCheck | None]


class Suggestions(NamedTuple):
    """Checks, the epsilon of each check, and the number of checks left out as too weak."""

    checks: tuple[SuggestedCheck, ...]
    epsilon: Fraction
    left_out: int

    @property
    def total(self) -> Fraction:
        """Epsilon of all checks together: they read the same rows, so their epsilons add up."""
        return self.epsilon * len(self.checks)


def suggested_checks(
    profile: BoundProfile | None, workload: BoundWorkload, rows: int, total: Fraction
) -> Suggestions:
    """Checks that together cost at most ``total``, each an equal part.

    ``profile`` is the copy's profile; None if it has no column to profile.  ``workload`` has the
    bound queries of ``number_queries``.  ``rows`` is the copy's number of rows.
    """
    candidates = [
        *_counted(workload),
        *(_scored(profile, rows) if profile else ()),
        *(_alarmed(profile, rows) if profile else ()),
        *(_distances(profile, rows) if profile else ()),
        *_averaged(workload),
    ]
    share = rounded_down(total / len(candidates))
    kept = [each for each in candidates if each(share)]
    # The kept checks share the whole budget, so each of them can decide smaller differences.
    share = rounded_down(total / max(1, len(kept)))
    checks = tuple(check for each in kept if (check := each(share)))
    return Suggestions(checks, share, len(candidates) - len(checks))


def number_queries(profile: BoundProfile | None) -> list[Query]:
    """Queries for the number of rows, and for means and medians of the copy's numbers."""
    queries = [Query("SELECT COUNT(*) FROM D", "rows")]
    columns = profile.columns if profile else ()
    numbers = [each.name for each in columns if each.kind == Kind.NUMBER and not each.constant]
    for name in numbers[:_MOST_NUMBERS]:
        for aggregate, word in (("AVG", "average"), ("MEDIAN", "median")):
            sql = f"SELECT {aggregate}({quote_identifier(name)}) FROM D"
            try:
                queries.append(Query(sql, f"{name} {word}"))
            except PqdError:
                # The query language cannot express some unusual names.
                continue
    return queries


def rounded_down(number: Fraction, digits: int = 2) -> Fraction:
    """``number`` > 0, rounded down to ``digits`` significant digits."""
    place = _place(number, digits)
    return math.floor(number / place) * place


def rounded_up(number: Fraction, digits: int = 2) -> Fraction:
    """``number`` > 0, rounded up to ``digits`` significant digits."""
    place = _place(number, digits)
    return math.ceil(number / place) * place


def _place(number: Fraction, digits: int) -> Fraction:
    exponent = math.floor(math.log10(number.numerator) - math.log10(number.denominator))
    return Fraction(10) ** (exponent - digits + 1)


def _short(amount: Fraction) -> str:
    """Amount for a comment: with two digits or as a whole number; 0 stays 0."""
    return number_text(float(rounded_up(amount))) if amount else "0"


def percent(share: Fraction) -> str:
    """Share above 0, rounded up, as a tolerance such as ``2.4%``."""
    return f"{float(rounded_up(share * 100)):g}%"


def _named(workload: BoundWorkload, *aggregates: str) -> Iterator[BoundQuery]:
    return (each for each in workload.queries if each.query.aggregate in aggregates)


def _least_tolerance(bound: BoundQuery, tau: Fraction, epsilon: Fraction) -> Fraction | None:
    """Least tolerance that can be decided at a budget; None if no tolerance can be decided."""
    criteria = Criteria.of(tau=tau, alpha=_LEVEL).at(epsilon)
    request = QueryRequest(bound.query, criteria)
    try:
        threshold = planned_verdict(replace(bound, request=request)).taken.tau_min
    except PqdError:
        return None
    return None if threshold is None or math.isinf(threshold) else Fraction(threshold)


def _counted(workload: BoundWorkload) -> Iterator[Candidate]:
    """Yield a check of the number of rows: within 5 %, or more if 5 % cannot be decided."""
    for bound in _named(workload, "COUNT"):
        rows = bound.synthetic[0].mass

        def check(epsilon: Fraction, bound: BoundQuery = bound, rows: int = rows) -> SuggestedCheck:
            threshold = _least_tolerance(bound, Fraction(1), epsilon) or Fraction(rows)
            enough = threshold <= _USUAL * rows
            comment = f"The copy has {rows:,} rows."
            if not enough:
                comment += " So few that less than this cannot be told at this epsilon."
            tau = "5%" if enough else rounded_up(threshold)
            return SuggestedCheck("rows", {"sql": bound.query.sql, "tau": tau}, comment)

        yield check


def _deviation(rows: int) -> float:
    """Bound that the distance of two samples, minus its mean, exceeds with a chance of 1 %."""
    return math.sqrt(math.log(1 / _UNLIKELY) / rows)


def _tolerance(expected: float, rows: int, epsilon: Fraction) -> Fraction | None:
    """Tolerance for two samples of ``rows`` rows with an ``expected`` distance; None if too wide.

    The margin of a distance s is (tau - s) / (1 + tau), as a share of the rows.  Let t be the least
    tolerance that can be decided at distance 0.  Then tau = s + t + s t has the same margin at
    distance s.
    """
    threshold = DistanceDecider().tau_min(rows, epsilon, _LEVEL).tau
    if math.isinf(threshold):
        return None
    apart = Fraction(expected + _deviation(rows))
    tau = apart + Fraction(threshold) + apart * Fraction(threshold)
    return tau if tau <= _MOST_TAU else None


def _expected(marginal: BoundMarginal, rows: int) -> float:
    """Approximate mean distance between two samples of the copy's distribution."""
    return independent_distance(marginal.copies[0], rows)


def _scored(profile: BoundProfile, rows: int) -> Iterator[Candidate]:
    """Yield a check of the overall quality of all columns and pairs."""
    weights = mean_weights(profile.marginals)
    pairs = zip(weights, profile.marginals, strict=True)
    expected = sum(float(weight) * _expected(each, rows) for weight, each in pairs)
    ways = max(each.ways for each in profile.marginals)

    def check(epsilon: Fraction) -> SuggestedCheck | None:
        tau = _tolerance(expected, rows, epsilon)
        if tau is None:
            return None
        least = f"{float(math.floor((1 - tau) * 1000) / Fraction(10)):g}%"
        comment = (
            "Overall quality: 100 % minus the mean distance (total variation) of all "
            f"{len(profile.marginals)} {'columns and pairs' if ways > 1 else 'columns'}. Two "
            f"samples of one population would score about {100 * (1 - expected):.1f} %."
        )
        keys: dict[str, object] = {
            "score": "overall",
            "at_least": least,
            **({"ways": 1} if ways == 1 else {}),
        }
        return SuggestedCheck("overall", keys, comment)

    yield check


def _alarmed(profile: BoundProfile, rows: int) -> Iterator[Candidate]:
    """Yield an alarm, if nine runs of ten would decide whether the copy is nearer than its mark."""
    mark = CopyChance(profile, rows).nearest_drawn(_USUAL)
    if max(each.ways for each in profile.marginals) == 1:
        # The alarm is by columns and pairs.
        return

    def check(epsilon: Fraction) -> SuggestedCheck | None:
        if not mark or DistanceDecider().decision_chance(rows, mark, epsilon, _USUAL) < DECIDED:
            return None
        comment = (
            "Fails if the copy is nearer to the private table than rows drawn from it: quality "
            f"above {float(100 * (1 - mark)):.2f} %. Silence is no safety. If the generator is "
            "differentially private, state copy_epsilon above."
        )
        return SuggestedCheck("not too near", {"alarm": "overall"}, comment)

    yield check


def _distances(profile: BoundProfile, rows: int) -> Iterator[Candidate]:
    """Yield checks of columns, then of the pairs with the strongest dependence in the copy."""
    constant = {each.name for each in profile.columns if each.constant}
    columns = [m for m in profile.marginals if m.ways == 1 and not constant & set(m.columns)]
    for marginal in columns[:_MOST_COLUMNS]:
        yield _distance(marginal, rows, "")
    pairs = [(dependence(m, rows), m) for m in profile.marginals if m.ways == 2]
    strongest = sorted((pair for pair in pairs if pair[0] > 0), key=lambda pair: -pair[0])
    for share, marginal in strongest[:_MOST_PAIRS]:
        text = (
            f"One of the strongest pairs of the copy: {100 * share:.0f} % of its rows would have "
            "to change for the two to be independent. "
        )
        yield _distance(marginal, rows, text)


def _distance(marginal: BoundMarginal, rows: int, lead: str) -> Candidate:
    expected = _expected(marginal, rows)

    def check(epsilon: Fraction) -> SuggestedCheck | None:
        tau = _tolerance(expected, rows, epsilon)
        if tau is None:
            return None
        comment = (
            f"{lead}Two samples of one population differ by about {100 * expected:.2g} % here (in "
            f"{marginal.marginal.size:,} cells)."
        )
        keys: dict[str, object] = {"marginal": list(marginal.columns), "tau": percent(tau)}
        return SuggestedCheck(" ".join(marginal.columns), keys, comment)

    return check


def dependence(marginal: BoundMarginal, rows: int) -> float:
    """Share of the copy's rows that must change to make the two columns independent.

    Sampling alone makes this share positive for independent columns; this part is subtracted.
    """
    counts: NDArray[np.float64] = marginal.copies[0].reshape(marginal.marginal.shape) / max(
        1, int(marginal.copies[0].sum())
    )
    apart = np.abs(counts - np.outer(counts.sum(axis=1), counts.sum(axis=0))).sum() / 2
    return float(apart) - drawn_distance(marginal.copies[0], rows)


def _averaged(workload: BoundWorkload) -> Iterator[Candidate]:
    """Yield checks of means and medians, which allow for the deviation by sampling alone."""
    for bound in _named(workload, "AVG", "MEDIAN"):
        histogram, unit = bound.synthetic[0], lattice_of(bound.query, bound.statistic)[1]
        if histogram.values.size > 2:
            yield _average(bound, histogram, unit)


def _average(bound: BoundQuery, histogram: Histogram, unit: Fraction) -> Candidate:
    sampling = _median_error if bound.query.aggregate == "MEDIAN" else _mean_error
    apart = Fraction(sampling(histogram)) * unit
    reach = Fraction(int(histogram.values[-1]) - int(histogram.values[0])) * unit
    word = "median" if bound.query.aggregate == "MEDIAN" else "mean"

    def check(epsilon: Fraction) -> SuggestedCheck | None:
        threshold = _least_tolerance(bound, max(apart, unit), epsilon)
        if threshold is None or apart + threshold > _MOST_OF_RANGE * reach:
            return None
        comment = (
            f"Sampling alone moves the {word} by up to {_short(apart)} (three standard errors); "
            f"{_short(threshold)} can be told at this epsilon."
        )
        keys: dict[str, object] = {"sql": bound.query.sql, "tau": rounded_up(apart + threshold)}
        return SuggestedCheck(bound.query.id or word, keys, comment)

    return check


def _mean_error(histogram: Histogram) -> float:
    """Three standard errors of the difference between two samples' means, in lattice units."""
    values, counts = histogram.values.astype(float), histogram.counts
    mean = float(values @ counts) / histogram.mass
    variance = float(((values - mean) ** 2) @ counts) / histogram.mass
    return _DEVIATIONS * _TWO_SAMPLES * math.sqrt(variance / histogram.mass)


def _median_error(histogram: Histogram) -> float:
    """Distance from the median to the values whose ranks are three standard errors away.

    The larger of both distances is taken.  The rank of a sample's median has a standard error of
    half the square root of the number of rows; for two samples it is larger by the root of 2.
    """
    rows = histogram.mass
    off = math.ceil(_DEVIATIONS * _TWO_SAMPLES * math.sqrt(rows) / 2)
    ranks = [max(1, (rows + 1) // 2 - off), (rows + 1) // 2, min(rows, (rows + 1) // 2 + off)]
    places = np.searchsorted(histogram.cumulative_counts[1:], ranks)
    low, middle, high = (int(value) for value in histogram.values[places])
    return float(max(high - middle, middle - low))
