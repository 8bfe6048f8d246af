"""Choice of batches: which queries of a shared budget are answered in batches.

Queries that sum up one measure make a group, and a group can become one batch.  A way to share is
the set of groups that become batches.  The ways compared are: no group, one group, all groups but
one, and all groups.  For example, with a group of COUNT and a group of SUM(income) the ways are:
neither, COUNT only, SUM(income) only, or both.

All ways cost the same total epsilon.  They are compared on public data by the expected number of
wrong verdicts of the whole run.  This number is computed at the true gaps ``WEIGHED`` from 0 to 2
tau.  The thresholds break ties.  With a larger budget the ways are the same and each way errs
less, so the best way errs less too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from pqd.batches.batch_measurement import BatchPlanner, name_of, naming, selection
from pqd.batches.batch_verdict import (
    DIGITS,
    BatchCandidate,
    OpenConditionsError,
    batch_candidates,
    relative,
)
from pqd.batches.mechanisms import BY_QUERY, RANGES, TOGETHER
from pqd.deciders.errors import ParameterError
from pqd.deciders.note import Note, note
from pqd.engine.scan_plan import Measure, Statistic
from pqd.errors import PqdError
from pqd.parameters import Detail
from pqd.planning.budget_split import SharedQueries, SharingQuery, distinct, equal_shares
from pqd.planning.choose_decider import Candidate
from pqd.sql.predicate import atoms
from pqd.sql.regions import exactly
from pqd.stated.budgets import AUTO

_SUMMED = ("COUNT", "SUM")
# The most batches that a report shows with a query.
_MOST_SHOWN = 3
# Way to share, as the numbers of the groups that become batches.
BatchSet = frozenset[int]


def share_in_batches(shared: Sequence[SharedQueries], sharing: str, each: Fraction) -> None:
    """Plan the named batches, or for ``auto`` the batches that are better than equal shares.

    ``each`` is the share of one query.

    Raises
    ------
    PqdError
        If the named mechanism does not fit.
    """
    with_groups = [_share_workload(queries, sharing, each) for queries in shared]
    if sharing in TOGETHER and not any(with_groups):
        raise ParameterError(
            f"{sharing} answers COUNT and SUM queries together, without a named decider. No query "
            "of this run is such a one: use alone"
        )


def _share_workload(queries: SharedQueries, sharing: str, each: Fraction) -> bool:
    """Plan the batches of one workload and add notes; False if no queries can form a group."""
    groups = [_QueryGroup(*pair, queries, each) for pair in _groups(queries, sharing)]
    options: list[_BatchOption] = []
    refusal: PqdError | None = None
    for group in groups:
        if sharing == AUTO and len(group.places) == 1:
            continue
        try:
            options.append((group, group.candidates(sharing)))
        except PqdError as error:
            refusal = refusal or error
            # Queries with open conditions are answered alone, even if a batch is named.
            if sharing != AUTO and not isinstance(error, OpenConditionsError):
                raise
            queries.notes.append(
                note(
                    "batch-refused", group=group.name, queries=len(group.places), reason=str(error)
                )
            )
    if refusal and sharing != AUTO and not options:
        raise refusal
    if options:
        _plan(options, queries, each, sharing)
    return bool(groups)


def _plan(
    options: Sequence[_BatchOption], queries: SharedQueries, each: Fraction, sharing: str
) -> None:
    """Plan the named batches, or for ``auto`` the way with the fewest expected errors."""
    comparison = _BatchComparison(options, queries, each)
    batches = BatchSet(range(len(options)))
    if sharing == AUTO:
        batches = comparison.best(comparison.ways)
    queries.notes.extend(comparison.note(number, batches) for number in range(len(options)))
    for number, (group, candidates) in enumerate(options):
        if number in batches:
            group.plan(candidates[:_MOST_SHOWN], note("in-batch" if sharing == AUTO else "named"))
        else:
            group.add_rivals(candidates[:_MOST_SHOWN])


def _groups(queries: SharedQueries, sharing: str) -> list[tuple[str, list[int]]]:
    """Name of each group of queries that may become one batch, and the places of its queries.

    All queries of a group sum up one measure.  Queries that only the mechanisms ``BY_QUERY`` can
    answer as a batch form a group of their own, so that the others can use every mechanism.
    """
    by_measure: dict[Measure | None, list[int]] = {}
    for place, (bound, _) in queries.unplanned.items():
        if bound.query.aggregate in _SUMMED and bound.criteria.mechanism == AUTO:
            by_measure.setdefault(bound.statistic.measure, []).append(place)
    groups = []
    for places in by_measure.values():
        name = name_of(queries.unplanned[places[0]].bound.query)
        closed = [place for place in places if _is_closed(queries.unplanned[place].bound.statistic)]
        open_ = [place for place in places if place not in closed]
        by_query = sharing in {*BY_QUERY, RANGES} or queries.bound.unit is not None
        whole = by_query or not open_ or not closed
        if whole or (sharing == AUTO and len(closed) == 1):
            groups.append((name, places))
        else:
            groups += [(name, closed), (f"{name} (other conditions)", open_)]
    return groups


def _is_closed(statistic: Statistic) -> bool:
    """Whether all conditions compare one column with constants, so that no condition is open."""
    return statistic.predicate is None or all(exactly(atom) for atom in atoms(statistic.predicate))


@dataclass(frozen=True, slots=True)
class _QueryGroup:
    """Queries that sum up one measure, by their places; ``each`` is the share of one query."""

    name: str
    places: Sequence[int]
    queries: SharedQueries
    each: Fraction

    @property
    def _sharing(self) -> list[SharingQuery]:
        return [self.queries.unplanned[place] for place in self.places]

    @property
    def epsilon(self) -> Fraction:
        """Budget of all queries of the group."""
        return self.each * len(distinct(self._sharing))

    def candidates(self, sharing: str) -> list[BatchCandidate]:
        """Batches that could answer the group, from best to worst.

        Raises
        ------
        PqdError
            If no mechanism fits, or the queries have open conditions.
        """
        with naming(self.name):
            # Sort the queries, so that the batch does not depend on their order.
            queries = {selection(each.bound.statistic): each.bound for each in self._sharing}
            ordered = [queries[text] for text in sorted(queries)]
            planner = BatchPlanner(ordered, self.queries.bound, self.epsilon)
            single = [each.verdict for each in self._sharing]
            candidates = batch_candidates(planner, self.name, single, sharing)
        if planner.linear_refusal:
            self.queries.notes.append(
                note("classes-refused", group=self.name, reason=str(planner.linear_refusal))
            )
        return candidates

    def plan(self, candidates: Sequence[BatchCandidate], reason: Note) -> None:
        """Plan the first candidate; a report shows the other candidates with each query."""
        single = equal_shares(self._sharing, self.epsilon, Detail.ERRORS)
        verdicts = [
            candidates[0].verdict(
                number, verdict, reason, *self._shown(candidates[1:], number), verdict.choice.taken
            )
            for number, verdict in enumerate(single)
        ]
        self.queries.plan(dict(zip(self.places, verdicts, strict=True)))

    def add_rivals(self, candidates: Sequence[BatchCandidate]) -> None:
        """Keep ``candidates`` for the report, which shows them with each query answered alone."""
        self.queries.rivals |= {
            place: self._shown(candidates, number) for number, place in enumerate(self.places)
        }

    def _shown(self, candidates: Sequence[BatchCandidate], number: int) -> tuple[Candidate, ...]:
        single = self._sharing[number].verdict
        return tuple(candidate.candidate(number, single) for candidate in candidates)


# Group that can become a batch, and its candidates from best to worst.
_BatchOption = tuple[_QueryGroup, Sequence[BatchCandidate]]


class _BatchComparison:
    """Comparison of the ways to share one budget."""

    def __init__(
        self, options: Sequence[_BatchOption], queries: SharedQueries, each: Fraction
    ) -> None:
        self._queries, self._options, self._each = dict(queries.unplanned), options, each
        self._wrong_alone: dict[BatchSet, float] = {}

    @property
    def ways(self) -> list[BatchSet]:
        """Ways to share: no group, one group, all groups but one, and all groups."""
        numbers = range(len(self._options))
        groups = BatchSet(numbers)
        singles = [BatchSet({number}) for number in numbers]
        complements = [groups - single for single in singles]
        return list(dict.fromkeys([BatchSet(), *singles, *complements, groups]))

    def best(self, ways: Sequence[BatchSet]) -> BatchSet:
        """Way with the fewest expected errors; the sum of the thresholds breaks ties."""
        errors = [round(self.wrong(batches), DIGITS) for batches in ways]
        tied = [way for way, error in zip(ways, errors, strict=True) if error == min(errors)]
        return min(tied, key=self._thresholds) if len(tied) > 1 else tied[0]

    def wrong(self, batches: BatchSet) -> float:
        """Expected number of wrong verdicts of the whole run."""
        in_batches = (math.fsum(self._options[number][1][0].wrong) for number in batches)
        return math.fsum([*in_batches, self._alone(batches)])

    def _rest(self, batches: BatchSet) -> tuple[list[SharingQuery], Fraction]:
        """Queries that are answered alone, and their total epsilon."""
        in_batches = {place for number in batches for place in self._options[number][0].places}
        rest = [query for place, query in self._queries.items() if place not in in_batches]
        return rest, self._each * len(distinct(rest))

    def _alone(self, batches: BatchSet) -> float:
        """Expected number of wrong verdicts of the queries that are answered alone."""
        if batches not in self._wrong_alone:
            rest, epsilon = self._rest(batches)
            pairs = zip(rest, equal_shares(rest, epsilon, Detail.ERRORS), strict=True)
            self._wrong_alone[batches] = math.fsum(query.wrong(verdict) for query, verdict in pairs)
        return self._wrong_alone[batches]

    def _thresholds(self, batches: BatchSet) -> float:
        """Sum of all thresholds, where each threshold is a multiple of its tolerance."""
        rest, epsilon = self._rest(batches)
        shares = equal_shares(rest, epsilon)
        pairs = [(verdict.choice.taken.threshold, verdict) for verdict in shares]
        for number in batches:
            group, candidates = self._options[number]
            single = (self._queries[place].verdict for place in group.places)
            pairs += zip(candidates[0].thresholds, single, strict=True)
        return math.fsum(relative(threshold, verdict) for threshold, verdict in pairs if threshold)

    def note(self, place: int, batches: BatchSet) -> Note:
        """Note on how a group is answered, with the expected errors of this and other ways."""
        group, candidates = self._options[place]
        in_batch, alone = (
            min((way for way in self.ways if (place in way) == within), key=self.wrong)
            for within in (True, False)
        )
        others = self.wrong(in_batch) - math.fsum(candidates[0].wrong)
        scores: list[tuple[str | None, float]] = [
            (each.name, others + math.fsum(each.wrong)) for each in candidates
        ]
        together = place in batches
        scores.insert(int(together), (None, self.wrong(alone)))
        shares = tuple(
            (name, score / len(self._queries)) for name, score in scores[: _MOST_SHOWN + 1]
        )
        return note(
            "batch-weighed",
            group=group.name,
            queries=len(group.places),
            epsilon=group.epsilon if together else None,
            scores=shares,
        )
