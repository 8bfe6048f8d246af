"""Facts about a classifier that was trained on the copy and tried on the private table."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pqd.reports.models.figure import Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassFacts:
    """One class of the target: its recall on the private table, and on the copy's held-back part.

    ``share`` is its share of the private rows.
    """

    label: str
    share: Figure
    recall: Figure | None
    copy_recall: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetFacts:
    """A classifier trained on part of the copy, and tried on the private table.

    ``copy_accuracy`` and ``copy_balanced`` are the same model's on the copy's held-back part;
    ``majority`` is the accuracy of always naming the copy's most frequent class.
    ``confusion`` holds the noisy counts, a row for each true class; ``unclassified`` is that of the
    private rows of no class: the target is NULL, or a value that the copy never has.
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
