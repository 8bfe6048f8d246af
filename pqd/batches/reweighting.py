"""Corrected copy: rows of the synthetic table are drawn again, so that they fit released answers.

Every row of the copy gets a weight.  Among all weights that agree with the released answers, the
weights nearest to equal weights are taken, in relative entropy (maximum entropy).  Answers that
contradict each other are fitted only within their noise.  All of this is post-processing of the
release, so it costs nothing.  The same release always makes the same table.

With a privacy unit the answers are of persons.  So persons are drawn in place of rows: each with
all of its rows, and under a number of its own, since a person may be drawn several times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import block_array, csr_array, vstack
from scipy.sparse.linalg import LinearOperator, cg

from pqd.batches.answers import PlannedBatch, ReleasePlan
from pqd.batches.workload_laplace import amounts_of_cells
from pqd.deciders.batch.base import BatchOutput
from pqd.deciders.distributions import Floats
from pqd.deciders.note import Note, note
from pqd.engine.contingency import ContingencyTable, selections
from pqd.engine.scan_plan import ScanPlan
from pqd.run.execution import Outputs

if TYPE_CHECKING:
    import pandas as pd

    from pqd.engine.contingency import Integers

# Weight of the copy against the answers.  It is so small that the copy decides only what the
# answers leave open.
_TRUST = 0.01
# The fit ends when all answers are matched within the share ``_CLOSE`` of their noise, or after
# ``_STEPS`` steps.  A step is halved up to ``_HALVINGS`` times, and changes a weight by a factor of
# at most exp(``_LONGEST``).
_CLOSE, _STEPS, _HALVINGS, _LONGEST = 0.01, 50, 30, 3.0
_FEWEST, _MOST_WORK = 10, 300_000_000
# The corrected copy has at most this many times the rows of the copy.
_MOST_TIMES = 10


class ReweightedTable(NamedTuple):
    """Corrected copy, and a note on how far its answers are from the released answers."""

    frame: pd.DataFrame
    note: Note


@dataclass(frozen=True, slots=True, eq=False)
class AnswerSystem:
    """Released ``answers``, each the sum of what the rows or persons of each kind add to it.

    ``amounts`` (answers, kinds) is what one of a kind adds.  ``spread`` is the deviation of each
    answer.  All numbers are in units.
    """

    amounts: csr_array
    answers: Floats
    spread: Floats

    def sums(self, numbers: Floats) -> Floats:
        """Answers of a table that has ``numbers`` rows or persons of each kind."""
        sums: Floats = self.amounts @ numbers
        return sums


def reweighted_table(plan: ReleasePlan, outputs: Outputs) -> ReweightedTable:
    """Corrected copy of the synthetic table, with all of its columns.

    Guarantee: post-processing of the released answers.
    """
    tables, batches, unit = plan.bound.tables, plan.batches, plan.bound.unit
    table, engine = tables.tables[0], tables.engine
    frame = engine.frame(table)
    workloads = [ScanPlan(planned.batch.statistics) for planned in batches]
    rows = [engine.by_row(plan.bound.schema, workload) for workload in workloads]
    if unit:
        known = engine.persons(unit)
        # Without the unit's column each row is a person.
        person = np.arange(len(frame)) if known is None else known
        # Each person is a kind.
        kinds = np.arange(person.max(initial=-1) + 1)
        counts = np.ones(kinds.size, np.int64)
        amounts = [_of_persons(*pair, person) for pair in zip(batches, rows, strict=True)]
    else:
        kinds, first, counts = _kinds(rows)
        amounts = [_of_rows(*pair, first) for pair in zip(batches, rows, strict=True)]
    parts = [
        _answer_system(planned, each, outputs[planned.batch])
        for planned, each in zip(batches, amounts, strict=True)
    ]
    weights = fitted_weights(parts, counts.astype(np.float64))
    drawn = drawn_rows(weights[kinds])
    numbers = np.bincount(kinds[drawn], minlength=counts.size).astype(np.float64)
    distances = []
    for planned, part in zip(batches, parts, strict=True):
        gaps = np.abs(part.sums(numbers) - part.answers)
        for name, (measure, scale) in planned.scales.items():
            distances.append((name, float(gaps[planned.places_of(measure)].mean() * float(scale))))
    if unit:
        made = _with_persons(frame, engine.person_column(unit), person, drawn)
    else:
        made = frame.iloc[drawn]
    summary = note(
        "table-drawn",
        rows=len(made),
        persons=drawn.size if unit else None,
        table=table.label,
        gaps=tuple(distances),
    )
    return ReweightedTable(made.reset_index(drop=True), summary)


def _with_persons(
    frame: pd.DataFrame, column: str | None, person: Integers, drawn: Integers
) -> pd.DataFrame:
    """All rows of each drawn person; the unit's ``column`` holds the person's number, from 1 on."""
    order = np.argsort(person, kind="stable")
    ends = np.cumsum(np.bincount(person))
    sizes = np.diff(ends, prepend=0)[drawn]
    # Places in ``order``: those of the first drawn person, then those of the next.
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    rows = order[np.repeat(ends[drawn] - sizes, sizes) + within]
    made: pd.DataFrame = frame.iloc[rows]
    if column is None:
        return made
    return made.assign(**{column: np.repeat(np.arange(1, drawn.size + 1), sizes)})


def _kinds(rows: Sequence[ContingencyTable]) -> tuple[Integers, Integers, Integers]:
    """Kind of each row, and the first row and the number of rows of each kind.

    Two rows are of the same kind if no batch can tell them apart.
    """
    columns = [column for each in rows for column in (*each.words.T, *each.places.T)]
    table = np.stack([column.astype(np.int64) for column in columns], axis=1)
    _, first, kinds, counts = np.unique(
        table, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    return kinds.reshape(-1), first, counts


def _of_rows(planned: PlannedBatch, rows: ContingencyTable, first: Integers) -> csr_array:
    """What a row of each kind adds to each answer, in units; ``first`` is one row of each kind."""
    words, workload = [word[first] for word in rows.words.T], planned.batch.workload
    one = ContingencyTable(rows.words[first], rows.places[first], np.ones_like(first))
    amounts = amounts_of_cells(workload, one)
    pairs = zip(workload.statistics, selections(workload, words, first.size), strict=True)
    # Make each answer sparse by itself: a dense matrix would take eight bytes per entry.
    lines = [csr_array(np.where(mask, amounts[each.measure], 0.0)[None]) for each, mask in pairs]
    return csr_array(vstack(lines))


def _of_persons(planned: PlannedBatch, rows: ContingencyTable, person: Integers) -> csr_array:
    """What each person adds to each answer, in units: 1, or a total within its bounds."""
    size, workload = int(person.max(initial=-1)) + 1, planned.batch.workload
    column = {measure: rows.places[:, n] for n, measure in enumerate(workload.measures)}
    lines = []
    masks = selections(workload, list(rows.words.T), person.size)
    for statistic, selected in zip(workload.statistics, masks, strict=True):
        measure = statistic.measure
        values = np.minimum(np.bincount(person[selected], minlength=size), 1).astype(np.float64)
        if measure and measure.lattice and measure.total:
            places = column[measure]
            units = measure.lattice.units_at(places) * float(
                measure.lattice.unit / measure.total.unit
            )
            held = selected & (places >= 0)
            totals = np.bincount(person[held], weights=units[held], minlength=size)
            ends = measure.total.lower_units, measure.total.upper_units
            values = np.where(np.bincount(person[held], minlength=size), totals.clip(*ends), 0.0)
        lines.append(csr_array(values[None]))
    return csr_array(vstack(lines))


def _answer_system(planned: PlannedBatch, amounts: csr_array, output: BatchOutput) -> AnswerSystem:
    """System of the answers of a batch, over kinds of rows or persons."""
    batch = planned.batch
    return AnswerSystem(
        amounts,
        np.round(np.array(output.answers)),
        np.maximum(
            np.array(output.deviations or [planned.choice.error] * len(batch.statistics)), 1.0
        ),
    )


def fitted_weights(parts: Sequence[AnswerSystem], counts: Floats) -> Floats:
    """Weight of a row of each kind; ``counts`` is the number of rows of each kind.

    The weights come from Newton's method on the concave dual.  With multipliers m the weights are
    ``exp(sum_i m_i f_i)``.  At the optimum, answer i is matched up to ``trust spread_i^2 m_i``.
    """
    system = _System(parts, counts)
    multipliers, numbers = np.zeros(system.answers.size), counts
    for _ in range(_STEPS):
        slope = system.slope(multipliers, numbers)
        if (np.abs(slope) <= _CLOSE * system.spread).all():
            break
        step = system.newton(slope, numbers)
        step *= min(1.0, _LONGEST / max(np.abs(system.log_weights(step)).max(initial=0.0), 1e-300))
        value, gain = system.value(multipliers, numbers), float(slope @ step)
        for _ in range(_HALVINGS):
            next_numbers = system.numbers(multipliers + step)
            if system.value(multipliers + step, next_numbers) >= value + 1e-4 * gain:
                break
            step, gain = step / 2, gain / 2
        multipliers, numbers = multipliers + step, next_numbers
    weights: Floats = numbers / counts
    return weights


class _System:
    """Answers of all batches as one sparse matrix (answers, kinds), and the dual of the fit."""

    def __init__(self, parts: Sequence[AnswerSystem], counts: Floats) -> None:
        self._matrix = csr_array(block_array([[part.amounts] for part in parts]))
        self._counts = counts
        self.answers = np.concatenate([part.answers for part in parts])
        self.spread = np.concatenate([part.spread for part in parts])
        self._ridge = _TRUST * self.spread**2

    def log_weights(self, multipliers: Floats) -> Floats:
        """Logarithm of the weight of each kind."""
        logs: Floats = np.asarray(self._matrix.T @ multipliers)
        return logs

    def numbers(self, multipliers: Floats) -> Floats:
        """Weighted number of rows of each kind at these multipliers."""
        numbers: Floats = self._counts * np.exp(np.minimum(self.log_weights(multipliers), 700))
        return numbers

    def value(self, multipliers: Floats, numbers: Floats) -> float:
        """Value of the dual, which is maximised over the multipliers."""
        ridge = (self._ridge * multipliers**2).sum() / 2
        return float(self.answers @ multipliers - numbers.sum() - ridge)

    def slope(self, multipliers: Floats, numbers: Floats) -> Floats:
        """Gradient of the dual."""
        gradient: Floats = self.answers - self._matrix @ numbers - self._ridge * multipliers
        return gradient

    def newton(self, slope: Floats, numbers: Floats) -> Floats:
        """Step of Newton's method, from conjugate gradients with a diagonal preconditioner."""
        matrix, shape = self._matrix, (slope.size, slope.size)
        diagonal = matrix.power(2) @ numbers + self._ridge
        hessian = LinearOperator(
            shape, matvec=lambda m: matrix @ (numbers * (matrix.T @ m)) + self._ridge * m
        )
        inverse = LinearOperator(shape, matvec=lambda m: m / diagonal)
        most = max(_FEWEST, min(slope.size, _MOST_WORK // max(1, matrix.nnz)))
        step: Floats = cg(hessian, slope, rtol=1e-4, maxiter=most, M=inverse)[0]
        return step


def drawn_rows(weights: Floats) -> Integers:
    """Places of the drawn rows or persons; each is drawn about as often as its weight says.

    Systematic sampling takes rows at equal steps along the cumulated weights.  The number of drawn
    rows is the sum of the weights.  It is at least 1, and at most ten times the number of rows of
    the copy.
    """
    total = round(min(max(1.0, float(weights.sum())), float(_MOST_TIMES * weights.size)))
    ends = np.cumsum(weights) * (total / weights.sum())
    places = np.searchsorted(ends, 0.5 + np.arange(total), side="right")
    return np.minimum(places, weights.size - 1).astype(np.int64)
