"""Attacks on one row by the copy alone: membership, linkability, singling out, guesses.

Each private row has one joint outcome of all attacks, which depends on this row and on the copy
alone.  So the rows are counted by one cell each, and a count of successes is a sum of cells.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np

from pqd.attacks.nearest_rows import Nearest, NearestRows
from pqd.attacks.trees import LearnerId, Trees, unseen_guesses
from pqd.engine.counting.persons import mixed
from pqd.engine.marginals import RowMap
from pqd.engine.partitions import Categories, Partition
from pqd.reports.models.risk import AttackId

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pqd.engine.marginals import Codes

KINDS: tuple[AttackId, ...] = get_args(AttackId)
# Shares of the copy's own rows that are nearer to another row than each distance that is counted.
# A row is a near copy up to the first of these distances.
SHARES = (0.01, 0.1, 0.5)
NEAR = 0
# Shares of the copy's own rows that are closer to another row than each closeness that is counted.
# A row is taken for a member up to the second of these.
MEMBERS = (0.001, 0.01, 0.1, 0.5)
MEMBER = 1
# The most rows of the copy among which the nearest are found, and of its own rows that are tried.
MOST_COPY, MOST_TRIED = 50_000, 2_000
# The most secrets: each doubles the number of joint outcomes.
MOST_SECRETS = 8
# A row of the copy is rare if chance puts 1/10 of a row there at most.
_RARE = 10
# Outcomes that are true or false, before the guesses.
_FLAGS = 3
_VERSION = 3


class Attack(NamedTuple):
    """Attack, and the joint outcomes that count as its success.

    ``column`` is the secret that is guessed; it is empty for other attacks.  ``cells`` has a flag
    for each joint outcome.
    """

    id: AttackId
    column: str
    cells: NDArray[np.bool_]


class Curve(NamedTuple):
    """Curve of an attack: the sets of joint outcomes up to each of its points.

    One of the points is that at which the attack succeeds.
    """

    id: AttackId
    cells: tuple[NDArray[np.bool_], ...]


class Trial(NamedTuple):
    """Public success rates on the copy's own rows, each left out in turn.

    ``majority`` is the share of the most frequent value of each secret.
    """

    rates: tuple[float, ...]
    majority: tuple[float, ...]
    rows: int


@dataclass(frozen=True, eq=False)
class Attacks(RowMap):
    """Map of each row to the joint outcome of all attacks.

    The first partitions are the finest cells of each column; the others are the cells of each
    secret that is guessed.

    Attributes
    ----------
    nearest
        The rows of the copy among which the nearest are found.
    kinds
        The kinds of attacks whose successes are counted.
    thresholds
        The ascending distances, in steps, by which rows are counted.
    closenesses
        The ascending closenesses by which rows are counted.
    guessed
        The cell of each secret in each row of ``nearest``.
    rare
        The rare rows of the copy, each as its bytes.
    single
        For each half of the columns, the cells that exactly one row of the copy has, as bytes.
    content
        A hash of all rows of the copy.
    trees
        The trees that guess each secret; None if the nearest row guesses it.
    """

    nearest: NearestRows = field(repr=False)
    kinds: tuple[AttackId, ...]
    thresholds: tuple[int, ...]
    closenesses: tuple[int, ...]
    guessed: NDArray[np.int64] = field(repr=False)
    rare: frozenset[bytes] = field(repr=False)
    single: tuple[frozenset[bytes], ...] = field(repr=False)
    content: str
    trees: Trees | None = field(repr=False, default=None)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Names of the columns that are guessed."""
        return tuple(each.column for each in self.partitions[len(self.nearest.partitions) :])

    @property
    def _bits(self) -> int:
        """Number of outcomes that are true or false."""
        return _FLAGS + len(self.secrets)

    @property
    def size(self) -> int:
        """Number of joint outcomes."""
        return (len(self.thresholds) + 1) * (len(self.closenesses) + 1) << self._bits

    def cells(self, codes: Codes) -> NDArray[np.int64]:
        """Joint outcome of each row; it depends on the codes of this row alone."""
        number = len(self.nearest.partitions)
        rows = np.column_stack([codes[each] for each in self.partitions[:number]])
        truths = [codes[each] for each in self.partitions[number:]]
        found = self.nearest.search(rows) if self._searches else self.nearest.unsearched(len(rows))
        copied = np.fromiter((each in self.rare for each in as_bytes(rows)), bool, len(rows))
        singled = np.zeros(len(rows), bool)
        for half, single in enumerate(self.single):
            own = as_bytes(rows[:, half::2])
            singled |= np.fromiter((each in single for each in own), bool, len(rows))
        guesses = self.trees.guesses(rows) if self.trees else self._of_nearest(found)
        right = [guess == truth for guess, truth in zip(guesses, truths, strict=True)]
        return self._joined(found, copied, singled, right)

    @property
    def _searches(self) -> bool:
        """Whether some attack asks for the nearest rows, whose search takes nearly all the time."""
        without = {"copied", "singling-out", *(["inference"] if self.trees else [])}
        return not without.issuperset(self.kinds)

    def _of_nearest(self, found: Nearest) -> list[NDArray[np.int64]]:
        """Cell of each secret in the rows of the copy that are nearest."""
        return [own[places] for own, places in zip(self.guessed.T, found.guesses.T, strict=True)]

    def _joined(
        self,
        found: Nearest,
        copied: NDArray[np.bool_],
        singled: NDArray[np.bool_],
        right: list[NDArray[np.bool_]],
    ) -> NDArray[np.int64]:
        """Joint outcome from the outcome of each attack."""
        cells = np.searchsorted(np.array(self.thresholds), found.distance, side="left")
        close = np.searchsorted(np.array(self.closenesses), found.closeness, side="left")
        cells = (len(self.closenesses) + 1) * cells + close
        for flag in (copied, found.linked, singled, *right):
            cells = 2 * cells + flag
        return cells.astype(np.int64)

    @cached_property
    def attacks(self) -> tuple[Attack, ...]:
        """Attacks with their successes."""
        every = np.arange(self.size)

        def flag(place: int) -> NDArray[np.bool_]:
            flags: NDArray[np.bool_] = (every >> (self._bits - 1 - place)) % 2 == 1
            return flags

        attacks = (
            Attack("copied", "", flag(0)),
            Attack("near", "", self._nearer[NEAR]),
            Attack("membership", "", self._closer[MEMBER]),
            Attack("linkability", "", flag(1)),
            Attack("singling-out", "", flag(2)),
            *(Attack("inference", n, flag(_FLAGS + i)) for i, n in enumerate(self.secrets)),
        )
        return tuple(each for each in attacks if each.id in self.kinds)

    @cached_property
    def _nearer(self) -> tuple[NDArray[np.bool_], ...]:
        """Outcomes of rows up to each distance."""
        bins = (np.arange(self.size) >> self._bits) // (len(self.closenesses) + 1)
        return tuple(bins <= place for place in range(len(self.thresholds)))

    @cached_property
    def _closer(self) -> tuple[NDArray[np.bool_], ...]:
        """Outcomes of rows up to each closeness."""
        bins = (np.arange(self.size) >> self._bits) % (len(self.closenesses) + 1)
        return tuple(bins <= place for place in range(len(self.closenesses)))

    @property
    def curves(self) -> tuple[Curve, ...]:
        """Curves of the attacks that have one: the sets of outcomes up to each of their points."""
        curves = (Curve("near", self._nearer), Curve("membership", self._closer))
        return tuple(each for each in curves if each.id in self.kinds)

    @cached_property
    def counted(self) -> tuple[NDArray[np.bool_], ...]:
        """Sets of outcomes whose rows are released: successes, then the points of each curve."""
        successes = [each.cells for each in self.attacks]
        points = (cells for curve in self.curves for cells in curve.cells)
        others = (each for each in points if not any(each is own for own in successes))
        return (*successes, *others)

    def points(self, kind: AttackId) -> list[int]:
        """Places of the points of a curve in ``counted``; none without this attack."""
        return [
            next(place for place, each in enumerate(self.counted) if each is cells)
            for curve in self.curves
            if curve.id == kind
            for cells in curve.cells
        ]

    def facts(self) -> Any:  # noqa: ANN401 - JSON values
        """Facts for a cache key: the cells, the copy's rows, what is known, and the distances."""
        cells = [partition.facts() for partition in self.partitions]
        known = None if self.nearest.known is None else list(self.nearest.known)
        return [
            *("attacks", _VERSION, cells, list(self.nearest.secrets), known),
            *(list(self.kinds), list(self.thresholds), list(self.closenesses), self.content),
            *([self.trees.facts()] if self.trees else []),
        ]

    def trial(
        self, copy: CopyRows, found: Nearest, unseen: list[NDArray[np.int64]] | None = None
    ) -> Trial:
        """Success rates on the first of the copy's own rows, each left out in turn.

        ``found`` are the rows that are nearest to them, and ``unseen`` the guesses of trees.
        """
        own = tried(len(self.nearest.codes))
        rows, guesses = self.nearest.codes[own], unseen or self._of_nearest(found)
        copied = np.array([copy.rare[each] > 1 for each in as_bytes(rows)], bool)
        singled = np.zeros(len(own), bool)
        for half, counts in enumerate(copy.halves):
            # Without the row itself exactly one row is left in its cell.
            singled |= np.array([counts[each] == 2 for each in as_bytes(rows[:, half::2])], bool)
        truths = self.guessed[own].T
        right = [guess == truth for guess, truth in zip(guesses, truths, strict=True)]
        cells = self._joined(found, copied, singled, right)
        rates = tuple(float(each.cells[cells].mean()) for each in self.attacks)
        majority = tuple(float(np.bincount(each).max() / len(each)) for each in self.guessed.T)
        return Trial(rates, majority, len(own))


class CopyRows(NamedTuple):
    """Rare rows of the copy as bytes, and each half of its columns, with their numbers."""

    rare: Counter[bytes]
    halves: tuple[Counter[bytes], ...]

    @classmethod
    def of(cls, codes: NDArray[np.int64], known: NDArray[np.bool_]) -> CopyRows:
        """Numbers of the ``known`` rows of ``codes``."""
        halves = tuple(Counter(as_bytes(codes[known, half::2])) for half in range(2))
        return cls(Counter(as_bytes(codes[known & are_rare(codes)])), halves)


def attacks_on(
    partitions: tuple[Partition, ...],
    codes: NDArray[np.int64],
    secrets: tuple[tuple[Partition, NDArray[np.int64]], ...],
    known: tuple[int, ...] | None = None,
    kinds: tuple[AttackId, ...] = KINDS,
    learner: LearnerId = "nearest",
) -> tuple[Attacks, Trial]:
    """Attacks by the copy's ``codes`` in the finest cells, and their rates on the copy itself.

    ``secrets`` has the cells of each secret, with the cell of each row of the copy.  The order of
    the copy's rows changes nothing.
    """
    guessed = np.column_stack([own for _, own in secrets]) if secrets else np.zeros((len(codes), 0))
    order = shuffled(codes)
    codes, guessed = codes[order], guessed[order].astype(np.int64)
    content = hashlib.sha256(np.ascontiguousarray(codes, dtype="<i8").ravel().data)
    content.update(np.ascontiguousarray(guessed, dtype="<i8").ravel().data)
    copy = CopyRows.of(codes, known_rows(partitions, codes))
    columns = [each.column for each in partitions]
    places = tuple(columns.index(each.column) for each, _ in secrets)
    first = (codes[:MOST_COPY], guessed[:MOST_COPY])
    trees = Trees.grown(*first, places, known) if learner == "trees" else None
    # Where trees guess, nobody asks for the row that is nearest by what is known.
    nearest = NearestRows(partitions, first[0], *(((), None) if trees else (places, known)))
    own = tried(len(nearest.codes))
    found = nearest.search(nearest.codes[own], own)
    attacks = Attacks(
        (*partitions, *(each for each, _ in secrets)),
        nearest,
        kinds,
        _points(found.distance, SHARES),
        _points(found.closeness, MEMBERS),
        first[1],
        frozenset(copy.rare),
        tuple(frozenset(row for row, rows in each.items() if rows == 1) for each in copy.halves),
        content.hexdigest(),
        trees,
    )
    unseen = unseen_guesses(*first, places, known, own) if trees else None
    return attacks, attacks.trial(copy, found, unseen)


def are_rare(codes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Rows of the copy that chance hardly puts there, by its other rows.

    If a column did not depend on the others, as many rows would be expected at a row as agree with
    it in all other columns, times the share of rows that have its value.  The largest such number,
    over the columns, counts.  Equal rows count once, so a copy that repeats its rows has the same
    rare rows.
    """
    columns = np.arange(1, codes.shape[1] + 1, dtype=np.uint64) << np.uint64(32)
    marks = mixed(codes.astype(np.uint64) + columns)
    _, first, at = np.unique(marks.sum(axis=1), return_index=True, return_inverse=True)
    marks, codes = marks[first], codes[first]
    whole, most = marks.sum(axis=1), np.zeros(len(first), np.int64)
    for values, mark in zip(codes.T, marks.T, strict=True):
        _, group, agreeing = np.unique(whole - mark, return_inverse=True, return_counts=True)
        np.maximum(most, (agreeing[group] - 1) * (np.bincount(values)[values] - 1), out=most)
    rare: NDArray[np.bool_] = _RARE * most <= len(first)
    return rare[at]


def _points(scores: NDArray[np.int64], shares: tuple[float, ...]) -> tuple[int, ...]:
    """Scores up to which there are so large shares of the copy's own rows."""
    ascending = np.sort(scores)
    return tuple(int(ascending[int(share * (len(scores) - 1))]) for share in shares)


def gains(
    partitions: tuple[Partition, ...],
    codes: NDArray[np.int64],
    secrets: tuple[int, ...],
    known: tuple[int, ...] | None = None,
) -> list[float]:
    """Gain of each secret on the copy's own rows, over the guess of its most frequent value.

    It is the share of rows that their nearest other row guesses right, less the share of the most
    frequent value.
    """
    codes = codes[shuffled(codes)[:MOST_COPY]]
    own = tried(len(codes))
    guesses = NearestRows(partitions, codes, secrets, known).search(codes[own], own).guesses
    columns = [(codes[:, secret], guesses[:, place]) for place, secret in enumerate(secrets)]
    return [
        float((column[guess] == column[own]).mean() - np.bincount(column).max() / len(column))
        for column, guess in columns
    ]


def shuffled(codes: NDArray[np.int64]) -> NDArray[np.intp]:
    """Order of the rows that their content alone decides, and that is like a random one."""
    ascending = np.lexsort(codes.T[::-1])
    numbers = mixed(np.arange(1, len(codes) + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    order: NDArray[np.intp] = ascending[np.argsort(numbers, kind="stable")]
    return order


def tried(rows: int) -> NDArray[np.int64]:
    """Places of the copy's own rows that are tried."""
    return np.arange(min(rows, MOST_TRIED))


def known_rows(partitions: tuple[Partition, ...], codes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Rows whose values each have a cell of their own; other rows equal nothing."""
    known = np.ones(len(codes), bool)
    for each, own in zip(partitions, codes.T, strict=True):
        if isinstance(each, Categories) and each.merged:
            known &= own != len(each.values) + 1
    return known


def as_bytes(rows: NDArray[np.int64]) -> list[bytes]:
    """Bytes of each row of codes."""
    whole = np.ascontiguousarray(rows, dtype="<i4")
    if not whole.shape[1]:
        return [b""] * len(rows)
    flat: list[bytes] = whole.view(f"V{4 * whole.shape[1]}").ravel().tolist()
    return flat
