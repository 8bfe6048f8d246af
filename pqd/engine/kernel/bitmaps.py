"""Predicates over packed atoms: 64 conditions of a row in one unsigned word."""

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pqd.sql.predicate import Atom, Predicate

WORD = 64


class Words(Protocol):
    """Packed atoms of some rows: word by word."""

    def __getitem__(self, number: int, /) -> NDArray[np.uint64]:
        """Word ``number`` of each row."""
        ...


Rows = NDArray[np.bool_]
Spread = Callable[[int, Rows], Rows]


def matching(
    predicate: Predicate, place: Mapping[Atom, int], words: Words, spread: Spread | None = None
) -> Rows:
    """Mask of the rows that match; ``place[atom]`` is the atom's bit, counted across ``words``.

    Atoms under one AND (OR) that share a word cost one masked comparison together.  Where words are
    of classes of rows, ``spread`` gives for a word's number and a mask of its classes that of rows,
    or one that numpy broadcasts to it.
    """
    if isinstance(predicate, Atom):
        return _masked("or", words, {place[predicate]}, spread)[0]
    bits = {place[part] for part in predicate.parts if isinstance(part, Atom)}
    groups = _masked(predicate.how, words, bits, spread)
    others = (part for part in predicate.parts if not isinstance(part, Atom))
    groups += [matching(part, place, words, spread) for part in others]
    join = np.logical_and if predicate.how == "and" else np.logical_or
    rows = groups[0]
    for group in groups[1:]:
        rows = join(rows, group)
    return rows


def _masked(how: str, words: Words, bits: set[int], spread: Spread | None) -> list[Rows]:
    """Masks of the rows that have all ("and") or any ("or") of ``bits``, one per word."""
    masks: dict[int, int] = {}
    for bit in bits:
        masks[bit // WORD] = masks.get(bit // WORD, 0) | 1 << bit % WORD
    masked = []
    for number, mask in masks.items():
        bits_of_word = words[number] & np.uint64(mask)
        found = bits_of_word == np.uint64(mask) if how == "and" else bits_of_word != 0
        masked.append(spread(number, found) if spread else found)
    return masked
