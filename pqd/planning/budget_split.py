"""Queries that wait for their share of a budget, and what they cost if each is asked alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from deciders.evaluation.effectiveness import WEIGHED, expected_wrong, operating_characteristic
from pqd.accounting.composition import price
from pqd.accounting.disjoint_groups import Cost, grouped
from pqd.errors import PqdError
from pqd.execution import Part
from pqd.parameters import Parameters
from pqd.planning.binding import Prepared, kept
from pqd.planning.decisions import QueryRequest, Question, asks

if TYPE_CHECKING:
    from deciders import Histogram
    from pqd.engine.scan_plan import PrivacyUnit, Statistic
    from pqd.engine.tables import Table
    from pqd.measurement import Measurement
    from pqd.planning.choose_decider import Candidate
    from pqd.sql.query import Query


@dataclass(frozen=True, slots=True)
class Waiting:
    """A query whose share of the budget is not known yet, and what makes it a question."""

    asked: QueryRequest
    task: Statistic
    columns: tuple[tuple[str, str], ...]
    unit: PrivacyUnit | None
    found: tuple[Histogram, ...]

    @property
    def query(self) -> Query:
        """The query, or one group of it."""
        return self.asked.query

    @property
    def draws(self) -> tuple[Measurement, ...]:
        """Nothing as yet."""
        return ()

    def at(self, epsilon: Fraction, *, brief: bool = False) -> Question:
        """Return the question at a budget of its own."""
        asked = QueryRequest(self.query, self.asked.terms.at(epsilon, brief=brief))
        return asks(asked, self.task, self.columns, self.unit, self.found)


def waits(
    asked: QueryRequest,
    task: Statistic,
    columns: tuple[tuple[str, str], ...],
    unit: PrivacyUnit | None,
    found: tuple[Histogram, ...],
) -> Question | Waiting:
    """Return the question of a query with a budget of its own, or keep what shares one."""
    make = asks if isinstance(asked.terms, Parameters) else Waiting
    return make(asked, task, columns, unit, found)


class Beside(NamedTuple):
    """What is asked of the private table, and the synthetic one that it is compared with."""

    part: Part[Question | Waiting]
    table: Table


class One(NamedTuple):
    """A query that shares, and the question that it would be by itself."""

    waiting: Waiting
    question: Question

    def at(self, epsilon: Fraction, *, brief: bool) -> Question:
        """Return the question at another budget."""
        same = brief and self.question.epsilon == epsilon
        return self.question if same else self.waiting.at(epsilon, brief=brief)

    def wrong(self, question: Question) -> float:
        """Return how likely its verdict is wrong, over true gaps on public stand-ins."""
        (synthetic,), decider = self.waiting.found, question.choice.decider
        chances = operating_characteristic(
            decider, synthetic, question.interval, question.epsilon, WEIGHED
        )
        return expected_wrong(chances)


class Sharers:
    """The queries of one part that share a budget, and what has become of each.

    ``left`` are those without a share yet, by place and in an order that is the same whatever the
    order of the queries; ``done`` are the others; ``notes`` say how they share; ``rivals`` are what
    else could decide a question, by place.
    """

    def __init__(self, part: Part[Question | Waiting], epsilon: Fraction) -> None:
        """Ask each at ``epsilon``, to see what is refused or costs nothing."""
        self._part = part
        self.done: dict[int, Question] = {}
        self.notes: list[str] = []
        self._refused: list[tuple[Query, PqdError]] = []
        left: dict[int, One] = {}
        for place, made in enumerate(part.prepared.questions):
            if isinstance(made, Question):
                self.done[place] = made
                continue
            try:
                one = One(made, made.at(epsilon, brief=True))
                if one.question.settled:
                    self.done[place] = made.at(epsilon)
                else:
                    left[place] = one
            except PqdError as error:
                self._refused.append((made.query, error))
        if part.prepared.whole:
            every = [part.prepared.questions[place] for place in (*self.done, *left)]
            names = {made.query.id for made in kept(every, self._refused)}
            self.done = {p: q for p, q in self.done.items() if q.query.id in names}
            left = {p: one for p, one in left.items() if one.waiting.query.id in names}
        self.left = dict(sorted(left.items(), key=lambda pair: pair[1].question.key))
        self._shared = set(self.left)
        self.rivals: dict[int, tuple[Candidate, ...]] = {}

    @property
    def number(self) -> int:
        """How many different questions are still to be paid for."""
        return len(distinct(one.question for one in self.left.values()))

    def settle(self, questions: dict[int, Question]) -> None:
        """Take ``questions`` for their places."""
        self.done |= questions
        self.left = {place: one for place, one in self.left.items() if place not in questions}

    @property
    def price(self) -> Fraction:
        """What those that share cost together, if none of them is known already."""
        draws = (draw for place in self._shared for draw in self.done[place].draws)
        costs = [draw.share for draw in {draw.key: draw for draw in draws}.values()]
        return price(grouped([cost for cost in costs if cost.epsilon])).epsilon

    def _shown(self, place: int) -> Question:
        """Return a question with all that could decide it."""
        question = self.done[place]
        candidates = (*question.choice.candidates, *self.rivals.get(place, ()))
        return replace(question, choice=replace(question.choice, candidates=candidates))

    def part(self) -> Part[Question]:
        """Return the part with its questions in order."""
        prepared = self._part.prepared
        made = Prepared(
            tuple(self._shown(place) for place in sorted(self.done)),
            (*prepared.refused, *self._refused),
            prepared.schema,
            prepared.unit,
            (*prepared.notes, *self.notes),
            prepared.whole,
        )
        return Part(self._part.engine, self._part.private, made)


def alone(ones: Sequence[One], epsilon: Fraction, *, brief: bool = False) -> list[Question]:
    """Return questions that cost at most ``epsilon`` in all, each at as much as the others.

    How they are grouped depends on the rows that they read and on no budget, so that each gets
    ``epsilon`` over the number of groups.  The groups are marked: fewer questions, or others beside
    them, never cost more for it.
    """
    costs: dict[str, Cost] = {}
    for one in ones:
        name, share = _lasting(one), one.question.share
        cost = replace(share, name=name, epsilon=Fraction(one.question.rows))
        costs[name] = costs[name].also(cost) if name in costs else cost
    groups = grouped(list(costs.values()))
    company = {name: str(number) for number, group in enumerate(groups) for name in group.names}
    number = price(groups).epsilon
    return [
        replace(one.at(epsilon / number, brief=brief), company=company[_lasting(one)])
        for one in ones
    ]


def _lasting(one: One) -> str:
    """Return what two questions have in common that are one at every budget.

    Asked on other terms they may be decided otherwise at another budget.
    """
    terms = one.question.terms
    return f"{one.question.key} {terms.decider} {terms.alpha}"


def distinct(questions: Iterable[Question]) -> list[Question]:
    """Return the questions, each but once."""
    return list({question.key: question for question in questions}.values())
