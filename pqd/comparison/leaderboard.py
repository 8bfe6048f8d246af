"""Leaderboard: candidates' shares, bands around the shares, and pairs with a better candidate.

Each query gives p-values for each candidate: of the claims that the candidate is within its
tolerance, and that it is outside.  The noise of different queries is independent.  So closed
testing (deciders/evaluation/closed_testing.py) bounds the number of true claims from below, for any
set of queries, however it was chosen.

* **Band**: all candidates and both ends share alpha.  The lower end counts the claims "within" that
  hold; the upper end counts all queries except the claims "outside" that hold.
* **Better**: all ordered pairs (a, b) and two counts share alpha.  The claims "a within and b
  outside" bound the weight of such queries from below.  The claims "not (b within and a
  outside)" bound the weight of the reverse queries from above.  If the first bound exceeds the
  second, a is within tolerance on more of the weight than b.

With probability at least 1 - alpha all bands hold at once, and so do all pairs.  Ours;
docs/theory.md, section 7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations

from pqd.deciders.evaluation.closed_testing import Discoveries
from pqd.reports.models.compare import CandidateKind, ComparedQuery, LeaderboardRow

# Number of named queries on which a candidate is farthest off.
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence of one query on the candidates, which are numbered.

    ``within`` and ``outside`` are the p-values of these claims.  ``never(a, b)`` is the p-value of
    the claim that b is not within while a is outside.
    """

    weight: Fraction
    within: tuple[float, ...]
    outside: tuple[float, ...]
    never: Callable[[int, int], float]


def better(evidence: Sequence[Evidence], candidates: int, alpha: float) -> set[tuple[int, int]]:
    """Pairs (a, b) for which it is established that a is better than b."""
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
    """Ends of the candidate's share, each wrong with probability at most ``level``."""
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

    The bounds hold for all sets of queries at once, so the bounds of each weight add up.
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
    """Candidates, the largest share first, and the established pairs (better, worse)."""
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
    """Queries on which this candidate, but not every candidate, is closest."""
    for query in queries:
        if name in query.closest and len(query.closest) < len(query.cells):
            yield query.id


def _worst(queries: Sequence[ComparedQuery], number: int) -> list[str]:
    """Queries on which the candidate is farthest outside, measured in tolerances."""
    off = [(query.cells[number], query.id) for query in queries]
    outside = [(cell, name) for cell, name in off if cell.outcome == "no"]
    outside.sort(key=lambda pair: (pair[0].strain is None, -(pair[0].strain or 0)))
    return [name for _, name in outside[:_NAMED]]
