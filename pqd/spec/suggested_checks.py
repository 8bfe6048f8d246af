"""Suggested checks of a copy, for one gate: rows, alarm, columns, pairs, values, medians.

Only the copy is read.  A tolerance is a twentieth, plus what two independent samples and the noise
of the gate add.  So if the copy and the private table are samples of the same distribution, the
copy passes with high probability; what it would not pass is left out, with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pqd.deciders.distances.claims import DistanceBelow
from pqd.deciders.distances.value_claims import chance_rows, spare_rows
from pqd.deciders.errors import PqdError
from pqd.deciders.numbers import epsilon_option, number_text
from pqd.marginals.bound_profile import BoundProfile
from pqd.marginals.table_claims import TableClaims
from pqd.marginals.table_gate import ALARM, TableGate
from pqd.parameters import Criteria
from pqd.planning.bound_workload import BoundQuery, BoundWorkload, QueryRequest
from pqd.planning.lattices import lattice_of
from pqd.planning.query_verdict import planned_verdict
from pqd.reports.models.refusals import LeftOut
from pqd.reports.models.standings import Standing
from pqd.run.gate import ROWS_SHARE
from pqd.sql.query import Query
from pqd.sql.schema import Kind, quote_identifier

if TYPE_CHECKING:
    from pqd.deciders import Histogram

# Most columns with a median.
_MOST_NUMBERS = 5
# Both tables are taken as samples, so their difference has twice the variance of one sample.
_TWO_SAMPLES = math.sqrt(2)
# The number of standard errors by which a median may differ.
_DEVIATIONS = 3
# Level at which the least tolerance is computed: the usual level of the p-value, times the chance
# with which noise may hide a right answer, so small that a run decides all checks of a spec.  A
# threshold at the product of two levels leaves enough rows for both (docs/theory.md, section 4).
_LEVEL = Fraction(1, 20) * Fraction(1, 1000)
# A median with a tolerance above this share of its range is left out: it would say too little.
_MOST_OF_RANGE = Fraction(1, 4)
_USUAL = Fraction(1, 20)
# Budgets of a gate that are tried where a cheaper gate cannot judge the alarm or relations.
_DEARER = tuple(map(Fraction, ("0.5", "1", "2", "4")))
_UNALARMED = "whether the copy is nearly all private rows, the alarm"


class SuggestedCheck(NamedTuple):
    """Check of the new spec: its name, its keys with their TOML values, and a comment."""

    name: str
    keys: dict[str, object]
    comment: str


class Suggestions(NamedTuple):
    """Checks for one gate, and what is left out: the names, by the reason.

    ``unalarmed`` says that the gate cannot check whether the copy is all private rows, and what to
    do; it is empty if it is checked.  ``unrelated`` says the same of relations; it is also empty if
    there is no pair of columns.
    """

    checks: tuple[SuggestedCheck, ...]
    left_out: tuple[tuple[str, tuple[str, ...]], ...]
    unrelated: str = ""
    unalarmed: str = ""


class Sizes(NamedTuple):
    """Rows of the copy, and of the private table if the number is stated."""

    copy: int
    stated: int | None = None

    @property
    def private(self) -> int:
        """Stated number of private rows; without one, that of the copy."""
        return self.copy if self.stated is None else self.stated


def suggested_checks(
    profile: BoundProfile | None, workload: BoundWorkload, sizes: Sizes, epsilon: Fraction
) -> Suggestions:
    """Checks for a gate of ``epsilon``; all of it from the copy and the stated number of rows.

    ``profile`` is the copy's profile; None if it has no column to profile.  ``workload`` has the
    bound queries of ``number_queries``.
    """
    checks = [_COLUMNS]
    rows_epsilon = None
    if sizes.stated is None:
        # The gate releases the number of private rows.
        rows_epsilon, epsilon = ROWS_SHARE * epsilon, (1 - ROWS_SHARE) * epsilon
        checks += _counted(workload, epsilon)
    left_out: dict[str, list[str]] = {}
    unrelated, unalarmed = "", _UNALARMED
    if profile:
        gate = TableGate(
            bound=profile,
            rows=sizes.private,
            tau=_USUAL,
            epsilon=epsilon,
            alpha=_USUAL,
            rows_epsilon=rows_epsilon,
        )
        for each in gate.left_out:
            left_out.setdefault(each.reason, []).append(each.name)
        size = f"of {min(sizes.copy, sizes.private):,} {_noun(workload)}"
        unalarmed = _unalarmed(gate, size)
        if not unalarmed:
            checks.append(_ALARM)
        if gate.keeps_relations:
            checks.append(_RELATIONS)
        elif len(profile.columns) > 1:
            unrelated = _unrelated(gate, size)
        checks += _marginals(gate.claims, {each.name for each in profile.columns if each.constant})
        checks += _values(gate.claims)
    for bound in _named(workload, "MEDIAN"):
        if bound.synthetic[0].values.size > 2:
            check = _median(bound, sizes, epsilon)
            if check:
                checks.append(check)
            else:
                reason = "chance and noise alone would explain a quarter of the range"
                left_out.setdefault(reason, []).append(bound.query.id or "")
    told = tuple(_told(left_out))
    return Suggestions(tuple(checks), told, unrelated, unalarmed)


def _told(left_out: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield names by reason, without the alarm, which has a sentence of its own."""
    for reason, names in left_out.items():
        if others := tuple(name for name in names if name != ALARM):
            yield reason, others


def _unalarmed(gate: TableGate, size: str) -> str:
    """Why the alarm is not checked, and which budget of the gate would do; empty if it is."""
    if ALARM not in {each.name for each in gate.left_out}:
        return ""
    chance, noise = "chance alone would explain it", "noise would explain it"
    return f"{_UNALARMED} ({size} {_reason(gate, gate.alarm_epsilon, chance, noise, 'it')})"


def _unrelated(gate: TableGate, size: str) -> str:
    """Why relations are not checked, and which budget of the gate would do."""
    chance, noise = "chance alone may explain half", "noise hides half"
    reason = _reason(gate, gate.relations_epsilon, chance, noise, "them")
    return f"whether relations of columns are kept ({size} {reason})"


def _reason(
    gate: TableGate,
    first: Callable[[Sequence[Fraction]], Fraction | None],
    chance: str,
    noise: str,
    what: str,
) -> str:
    """Words for ``chance``, or for ``noise`` and the first larger gate that checks ``what``.

    If the gate also releases the number of rows, a share of its budget is left for the margin.
    """
    share = Fraction(1) if gate.rows_epsilon is None else 1 - ROWS_SHARE
    epsilon = first([each * share for each in _DEARER if each * share > gate.epsilon])
    if epsilon is None:
        return chance
    return f"{noise}; pqd init --gate {epsilon_option(epsilon / share)} checks {what}"


def _noun(workload: BoundWorkload) -> str:
    return "rows" if workload.unit is None else "persons"


def number_queries(profile: BoundProfile | None) -> list[Query]:
    """Queries for the number of rows and medians of numbers."""
    queries = [Query("SELECT COUNT(*) FROM D", "rows")]
    columns = profile.columns if profile else ()
    numbers = [each.name for each in columns if each.kind == Kind.NUMBER and not each.constant]
    for name in numbers[:_MOST_NUMBERS]:
        # An AVG within the copy's bounds has a small margin, however near the means are.
        sql = f"SELECT MEDIAN({quote_identifier(name)}) FROM D"
        if _admitted(sql):
            queries.append(Query(sql, f"{name} median"))
    return queries


def unjudged(left_out: Sequence[LeftOut]) -> list[str]:
    """Names of the columns that look like identifiers or free text in the copy."""
    return [each.columns[0] for each in left_out if each.standing is Standing.NOT_JUDGED]


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


def _counted(workload: BoundWorkload, epsilon: Fraction) -> Iterator[SuggestedCheck]:
    """Yield a check of the number of rows: within 5 %, or what chance and noise add up to.

    Two samples of one population differ by three standard errors, the root of twice the rows each.
    """
    noun = _noun(workload)
    for bound in _named(workload, "COUNT"):
        rows = bound.synthetic[0].mass
        apart = chance_rows(rows) + spare_rows(epsilon)
        comment = f"The copy has {rows:,} {noun}."
        if apart > _USUAL * rows:
            comment += f" Sampling and noise explain {apart:,} more or fewer."
        comment += f" Leave the check out if the private table has another number of {noun}."
        tau = "5%" if apart <= _USUAL * rows else rounded_up(Fraction(apart))
        yield SuggestedCheck("rows", {"sql": bound.query.sql, "tau": tau}, comment)


_COLUMNS = SuggestedCheck(
    "columns",
    {"schema": "complete"},
    "Public, exact and free: fails if one of the tables lacks a column of the other one, or if a "
    "column cannot be judged.",
)
_ALARM = SuggestedCheck(
    "not too near",
    {"alarm": "overall"},
    "Fails if the copy is nearer to the private table than rows drawn from it. Silence is no "
    "safety. If the generator is differentially private, state copy_epsilon above.",
)


_RELATIONS = SuggestedCheck(
    "relations",
    {"score": "relations", "at_least": "50%"},
    "Fails if half of what pairs of columns tell beyond single columns is lost: 0 % as shuffled "
    "columns, 100 % exactly.",
)


def _marginals(claims: TableClaims, constant: set[str]) -> Iterator[SuggestedCheck]:
    """Yield a check of each column and pair that can be judged.

    A pair with a ``constant`` column tells no more than its other column.
    """
    for each in claims.within:
        told = len(each.columns) > 1 and constant & set(each.columns)
        if isinstance(each.claim, DistanceBelow) and not told:
            keys: dict[str, object] = {
                "marginal": list(each.columns),
                "tau": percent(each.claim.tau),
            }
            yield SuggestedCheck(" ".join(each.columns), keys, "")


def _values(claims: TableClaims) -> Iterator[SuggestedCheck]:
    """Yield a check of the values of each column that can be judged.

    A distance of a column does not see what few of its rows have.
    """
    for (column,) in dict.fromkeys(each.columns for each in claims.columns):
        yield SuggestedCheck(f"{column} values", {"column": column}, "")


def _admitted(sql: str) -> bool:
    """Whether the query language can express the query; it cannot express some unusual names."""
    try:
        Query(sql)
    except PqdError:
        return False
    return True


def _median(bound: BoundQuery, sizes: Sizes, epsilon: Fraction) -> SuggestedCheck | None:
    """Check of a median, which allows for the deviation by sampling alone."""
    histogram, unit = bound.synthetic[0].in_rows, lattice_of(bound.query, bound.statistic)[1]
    # The error is of two samples of the copy's size.
    scale = Fraction(math.sqrt((1 + sizes.copy / sizes.private) / 2))
    apart = Fraction(_median_error(histogram)) * unit * scale
    reach = Fraction(int(histogram.values[-1]) - int(histogram.values[0])) * unit
    threshold = _least_tolerance(bound, max(apart, unit), epsilon)
    if threshold is None or apart + threshold > _MOST_OF_RANGE * reach:
        return None
    threshold *= max(Fraction(1), Fraction(sizes.copy, sizes.private))
    comment = (
        f"Sampling alone moves the median by up to {_short(apart)} (three standard errors); "
        f"{_short(threshold)} can be told at this epsilon."
    )
    keys: dict[str, object] = {"sql": bound.query.sql, "tau": rounded_up(apart + threshold)}
    return SuggestedCheck(bound.query.id or "median", keys, comment)


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
