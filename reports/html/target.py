"""View of a target: how well a model of the copy does on the private table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pqd.reports.html.pictures import Scale, band
from pqd.reports.text.distances import digits_of, figure_text, reference_text
from pqd.reports.text.escape import visible
from pqd.reports.text.numbers import percent_text
from pqd.reports.text.profile import target_sentences

if TYPE_CHECKING:
    from pqd.reports.models.target import ClassFacts, TargetFacts

_WHOLE = Scale(0.0, 1.0)
# Where shades of a row of the confusion matrix begin, as shares of the row.
_STEPS = (0.05, 0.2, 0.5, 0.8)


def target_view(target: TargetFacts) -> dict[str, Any]:
    """Sentences, classes with their recalls, and the confusion matrix."""
    return {
        "name": visible(target.column),
        "lines": list(target_sentences(target)),
        "classes": [_class(each) for each in target.classes],
        "predicted": [visible(each.label) for each in target.classes],
        "confusion": [
            (visible(each.label), [_cell(count, counts) for count in counts])
            for each, counts in zip(target.classes, target.confusion, strict=False)
        ],
    }


def _class(each: ClassFacts) -> dict[str, Any]:
    copy = each.copy_recall
    shared = {
        "name": visible(each.label),
        "share": figure_text(each.share),
        "copied": "none" if copy is None else reference_text(copy, 1),
        "copied_at": None if copy is None else _WHOLE.place(copy),
    }
    if each.recall is None:
        return {**shared, "recall": "too few rows", "band": None, "label": "too few rows"}
    value, low, high = each.recall
    return {
        **shared,
        "recall": figure_text(each.recall),
        "band": band(_WHOLE, low, high),
        "at": _WHOLE.place(value),
        "label": f"Recall {percent_text(value, digits_of(each.recall))}",
    }


def _cell(count: int, row: tuple[int, ...]) -> tuple[str, str]:
    """Noisy count, which may be negative, and its shade within the row."""
    total = sum(max(0, other) for other in row)
    share = max(0, count) / total if total else 0.0
    return f"{count:,}", f"t{sum(share >= step for step in _STEPS)}"
