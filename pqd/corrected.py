"""A corrected copy: rows of the synthetic table drawn anew so that it answers as was released.

Every row of the copy gets a weight.  They are the maximum-entropy ones: nearest to equal weights
(in relative entropy) among those that agree with the released answers, where answers that
contradict each other give way by their noise.  All of it is post-processing of the release: it
costs nothing, and the same release makes the same table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pqd.engines.bitmaps import matching
from reports.numbers import number_text

if TYPE_CHECKING:
    import pandas as pd

    from deciders.laplace import Floats
    from pqd.accounts import Batched
    from pqd.asking import Answers
    from pqd.classes import Booleans
    from pqd.engines.cells import Cells
    from pqd.engines.duckdb import DuckDBEngine
    from pqd.engines.gathering import Integers
    from pqd.expressions import Schema
    from pqd.members import Made
    from pqd.tables import Table

# Noise counts for so little against the answers that only contradictions show it.
_TRUST = 0.01
_SWEEPS, _LEAST, _MOST_WORK = 200, 5, 2_000_000_000
# A row's weight changes by a factor e at most in one step, and the fit ends at so small a change.
_LONGEST, _SETTLED = 1.0, 1e-4
_SEED = 20190630


class Corrected(NamedTuple):
    """The table, and how far its answers are from the released ones, in words."""

    frame: pd.DataFrame
    note: str


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """Released ``answers``, each the sum of ``worth`` over the kinds of rows that it selects.

    ``selected`` is (answers, kinds), ``spread`` how far each answer may be off; all in units.
    """

    selected: Booleans
    worth: Floats
    answers: Floats
    spread: Floats

    def sums(self, numbers: Floats) -> Floats:
        """Return the answers of a table with so many rows of each kind."""
        found: Floats = self.selected @ (self.worth * numbers)
        return found


def corrected(
    engine: DuckDBEngine, table: Table, schema: Schema, made: Sequence[Made], answers: Answers
) -> Corrected:
    """Return the corrected copy of the synthetic ``table``, with all of its columns.

    Guarantee: post-processing of the released answers.
    """
    frame = engine.frame(table)
    rows = [engine.each(schema, one.batch.workload) for one in made]
    kinds, first, counts = _kinds(rows)
    parts = [
        _linear(one, each, first, answers.batched(one.batch))
        for one, each in zip(made, rows, strict=True)
    ]
    weights = fitted(parts, counts.astype(np.float64))
    drawn = drawn_rows(weights[kinds])
    held = np.bincount(kinds[drawn], minlength=counts.size).astype(np.float64)
    gaps = (np.abs(part.sums(held) - part.answers).mean() for part in parts)
    words = (
        f"{one.batch.name} by {number_text(gap * float(one.scale), 3)}"
        for one, gap in zip(made, gaps, strict=True)
    )
    note = (
        f"The table has {drawn.size:,} rows, drawn from {table.label} so that it answers as was "
        f"released; on average its answers differ from those in {', '.join(words)}."
    )
    return Corrected(frame.iloc[drawn].reset_index(drop=True), note)


def _kinds(rows: Sequence[Cells]) -> tuple[Integers, Integers, Integers]:
    """Return the kind of each row, a row of each kind, and how many there are: alike to all."""
    columns = [column for each in rows for column in (*each.words.T, each.places)]
    table = np.stack([column.astype(np.int64) for column in columns], axis=1)
    _, first, kinds, counts = np.unique(
        table, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    return kinds.reshape(-1), first, counts


def _linear(one: Made, rows: Cells, first: Integers, found: Batched) -> Linear:
    """Return a batch and its answers, over kinds of rows of which each ``first`` is one."""
    batch, places = one.batch, rows.places[first]
    words = [word[first] for word in rows.words.T]
    bits = {atom: bit for bit, atom in enumerate(batch.workload.atoms)}
    every = np.ones(first.size, np.bool_)
    lattice = one.measured.lattice if one.measured else None
    worth = np.ones(first.size)
    if lattice is not None:
        values = lattice.lower_units + lattice.step_units * places
        worth = np.where(places < 0, 0, values).astype(np.float64)
    return Linear(
        np.stack(
            [matching(t.predicate, bits, words) if t.predicate else every for t in batch.tasks]
        ),
        worth,
        np.round(np.array(found.answers)),
        np.maximum(np.array(found.deviations or [one.choice.error] * len(batch.tasks)), 1.0),
    )


def fitted(parts: Sequence[Linear], counts: Floats) -> Floats:
    """Return the weight of a row of each kind, of which there are ``counts``.

    Coordinate ascent on the concave dual, each step a guarded Newton step: with multipliers m the
    weights are ``exp(sum_i m_i f_i)``, and at the optimum an answer is met but for
    ``trust spread_i^2 m_i``.
    """
    numbers = counts.copy()
    steps = [_Steps(part, numbers) for part in parts]
    work = sum(each.work for each in steps)
    for _ in range(max(_LEAST, min(_SWEEPS, _MOST_WORK // max(1, work)))):
        if max(each.sweep() for each in steps) < _SETTLED:
            break
    found: Floats = numbers / counts
    return found


class _Steps:
    """The multipliers of some answers, and the numbers of rows, which they change in place."""

    def __init__(self, part: Linear, numbers: Floats) -> None:
        self._part, self._numbers = part, numbers
        self._kinds = [np.flatnonzero(selected & (part.worth != 0)) for selected in part.selected]
        self._multipliers = np.zeros(part.answers.size)
        self.work = sum(kinds.size for kinds in self._kinds)

    def sweep(self) -> float:
        """Move every multiplier; return the largest change of a weight, as a logarithm."""
        return max((self._step(place) for place in range(len(self._kinds))), default=0.0)

    def _step(self, place: int) -> float:
        kinds = self._kinds[place]
        if not kinds.size:
            return 0.0
        worth, now = self._part.worth[kinds], self._numbers[kinds]
        ridge = _TRUST * self._part.spread[place] ** 2
        slope = self._part.answers[place] - worth @ now - ridge * self._multipliers[place]
        most = _LONGEST / np.abs(worth).max()
        step = min(max(slope / (worth**2 @ now + ridge), -most), most)
        self._multipliers[place] += step
        self._numbers[kinds] = now * np.exp(step * worth)
        return float(abs(step) / most)


def drawn_rows(weights: Floats) -> Integers:
    """Return places of rows, each as often as its weight says but for less than one.

    Systematic sampling: as many as the weights add up to, at least 1, at equal steps along them.
    """
    total = max(1, round(float(weights.sum())))
    ends = np.cumsum(weights) * (total / weights.sum())
    start = np.random.default_rng(_SEED).random()
    found = np.searchsorted(ends, start + np.arange(total), side="right")
    return np.minimum(found, weights.size - 1).astype(np.int64)
