"""Target: a classifier trained on part of the copy, and its confusion matrix on the private table.

"Train on synthetic, test on real": a private row has one true and one predicted class, so it counts
in one cell of the confusion matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pqd.deciders.distances.cells import confusion_figures
from pqd.deciders.names import pasted
from pqd.deciders.options import option
from pqd.engine.counting.persons import PARTS, mixed
from pqd.engine.marginals import RowMap
from pqd.engine.partitions import Partition
from pqd.errors import TableError
from pqd.marginals.bound_profile import BoundProfile
from pqd.marginals.classifier import Classifier, require_library, train
from pqd.reports.models.figure import Figure
from pqd.reports.models.refusals import LeftOut
from pqd.reports.models.target import ClassFacts, TargetFacts
from pqd.sql.schema import fold_case

if TYPE_CHECKING:
    from pqd.engine.marginals import Codes

MOST_CLASSES = 20
# Number of rows that are predicted at a time.  A prediction takes 16 bytes of memory for each value
# of these rows.
_PREDICTED = 1 << 16
# One row in three of the copy is held out for the test.
_PARTS = 3
# The first cell of every partition is for NULL.
_NULL = 0


@dataclass(frozen=True, eq=False)
class Predictions(RowMap):
    """Map of each row to its true and predicted class: cell ``true * classes + predicted``.

    The first partition is the target's; the others belong to the classifier's columns.  ``labels``
    are the cells of the target that are classes.  If the target of a row is NULL, or a value that
    the copy lacks, the row has no class: it is in the last cell, whatever class is predicted.
    """

    labels: tuple[int, ...]
    classifier: Classifier = field(repr=False)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.labels)

    @property
    def size(self) -> int:
        """Number of cells: one for each pair of classes, and one for rows without a class."""
        return self.classes**2 + 1

    def cells(self, codes: Codes) -> NDArray[np.int64]:
        """Cell of each row; it depends on the codes of this row alone."""
        target, *others = self.partitions
        true = classes_of(codes[target], self.labels, target.size)
        predicted = np.zeros_like(true)
        for first in range(0, true.size, _PREDICTED):
            rows = slice(first, first + _PREDICTED)
            block = np.column_stack([codes[partition][rows] for partition in others])
            predicted[rows] = self.classifier.predict(block)
        return np.where(true < 0, self.classes**2, true * self.classes + predicted)

    def facts(self) -> Any:  # noqa: ANN401 - JSON values
        """Facts for a cache key: the cells, the classes and the classifier."""
        cells = [partition.facts() for partition in self.partitions]
        return ["predictions", cells, list(self.labels), self.classifier.facts()]


@dataclass(frozen=True, eq=False)
class TargetPlan:
    """Plan of the target of a profile; all of it public.

    Attributes
    ----------
    column
        The name of the target column.
    marginal
        The map of private rows to the cells that are counted.
    held_out_confusion
        The classifier's confusion matrix on the held-out rows of the copy; each true class has a
        row of the matrix.
    majority
        The copy's most frequent class.
    """

    column: str
    marginal: Predictions
    held_out_confusion: NDArray[np.int64]
    majority: int

    def facts(
        self, counts: Sequence[int], epsilon: Fraction, alpha: Fraction, *, rounded: bool
    ) -> TargetFacts:
        """Accuracy and recalls with intervals at ``alpha``, from the noisy ``counts`` of the cells.

        Guarantee: post-processing of counts with discrete Laplace noise of scale ``1 / epsilon``.
        ``rounded``: they were counted in parts of a row.
        """
        count = self.marginal.classes
        confusion = np.array(counts[: count**2], dtype=np.int64).reshape(count, count)
        figures = confusion_figures(confusion, epsilon, alpha, rounded=rounded)
        texts = [self.marginal.partitions[0].labels[cell] for cell in self.marginal.labels]
        copy_recalls = _recalls(self.held_out_confusion)
        known_recalls = [recall for recall in copy_recalls if recall is not None]
        return TargetFacts(
            column=self.column,
            model=self.marginal.classifier.name,
            classes=tuple(
                ClassFacts(
                    label=text,
                    share=Figure(*share),
                    recall=None if recall is None else Figure(*recall),
                    copy_recall=copy_recall,
                )
                for text, share, recall, copy_recall in zip(
                    texts, figures.shares, figures.recalls, copy_recalls, strict=True
                )
            ),
            accuracy=Figure(*figures.accuracy),
            balanced=None if figures.balanced is None else Figure(*figures.balanced),
            majority=Figure(*figures.shares[self.majority]),
            copy_accuracy=float(self.held_out_confusion.trace() / self.held_out_confusion.sum()),
            copy_balanced=sum(known_recalls) / len(known_recalls),
            confusion=tuple(tuple(map(int, row)) for row in confusion),
            epsilon=epsilon,
            unclassified=int(counts[count**2]),
        )


def _recalls(confusion: NDArray[np.int64]) -> tuple[float | None, ...]:
    """Share of the rows of each class that are predicted rightly; None for a class without rows."""
    rows = confusion.sum(axis=1).tolist()
    right = confusion.diagonal().tolist()
    return tuple(hits / size if size else None for hits, size in zip(right, rows, strict=True))


def plan_target(bound: BoundProfile, column: str) -> TargetPlan:
    """Plan of the target ``column``, with a classifier trained on two thirds of the copy's rows.

    The features are the cells of the other profiled columns.  The classes are the cells of the
    target in which the copy has rows, except the cell of NULL.

    Raises
    ------
    TableError
        If the column is not profiled, or has fewer than two classes or more than twenty.
    ParameterError
        If scikit-learn is not installed.
    """
    require_library()
    place = _place_of(column, [each.name for each in bound.columns], bound.left_out)
    order = [place, *(other for other in range(len(bound.columns)) if other != place)]
    partitions = tuple(bound.partitions[number] for number in order)
    unit = bound.unit
    persons = None if unit is None else bound.copy.persons(unit)
    if unit is None or persons is None:
        return train_target(partitions, bound.codes(partitions))
    return train_target(partitions, bound.codes(partitions), persons, unit.max_rows)


def _place_of(column: str, names: Sequence[str], left_out: Sequence[LeftOut]) -> int:
    """Place of the target among the profiled columns; TableError if it is not profiled."""
    folded = [fold_case(name) for name in names]
    if fold_case(column) in folded and len(names) > 1:
        return folded.index(fold_case(column))
    if fold_case(column) in folded:
        raise TableError(
            f"the target {column} is the only column that is profiled; a classifier needs at least "
            "one other column to tell its classes by"
        )
    for each in left_out:
        if [fold_case(name) for name in each.columns] == [fold_case(column)]:
            raise TableError(f"the target {column} is not profiled: {each.reason}")
    raise TableError(
        f"the target {column} is not among the profiled columns: {', '.join(names)}; name one of "
        "them"
    )


def train_target(
    partitions: tuple[Partition, ...],
    codes: NDArray[np.int64],
    persons: NDArray[np.integer] | None = None,
    most: int = 1,
) -> TargetPlan:
    """Plan with a classifier that is trained on the copy's ``codes``.

    ``codes`` has shape (rows, columns); the first column is the target.  With ``persons``, the
    person of each row from 0 on, all rows of a person are held out or none is, and the rows of a
    person share the weight of at most ``most`` rows among those that are held out.

    Raises
    ------
    TableError
        If there are fewer than two classes, or more than twenty.
    ParameterError
        If scikit-learn is not installed.
    """
    target = partitions[0]
    labels = _labels_of(target, codes[:, 0])
    classes = classes_of(codes[:, 0], labels, target.size)
    known, weights = classes >= 0, np.ones(len(codes), np.int64)
    if persons is None:
        held_out = held_out_rows(len(codes))
    else:
        rows = np.bincount(persons)
        held_out = held_out_rows(rows.size)[persons]
        weights = (PARTS * np.minimum(rows, most) // rows)[persons]
    training, test = known & ~held_out, known & held_out
    if len(np.unique(classes[training])) < 2 or not test.any():
        raise TableError(
            f"the target {target.column} has fewer than two classes, or too few rows that have "
            "one: a classifier is trained on two rows in three of the copy, without NULL, and "
            "tried on the others; choose another column"
        )
    classifier = train(codes[training, 1:], classes[training], len(labels))
    predicted = classifier.predict(codes[test, 1:])
    count = len(labels)
    cells = classes[test] * count + predicted
    # Sums of weights are doubles below 2^53, so they are exact.
    confusion = np.bincount(cells, weights[test], count**2).astype(np.int64)
    majority = int(np.bincount(classes[known], minlength=count).argmax())
    marginal = Predictions(partitions, labels, classifier)
    return TargetPlan(target.column, marginal, confusion.reshape(count, count), majority)


def _labels_of(target: Partition, codes: NDArray[np.int64]) -> tuple[int, ...]:
    """Cells of the target that are classes: all cells with rows of the copy, except NULL's cell.

    Raises
    ------
    TableError
        If there are more than twenty classes.
    """
    counts = np.bincount(codes, minlength=target.size)
    labels = tuple(
        cell for cell in range(target.size) if counts[cell] and cell not in {_NULL, target.unseen}
    )
    if len(labels) > MOST_CLASSES:
        cells = pasted(target.column, "=10")
        raise TableError(
            f"the target {target.column} has {len(labels)} classes on the copy, and at most "
            f"{MOST_CLASSES} are allowed; choose another column, or state fewer cells, such as "
            f"{option(f'--cells {cells}')}"
        )
    return labels


def classes_of(codes: NDArray[np.int64], labels: Sequence[int], cells: int) -> NDArray[np.int64]:
    """Class of each row, by the code of its target; -1 for a cell that is not a class."""
    number = np.full(cells, -1, dtype=np.int64)
    number[list(labels)] = np.arange(len(labels))
    return number[codes]


def held_out_rows(rows: int) -> NDArray[np.bool_]:
    """Flag for each row of the copy that about one row in three has: held out from training.

    A hash of the row's number decides (SplitMix64).  So similar rows that follow each other are
    spread over both parts.
    """
    numbers = np.arange(1, rows + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    held_out: NDArray[np.bool_] = mixed(numbers) % np.uint64(_PARTS) == 0
    return held_out
