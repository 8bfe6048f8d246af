"""A spec as it was read: its tables, its budgets, its checks and its release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from deciders.exact import Number

Scalar = str | int | bool | Decimal


@dataclass(frozen=True, slots=True)
class Source:
    """A file that the spec names.

    ``written`` is the path as it stands in the spec, and what messages show: ``path`` may hold
    what the environment keeps secret, so no repr has it.
    """

    path: Path = field(repr=False)
    written: str


@dataclass(frozen=True, slots=True)
class Check:
    """One ``[[check]]`` with its defaults filled in; ``line`` is that of its header, from 1.

    ``tau`` is as written, for ``Parameters.parse``; ``synthetic`` has the names of the tables.
    ``keys`` holds a tuple for each key where several columns are grouped; ``epsilon`` is None where
    the check shares that of ``[shared_budget]``.
    """

    id: str
    sql: str
    tau: Number
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
