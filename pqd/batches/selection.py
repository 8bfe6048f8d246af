"""Batch against alone: which queries that share a budget are answered together.

All ways cost the same.  They are weighed on public data by how many verdicts are to be expected
wrong at the true gaps ``WEIGHED``, from 0 to 2 tau; ties by their thresholds.  What is answered
alone shares one pool, so ways are weighed for the run as a whole: none of the groups of queries
that sum up one thing is answered together, one is, all but one are, or all.  Which ways there are
does not depend on the budget, and each errs less at a larger one, hence so does the best.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from deciders.errors import ParameterError
from pqd.batches.batch import BatchProblem, name_of, naming, selection
from pqd.batches.mechanisms import RANGES, TOGETHER, WORKLOAD
from pqd.batches.verdicts import DIGITS, BatchCandidate, UntoldError, batch_candidates, relative
from pqd.errors import PqdError
from pqd.parameters import Detail
from pqd.planning.budget_split import SharedQueries, SharingQuery, distinct, equal_shares
from pqd.planning.choose_decider import AUTO
from pqd.sql.predicate import atoms
from pqd.sql.regions import exactly
from reports.text.notes import group_text, not_together_note, one_by_one_note, weighing_note
from reports.text.reasons import IN_BATCH, NAMED

if TYPE_CHECKING:
    from pqd.engine.scan_plan import Measure, Statistic
    from pqd.planning.choose_decider import Candidate

_SUMMED = ("COUNT", "SUM")
# A query is shown what the best of the batches would be worth to it.
_SHOWN = 3
# Which groups, by their numbers, are answered together.
Way = frozenset[int]


def share_in_batches(shared: Sequence[SharedQueries], sharing: str, each: Fraction) -> None:
    """Make batches where that is asked for or better, at ``each`` per measurement.

    Raises
    ------
    PqdError
        If a mechanism that is named does not fit.
    """
    grouped = [_share_in_batches(queries, sharing, each) for queries in shared]
    if sharing in TOGETHER and not any(grouped):
        raise ParameterError(
            f"{sharing} answers COUNT and SUM queries together, without a unit and "
            "without a named decider; these are none, so use alone"
        )


def _share_in_batches(queries: SharedQueries, sharing: str, each: Fraction) -> bool:
    """Make batches of one workload; what comes of it is noted.  False if there is no group."""
    groups = [_Group(*pair, queries, each) for pair in _groups(queries, sharing)]
    able: list[_Able] = []
    refusal: PqdError | None = None
    for group in groups:
        if sharing == AUTO and len(group.places) == 1:
            continue
        try:
            able.append((group, group.candidates(sharing)))
        except PqdError as error:
            refusal = refusal or error
            # What is set aside for its conditions is answered alone, whatever is named for others.
            if sharing != AUTO and not isinstance(error, UntoldError):
                raise
            queries.notes.append(not_together_note(group.number, str(error)))
    if refusal and sharing != AUTO and not able:
        raise refusal
    if able:
        _plan(able, queries, each, sharing)
    return bool(groups)


def _plan(able: Sequence[_Able], queries: SharedQueries, each: Fraction, sharing: str) -> None:
    """Answer those groups together that are named, or by which the run errs least."""
    weighing = _Weighing(able, queries, each)
    taken = weighing.best(weighing.ways) if sharing == AUTO else Way(range(len(able)))
    queries.notes.extend(weighing.note(number, taken) for number in range(len(able)))
    for number, (group, candidates) in enumerate(able):
        if number in taken:
            group.plan(candidates[:_SHOWN], IN_BATCH if sharing == AUTO else NAMED)
        else:
            group.rival(candidates[:_SHOWN])


def _groups(queries: SharedQueries, sharing: str) -> list[tuple[str, list[int]]]:
    """Places of queries that add up the same of a row, and may be answered together.

    Those that ``workload`` alone can answer with others are a group of their own, so that they
    leave the others every choice.
    """
    summed: dict[Measure | None, list[int]] = {}
    for place, (bound, _) in queries.left.items():
        free = bound.unit is None and bound.criteria.mechanism == AUTO
        if bound.query.aggregate in _SUMMED and free:
            summed.setdefault(bound.statistic.measure, []).append(place)
    groups = []
    for places in summed.values():
        name = name_of(queries.left[places[0]].bound.query)
        told = [place for place in places if _told(queries.left[place].bound.statistic)]
        untold = [place for place in places if place not in told]
        whole = sharing in {WORKLOAD, RANGES} or not untold or not told
        if whole or (sharing == AUTO and len(told) == 1):
            groups.append((name, places))
        else:
            groups += [(name, told), (f"{name} (other conditions)", untold)]
    return groups


def _told(statistic: Statistic) -> bool:
    """Say whether what a row can meet of its conditions is known in public."""
    return statistic.predicate is None or all(exactly(atom) for atom in atoms(statistic.predicate))


@dataclass(frozen=True, slots=True)
class _Group:
    """Queries that add up one thing, by their places; ``each`` is the share of one measurement."""

    name: str
    places: Sequence[int]
    queries: SharedQueries
    each: Fraction

    @property
    def _members(self) -> list[SharingQuery]:
        return [self.queries.left[place] for place in self.places]

    @property
    def _epsilon(self) -> Fraction:
        return self.each * len(distinct(self._members))

    @property
    def number(self) -> str:
        """How many of what there are."""
        return group_text(self.name, len(self.places))

    @property
    def whole(self) -> str:
        """The same, with the budget of all of them together."""
        return group_text(self.name, len(self.places), self._epsilon)

    def candidates(self, sharing: str) -> list[BatchCandidate]:
        """Ways to answer all together, the best first.

        Raises
        ------
        PqdError
            If none fits, or what a private row may meet cannot be told in public.
        """
        with naming(self.name):
            # In an order of their own: in another order, they are the same batch.
            different = {selection(one.bound.statistic): one.bound for one in self._members}
            ordered = [different[text] for text in sorted(different)]
            problem = BatchProblem(ordered, self.queries.bound, self._epsilon)
            single = [one.verdict for one in self._members]
            candidates = batch_candidates(problem, self.name, single, sharing)
        if problem.passed:
            self.queries.notes.append(one_by_one_note(self.name, str(problem.passed)))
        return candidates

    def plan(self, candidates: Sequence[BatchCandidate], reason: str) -> None:
        """Answer them by the first of ``candidates``, beside what else there is."""
        single = equal_shares(self._members, self._epsilon, Detail.ERRORS)
        verdicts = [
            candidates[0].verdict(
                place, one, reason, *self._worth(candidates[1:], place), one.choice.taken
            )
            for place, one in enumerate(single)
        ]
        self.queries.plan(dict(zip(self.places, verdicts, strict=True)))

    def rival(self, candidates: Sequence[BatchCandidate]) -> None:
        """Show what each of ``candidates`` would be worth."""
        self.queries.rivals |= {
            place: self._worth(candidates, number) for number, place in enumerate(self.places)
        }

    def _worth(self, candidates: Sequence[BatchCandidate], number: int) -> tuple[Candidate, ...]:
        single = self._members[number].verdict
        return tuple(candidate.candidate(number, single) for candidate in candidates)


# A group that can be answered together, and how, the best first.
_Able = tuple[_Group, Sequence[BatchCandidate]]


class _Weighing:
    """The ways to answer what shares a budget, and what each is worth."""

    def __init__(self, able: Sequence[_Able], queries: SharedQueries, each: Fraction) -> None:
        self._left, self._able, self._each = dict(queries.left), able, each
        self._alone: dict[Way, float] = {}

    @property
    def ways(self) -> list[Way]:
        """None of the groups, one, all but one, or all."""
        every = range(len(self._able))
        ways = [Way(), *(Way({n}) for n in every), *(Way(every) - {n} for n in every), Way(every)]
        return list(dict.fromkeys(ways))

    def best(self, ways: Sequence[Way]) -> Way:
        """The way that errs least, of those that err alike that of the least thresholds."""
        errors = [round(self.wrong(way), DIGITS) for way in ways]
        tied = [way for way, error in zip(ways, errors, strict=True) if error == min(errors)]
        return min(tied, key=self._thresholds) if len(tied) > 1 else tied[0]

    def wrong(self, way: Way) -> float:
        """Number of verdicts that are to be expected wrong."""
        joined = (math.fsum(self._able[number][1][0].wrong) for number in way)
        return math.fsum([*joined, self._wrong_alone(way)])

    def _rest(self, way: Way) -> tuple[list[SharingQuery], Fraction]:
        """What is answered alone, and its budget."""
        gone = {place for number in way for place in self._able[number][0].places}
        rest = [one for place, one in self._left.items() if place not in gone]
        return rest, self._each * len(distinct(rest))

    def _wrong_alone(self, way: Way) -> float:
        if way not in self._alone:
            rest, epsilon = self._rest(way)
            pairs = zip(rest, equal_shares(rest, epsilon, Detail.ERRORS), strict=True)
            self._alone[way] = math.fsum(one.wrong(verdict) for one, verdict in pairs)
        return self._alone[way]

    def _thresholds(self, way: Way) -> float:
        """Sum of the thresholds, each as a multiple of its tolerance."""
        rest, epsilon = self._rest(way)
        pairs = [(one.choice.taken.threshold, one) for one in equal_shares(rest, epsilon)]
        for number in way:
            group, candidates = self._able[number]
            single = (self._left[place].verdict for place in group.places)
            pairs += zip(candidates[0].least, single, strict=True)
        return math.fsum(relative(least, verdict) for least, verdict in pairs if least)

    def note(self, number: int, taken: Way) -> str:
        """What became of a group, and what the others ways are worth to the whole run."""
        group, candidates = self._able[number]
        joined, single = (
            min((way for way in self.ways if (number in way) == within), key=self.wrong)
            for within in (True, False)
        )
        others = self.wrong(joined) - math.fsum(candidates[0].wrong)
        scores = [(f"by {each.name}", others + math.fsum(each.wrong)) for each in candidates]
        scores.insert(int(number in taken), ("each by itself", self.wrong(single)))
        together = number in taken
        shares = [(name, score / len(self._left)) for name, score in scores[: _SHOWN + 1]]
        name = group.whole if together else group.number
        return weighing_note(name, shares, together=together)
