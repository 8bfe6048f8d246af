"""Parameters of a profile, which a caller states: budget, tolerance, marginals and cells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain
from typing import Any

from pqd.deciders.distances.relations import USUAL_BAR, share_kept
from pqd.deciders.exact import Number, exact, positive, probability
from pqd.deciders.note import Note, note
from pqd.deciders.options import option
from pqd.engine.scan_plan import PrivacyUnit
from pqd.errors import ParameterError
from pqd.marginals.marginal_selection import check_ways
from pqd.parameters import stated_rows
from pqd.planning.query_warnings import budget_warnings
from pqd.reports.models.profile import DistanceId
from pqd.sql.schema import fold_case
from pqd.sql.tolerance import Tolerance
from pqd.stated.budgets import LARGE_DELTA, total_budget
from pqd.stated.column_facts import (
    ColumnFacts,
    Facts,
    FileFacts,
    StatedCells,
    StatedColumns,
    cells_of_facts,
    parse_columns,
    read_cells,
)

# Distances that can be measured, and the distances measured by default.
DISTANCES: tuple[DistanceId, ...] = ("tv", "ks", "emd")
USUAL: tuple[DistanceId, ...] = ("tv", "ks")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRequest:
    """Request of marginals, and of the distances that compare them; all of it public.

    Attributes
    ----------
    columns
        Names of the columns to profile; None for all suitable columns.
    ways
        The most columns of one marginal: all marginals of 1 .. ``ways`` columns are compared.
    marginals
        The column names of single marginals to compare instead; None for all marginals.
    distances
        The distances.  Total variation is always measured, other distances on ordered columns only.
    cells
        Stated cells, by column.
    facts
        Public facts of columns.
    private_rows
        The number of private rows that the caller states; None if it is not stated.
    cells_from
        A public table that is no copy, whose kinds, columns and cells all copies share; None for
        each copy's own.
    """

    columns: tuple[str, ...] | None = None
    ways: int = 2
    marginals: tuple[tuple[str, ...], ...] | None = None
    distances: tuple[DistanceId, ...] = USUAL
    cells: Mapping[str, StatedCells] = field(default_factory=dict)
    facts: Facts = field(default_factory=dict)
    private_rows: int | None = None
    cells_from: object | None = field(default=None, repr=False)

    def judges(self, name: str) -> bool | None:
        """Whether the facts say that a column is judged; None if they do not say."""
        facts = self._facts_of(name)
        return facts.judge if facts else None

    def set_aside(self, name: str) -> str:
        """Reason why a column is not judged, if the facts say so."""
        facts = self._facts_of(name)
        if facts and facts.source:
            return f"it is an identifier ({facts.source})"
        return "judge = false is stated for it"

    @property
    def own_cells(self) -> Mapping[str, StatedCells]:
        """Cells that the caller states beside a file of metadata."""
        names = self.facts.cells_of_file if isinstance(self.facts, FileFacts) else set()
        folded = {fold_case(name): each.cells for name, each in self.facts.items()}
        of_file = {name: folded.get(name) for name in names}
        return {n: each for n, each in self.cells.items() if of_file.get(fold_case(n)) != each}

    def _facts_of(self, name: str) -> ColumnFacts | None:
        facts = {fold_case(column): each for column, each in self.facts.items()}
        return facts.get(fold_case(name))

    @property
    def named(self) -> tuple[str, ...] | None:
        """Columns that the caller names, singly or in marginals; None for all columns."""
        if self.marginals is None:
            return self.columns
        return tuple(dict.fromkeys((*(self.columns or ()), *chain.from_iterable(self.marginals))))

    def held_by(self, columns: Iterable[str]) -> ProfileRequest:
        """Same request, of those named columns that a copy with these ``columns`` has."""
        known = set(map(fold_case, columns))
        own = None if self.columns is None else [n for n in self.columns if fold_case(n) in known]
        cells = {name: each for name, each in self.cells.items() if fold_case(name) in known}
        return replace(self, columns=None if own is None else tuple(own), cells=cells)

    def column_names(self, unit: PrivacyUnit | None) -> set[str] | None:
        """Names of the columns that the run reads; None for all columns."""
        return None if self.named is None else {*self.named, *([unit.column] if unit else [])}


# The most marginals whose cells are measured: with more of them each would have too little budget.
MOST_ZOOM = 100
# Default budget of a profile.
USUAL_EPSILON = Fraction(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileParameters:
    """Parameters of a profile; all of it public.

    Attributes
    ----------
    request
        The marginals, distances and cells.
    total_epsilon
        The budget of the whole run.
    delta
        The delta of the noise on the distances; None for pure epsilon-DP.
    tau, tolerance
        The tolerance: as a share of the rows, below 1, and as the caller wrote it.
    alpha
        The error probability that the caller accepts.
    zoom
        The number of marginals whose cells are measured.
    target
        The column that a classifier predicts; None without a classifier.
    copy_epsilon
        The epsilon under which the copy was made; None if it is not known to be private.
    anyway
        Whether to measure even if less than a fifth of the distances can be decided.
    bar
        The share of the relations that a copy must keep.
    """

    request: ProfileRequest
    total_epsilon: Fraction
    delta: Fraction | None
    tau: Fraction
    tolerance: str
    alpha: Fraction
    zoom: int
    target: str | None
    copy_epsilon: Fraction | None = None
    anyway: bool = False
    bar: Fraction = USUAL_BAR

    @classmethod
    def parse(  # noqa: PLR0913 - the facts of a profile
        cls,
        *,
        total_epsilon: Number = USUAL_EPSILON,
        tau: Number = "5%",
        ways: Number = 2,
        columns: Sequence[str] | None = None,
        cells: Mapping[str, Any] | None = None,
        distances: Sequence[str] = USUAL,
        zoom: Number = 0,
        target: str | None = None,
        delta: Number | None = None,
        alpha: Number = "0.05",
        facts: StatedColumns | None = None,
        copy_epsilon: Number | None = None,
        anyway: bool = False,
        private_rows: Number | None = None,
        relations: Number = USUAL_BAR,
        cells_from: object | None = None,
    ) -> ProfileParameters:
        """Parameters that a caller states; ParameterError names the mistake and allowed values."""
        stated = parse_columns(facts)
        tolerance = Tolerance.parse(tau)
        return cls(
            request=ProfileRequest(
                columns=stated_names(columns, "columns"),
                ways=check_ways(ways),
                distances=_distances(distances),
                cells=_cells(cells or {}, stated),
                facts=stated,
                private_rows=stated_rows(private_rows),
                cells_from=cells_from,
            ),
            total_epsilon=total_budget(total_epsilon),
            delta=None if delta is None else probability(delta, "delta"),
            tau=tolerance.share,
            tolerance=tolerance.text,
            alpha=probability(alpha, "alpha"),
            zoom=check_zoom(zoom),
            target=target,
            copy_epsilon=None if copy_epsilon is None else positive(copy_epsilon, "copy_epsilon"),
            anyway=anyway,
            bar=share_kept(relations),
        )

    def warnings(self) -> Iterator[Note]:
        """Yield warnings of parameters that are allowed, but are often a mistake."""
        yield from budget_warnings(self.total_epsilon)
        if self.alpha > Fraction(1, 2):
            yield note("alpha-wide", alpha=self.alpha)
        if self.delta is not None and self.delta > LARGE_DELTA:
            yield note("delta-large", delta=self.delta)


def stated_names(
    names: Sequence[str] | None, what: str, subject: str = "columns such as age"
) -> tuple[str, ...] | None:
    """Names, of columns or of another ``subject``, without repetition; None if none is stated.

    Raises
    ------
    ParameterError
        If they are no names, or facts of columns.
    """
    if names is None:
        return None
    if isinstance(names, Mapping):
        raise ParameterError(
            f"{what} are names of columns here, and no facts of columns: state the facts as "
            f"facts={{...}}, and {what}=[...] only to take fewer columns. Nothing was spent"
        )
    if not isinstance(names, Iterable):
        raise ParameterError(f"{what} are names of {subject}, not {names!r}")
    every = [names] if isinstance(names, str) else list(names)
    if not every:
        raise ParameterError(f"{what} is an empty list; name {subject}, or leave it out")
    for name in every:
        if not isinstance(name, str) or not name.strip():
            raise ParameterError(f"{what} are names of {subject}, not {name!r}")
    return tuple({fold_case(name): name for name in reversed(every)}.values())[::-1]


def _cells(cells: Mapping[str, Any], facts: Facts) -> dict[str, StatedCells]:
    """Stated cells by column, from ``cells`` and from ``facts``."""
    if not isinstance(cells, Mapping):
        raise ParameterError('cells must be a mapping such as {"age": 20}')
    read = cells_of_facts(facts)
    if isinstance(facts, FileFacts):
        # Stated cells go before those of a file.
        stated = {fold_case(str(name)) for name in cells} & facts.cells_of_file
        read = {name: each for name, each in read.items() if fold_case(name) not in stated}
    names = set(map(fold_case, read))
    for name, each in cells.items():
        if fold_case(str(name)) in names:
            raise ParameterError(f'the cells of "{name}" are stated twice')
        names.add(fold_case(str(name)))
        read[str(name)] = read_cells(each, str(name))
    return read


def _distances(distances: Sequence[str]) -> tuple[DistanceId, ...]:
    """Distances to measure: total variation and the stated distances."""
    stated = {distances} if isinstance(distances, str) else set(distances)
    for name in stated:
        if name not in DISTANCES:
            raise ParameterError(
                f"distance {name!r} is not known; use tv (total variation, always measured), ks "
                "(Kolmogorov-Smirnov) or emd (earth mover's)"
            )
    return tuple(name for name in DISTANCES if name in stated | {"tv"})


def check_zoom(zoom: Number) -> int:
    """Number of marginals whose cells are measured; ParameterError unless it is 0 .. 100."""
    stated = exact(zoom, option("--zoom"), f"5 (a number of marginals, at most {MOST_ZOOM})")
    if stated.denominator != 1 or not 0 <= stated <= MOST_ZOOM:
        raise ParameterError(
            f"{option('--zoom')} is {zoom}; it is the number of marginals whose cells are measured,"
            f" from 0 to {MOST_ZOOM}, such as 5"
        )
    return int(stated)
