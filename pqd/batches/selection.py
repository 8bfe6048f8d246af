"""Families: queries that share a budget and sum up one thing, weighed alone against together.

All ways cost the same.  They are weighed on public data by how many verdicts are to be expected
wrong at the true gaps ``WEIGHED``, from 0 to 2 tau; ties by their thresholds.  What is asked alone
shares one pool, so ways are weighed for the run as a whole: no family is answered together, one is,
all but one are, or all.  Which ways there are does not depend on the budget, and each errs less at
a larger one, hence so does the best.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from pqd.batches.batch import BatchProblem, name_of, naming, selection
from pqd.batches.mechanisms import RANGES, WORKLOAD
from pqd.batches.verdicts import DIGITS, BatchCandidate, UntoldError, joints, relative
from pqd.errors import PqdError
from pqd.planning.budget_split import Beside, One, Sharers, alone, distinct
from pqd.planning.choose_decider import AUTO
from pqd.sql.predicate import atoms
from pqd.sql.regions import exactly
from reports.text.numbers import epsilon_text, share_text

if TYPE_CHECKING:
    from pqd.engine.scan_plan import Measure, Statistic
    from pqd.planning.choose_decider import Candidate

_SUMMED = ("COUNT", "SUM")
# A question is shown what the best of the batches would be worth to it.
_SHOWN = 3
_BEST, _NAMED = "answered with the others of its batch, which errs least", "named by the caller"
# Which families, by their numbers, are answered together.
Way = frozenset[int]


def into_batches(sharers: Sharers, beside: Beside, each: Fraction, mode: str) -> bool:
    """Make batches of families where that is asked for or better, at ``each`` per question.

    Returns
    -------
    bool
        Whether there was any family; what came of it is noted.

    Raises
    ------
    PqdError
        If a mechanism that is named does not fit.
    """
    families = [_Family(*pair, sharers, beside, each) for pair in _families(sharers, mode)]
    able: list[Able] = []
    refusal: PqdError | None = None
    for family in families:
        if mode == AUTO and len(family.places) == 1:
            continue
        try:
            able.append((family, family.joints(mode)))
        except PqdError as error:
            refusal = refusal or error
            # What is set aside for its conditions is asked alone, whatever is named for the others.
            if mode != AUTO and not isinstance(error, UntoldError):
                raise
            sharers.notes.append(f"{family.number}, each by itself. {error}")
    if refusal and mode != AUTO and not able:
        raise refusal
    if able:
        _settle(able, sharers, each, mode)
    return bool(families)


def _settle(able: Sequence[Able], sharers: Sharers, each: Fraction, mode: str) -> None:
    """Answer those families together that are named, or by which the run errs least."""
    weighing = _Weighing(able, sharers, each)
    taken = weighing.best(weighing.ways) if mode == AUTO else Way(range(len(able)))
    sharers.notes.extend(weighing.note(number, taken) for number in range(len(able)))
    for number, (family, found) in enumerate(able):
        if number in taken:
            family.settle(found[:_SHOWN], _BEST if mode == AUTO else _NAMED)
        else:
            family.rival(found[:_SHOWN])


def _families(sharers: Sharers, mode: str) -> list[tuple[str, list[int]]]:
    """Return the places of queries that add up the same of a row, and may be answered together.

    Those that ``workload`` alone can answer with others are a family of their own, so that they
    leave the others every choice.
    """
    found: dict[Measure | None, list[int]] = {}
    for place, (waiting, _) in sharers.left.items():
        free = waiting.unit is None and waiting.asked.terms.decider == AUTO
        if waiting.query.aggregate in _SUMMED and free:
            found.setdefault(waiting.task.measured, []).append(place)
    families = []
    for places in found.values():
        name = name_of(sharers.left[places[0]].waiting.query)
        told = [place for place in places if _told(sharers.left[place].waiting.task)]
        untold = [place for place in places if place not in told]
        whole = mode in {WORKLOAD, RANGES} or not untold or not told
        if whole or (mode == AUTO and len(told) == 1):
            families.append((name, places))
        else:
            families += [(name, told), (f"{name} (other conditions)", untold)]
    return families


def _told(task: Statistic) -> bool:
    """Say whether what a row can meet of its conditions is known in public."""
    return task.predicate is None or all(exactly(atom) for atom in atoms(task.predicate))


@dataclass(frozen=True, slots=True)
class _Family:
    """Queries that add up one thing, by their places; ``each`` is the share of one question."""

    name: str
    places: Sequence[int]
    sharers: Sharers
    beside: Beside
    each: Fraction

    @property
    def _ones(self) -> list[One]:
        return [self.sharers.left[place] for place in self.places]

    @property
    def _epsilon(self) -> Fraction:
        return self.each * len(distinct(one.question for one in self._ones))

    @property
    def number(self) -> str:
        """How many of what there are."""
        size = len(self.places)
        return f"{self.name}: {size:,} {'query' if size == 1 else 'queries'}"

    @property
    def whole(self) -> str:
        """The same, with the budget of all of them together."""
        return f"{self.number} at epsilon {epsilon_text(self._epsilon)} in all"

    def joints(self, mode: str) -> list[BatchCandidate]:
        """Return the ways to answer all together, the best first.

        Raises
        ------
        PqdError
            If none fits, or what a private row may meet cannot be told in public.
        """
        with naming(self.name):
            asked = [one.question for one in self._ones]
            # In an order of their own: asked in another order, they are the same batch.
            different = {selection(question.task): question for question in asked}
            ordered = [different[text] for text in sorted(different)]
            public = BatchProblem(ordered, *self.beside, self._epsilon)
            found = joints(public, self.name, asked, mode)
        if public.passed:
            self.sharers.notes.append(
                f"{self.name}: counted query by query only, as {public.passed}."
            )
        return found

    def settle(self, found: Sequence[BatchCandidate], reason: str) -> None:
        """Answer them by the first of ``found``, beside what else there is."""
        ones = self._ones
        single = alone(ones, self._epsilon, brief=True)
        questions = [
            found[0].question(
                place, question, reason, *self._candidates(found[1:], place), question.choice.taken
            )
            for place, question in enumerate(single)
        ]
        self.sharers.settle(dict(zip(self.places, questions, strict=True)))

    def rival(self, found: Sequence[BatchCandidate]) -> None:
        """Show what each of ``found`` would be worth."""
        self.sharers.rivals |= {
            place: self._candidates(found, number) for number, place in enumerate(self.places)
        }

    def _candidates(self, found: Sequence[BatchCandidate], number: int) -> tuple[Candidate, ...]:
        asked = self._ones[number].question
        return tuple(joint.candidate(number, asked) for joint in found)


# A family that can be answered together, and how, the best first.
Able = tuple[_Family, Sequence[BatchCandidate]]


class _Weighing:
    """The ways to answer what shares a budget, and what each is worth."""

    def __init__(self, able: Sequence[Able], sharers: Sharers, each: Fraction) -> None:
        """Weigh nothing yet."""
        self._left, self._able, self._each = dict(sharers.left), able, each
        self._alone: dict[Way, float] = {}

    @property
    def ways(self) -> list[Way]:
        """None of the families, one, all but one, or all."""
        every = range(len(self._able))
        found = [Way(), *(Way({n}) for n in every), *(Way(every) - {n} for n in every), Way(every)]
        return list(dict.fromkeys(found))

    def best(self, ways: Sequence[Way]) -> Way:
        """Return the way that errs least, of those that err alike that of the least thresholds."""
        errors = [round(self.wrong(way), DIGITS) for way in ways]
        tied = [way for way, error in zip(ways, errors, strict=True) if error == min(errors)]
        return min(tied, key=self._thresholds) if len(tied) > 1 else tied[0]

    def wrong(self, way: Way) -> float:
        """Return how many verdicts are to be expected wrong."""
        joined = (math.fsum(self._able[number][1][0].wrong) for number in way)
        return math.fsum([*joined, self._wrong_alone(way)])

    def _rest(self, way: Way) -> tuple[list[One], Fraction]:
        """Return what is asked alone, and its budget."""
        gone = {place for number in way for place in self._able[number][0].places}
        rest = [one for place, one in self._left.items() if place not in gone]
        return rest, self._each * len(distinct(one.question for one in rest))

    def _wrong_alone(self, way: Way) -> float:
        if way not in self._alone:
            rest, epsilon = self._rest(way)
            asked = zip(rest, alone(rest, epsilon, brief=True), strict=True)
            self._alone[way] = math.fsum(one.wrong(question) for one, question in asked)
        return self._alone[way]

    def _thresholds(self, way: Way) -> float:
        """Return the sum of the thresholds, each as a multiple of its tolerance."""
        rest, epsilon = self._rest(way)
        pairs = [(question.choice.taken.threshold, question) for question in alone(rest, epsilon)]
        for number in way:
            family, found = self._able[number]
            asked = (self._left[place].question for place in family.places)
            pairs += zip(found[0].least, asked, strict=True)
        return math.fsum(relative(least, question) for least, question in pairs if least)

    def note(self, number: int, taken: Way) -> str:
        """Return what became of a family, and what the others ways are worth to the whole run."""
        family, found = self._able[number]
        joined, single = (
            min((way for way in self.ways if (number in way) == within), key=self.wrong)
            for within in (True, False)
        )
        others = self.wrong(joined) - math.fsum(found[0].wrong)
        scores = [(f"by {joint.name}", others + math.fsum(joint.wrong)) for joint in found]
        scores.insert(int(number in taken), ("each by itself", self.wrong(single)))
        way = f"{family.whole}, answered together" if number in taken else f"{family.number},"
        return f"{way} {_compared(scores, len(self._left))}"


def _compared(scores: Sequence[tuple[str, float]], verdicts: int) -> str:
    """Return what the first way is worth against the best of the others."""
    (taken, least), *others = [(name, share_text(score / verdicts)) for name, score in scores]
    against = ", ".join(f"{score} {name}" for name, score in others[:_SHOWN])
    return (
        f"{taken}. Over true gaps from 0 to 2 tau, on public data, {least} of the verdicts would "
        f"be wrong, against {against}."
    )
