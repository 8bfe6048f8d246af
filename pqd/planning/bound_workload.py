"""Bound workload: queries with their statistics and synthetic histograms; everything is public."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from sqlglot import exp

from pqd.deciders import UnanswerableError
from pqd.engine.scan_plan import PrivacyUnit, Statistic
from pqd.errors import PqdError, QueryError, with_all_messages
from pqd.parameters import Criteria, Parameters
from pqd.reports.models.refusals import QueryRefusal
from pqd.run.measurement import BoundTables, Kinds
from pqd.sql.query import Query
from pqd.sql.shapes import constants

if TYPE_CHECKING:
    from pqd.deciders import Histogram


Refusal: TypeAlias = tuple["Query", PqdError]


class Refusals:
    """Refused queries: the first error of each query, or of each group of a query."""

    def __init__(self, refusals: Iterable[Refusal] = ()) -> None:
        """Begin with ``refusals``."""
        self._by_id = {query.id or "": (query, error) for query, error in refusals}

    def of(self, query: Query) -> AbstractContextManager[None, bool]:
        """Context that records a PqdError as the refusal of ``query`` and suppresses the error."""
        return _Refusing(query, self._by_id)

    @property
    def pairs(self) -> tuple[Refusal, ...]:
        """Refused queries with their errors, in the order of the refusals."""
        return tuple(self._by_id.values())

    @property
    def blocks(self) -> frozenset[str]:
        """Names of the grouped queries with a refused group."""
        return frozenset(query.block for query, _ in self._by_id.values() if query.block)


class _Refusing(AbstractContextManager[None, bool]):
    def __init__(self, query: Query, by_id: dict[str, Refusal]) -> None:
        self._query, self._by_id = query, by_id

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, PqdError):
            return False
        self._by_id.setdefault(self._query.id or "", (self._query, error))
        return True


def refusal_facts(refusals: Iterable[Refusal]) -> tuple[QueryRefusal, ...]:
    """Refusals as a report shows them."""
    return tuple(
        QueryRefusal(id=q.id or "", sql=q.sql, reason=str(error), block=q.block, group=q.group)
        for q, error in refusals
    )


Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """Query with the criteria of its verdict.

    A plan, or a query that shares a budget, needs no budget in its criteria.
    """

    query: Query
    criteria: Criteria

    @classmethod
    def of(cls, query: Query, criteria: Criteria) -> QueryRequest:
        """Request of a query; the tolerance that the query states takes precedence."""
        own = query.tolerance
        return cls(query, criteria if own is None else replace(criteria, tolerance=own))


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """Query, or one group of a query, that the synthetic tables can answer; everything is public.

    Attributes
    ----------
    request
        The query and its criteria.
    statistic
        The statistic that the engine counts.
    kinds
        The columns that the query reads, with their kinds.
    unit
        The privacy unit.
    synthetic
        The histogram of each synthetic table.
    rows
        The number of rows of each synthetic table.
    """

    request: QueryRequest
    statistic: Statistic
    kinds: Kinds
    unit: PrivacyUnit | None
    synthetic: tuple[Histogram, ...]
    rows: tuple[int, ...]

    @property
    def query(self) -> Query:
        """Query, or one group of a query."""
        return self.request.query

    @property
    def criteria(self) -> Criteria:
        """Criteria of the verdict, with or without a budget."""
        return self.request.criteria

    @property
    def parameters(self) -> Parameters:
        """Criteria with their budget; raises ParameterError if there is no budget."""
        criteria = self.criteria
        return criteria if isinstance(criteria, Parameters) else criteria.at(None)

    def with_criteria(self, criteria: Criteria) -> BoundQuery:
        """The same query with other criteria."""
        return replace(self, request=QueryRequest(self.query, criteria))


_SHARED = (
    "the queries share one budget, which the others would spend; mend these, or leave them out. "
    "Nothing was spent"
)


def _is_unanswerable(error: PqdError) -> bool:
    return isinstance(error, UnanswerableError)


@dataclass(frozen=True, kw_only=True)
class BoundWorkload(BoundTables):
    """Bound queries of one run, in their order.

    Attributes
    ----------
    queries
        The queries that can be answered.
    refusals
        The queries, or single groups of queries, that cannot be answered, with their errors.
    complete_groups
        Whether the refusal of one group refuses its whole query.
    """

    queries: tuple[BoundQuery, ...]
    refusals: tuple[Refusal, ...]
    complete_groups: bool = False

    @property
    def left_out(self) -> tuple[QueryRefusal, ...]:
        """Refusals as a report shows them."""
        return refusal_facts(self.refusals)

    def check(self, *, shares_budget: bool = False) -> None:
        """Raise the refusals that stop the run as one error; the message names each query.

        An error in a query stops the run.  A query without a synthetic answer is only left out,
        unless no other query remains.  In that case the message ends with the warnings, which may
        explain it.  Where the queries share a budget, such a query stops the run too, since the
        others would spend its share, and so does a text of which the copy has other capitals.  A
        group or bin of a query is left out if another one remains.
        """
        wrong = [(q, error) for q, error in self.refusals if not _is_unanswerable(error)]
        whole = self.refusals if shares_budget or not self.queries else ()
        remaining = {each.query.block for each in self.queries if each.query.block}
        stopping = wrong or [pair for pair in whole if pair[0].block not in remaining]
        if shares_budget and not wrong:
            stopping += self._misspelt()
        for query, error in stopping:
            error.args = (f"query {query.id}: {error}",)
        if not stopping:
            return
        told = with_all_messages([error for _, error in stopping])
        if not wrong:
            told.args = (". ".join([str(told), " ".join(map(str, self.warnings))]).rstrip(". "),)
        if not wrong and self.queries:
            told.args = (f"{told}\n{_SHARED}",)
        raise told

    def _misspelt(self) -> Iterator[Refusal]:
        """Queries with a text of which only capitals differ from those of a value of the copy."""
        for each in self.warnings:
            facts = dict(each.facts)
            text, nearest = str(facts.get("constant")), str(facts.get("nearest"))
            if each.code != "text-unknown" or text.lower() != nearest.lower():
                continue
            written = exp.Literal.string(text).sql(dialect="duckdb")
            for bound in self.queries:
                if (str(facts.get("column")), text) in constants(bound.statistic.predicate):
                    yield bound.query, QueryError(f"it has {written}; the copy has '{nearest}'")

    def select(
        self, rule: Callable[[BoundQuery], Result]
    ) -> tuple[BoundWorkload, tuple[Result, ...]]:
        """Workload of the queries that ``rule`` accepts, and the results of ``rule``.

        If ``rule`` raises a PqdError for a query, the query joins the refusals.
        """
        refusals = Refusals(self.refusals)
        pairs: list[tuple[BoundQuery, Result]] = []
        for bound in self.queries:
            with refusals.of(bound.query):
                pairs.append((bound, rule(bound)))
        if self.complete_groups:
            broken = refusals.blocks
            pairs = [pair for pair in pairs if pair[0].query.block not in broken]
        queries = tuple(bound for bound, _ in pairs)
        return (
            replace(self, queries=queries, refusals=refusals.pairs),
            tuple(result for _, result in pairs),
        )
