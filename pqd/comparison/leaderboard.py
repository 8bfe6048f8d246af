"""Leaderboard: candidates' shares, bands around the shares, and pairs (better, worse).

A candidate's share is the weight of the queries on which it is within its tolerance.  Each query
gives two p-values for each candidate: of the claim that the candidate is within its tolerance, and
of the claim that it is outside.  The noise of different queries is independent.  So closed testing
(deciders/evaluation/closed_testing.py) gives a lower bound on the number of true claims in any set
of queries, even in a set that was chosen after the release.

* **Band**: each end of each candidate's band may be wrong with an equal part of alpha.  The lower
  end counts the queries on which "within" is shown.  The upper end counts all queries but those on
  which "outside" is shown.
* **Better**: each ordered pair (a, b) has two bounds, and all bounds have equal parts of alpha.
  The claims "a within and b outside" give a lower bound on the weight of the queries on which only
  a is within.  The claims "not (b within and a outside)" give an upper bound on the weight of the
  queries on which only b is within.  If the first bound exceeds the second, a is within its
  tolerance on more of the weight than b.

* **Taking part**: a query that can be decided on no candidate takes no part, unless none can.
  This follows from public data alone, so the p-values of the other queries are as valid as
  without it.

With probability at least 1 - alpha all bands hold at once.  The same is true of all pairs.  These
tests are ours; the proof is in docs/theory.md, section 7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations

from pqd.deciders.evaluation.closed_testing import Discoveries
from pqd.reports.models.compare import CandidateKind, ComparedQuery, LeaderboardRow

# Number of queries that a report names for a candidate: the queries on which it is farthest off.
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence of one query on the candidates, which are numbered from 0.

    ``within[a]`` is the p-value of the claim that candidate a is within its tolerance;
    ``outside[a]`` is the p-value of the claim that a is outside.  ``never(a, b)`` is the p-value of
    the claim "not (b within and a outside)".
    """

    weight: Fraction
    within: tuple[float, ...]
    outside: tuple[float, ...]
    never: Callable[[int, int], float]


def better(evidence: Sequence[Evidence], candidates: int, alpha: float) -> set[tuple[int, int]]:
    """Pairs (a, b) such that candidate a is established to be better than b."""
    pairs = list(permutations(range(candidates), 2))
    if not pairs:
        return set()
    level = alpha / (2 * len(pairs))
    weights = _places_by_weight(evidence)
    whole = sum((each.weight for each in evidence), Fraction(0))
    established = set()
    for a, b in pairs:
        ahead = _weight(weights, [max(e.within[a], e.outside[b]) for e in evidence], level)
        if not ahead:
            continue
        behind = whole - _weight(weights, [e.never(a, b) for e in evidence], level)
        if ahead > behind:
            established.add((a, b))
    return established


def band(evidence: Sequence[Evidence], candidate: int, level: float) -> tuple[float, float]:
    """Bounds of the candidate's share; each is wrong with probability at most ``level``."""
    weights = _places_by_weight(evidence)
    whole = sum((each.weight for each in evidence), Fraction(0))
    inside = _weight(weights, [each.within[candidate] for each in evidence], level)
    beyond = _weight(weights, [each.outside[candidate] for each in evidence], level)
    return float(inside / whole), float(1 - beyond / whole)


def _places_by_weight(evidence: Sequence[Evidence]) -> Mapping[Fraction, Sequence[int]]:
    places: dict[Fraction, list[int]] = {}
    for place, each in enumerate(evidence):
        places.setdefault(each.weight, []).append(place)
    return places


def _weight(
    weights: Mapping[Fraction, Sequence[int]], p_values: Sequence[float], level: float
) -> Fraction:
    """Lower bound on the weight of the queries whose claim is true.

    The queries of each weight have a bound of their own.  Bounds by closed testing hold for all
    sets of queries at once, so they add up.
    """
    discoveries = Discoveries(p_values, level)
    bounds = (weight * discoveries.among(each) for weight, each in weights.items())
    return sum(bounds, Fraction(0))


def leaderboard(
    queries: Sequence[ComparedQuery],
    evidence: Sequence[Evidence],
    kinds: Mapping[str, CandidateKind],
    alpha: Fraction,
) -> tuple[tuple[LeaderboardRow, ...], tuple[tuple[str, str], ...]]:
    """Rows of the candidates, the largest share first, and established pairs (better, worse)."""
    names = list(kinds)
    pairs = better(evidence, len(names), float(alpha))
    level = float(alpha) / (2 * len(names))
    rows = []
    for number, name in enumerate(names):
        low, high = band(evidence, number, level)
        fates = [query.cells[number].standing.fate for query in queries]
        rows.append(
            LeaderboardRow(
                candidate=name,
                kind=kinds[name],
                share=_share(queries, number),
                low=low,
                high=high,
                trusted=fates.count("passed"),
                not_trusted=fates.count("failed"),
                undecided=fates.count("open"),
                best_rank=1 + sum(b == number for _, b in pairs),
                worst_rank=len(names) - sum(a == number for a, _ in pairs),
                wins=tuple(_wins(queries, name)),
                worst=tuple(_worst(queries, number)),
            )
        )
    rows.sort(key=lambda row: (-row.share, row.best_rank, row.worst_rank, row.not_trusted))
    return tuple(rows), tuple(sorted((names[a], names[b]) for a, b in pairs))


def _share(queries: Sequence[ComparedQuery], number: int) -> float:
    whole = sum(float(query.weight) for query in queries)
    within = sum(float(q.weight) for q in queries if q.cells[number].outcome == "yes")
    return within / whole


def _wins(queries: Sequence[ComparedQuery], name: str) -> Iterator[str]:
    """Queries on which this candidate is closest, except queries on which all are closest."""
    for query in queries:
        if name in query.closest and len(query.closest) < len(query.cells):
            yield query.id


def _worst(queries: Sequence[ComparedQuery], number: int) -> list[str]:
    """Queries on which the candidate is farthest outside, in multiples of the tolerance."""
    off = [(query.cells[number], query.id) for query in queries]
    outside = [(cell, name) for cell, name in off if cell.outcome == "no"]
    outside.sort(key=lambda pair: (pair[0].strain is None, -(pair[0].strain or 0)))
    return [name for _, name in outside[:_NAMED]]
