"""A spec as it was read: its tables, its budgets, its checks and its release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pqd.reports.models.query import DISTANCE_AGGREGATES, MEAN_DISTANCE
from pqd.sql.tolerance import Tolerance

if TYPE_CHECKING:
    from pqd.deciders.exact import Number
    from pqd.reports.models.profile import DistanceId

Scalar = str | int | bool | Decimal


@dataclass(frozen=True, slots=True)
class Source:
    """A file that the spec names, or a table of a server, of which ``path`` is the URL.

    ``written`` is the path as it stands in the spec, and what messages show: ``path`` may hold
    what the environment keeps secret, so no repr has it.
    """

    path: Path | str = field(repr=False)
    written: str


@dataclass(frozen=True, slots=True)
class Check:
    """One ``[[check]]`` with its defaults filled in; ``line`` is that of its header, from 1.

    It is about a query (``sql``), about one ``marginal`` by its columns, or about a ``score``, of
    which ``at_least`` so much is wanted, both as written; ``sql`` is empty, the others None, where
    it is not.  ``tau`` is as written, for ``Parameters.parse``, and None for a score;
    ``synthetic`` has the names of the tables.  ``keys`` holds a tuple for each key where several
    columns are grouped; ``epsilon`` is None where
    the check shares that of ``[shared_budget]``.
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
    synthetic: tuple[str, ...]
    bins: str | None
    keys: tuple[Scalar | tuple[Scalar, ...], ...] | None
    line: int
    marginal: tuple[str, ...] | None = None
    distance: DistanceId = "tv"
    score: str | None = None
    at_least: Number | None = None
    ways: int = 2

    @property
    def tolerance(self) -> Tolerance:
        """Tolerance: of a score, what may be lacking from 100 %; ParameterError if it is none."""
        if self.at_least is None:
            return Tolerance.parse(self.tau)
        least = Tolerance.parse(self.at_least)
        return Tolerance(1 - least.amount, relative=False, text=f"score at least {least.text}")

    @property
    def asked(self) -> str:
        """Query, or the distance that is asked for: what a report shows as SQL."""
        if self.score is not None:
            return f"{MEAN_DISTANCE}({self.score}, {self.ways} ways)"
        if self.marginal is not None:
            return f"{DISTANCE_AGGREGATES[self.distance]}({', '.join(self.marginal)})"
        return self.sql


@dataclass(frozen=True, slots=True)
class ReleaseSpec:
    """Table ``[release]``: a file of queries, a synthetic table's name, and the parameters."""

    queries: Source
    synthetic: str
    total_epsilon: Fraction
    mechanism: str
    alpha: Fraction


@dataclass(frozen=True, slots=True)
class Spec:
    """A spec file as read; what is None is not stated.

    ``epsilon`` and ``delta`` are the most that the private table may ever spend in its ledger.
    ``shared_budget`` is what checks without an epsilon share in all, and how they share it.
    """

    path: Path
    private: Source
    synthetic: Mapping[str, Source]
    ledger: Source | None
    epsilon: Fraction | None
    delta: Fraction
    shared_budget: tuple[Fraction, str] | None
    release: ReleaseSpec | None
    unit: str | None
    max_rows: int | None
    columns: dict[str, dict[str, Any]]
    checks: tuple[Check, ...]
