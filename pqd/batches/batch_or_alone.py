"""Selection of batches: which queries of a shared budget are answered in batches.

All ways to share cost the same.  They are compared on public data by the expected number of wrong
verdicts at the true gaps ``WEIGHED``, from 0 to 2 tau; ties by their thresholds.  Queries that are
answered alone share what is left, so ways are compared for the whole run: of the groups of queries
that sum up one measure none is a batch, one is, all but one are, or all are.  The ways do not
depend on the budget, and each has fewer errors at a larger one, hence so has the best.
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
from pqd.batches.mechanisms import RANGES, TOGETHER, WORKLOAD
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
# Number of batch candidates that are shown with a query.
_SHOWN = 3
# Numbers of the groups that are answered as batches.
BatchSet = frozenset[int]


def share_in_batches(shared: Sequence[SharedQueries], sharing: str, each: Fraction) -> None:
    """Plan batches where they are named or better, at ``each`` per measurement.

    Raises
    ------
    PqdError
        If a mechanism that is named does not fit.
    """
    with_groups = [_share_workload(queries, sharing, each) for queries in shared]
    if sharing in TOGETHER and not any(with_groups):
        raise ParameterError(
            f"{sharing} answers COUNT and SUM queries together, without a unit and "
            "without a named decider. No query of this run is such a one: use alone"
        )


def _share_workload(queries: SharedQueries, sharing: str, each: Fraction) -> bool:
    """Plan batches of one workload, with notes on them; False if it has no group of queries."""
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
            # Queries with open conditions are answered alone, whatever is named for others.
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
    """Plan the batches that are named, or with which the run has the fewest expected errors."""
    comparison = _BatchComparison(options, queries, each)
    batches = BatchSet(range(len(options)))
    if sharing == AUTO:
        batches = comparison.best(comparison.ways)
    queries.notes.extend(comparison.note(number, batches) for number in range(len(options)))
    for number, (group, candidates) in enumerate(options):
        if number in batches:
            group.plan(candidates[:_SHOWN], note("in-batch" if sharing == AUTO else "named"))
        else:
            group.add_rivals(candidates[:_SHOWN])


def _groups(queries: SharedQueries, sharing: str) -> list[tuple[str, list[int]]]:
    """Name and places of each group of queries that sum up one measure and may be one batch.

    Queries that only ``workload`` can answer in a batch are a group of their own, so that they
    leave the others every choice.
    """
    summed: dict[Measure | None, list[int]] = {}
    for place, (bound, _) in queries.unplanned.items():
        free = bound.unit is None and bound.criteria.mechanism == AUTO
        if bound.query.aggregate in _SUMMED and free:
            summed.setdefault(bound.statistic.measure, []).append(place)
    groups = []
    for places in summed.values():
        name = name_of(queries.unplanned[places[0]].bound.query)
        closed = [place for place in places if _is_closed(queries.unplanned[place].bound.statistic)]
        open_ = [place for place in places if place not in closed]
        whole = sharing in {WORKLOAD, RANGES} or not open_ or not closed
        if whole or (sharing == AUTO and len(closed) == 1):
            groups.append((name, places))
        else:
            groups += [(name, closed), (f"{name} (other conditions)", open_)]
    return groups


def _is_closed(statistic: Statistic) -> bool:
    """Whether all conditions compare a column with constants: no condition is open."""
    return statistic.predicate is None or all(exactly(atom) for atom in atoms(statistic.predicate))


@dataclass(frozen=True, slots=True)
class _QueryGroup:
    """Queries that sum up one measure, by place; ``each`` is the share of one measurement."""

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
        """Batches that could answer the group, the best first.

        Raises
        ------
        PqdError
            If none fits, or the queries have open conditions.
        """
        with naming(self.name):
            # In an order of their own: in another order, they are the same batch.
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
        """Plan the first of ``candidates``; the others are shown with each query."""
        single = equal_shares(self._sharing, self.epsilon, Detail.ERRORS)
        verdicts = [
            candidates[0].verdict(
                number, verdict, reason, *self._shown(candidates[1:], number), verdict.choice.taken
            )
            for number, verdict in enumerate(single)
        ]
        self.queries.plan(dict(zip(self.places, verdicts, strict=True)))

    def add_rivals(self, candidates: Sequence[BatchCandidate]) -> None:
        """Show ``candidates`` with each query, which is answered alone."""
        self.queries.rivals |= {
            place: self._shown(candidates, number) for number, place in enumerate(self.places)
        }

    def _shown(self, candidates: Sequence[BatchCandidate], number: int) -> tuple[Candidate, ...]:
        single = self._sharing[number].verdict
        return tuple(candidate.candidate(number, single) for candidate in candidates)


# A group that can be a batch, and its candidates, the best first.
_BatchOption = tuple[_QueryGroup, Sequence[BatchCandidate]]


class _BatchComparison:
    """Comparison of the ways to share one budget, each a set of groups that are batches."""

    def __init__(
        self, options: Sequence[_BatchOption], queries: SharedQueries, each: Fraction
    ) -> None:
        self._left, self._options, self._each = dict(queries.unplanned), options, each
        self._wrong_alone: dict[BatchSet, float] = {}

    @property
    def ways(self) -> list[BatchSet]:
        """Sets of none of the groups, one, all but one, or all."""
        numbers = range(len(self._options))
        groups = BatchSet(numbers)
        one = [BatchSet({number}) for number in numbers]
        all_but_one = [groups - {number} for number in numbers]
        return list(dict.fromkeys([BatchSet(), *one, *all_but_one, groups]))

    def best(self, ways: Sequence[BatchSet]) -> BatchSet:
        """Set with the fewest expected errors; ties by the sum of thresholds."""
        errors = [round(self.wrong(batches), DIGITS) for batches in ways]
        tied = [way for way, error in zip(ways, errors, strict=True) if error == min(errors)]
        return min(tied, key=self._thresholds) if len(tied) > 1 else tied[0]

    def wrong(self, batches: BatchSet) -> float:
        """Expected number of wrong verdicts of the run."""
        in_batches = (math.fsum(self._options[number][1][0].wrong) for number in batches)
        return math.fsum([*in_batches, self._alone(batches)])

    def _rest(self, batches: BatchSet) -> tuple[list[SharingQuery], Fraction]:
        """Queries that are answered alone, and their budget."""
        in_batches = {place for number in batches for place in self._options[number][0].places}
        rest = [query for place, query in self._left.items() if place not in in_batches]
        return rest, self._each * len(distinct(rest))

    def _alone(self, batches: BatchSet) -> float:
        """Expected number of wrong verdicts of the queries that are answered alone."""
        if batches not in self._wrong_alone:
            rest, epsilon = self._rest(batches)
            pairs = zip(rest, equal_shares(rest, epsilon, Detail.ERRORS), strict=True)
            self._wrong_alone[batches] = math.fsum(query.wrong(verdict) for query, verdict in pairs)
        return self._wrong_alone[batches]

    def _thresholds(self, batches: BatchSet) -> float:
        """Sum of the thresholds, each as a multiple of its tolerance."""
        rest, epsilon = self._rest(batches)
        shares = equal_shares(rest, epsilon)
        pairs = [(verdict.choice.taken.threshold, verdict) for verdict in shares]
        for number in batches:
            group, candidates = self._options[number]
            single = (self._left[place].verdict for place in group.places)
            pairs += zip(candidates[0].thresholds, single, strict=True)
        return math.fsum(relative(threshold, verdict) for threshold, verdict in pairs if threshold)

    def note(self, number: int, batches: BatchSet) -> Note:
        """Note on how a group is answered, and the expected errors of the run otherwise."""
        group, candidates = self._options[number]
        in_batch, alone = (
            min((way for way in self.ways if (number in way) == within), key=self.wrong)
            for within in (True, False)
        )
        others = self.wrong(in_batch) - math.fsum(candidates[0].wrong)
        scores: list[tuple[str | None, float]] = [
            (each.name, others + math.fsum(each.wrong)) for each in candidates
        ]
        together = number in batches
        scores.insert(int(together), (None, self.wrong(alone)))
        shares = tuple((name, score / len(self._left)) for name, score in scores[: _SHOWN + 1])
        return note(
            "batch-weighed",
            group=group.name,
            queries=len(group.places),
            epsilon=group.epsilon if together else None,
            scores=shares,
        )
