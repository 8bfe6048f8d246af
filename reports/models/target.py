"""Facts about a classifier that was trained on the copy and tested on the private table."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pqd.reports.models.figure import Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassFacts:
    """One class of the target column.

    ``share`` is the share of the class among the private rows.  ``recall`` is the recall on the
    private table.  ``copy_recall`` is the recall on the part of the copy that was held back.
    """

    label: str
    share: Figure
    recall: Figure | None
    copy_recall: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetFacts:
    """Figures of a classifier that is trained on part of the copy and tested on the private table.

    ``balanced`` is the mean of the recalls.  ``copy_accuracy`` and ``copy_balanced`` are figures of
    the same model on the part of the copy that was held back.  ``majority`` is the accuracy of a
    model that always names the copy's most frequent class.  ``confusion`` holds noisy counts, with
    one row per true class and one column per predicted class.  ``unclassified`` is the noisy count
    of private rows without a class: their target is NULL, or a value that the copy never has.
    """

    column: str
    model: str
    classes: tuple[ClassFacts, ...]
    accuracy: Figure
    balanced: Figure | None
    majority: Figure
    copy_accuracy: float
    copy_balanced: float
    confusion: tuple[tuple[int, ...], ...]
    epsilon: Fraction
    unclassified: int = 0
