"""Target of a profile: how well a model trained on the copy predicts the private table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pqd.reports.blocks import (
    PAGE,
    Block,
    Cell,
    Column,
    Group,
    Heat,
    HeatCell,
    Lines,
    Picture,
    Row,
    Section,
    Table,
)
from pqd.reports.documents.shared import lines
from pqd.reports.text.distances import digits_of, figure_text, reference_text
from pqd.reports.text.numbers import counted

if TYPE_CHECKING:
    from pqd.reports.models.target import ClassFacts, TargetFacts

# Shares of a row of the confusion matrix at which the next shade begins.
_PARTS = (0.05, 0.2, 0.5, 0.8)


def target_blocks(target: TargetFacts) -> Iterator[Block]:
    """Blocks on how well a model trained on the copy predicts the private table."""
    yield Lines(lines(_sentences(target)))
    classes = [_class(each) for each in target.classes]
    titles = ("private table", "copy, held back", "share of the rows")
    yield Table(
        columns=(
            Column("class", "name"),
            Column("0 to 100 %", "picture", drop=PAGE),
            *(Column(title, "number") for title in titles),
        ),
        groups=[Group(rows=classes, fate="always", most=len(classes))],
        label="Recall of each class",
        words=lines(map(_class_words, target.classes)),
    )
    labels = [each.label for each in target.classes]
    matrix = [
        (label, [_confused(number, numbers) for number in numbers])
        for label, numbers in zip(labels, target.confusion, strict=False)
    ]
    columns = [f"predicted {label}" for label in labels]
    title = "Confusion matrix on the private table, noisy counts"
    yield Section(title=title, blocks=[Heat(columns, matrix, title, "True class")])


def _sentences(target: TargetFacts) -> Iterator[str]:
    """Sentences on the accuracy of the model on the private table and on the copy."""
    yield (
        f"{target.column} is predicted from the other columns by "
        f"{target.model}, trained on a part of the copy."
    )
    digits = digits_of(target.accuracy)
    yield (
        f"Accuracy on the private table: {figure_text(target.accuracy)}; on the copy's held-back "
        f"part {reference_text(target.copy_accuracy, digits)}; always naming the copy's most "
        f"frequent class {figure_text(target.majority)}."
    )
    if target.balanced is not None:
        digits = digits_of(target.balanced)
        yield (
            f"Balanced accuracy (the mean of the recalls): {figure_text(target.balanced)}; on the "
            f"copy's held-back part {reference_text(target.copy_balanced, digits)}."
        )
    if sum(each.recall is not None for each in target.classes) > 1:
        yield "The intervals of all recalls hold at once."
    rows = counted(max(0, target.unclassified), "private row")
    yield f"About {rows} of no class (the target is NULL, or a value that the copy never has)."


def _class(each: ClassFacts) -> Row:
    copied = "none" if each.copy_recall is None else reference_text(each.copy_recall, 1)
    value, low, high = each.recall or (None, None, None)
    text = "too few rows" if each.recall is None else figure_text(each.recall)
    label = f"Recall {text}, on the copy {copied}"
    picture = Picture((0, 1), value, low, high, mark=each.copy_recall, style="bar", label=label)
    cells = (
        Cell(each.label),
        Cell(picture=picture),
        Cell(text, value),
        Cell(copied, each.copy_recall),
        Cell(figure_text(each.share), each.share.value),
    )
    return Row(id=each.label, cells=cells)


def _class_words(each: ClassFacts) -> str:
    """Sentence on the recall of one class in both tables."""
    share = f"{each.label}, {figure_text(each.share)} of the rows"
    if each.recall is None:
        return f"{share}: too few rows to tell its recall"
    copy = "none" if each.copy_recall is None else reference_text(each.copy_recall, 1)
    return f"{share}: recall {figure_text(each.recall)}, on the copy {copy}"


def _confused(number: int, row: Sequence[int]) -> HeatCell:
    """Cell with a noisy count, which may be negative; its share of the row gives the shade."""
    total = sum(max(0, other) for other in row)
    share = max(0, number) / total if total else 0.0
    return HeatCell(f"t{sum(share >= step for step in _PARTS)}", f"{number:,}", "")
