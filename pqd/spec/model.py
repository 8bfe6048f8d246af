"""A spec that was read: its tables, its budgets, its checks and its release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from pqd.batches.mechanisms import RunBudget
from pqd.deciders.exact import Number
from pqd.engine.reading.text_format import USUAL, TextFormat
from pqd.reports.models.profile import DistanceId
from pqd.reports.models.query import DISTANCE_AGGREGATES, MEAN_DISTANCE, RELATIONS_KEPT
from pqd.sql.query import Scale
from pqd.sql.tolerance import Tolerance
from pqd.stated.decider_options import Options
from pqd.stated.mechanism_options import MechanismOptions

Scalar = str | int | bool | Decimal


@dataclass(frozen=True, slots=True)
class Source:
    """File that the spec names, or table on a server, whose URL is ``path``.

    ``path`` may hold secrets from the environment, so no repr shows it.  ``written`` is the path as
    the spec writes it; messages show ``written``.  The cells of delimited text are written in
    ``text_format``.
    """

    path: Path | str = field(repr=False)
    written: str
    text_format: TextFormat = USUAL


@dataclass(frozen=True, slots=True)
class Check:
    """One ``[[check]]`` with its defaults filled in; ``line`` is the line of its header, from 1.

    A check has one of seven subjects: a query (``sql``); a ``marginal``, given by its columns; the
    values of a ``column``; a ``score`` that must be ``at_least`` an amount; an ``alarm``; a
    ``schema``, which is public; or a ``risk``, the kind of attacks that must not gain.
    The fields of the other subjects are empty (``sql``) or None.  ``score``, ``at_least`` and
    ``tau`` are as the spec writes them; ``tau`` is None for a score and for an alarm.
    ``synthetic`` has the names of the synthetic tables.  ``keys`` holds a tuple for each key if
    several columns are grouped.
    ``epsilon`` is None if the check shares the budget of ``[shared_budget]``.
    """

    id: str
    sql: str
    tau: Number | None
    epsilon: Fraction | None
    alpha: Fraction
    decider: str
    expect: Literal["close", "far"]
    severity: Literal["error", "warn"]
    on_undecided: Literal["fail", "warn", "pass"]
    evidence: Literal["proof", "likely"]
    synthetic: tuple[str, ...]
    bins: str | None
    keys: tuple[Scalar | tuple[Scalar, ...], ...] | None
    line: int
    marginal: tuple[str, ...] | None = None
    column: str | None = None
    distance: DistanceId = "tv"
    score: str | None = None
    at_least: Number | None = None
    ways: int = 2
    outside: bool = False
    alarm: str | None = None
    schema: str | None = None
    decider_options: Options = ()
    scale: Scale | None = None
    risk: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns whose values are compared, as the spec names them; none of a query or a score."""
        return self.marginal or ((self.column,) if self.column is not None else ())

    @property
    def tolerance(self) -> Tolerance:
        """Tolerance; of a score the largest distance from 100 %.  ParameterError if invalid.

        The tolerance of an alarm is computed from the copy; this one takes its place until then.
        """
        if self.alarm is not None:
            return Tolerance(Fraction(1, 2), relative=True, text="alarm")
        if self.at_least is None:
            return Tolerance.parse(self.tau)
        least = Tolerance.parse(self.at_least)
        return Tolerance(1 - least.amount, relative=True, text=f"score at least {least.text}")

    @property
    def sql_text(self) -> str:
        """SQL of the query, or words for the distance, which a report shows in the place of SQL."""
        for word, about in (("SCHEMA", self.schema), ("RISK", self.risk), ("VALUES", self.column)):
            if about is not None:
                return f"{word}({about})"
        if self.score == "relations":
            return RELATIONS_KEPT
        if self.score is not None or self.alarm is not None:
            return f"{MEAN_DISTANCE}({self.score or self.alarm}, {self.ways} ways)"
        if self.marginal is not None:
            return f"{DISTANCE_AGGREGATES[self.distance]}({', '.join(self.marginal)})"
        return self.sql


@dataclass(frozen=True, slots=True)
class ReleaseSpec:
    """Section ``[release]``: a file of queries, the name of a synthetic table, the parameters."""

    queries: Source
    synthetic: str
    total_epsilon: Fraction
    mechanism: str
    alpha: Fraction
    mechanism_options: MechanismOptions = field(default_factory=dict)
    isotonic: bool = False


@dataclass(frozen=True, slots=True)
class HeldOutSpec:
    """Section ``[held_out]``: the table, the most that it may ever spend, its data set, its rows.

    ``rows`` is the number of its rows, or with a unit of its persons, which a dry run plans with.
    """

    source: Source
    epsilon: Fraction | None
    dataset: str | None
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class RiskSpec:
    """Section ``[risk]``: the budget of all attacks on one copy, the secrets, what is known."""

    total_epsilon: Fraction
    secrets: tuple[str, ...] | None
    known: tuple[str, ...] | None
    learner: str


@dataclass(frozen=True, slots=True)
class Spec:
    """Content of a spec file; the value of a fact that is not stated is None.

    ``epsilon`` and ``delta`` are the limits of the private table: all runs of its ledger together
    may spend this much.  ``shared_budget`` is the total epsilon of all checks without an epsilon of
    their own, and the way in which they share it.  ``copy_epsilon`` has, by the name of a
    synthetic table, the epsilon under which the table was made, where the spec states it.
    ``private_rows`` is the number of private rows.  ``dataset`` is the name of the data set of
    which the private table is a version.  ``row_is_person`` states that each row is one person.
    ``metadata`` is the file with facts of columns that ``columns`` does not state.
    ``gate`` is the epsilon of one test of all checks, and ``names`` is the epsilon that names the
    worst check if the gate does not pass.  Without a gate each check is decided by itself.
    ``held_out`` and ``risk`` are there if a check is about risk.
    """

    path: Path
    private: Source
    synthetic: Mapping[str, Source]
    ledger: Source | None
    epsilon: Fraction | None
    delta: Fraction
    shared_budget: RunBudget | None
    release: ReleaseSpec | None
    unit: str | None
    max_rows: int | None
    columns: dict[str, dict[str, Any]]
    metadata: Source | None
    checks: tuple[Check, ...]
    gate: Fraction | None = None
    names: Fraction | None = None
    copy_epsilon: Mapping[str, Fraction] = field(default_factory=dict)
    private_rows: int | None = None
    dataset: str | None = None
    row_is_person: bool = False
    held_out: HeldOutSpec | None = None
    risk: RiskSpec | None = None
