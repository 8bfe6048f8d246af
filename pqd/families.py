"""Families: queries that share a budget and sum up one thing, weighed alone against together.

Both ways cost the same and are weighed on public data: the share of verdicts to be expected wrong
if every query is at the worse of the gaps 0 and 2 tau, where none counts for more than a coin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from deciders.batch.tails import mean_worst
from deciders.errors import ParameterError
from pqd.batch import Public, name_of, naming, selection
from pqd.disjoint import exactly
from pqd.dispatch import AUTO
from pqd.errors import PqdError
from pqd.modes import ALONE, RANGES
from pqd.predicate import Atom
from pqd.together import Joint, joints
from pqd.waiting import Beside, One, Sharers, alone, distinct
from reports.numbers import epsilon_text
from reports.words import share_text

if TYPE_CHECKING:
    from pqd.dispatch import Candidate
    from pqd.questions import Question
    from pqd.workload import Measured

_SUMMED = ("COUNT", "SUM")
# A question is shown what the best of the batches would be worth to it.
_SHOWN = 3
_BEST, _NAMED = "answered with the others of its batch, which errs least", "named by the caller"


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
    families = _families(sharers)
    if mode == ALONE:
        return bool(families)
    for places in families.values():
        ones = [sharers.left[place] for place in places]
        if mode == AUTO and len(ones) == 1:
            continue
        found = _Family(name_of(ones[0].waiting.query), ones, beside, each).weighed(mode)
        sharers.notes.append(found.note)
        sharers.settle(dict(zip(places, found.questions, strict=False)))
        sharers.rivals |= dict(zip(places, found.rivals, strict=False))
    return bool(families)


def _families(sharers: Sharers) -> dict[Measured | None, list[int]]:
    """Return the places of queries that add up the same of a row, and may be answered together."""
    found: dict[Measured | None, list[int]] = {}
    for place, (waiting, _) in sharers.left.items():
        free = waiting.unit is None and waiting.asked.terms.decider == AUTO
        if waiting.query.aggregate in _SUMMED and free:
            found.setdefault(waiting.task.measured, []).append(place)
    return found


class _Weighed(NamedTuple):
    """What came of a family: a sentence, its batch's questions if that won, else its rivals."""

    note: str
    questions: Sequence[Question] = ()
    rivals: Sequence[tuple[Candidate, ...]] = ()


@dataclass(frozen=True, slots=True)
class _Family:
    """Queries that add up one thing; ``each`` is the share of one question."""

    name: str
    ones: Sequence[One]
    beside: Beside
    each: Fraction

    @property
    def _epsilon(self) -> Fraction:
        return self.each * len(distinct(one.question for one in self.ones))

    def weighed(self, mode: str) -> _Weighed:
        """Weigh the ways to answer them."""
        number = f"{self.name}: {len(self.ones):,} {'query' if len(self.ones) == 1 else 'queries'}"
        try:
            with naming(self.name):
                found = self._joints(mode)
        except PqdError as error:
            if mode != AUTO:
                raise
            return _Weighed(f"{number}, each by itself. {error}")
        single = alone(self.ones, self._epsilon, brief=True)
        score = mean_worst([question.taken for question in single])
        wins = mode != AUTO or round(found[0].score, 3) < round(score, 3)
        scores = [(f"by {joint.name}", joint.score) for joint in found]
        scores.insert(int(wins), ("each by itself", score))
        if not wins:
            rivals = self._candidates(found[:_SHOWN])
            return _Weighed(f"{number}, {_compared(scores)}", rivals=rivals)
        whole = f"epsilon {epsilon_text(self._epsilon)} in all"
        note = f"{number} at {whole}, answered together {_compared(scores)}"
        others = self._candidates(found[1:_SHOWN])
        reason = _BEST if mode == AUTO else _NAMED
        questions = [
            found[0].question(place, question, reason, *others[place], question.choice.taken)
            for place, question in enumerate(single)
        ]
        return _Weighed(note, questions)

    def _joints(self, mode: str) -> list[Joint]:
        """Return the ways to answer all together, the best first.

        Raises
        ------
        PqdError
            If none fits, or what a private row may meet cannot be told in public.
        """
        asked = [one.question for one in self.ones]
        # In an order of their own: asked in another order, they are the same batch.
        different = {selection(question.task): question for question in asked}
        public = Public(
            [different[text] for text in sorted(different)], *self.beside, self._epsilon
        )
        unsure = public.classes.unsure
        if not unsure or mode == RANGES:
            return joints(public, self.name, asked, mode)
        raise ParameterError(_untold(unsure))

    def _candidates(self, found: Sequence[Joint]) -> list[tuple[Candidate, ...]]:
        """Return, for each question, what each way is worth to it."""
        return [
            tuple(joint.candidate(place, one.question) for joint in found)
            for place, one in enumerate(self.ones)
        ]


def _untold(unsure: Sequence[str]) -> str:
    """Return why these conditions, with others on their columns, are not for a batch."""
    strange = [name for name in unsure if exactly(Atom(name)) is None]
    return (
        f"no batch takes {(strange or unsure)[0]}, only comparisons of one column with constants; "
        "leave such queries out, or use alone"
    )


def _compared(scores: Sequence[tuple[str, float]]) -> str:
    """Return what the first way is worth against the best of the others."""
    (taken, least), *others = [(name, share_text(score)) for name, score in scores]
    against = ", ".join(f"{score} {name}" for name, score in others[:_SHOWN])
    return (
        f"{taken}. At the worst gaps, on public data, {least} of such verdicts would be wrong "
        f"(none counts for more than a coin), against {against}."
    )
