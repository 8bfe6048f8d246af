"""Row classes: sets of rows that a batch of queries cannot tell apart, from public data alone.

Atoms that share a column form one *factor*.  The *vector* of a row says which atoms of a factor
are TRUE for the row.  If all atoms of a factor compare one column with constants, all vectors that
a row can have are known (``joint_truths``).  For any other factor, the vectors of the synthetic
table are kept.  The vector in which no atom is TRUE is kept too.  A class is a combination of one
vector per factor.  Combinations that no query can tell apart are merged.

For example, ``age > 64`` and ``age < 18`` form one factor with three vectors: neither atom is TRUE,
the first is TRUE, or the second is TRUE.

A private row is mapped by itself.  If its vector is not kept, the row counts as having the vector
in which no atom is TRUE.  So the class of a row does not depend on the other rows.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import sqlglot
from numpy.typing import NDArray
from sqlglot import exp

from pqd.deciders.batch.linear.conditions import Intervals
from pqd.deciders.errors import ParameterError
from pqd.engine.contingency import WORD, selections
from pqd.engine.scan_plan import ScanPlan
from pqd.sql.predicate import Atom
from pqd.sql.regions import exactly
from pqd.sql.schema import fold_case

if TYPE_CHECKING:
    from pqd.engine.contingency import Integers
Words = NDArray[np.uint64]

# The most combinations of vectors, and the most entries of a (queries, combinations) matrix.
MOST_COMBINATIONS, _LARGEST_MATRIX = 2**16, 2**24


@dataclass(frozen=True, slots=True, eq=False)
class Factor:
    """Factor: its atoms by their bits, and the kept vectors; the first vector is all False.

    ``line`` is the place of each vector along the one column of the atoms.  It is None unless all
    atoms compare one column with constants.  If it is None, a row may have a vector that is not
    kept.
    """

    names: tuple[str, ...]
    bits: tuple[int, ...]
    vectors: Booleans
    line: Integers | None

    @property
    def complete(self) -> bool:
        """Whether every row has one of the kept vectors."""
        return self.line is not None

    @classmethod
    def of(cls, atoms: Sequence[Atom], bits: Iterable[int], synthetic: Booleans) -> Factor:
        """Factor of the atoms at ``bits``, given the synthetic table's vectors of all atoms."""
        ordered = sorted(bits, key=lambda bit: atoms[bit].sql)
        none = np.zeros((1, len(ordered)), np.bool_)
        every = joint_truths([atoms[bit] for bit in ordered])
        if not any(map(columns_of, (atoms[bit] for bit in ordered))):
            # A condition without a column has one value for all rows.
            every = synthetic[:1, ordered]
        kept = np.concatenate((none, synthetic[:, ordered] if every is None else every))
        distinct, places = np.unique(kept, axis=0, return_inverse=True)
        names, line = tuple(atoms[bit].sql for bit in ordered), None
        if every is not None:
            line = np.full(len(distinct), len(kept))
            np.minimum.at(line, places.reshape(-1)[1:], np.arange(len(every)))
        return cls(names, tuple(ordered), distinct, line)

    def places(self, vectors: Booleans) -> Integers:
        """Place of each row's vector among the kept vectors; 0 for a vector that is not kept."""
        known = {vector.tobytes(): place for place, vector in enumerate(self.vectors)}
        selected = np.ascontiguousarray(vectors[:, list(self.bits)])
        return np.array([known.get(vector.tobytes(), 0) for vector in selected], np.int64)


@dataclass(frozen=True, eq=False)
class RowClasses:
    """Row classes, and the classes that each query selects: ``matrix`` (queries, classes).

    ``merged`` holds the class of each combination of vectors.  The vector of the last factor varies
    fastest.  If all conditions compare one column with constants, the classes are in the order of
    this column.
    """

    factors: tuple[Factor, ...]
    merged: Integers
    matrix: Booleans

    @classmethod
    def of(cls, workload: ScanPlan, words: Words) -> RowClasses:
        """Row classes of the statistics of ``workload``, given the synthetic table's words.

        Raises
        ------
        ParameterError
            If the vectors have too many combinations.
        """
        atoms, queries = workload.atoms, len(workload.statistics)
        if not atoms:
            matrix = np.ones((queries, 1), np.bool_)
            return cls((), np.zeros(1, np.int64), matrix)
        synthetic = unpack(np.unique(_runs(words)[0], axis=0), len(atoms))
        factors = tuple(Factor.of(atoms, bits, synthetic) for bits in column_groups(atoms))
        most = min(MOST_COMBINATIONS, _LARGEST_MATRIX // queries)
        if _size(factors) > most:
            raise ParameterError(
                f"the conditions of these {queries:,} queries can combine in {_size(factors):,} "
                f"ways; at most {most:,} fit: ask queries about different columns in runs of "
                "their own, or fewer at once"
            )
        matrix = _matrix(workload, factors)
        _, first, merged = np.unique(
            np.packbits(matrix, axis=0), axis=1, return_index=True, return_inverse=True
        )
        classes = cls(factors, merged.reshape(-1).astype(np.int64), matrix[:, first])
        lines = [factor.line for factor in factors]
        return classes if len(lines) != 1 or lines[0] is None else classes.along(lines[0])

    def along(self, line: Integers) -> RowClasses:
        """The same row classes, sorted by ``line``, which gives the place of each combination."""
        places = np.full(self.size, line.max() + 1)
        np.minimum.at(places, self.merged, line)
        order = np.argsort(places)
        return RowClasses(self.factors, np.argsort(order)[self.merged], self.matrix[:, order])

    @property
    def size(self) -> int:
        """Number of row classes."""
        return int(self.matrix.shape[1])

    @property
    def intervals(self) -> Intervals | None:
        """Queries as intervals of the classes; None if a query is not an interval."""
        sizes = np.count_nonzero(self.matrix, axis=1)
        first, last = (
            self.matrix.argmax(axis=1),
            self.size - 1 - self.matrix[:, ::-1].argmax(axis=1),
        )
        if not (sizes.all() and (sizes == last - first + 1).all()):
            return None
        return Intervals(self.size, first, last)

    @property
    def open_conditions(self) -> tuple[str, ...]:
        """Conditions of the factors that are not complete.

        A private row may match these conditions in a way that no class covers.  The row then
        counts as matching none of them.  If there are no open conditions, a query selects a row
        exactly if it selects the row's class.
        """
        return tuple(name for f in self.factors if not f.complete for name in f.names)

    def of_words(self, words: Words) -> Integers:
        """Class of each row of ``words``."""
        distinct, inverse = _runs(words)
        vectors = unpack(distinct, sum(len(factor.bits) for factor in self.factors))
        places = np.zeros(len(distinct), np.int64)
        for factor in self.factors:
            places = places * len(factor.vectors) + factor.places(vectors)
        classes: Integers = self.merged[places][inverse]
        return classes

    @cached_property
    def digest(self) -> str:
        """Hash of the factors and their vectors; the order of the atoms does not matter."""
        hashed = hashlib.sha256(json.dumps([factor.names for factor in self.factors]).encode())
        for factor in self.factors:
            hashed.update(json.dumps(factor.vectors.shape).encode() + factor.vectors.tobytes())
        return hashed.hexdigest()


def _runs(words: Words) -> tuple[Words, Integers]:
    """First row of each run of equal rows, and the number of the run of every row.

    Contingency tables are sorted, so there are few runs.  The result is right for any order.
    """
    first = np.ones(len(words), np.bool_)
    np.any(words[1:] != words[:-1], axis=1, out=first[1:])
    return words[first], np.cumsum(first) - 1


def _size(factors: Sequence[Factor]) -> int:
    return math.prod(len(factor.vectors) for factor in factors)


def _matrix(workload: ScanPlan, factors: Sequence[Factor]) -> Booleans:
    """Masks (statistics, combinations): the combinations of vectors that a statistic selects."""
    places = np.unravel_index(np.arange(_size(factors)), [len(f.vectors) for f in factors])
    vectors = np.zeros((_size(factors), len(workload.atoms)), np.bool_)
    for factor, place in zip(factors, places, strict=True):
        vectors[:, list(factor.bits)] = factor.vectors[place]
    return np.stack(selections(workload, list(pack(vectors).T), len(vectors)))


def column_groups(atoms: Sequence[Atom]) -> list[list[int]]:
    """Bits of the atoms in groups; atoms that share a column are in one group."""
    groups: list[tuple[set[str], list[int]]] = []
    for bit, atom in enumerate(atoms):
        # Atoms without a column share the empty name, so they form one group.
        columns, bits = columns_of(atom) or {""}, [bit]
        others = []
        for names, group in groups:
            if names & columns:
                columns, bits = columns | names, group + bits
            else:
                others.append((names, group))
        groups = [*others, (columns, bits)]
    return sorted((bits for _, bits in groups), key=lambda b: min(atoms[i].sql for i in b))


def columns_of(atom: Atom) -> set[str]:
    """Columns of an atom."""
    if known := exactly(atom):
        return {fold_case(known[0])}
    tree = sqlglot.parse_one(atom.sql, read="duckdb")
    return {fold_case(column.name) for column in tree.find_all(exp.Column)}


def pack(vectors: Booleans) -> Words:
    """Rows of booleans as words of 64 bits; the first boolean is the lowest bit."""
    rows, bits = vectors.shape
    wide = np.zeros((rows, -(-bits // WORD) * WORD), np.bool_)
    wide[:, :bits] = vectors
    return np.packbits(wide, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def unpack(words: Words, bits: int) -> Booleans:
    """First ``bits`` bits of each row of words."""
    octets = np.ascontiguousarray(words, dtype="<u8").view(np.uint8)
    vectors: Booleans = np.unpackbits(octets, axis=1, bitorder="little")[:, :bits].astype(np.bool_)
    return vectors


Booleans = NDArray[np.bool_]


def joint_truths(atoms: Sequence[Atom]) -> Booleans | None:
    """Truth of each of the ``atoms`` for every value of their one column, and for NULL.

    Returns
    -------
    array of shape (combinations, atoms), or None
        The combination of every row is in the array, since no condition changes between two
        neighbouring constants.  A few combinations that no row can have may be in the array too.
        The combinations are in the order of the column's values, each at its first occurrence, and
        NULL is last.  The result is None unless all atoms compare the same column with constants
        of one type.
    """
    meanings = [exactly(atom) for atom in atoms]
    pairs = [pair for pair in meanings if pair]
    sets = [values for _, values in pairs]
    types = {type(value) for values in sets for value, _ in values.cuts}
    if len(pairs) < len(meanings) or len({column for column, _ in pairs}) > 1 or len(types) > 1:
        return None
    cuts = sorted({cut for values in sets for cut in values.cuts})
    order = {cut: place for place, cut in enumerate(cuts, start=1)}
    # One entry for values below every cut, one for the values after each cut, and one for NULL.
    truths = np.zeros((len(cuts) + 2, len(atoms)), np.bool_)
    for place, values in enumerate(sets):
        turns = np.zeros(len(cuts) + 1, np.int64)
        turns[[order[cut] for cut in values.cuts]] = 1
        truths[:-1, place] = (np.cumsum(turns) + values.start) % 2 == 1
        truths[-1, place] = values.null
    first = np.unique(truths, axis=0, return_index=True)[1]
    return truths[np.sort(first)]
