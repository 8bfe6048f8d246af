"""Classes of a row's cells: what the atoms of a workload cannot tell apart is one class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pqd.engine.kernel.arrow_sql import chunks_of
from pqd.engine.kernel.bitmaps import WORD
from pqd.engine.kernel.column_types import TEXTS
from pqd.engine.kernel.combinations import as_codes, at_codes, combined
from pqd.engine.reading.buffers import numpy_of, text_value, true_in
from pqd.sql.predicate import Comparison

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pqd.engine.kernel.combinations import Combinations
    from pqd.engine.kernel.evaluator import Evaluator, Names
    from pqd.sql.predicate import Atom

    Floats = NDArray[np.float64]
    Packed = NDArray[np.uint64]
    Truths = NDArray[np.bool_]

_COMPARISONS: Mapping[str, Callable[..., Truths]] = {
    "=": np.equal,
    "<>": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


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

    def reordered(self, order: NDArray[np.int64]) -> AtomClasses:
        """The same of the rows in another ``order``."""
        return AtomClasses(self.atoms, self.codes.take(order), self.words)


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
    first = 0
    for words in _words(evaluator, names, combinations, atoms):
        codes, distinct = distinct_rows(words)
        class_of[first : first + codes.size] = codes.astype(np.int64) + number
        tables.append(words[distinct])
        first, number = first + codes.size, number + distinct.size
    # Chunks number their own classes; those of all are one.
    words = np.concatenate(tables)
    codes, distinct = distinct_rows(words)
    return as_codes(codes, distinct.size)[class_of], words[distinct]


def _words(
    evaluator: Evaluator, names: Names, combinations: Combinations, atoms: Sequence[Atom]
) -> Iterator[Packed]:
    """Atoms that are true of each combination, packed into words, chunk by chunk."""
    values = _comparable(evaluator, names)
    plain = [_plain(atom, values) for atom in atoms]
    pairs = zip(atoms, plain, strict=True)
    others = [f"COALESCE({atom.sql}, FALSE)" for atom, each in pairs if each is None]
    chunks = evaluator.values(names, combinations, others)
    for (first, last), chunk in zip(chunks_of(combinations.size), chunks, strict=True):
        evaluated = map(numpy_of, chunk)
        truths = (
            compared(values[first:last], each) if each and values is not None else next(evaluated)
            for each in plain
        )
        yield packed(truths, last - first, len(plain))


def _comparable(evaluator: Evaluator, names: Names) -> Floats | pa.Array | None:
    """Values of a single column that holds doubles, NaN for NULL, or texts; None of all else."""
    if len(names) != 1:
        return None
    values = evaluator.typed(names[0]).values
    if pa.types.is_float64(values.type):
        return numpy_of(values)
    return values if str(values.type) in TEXTS else None


def _plain(atom: Atom, values: Floats | pa.Array | None) -> Comparison | None:
    """Comparison of such ``values`` that an atom is, None if it is another condition."""
    found = None if values is None else Comparison.of(atom.sql)
    return found if found and isinstance(found.first, str) == isinstance(values, pa.Array) else None


def compared(values: Floats | pa.Array, comparison: Comparison) -> Truths:
    """Truth of a comparison on each of ``values``, false for NULL, which is NaN among doubles.

    It is DuckDB's, which differs for NaN alone.  A thousand comparisons take the engine a hundred
    times as long to read as to evaluate, and one statement as long as 10^5 comparisons.
    """
    _, sign, first, last = comparison
    if isinstance(first, str):
        return _texts_compared(values, sign, first)
    if last is not None:
        return (values >= first) & (values <= last)
    found = _COMPARISONS[sign](values, first)
    # Of all comparisons with NaN this alone is true.
    return found & ~np.isnan(values) if sign == "<>" else found


def _texts_compared(values: pa.Array, sign: str, text: str) -> Truths:
    """Truth of ``=`` or ``<>`` and a text: to the byte, as the engine compares what is UTF-8."""
    same = pc.equal if sign == "=" else pc.not_equal
    return true_in(same(values, text_value(text, values.type)))


def packed(truths: Iterable[Truths], rows: int, number: int) -> Packed:
    """Truths of so many atoms, packed into words as they come: (rows, words)."""
    words = np.zeros((-(-number // WORD), rows), np.uint64)
    for bit, truth in enumerate(truths):
        words[bit // WORD] |= truth.astype(np.uint64) << np.uint64(bit % WORD)
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
