"""Contingency table: how many rows have each combination of atoms and of places on lattices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pqd.engine.counting.combinations import as_codes, at_codes, combined
from pqd.engine.counting.facts import OCTET, Facts, is_true, truth_octets
from pqd.engine.counting.tally import Counts, Tally
from pqd.engine.histograms import place_facts
from pqd.sql.predicate import Atom

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pqd.engine.counting.batch import Batch, Names
    from pqd.engine.counting.facts import TypedSQL
    from pqd.engine.scan_plan import ScanPlan
    from pqd.sql.predicate import Predicate

    Integers = NDArray[np.int64]
    Packed = NDArray[np.uint64]
    Rows = NDArray[np.bool_]

# Truths packed into a word.
WORD = 64


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ContingencyTable:
    """Cells (distinct combinations of truths and places), and the number of rows in each cell.

    ``words`` (cells, words) packs the truths of the atoms, in the order of the plan.  ``places``
    (cells, measures) are places on the lattice of each measure, in the order of the plan; -1 is
    NULL.
    """

    words: Packed
    places: Integers
    counts: Integers

    def __repr__(self) -> str:
        """Name of the type alone: a traceback may show the repr, and the counts may be private."""
        return "ContingencyTable(...)"


class ContingencyCounter:
    """Counter of rows by the truth of every atom of ``plan``, and by the places on its lattices.

    A key is the words of a row, then its places.

    Raises
    ------
    ValueError
        If the plan has a ``unit``, or a measure without a lattice.
    """

    distinct: frozenset[int] = frozenset()

    def __init__(self, sql: TypedSQL, plan: ScanPlan) -> None:
        """Nothing is evaluated yet."""
        lattices = [(each.sql, each.lattice) for each in plan.measures if each.lattice]
        if len(lattices) < len(plan.measures) or plan.unit:
            raise ValueError("cells hold rows, by their places on lattices")
        self._bits = {atom: bit for bit, atom in enumerate(plan.atoms)}
        self._width = words_of(len(self._bits))
        by_names: dict[Names, dict[Atom, int]] = {}
        for atom in self._bits:
            own = by_names.setdefault(sql.names(atom.sql), {})
            own[atom] = len(own)
        self._atoms = [
            (own, Facts(sql, names, is_true(own), truth_octets)) for names, own in by_names.items()
        ]
        self._places = [place_facts(sql, *each) for each in lattices]

    def count(self, batch: Batch) -> Counts:
        """Number of rows of ``batch`` in each cell that is not empty."""
        cells = self._cells(batch)
        counts = np.bincount(cells.codes, minlength=len(cells.places))
        rows = np.ascontiguousarray(np.column_stack((cells.words, cells.places.view(np.uint64))))
        keys: NDArray[Any] = np.zeros(len(rows), np.int64)
        if rows.shape[1]:
            kind = np.int64 if rows.shape[1] == 1 else f"V{rows.shape[1] * rows.itemsize}"
            keys = rows.view(kind).ravel()
        return Counts({0: Tally.of(keys, counts)})

    def whole(self, counts: Counts) -> ContingencyTable:
        """Cells that are not empty, in ascending order."""
        tally = counts[0]
        width = self._width + len(self._places)
        # Without atoms and measures there is one cell at most, under the key 0.
        keys = tally.keys.view(np.uint64).reshape(-1, max(1, width))
        words, places = keys[:, : self._width], keys[:, self._width : width].view(np.int64)
        order = np.lexsort(keys.T if not width else (*places.T[::-1], *words.T))
        order = order[tally.counts[order] > 0]
        return ContingencyTable(words[order], places[order], tally.counts[order])

    def by_row(self, batch: Batch) -> ContingencyTable:
        """Table with a cell for every row, in the order of the rows."""
        cells = self._cells(batch)
        ones = np.ones(batch.rows, np.int64)
        return ContingencyTable(cells.words[cells.codes], cells.places[cells.codes], ones)

    def _cells(self, batch: Batch) -> _Cells:
        parts, tables = [], []
        for own, facts in self._atoms:
            codes, truths = facts.of(batch)
            words = np.zeros((len(truths[0]), self._width), np.uint64)
            for atom, place in own.items():
                bit = self._bits[atom]
                truth = (truths[place // OCTET] >> place % OCTET & 1).astype(np.uint64)
                words[:, bit // WORD] |= truth << np.uint64(bit % WORD)
            classes, first = _distinct_rows(words)
            parts.append((at_codes(as_codes(classes, first.size), codes), first.size))
            tables.append(words[first])
        values = []
        for facts in self._places:
            codes, (found,) = facts.of(batch)
            distinct, ranks = np.unique(found.astype(np.int64), return_inverse=True)
            parts.append((at_codes(as_codes(ranks, distinct.size), codes), distinct.size))
            values.append(distinct)
        cells = combined(parts, batch.rows)
        words = np.zeros((cells.size, self._width), np.uint64)
        for table, digits in zip(tables, cells.digits, strict=False):
            words |= table[digits]
        places = np.zeros((cells.size, len(values)), np.int64)
        for number, distinct in enumerate(values):
            places[:, number] = distinct[cells.digits[len(tables) + number]]
        return _Cells(cells.codes, words, places)

    def __repr__(self) -> str:
        """Name of the type alone, since cached values may be private."""
        return "ContingencyCounter(...)"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Cells:
    """Cell of each row (``codes``), and the words and the places of each cell."""

    codes: NDArray[Any]
    words: Packed
    places: Integers

    def __repr__(self) -> str:
        """Name of the type alone: a traceback may show the repr, and the content may be private."""
        return "_Cells(...)"


def _distinct_rows(words: Packed) -> tuple[NDArray[Any], Integers]:
    """Code of each row of ``words``, and the first row of each code."""
    parts = []
    for word in words.T:
        distinct, codes = np.unique(word, return_inverse=True)
        parts.append((codes, distinct.size))
    every = combined(parts, len(words))
    first = np.zeros(every.size, np.int64)
    first[every.codes[::-1]] = np.arange(len(words))[::-1]
    return every.codes, first


def words_of(atoms: int) -> int:
    """Number of words that hold ``atoms`` atoms."""
    return -(-atoms // WORD)


class Words(Protocol):
    """Packed atoms of some rows: word by word."""

    def __getitem__(self, number: int, /) -> Packed:
        """Word ``number`` of each row."""
        ...


def selections(plan: ScanPlan, words: Words, size: int) -> list[Rows]:
    """Mask of ``size`` rows for each statistic; without a predicate all rows match."""
    place = {atom: bit for bit, atom in enumerate(plan.atoms)}
    every = np.ones(size, np.bool_)
    predicates = (statistic.predicate for statistic in plan.statistics)
    return [_matching(p, place, words) if p else every for p in predicates]


def _matching(predicate: Predicate, place: Mapping[Atom, int], words: Words) -> Rows:
    """Mask of the rows that match; ``place[atom]`` is the atom's bit, counted across ``words``.

    Atoms under one AND (OR) that share a word cost one masked comparison together.
    """
    if isinstance(predicate, Atom):
        return _masked("or", words, {place[predicate]})[0]
    bits = {place[part] for part in predicate.parts if isinstance(part, Atom)}
    groups = _masked(predicate.how, words, bits)
    others = (part for part in predicate.parts if not isinstance(part, Atom))
    groups += [_matching(part, place, words) for part in others]
    join = np.logical_and if predicate.how == "and" else np.logical_or
    rows = groups[0]
    for group in groups[1:]:
        rows = join(rows, group)
    return rows


def _masked(how: str, words: Words, bits: set[int]) -> list[Rows]:
    """Mask, for each word, of the rows that have all ("and") or any ("or") of its ``bits``."""
    masks: dict[int, int] = {}
    for bit in bits:
        masks[bit // WORD] = masks.get(bit // WORD, 0) | 1 << bit % WORD
    masked = []
    for number, mask in masks.items():
        bits_of_word = words[number] & np.uint64(mask)
        masked.append(bits_of_word == np.uint64(mask) if how == "and" else bits_of_word != 0)
    return masked
