"""Target: a classifier trained on part of the copy, and its confusion matrix on the private table.

"Train on synthetic, test on real": one row of the private table has one true and one named class,
so it is counted in one cell of the confusion matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pqd.deciders.distances.confusion import confusion_figures
from pqd.engine.marginals import RowMap
from pqd.engine.partitions import Partition
from pqd.engine.synthetic_table import SyntheticTable
from pqd.errors import TableError
from pqd.marginals.bound_profile import BoundProfile
from pqd.marginals.classifier import Classifier, require_library, train
from pqd.reports.models.figure import Figure
from pqd.reports.models.profile import LeftOut
from pqd.reports.models.target import ClassFacts, TargetFacts
from pqd.sql.schema import fold_case

if TYPE_CHECKING:
    from pqd.engine.marginals import Codes

MOST_CLASSES = 20
# Rows whose classes are predicted at a time: a prediction holds 16 bytes for each of their cells.
_PREDICTED = 1 << 16
# One row in three of the copy is held back.
_PARTS = 3
# The first cell of every partition is NULL's.
_NULL = 0


@dataclass(frozen=True, eq=False)
class Predictions(RowMap):
    """True and predicted class of each row: cell ``true * classes + predicted``.

    The first partition is the target's, the others are those of the classifier's columns.
    ``labels`` are the target's cells that are classes.  A row of no class (the target is NULL, or
    a value that the copy never has) is in the last cell, whatever is predicted.
    """

    labels: tuple[int, ...]
    classifier: Classifier = field(repr=False)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.labels)

    @property
    def size(self) -> int:
        """Number of cells: each pair of classes, and one for rows of no class."""
        return self.classes**2 + 1

    def cells(self, codes: Codes) -> NDArray[np.int64]:
        """Cell of each row, from its own codes alone."""
        target, *others = self.partitions
        true = classes_of(codes[target], self.labels, target.size)
        predicted = np.zeros_like(true)
        for first in range(0, true.size, _PREDICTED):
            rows = slice(first, first + _PREDICTED)
            few = np.column_stack([codes[one][rows] for one in others])
            predicted[rows] = self.classifier.predict(few)
        return np.where(true < 0, self.classes**2, true * self.classes + predicted)

    def facts(self) -> Any:  # noqa: ANN401 - JSON values
        """Target, classes and columns with their cells, and the classifier."""
        cells = [partition.facts() for partition in self.partitions]
        return ["predictions", cells, list(self.labels), self.classifier.facts()]


@dataclass(frozen=True, eq=False)
class TargetPlan:
    """Target of a profile; all of it public.

    Attributes
    ----------
    column
        Name of the target column.
    marginal
        What is counted on the private table.
    held_out_confusion
        The classifier's confusion matrix on the part of the copy that it was not trained on, a row
        for each true class.
    majority
        The copy's most frequent class.
    """

    column: str
    marginal: Predictions
    held_out_confusion: NDArray[np.int64]
    majority: int

    def facts(self, counts: Sequence[int], epsilon: Fraction, alpha: Fraction) -> TargetFacts:
        """Accuracy and recalls from the noisy ``counts`` of the cells; intervals at ``alpha``.

        Post-processing: ``counts`` were released with discrete Laplace noise of ``1 / epsilon``.
        """
        count = self.marginal.classes
        confusion = np.array(counts[: count**2], dtype=np.int64).reshape(count, count)
        figures = confusion_figures(confusion, epsilon, alpha)
        texts = [self.marginal.partitions[0].labels[cell] for cell in self.marginal.labels]
        copy_recalls = _recalls(self.held_out_confusion)
        told = [recall for recall in copy_recalls if recall is not None]
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
            copy_balanced=sum(told) / len(told),
            confusion=tuple(tuple(map(int, row)) for row in confusion),
            epsilon=epsilon,
            unclassified=int(counts[count**2]),
        )


def _recalls(confusion: NDArray[np.int64]) -> tuple[float | None, ...]:
    """Share of each true class that is named rightly; None for one without rows."""
    rows = confusion.sum(axis=1).tolist()
    right = confusion.diagonal().tolist()
    return tuple(hits / of if of else None for hits, of in zip(right, rows, strict=True))


def plan_target(bound: BoundProfile, column: str, engine: SyntheticTable) -> TargetPlan:
    """Target ``column``, with a classifier trained on two thirds of the copy's rows.

    Features are the cells of the other profiled columns, classes the cells of the target that the
    copy has rows in, without NULL.  ``engine`` holds the copy.

    Raises
    ------
    TableError
        The column is not profiled, or has one class or more than twenty; nothing was spent.
    ParameterError
        scikit-learn is not installed.
    """
    require_library()
    place = _place_of(column, [each.name for each in bound.columns], bound.left_out)
    order = [place, *(other for other in range(len(bound.columns)) if other != place)]
    partitions = tuple(bound.partitions[number] for number in order)
    return train_target(partitions, engine.codes(bound.schema, partitions))


def _place_of(column: str, names: Sequence[str], left_out: Sequence[LeftOut]) -> int:
    """Place of the target among the profiled columns; TableError if it is none of them."""
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


def train_target(partitions: tuple[Partition, ...], codes: NDArray[np.int64]) -> TargetPlan:
    """Plan with a classifier for the copy's ``codes``, of shape (rows, columns), target first.

    Raises
    ------
    TableError
        There is one class, or more than twenty.
    ParameterError
        scikit-learn is not installed.
    """
    target = partitions[0]
    labels = _labels_of(target, codes[:, 0])
    classes = classes_of(codes[:, 0], labels, target.size)
    apart = held_out_rows(len(codes))
    known = classes >= 0
    learnt, tried = known & ~apart, known & apart
    if len(np.unique(classes[learnt])) < 2 or not tried.any():
        raise TableError(
            f"the target {target.column} has fewer than two classes, or too few rows that have "
            "one: a classifier is trained on two rows in three of the copy, without NULL, and "
            "tried on the others; choose another column"
        )
    classifier = train(codes[learnt, 1:], classes[learnt], len(labels))
    named = classifier.predict(codes[tried, 1:])
    count = len(labels)
    confusion = np.bincount(classes[tried] * count + named, minlength=count**2)
    majority = int(np.bincount(classes[known], minlength=count).argmax())
    marginal = Predictions(partitions, labels, classifier)
    return TargetPlan(target.column, marginal, confusion.reshape(count, count), majority)


def _labels_of(target: Partition, codes: NDArray[np.int64]) -> tuple[int, ...]:
    """Cells of the target that are classes: those with rows of the copy, but for NULL.

    Raises
    ------
    TableError
        There are more than twenty.
    """
    counts = np.bincount(codes, minlength=target.size)
    labels = tuple(
        cell for cell in range(target.size) if counts[cell] and cell not in {_NULL, target.unseen}
    )
    if len(labels) > MOST_CLASSES:
        raise TableError(
            f"the target {target.column} has {len(labels)} classes on the copy, and at most "
            f"{MOST_CLASSES} are allowed; choose another column, or state fewer cells, such as "
            f"--cells {target.column}=10"
        )
    return labels


def classes_of(codes: NDArray[np.int64], labels: Sequence[int], cells: int) -> NDArray[np.int64]:
    """Class of each row by the code of its target; -1 for a cell that is no class."""
    number = np.full(cells, -1, dtype=np.int64)
    number[list(labels)] = np.arange(len(labels))
    return number[codes]


def held_out_rows(rows: int) -> NDArray[np.bool_]:
    """Whether each row of the copy is held back from training: one in three.

    A public function of the row's number: its hash (SplitMix64, Steele, Lea and Flood 2014), so
    that no order of the rows puts like rows into one part.
    """
    mixed = np.arange(1, rows + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    chosen: NDArray[np.bool_] = (mixed ^ (mixed >> np.uint64(31))) % np.uint64(_PARTS) == 0
    return chosen
