"""Classes of a row's cells: what the atoms of a workload cannot tell apart is one class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pqd.engine.kernel.bitmaps import WORD
from pqd.engine.kernel.combinations import as_codes, at_codes, combined
from pqd.engine.reading.buffers import numpy_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from pqd.engine.kernel.combinations import Combinations
    from pqd.engine.kernel.evaluator import Evaluator, Names
    from pqd.sql.predicate import Atom

    Packed = NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AtomClasses:
    """Atoms on the same columns: the class of each row, and which atoms are true in each class.

    ``codes`` (rows,); ``words`` (classes, words) packs the atoms in their order.
    """

    atoms: tuple[Atom, ...]
    codes: NDArray[Any]
    words: Packed

    def __repr__(self) -> str:
        """Name of the type alone: what it holds may be private, and a traceback may show this."""
        return "AtomClasses(...)"


def atom_classes(evaluator: Evaluator, atoms: Iterable[Atom]) -> Mapping[Names, AtomClasses]:
    """Classes of ``atoms`` for each set of columns that some of them name."""
    by_names: dict[Names, list[Atom]] = {}
    for atom in atoms:
        by_names.setdefault(evaluator.names(atom.sql), []).append(atom)
    return {names: _classes(evaluator, names, held) for names, held in by_names.items()}


def _classes(evaluator: Evaluator, names: Names, atoms: Sequence[Atom]) -> AtomClasses:
    combinations = evaluator.combinations(names)
    every = tuple(atoms)
    lookup, words = evaluator.looked_up(
        names, ("classes", every), lambda: _class_table(evaluator, names, combinations, every)
    )
    return AtomClasses(every, at_codes(lookup, combinations.codes), words)


def _class_table(
    evaluator: Evaluator, names: Names, combinations: Combinations, atoms: Sequence[Atom]
) -> tuple[NDArray[Any], Packed]:
    """Class of each combination, and the words of each class."""
    class_of = np.zeros(combinations.size, np.int64)
    tables: list[Packed] = []
    number = 0
    outputs = [f"COALESCE({atom.sql}, FALSE)" for atom in atoms]
    first = 0
    for truths in evaluator.values(names, combinations, outputs):
        words = packed(truths)
        codes, distinct = distinct_rows(words)
        class_of[first : first + codes.size] = codes.astype(np.int64) + number
        tables.append(words[distinct])
        first, number = first + codes.size, number + distinct.size
    # Chunks number their own classes; those of all are one.
    words = np.concatenate(tables)
    codes, distinct = distinct_rows(words)
    return as_codes(codes, distinct.size)[class_of], words[distinct]


def packed(truths: Sequence[pa.ChunkedArray]) -> Packed:
    """Truths of atoms, packed into words: (rows, words)."""
    rows = len(truths[0])
    words = np.zeros((-(-len(truths) // WORD), rows), np.uint64)
    for bit, truth in enumerate(truths):
        words[bit // WORD] |= numpy_of(truth).astype(np.uint64) << np.uint64(bit % WORD)
    return np.ascontiguousarray(words.T)


def distinct_rows(words: Packed) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Code of each row of ``words``, and the first row of each code."""
    rows = len(words)
    parts = []
    for word in words.T:
        distinct, codes = np.unique(word, return_inverse=True)
        parts.append((codes, distinct.size))
    every = combined(parts, rows)
    first = np.zeros(every.size, np.int64)
    first[every.codes[::-1]] = np.arange(rows)[::-1]
    return every.codes, first
