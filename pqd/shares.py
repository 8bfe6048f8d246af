"""One budget for a whole workload: each query by itself at its share, or several as a batch.

Both ways cost the same and are weighed on public data alone: the share of verdicts to be expected
wrong if every query is at the worse of the gaps 0 and 2 tau.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from deciders.batch.tails import mean_worst
from deciders.errors import ParameterError
from pqd.asking import Part
from pqd.batch import Public, name_of, naming, selection
from pqd.composition import grouped, price
from pqd.dispatch import AUTO
from pqd.errors import PqdError
from pqd.modes import ALONE, RANGES
from pqd.preparation import Prepared
from pqd.questions import Asked, Question, asks
from pqd.together import Joint, Together, joints
from reports.numbers import epsilon_text
from reports.words import share_text

if TYPE_CHECKING:
    from deciders import Histogram
    from pqd.dispatch import Candidate
    from pqd.priced import Priced
    from pqd.query import Query
    from pqd.tables import Table
    from pqd.workload import PrivacyUnit, Task

_SUMMED = ("COUNT", "SUM")
# A question is shown what the best of the batches would be worth to it.
_SHOWN = 3
_TOGETHER = "all queries of its batch together err least so"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A query whose share of the budget is not known yet, and what makes it a question."""

    asked: Asked
    task: Task
    columns: tuple[tuple[str, str], ...]
    unit: PrivacyUnit | None
    found: tuple[Histogram, ...]

    @property
    def query(self) -> Query:
        """The query, or one group of it."""
        return self.asked.query

    @property
    def draws(self) -> tuple[Priced, ...]:
        """Nothing as yet."""
        return ()

    def at(self, epsilon: Fraction, *, brief: bool = False) -> Question:
        """Return the question at a budget of its own."""
        terms = replace(self.asked.terms, epsilon=epsilon, brief=brief)
        asked = Asked(self.query, terms)
        return asks(asked, self.task, self.columns, self.unit, self.found)


def waits(
    asked: Asked,
    task: Task,
    columns: tuple[tuple[str, str], ...],
    unit: PrivacyUnit | None,
    found: tuple[Histogram, ...],
) -> Question | Waiting:
    """Return the question of a query with a budget of its own, or keep what shares one."""
    make = Waiting if asked.terms.epsilon is None else asks
    return make(asked, task, columns, unit, found)


@dataclass(frozen=True, slots=True)
class Sharing:
    """A budget for all queries of a run that have none of their own, and how it is shared out.

    Guarantee: what those questions draw is ``epsilon``-DP in all.  Of all that are to be paid for,
    the queries that sum up one thing have their number's share of ``epsilon``.  A batch is DP at
    that share; questions asked alone have it between them, each as much as the others, where
    those that no row takes part in two of count once (McSherry 2009, Theorem 4).
    """

    epsilon: Fraction
    mode: str = AUTO


class Beside(NamedTuple):
    """What is asked of the private table, and the synthetic one that it is compared with."""

    part: Part[Question | Waiting]
    table: Table


def shared(parts: Sequence[Beside], sharing: Sharing | None) -> list[Part[Question]]:
    """Return the parts with every query made a question, those that wait at their shares.

    What cannot be one is among the refused of its part, which also notes how it shares.  Without a
    ``sharing`` no query may wait.

    Raises
    ------
    PqdError
        If a mechanism that is named does not fit.
    """
    waiting = sum(isinstance(q, Waiting) for part, _ in parts for q in part.prepared.questions)
    epsilon = sharing.epsilon if sharing else Fraction(0)
    sharers = [_Sharers(part, epsilon / max(1, waiting)) for part, _ in parts]
    whole = sum(sharer.number for sharer in sharers)
    for sharer, beside in zip(sharers, parts, strict=True):
        if sharing and sharer.number:
            sharer.share(beside, epsilon * sharer.number / whole, sharing.mode)
    return [sharer.result(part) for sharer, (part, _) in zip(sharers, parts, strict=True)]


class _Sharers:
    """The queries of one part that share a budget, and what has become of all of its queries."""

    def __init__(self, part: Part[Question | Waiting], epsilon: Fraction) -> None:
        """Ask each at ``epsilon``, to see what is refused or costs nothing."""
        self._done: dict[int, Question] = {}
        self._refused: list[tuple[Query, PqdError]] = []
        self._notes: list[str] = []
        self._left: dict[int, _One] = {}
        for place, made in enumerate(part.prepared.questions):
            if isinstance(made, Question):
                self._done[place] = made
                continue
            try:
                question = made.at(epsilon, brief=True)
            except PqdError as error:
                self._refused.append((made.query, error))
                continue
            if question.settled:
                self._done[place] = question
            else:
                self._left[place] = _One(made, question)

    @property
    def number(self) -> int:
        """How many different questions are still to be paid for."""
        return len(_distinct(one.question for one in self._left.values()))

    def share(self, beside: Beside, epsilon: Fraction, mode: str) -> None:
        """Share ``epsilon`` out: to batches first, what is left to questions alone."""
        each = epsilon / self.number
        rivals: dict[int, tuple[Candidate, ...]] = {}
        for name, places in self._families().items():
            family = _Family(name, [self._left[place] for place in places], beside, each)
            if found := family.weighed(mode):
                self._notes.append(found.note)
                # Those of a batch have theirs already.
                rivals |= dict(zip(places, found.rivals, strict=bool(found.rivals)))
                self._done |= dict(zip(places, found.questions, strict=bool(found.questions)))
        self._left = {place: one for place, one in self._left.items() if place not in self._done}
        single = _alone(list(self._left.values()), each * self.number)
        for place, question in zip(self._left, single, strict=True):
            choice = question.choice
            candidates = (*choice.candidates, *rivals.get(place, ()))
            self._done[place] = replace(question, choice=replace(choice, candidates=candidates))

    def _families(self) -> dict[str, list[int]]:
        """Return the places of queries that sum up the same of a row, by its name."""
        found: dict[str, list[int]] = {}
        for place, (waiting, question) in self._left.items():
            if question.query.aggregate in _SUMMED and waiting.unit is None:
                found.setdefault(name_of(question.query), []).append(place)
        return found

    def result(self, part: Part[Question | Waiting]) -> Part[Question]:
        """Return the part with its questions in order."""
        prepared = part.prepared
        made = Prepared(
            tuple(question for _, question in sorted(self._done.items())),
            (*prepared.refused, *self._refused),
            prepared.schema,
            prepared.unit,
            (*prepared.notes, *self._notes),
        )
        return Part(part.engine, part.private, made)


class _One(NamedTuple):
    """A query that shares, and the question that it would be by itself."""

    waiting: Waiting
    question: Question

    def at(self, epsilon: Fraction, *, brief: bool) -> Question:
        """Return the question at another budget."""
        same = brief and self.question.terms.epsilon == epsilon
        return self.question if same else self.waiting.at(epsilon, brief=brief)


class _Weighed(NamedTuple):
    """What came of a family: a sentence, what else could decide each, and its batch if that won."""

    note: str
    rivals: list[tuple[Candidate, ...]]
    questions: list[Together]


@dataclass(frozen=True, slots=True)
class _Family:
    """Queries that sum up one thing; ``each`` is the share of one question."""

    name: str
    ones: list[_One]
    beside: Beside
    each: Fraction

    def weighed(self, mode: str) -> _Weighed | None:
        """Weigh the ways to answer them, None where they are asked alone without a choice."""
        if mode == ALONE or (mode == AUTO and len(self.ones) == 1):
            return None
        epsilon = self.each * len(_distinct(one.question for one in self.ones))
        shared = f"{self.name}: {len(self.ones):,} queries share epsilon {epsilon_text(epsilon)}"
        try:
            with naming(self.name):
                found = self._joints(mode, epsilon)
        except PqdError as error:
            if mode != AUTO:
                raise
            return _Weighed(f"{shared}, each by itself. {error}", [], [])
        single = _alone(self.ones, epsilon, brief=True)
        alone = mean_worst([question.taken for question in single])
        wins = mode != AUTO or round(found[0].score, 3) < round(alone, 3)
        scores = [("each by itself", alone), *((f"by {j.name}", j.score) for j in found)]
        scores.insert(0, scores.pop(int(wins)))
        note = f"{shared}, answered {'together ' if wins else ''}{_compared(scores)}"
        if not wins:
            return _Weighed(note, self._candidates(found[:_SHOWN]), [])
        others = self._candidates(found[1:_SHOWN])
        return _Weighed(
            note,
            [],
            [
                found[0].question(place, question, _TOGETHER, *others[place], question.choice.taken)
                for place, question in enumerate(single)
            ],
        )

    def _joints(self, mode: str, epsilon: Fraction) -> list[Joint]:
        """Return the ways to answer all together, the best first.

        Raises
        ------
        PqdError
            If none fits, or what a private row may meet is known from the synthetic table alone.
        """
        asked = [one.question for one in self.ones]
        # In an order of their own: asked in another order, they are the same batch.
        distinct = {selection(question.task): question for question in asked}
        ordered = [distinct[text] for text in sorted(distinct)]
        public = Public(ordered, *self.beside, epsilon)
        if public.classes.unsure and mode != RANGES:
            if mode == AUTO:
                mode = RANGES
            else:
                raise ParameterError(
                    f"whether {public.classes.unsure[0]} holds of a private row together with "
                    "other conditions on that column cannot be told in public, and a batch must "
                    "know; compare columns with constants, or use --batch alone"
                )
        return joints(public, self.name, asked, mode)

    def _candidates(self, found: Sequence[Joint]) -> list[tuple[Candidate, ...]]:
        """Return, for each question, what each way is worth to it."""
        return [
            tuple(joint.candidate(place, one.question) for joint in found)
            for place, one in enumerate(self.ones)
        ]


def _compared(scores: Sequence[tuple[str, float]]) -> str:
    """Return what the first way is worth against the best of the others."""
    (taken, least), *others = [(name, share_text(score)) for name, score in scores]
    against = ", ".join(f"{score} {name}" for name, score in others[:_SHOWN])
    return (
        f"{taken}. At the worst gaps, on public data, {least} of such verdicts would be wrong, "
        f"against {against}."
    )


def _distinct(questions: Iterable[Question]) -> list[Question]:
    """Return the questions, each but once."""
    return list({question.key: question for question in questions}.values())


def _alone(ones: Sequence[_One], epsilon: Fraction, *, brief: bool = False) -> list[Question]:
    """Return questions that cost at most ``epsilon`` in all, each at as much as the others."""
    if not ones:
        return []
    questions = [one.question for one in ones]
    for weigh in (_weight, _whole):
        each = epsilon / weigh(_distinct(questions))
        questions = [one.at(each, brief=brief) for one in ones]
        # Another budget may bring another decider, which changes what costs nothing.
        if _weight(_distinct(questions)) * each <= epsilon:
            break
    return questions


def _weight(questions: Sequence[Question]) -> Fraction:
    """Return what questions cost together, as a multiple of the budget of each."""
    each = questions[0].terms.epsilon or Fraction(1)
    return price(grouped([question.share for question in questions])).epsilon / each


def _whole(questions: Sequence[Question]) -> Fraction:
    """Return the same if nothing were disjoint and nothing settled."""
    each = questions[0].terms.epsilon or Fraction(1)
    return sum((question.largest for question in questions), Fraction(0)) / each
