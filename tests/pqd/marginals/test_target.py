"""Target: the classifier is public, one row has one cell, and bad targets are refused."""

import sys
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from pqd.engine.counting.persons import PARTS, in_order
from pqd.engine.partitions import Partition, Points
from pqd.errors import ParameterError, TableError
from pqd.marginals import target
from pqd.marginals.classifier import Classifier, rounds_of
from pqd.marginals.target import MOST_CLASSES, Predictions, TargetPlan, held_out_rows, train_target
from pqd.sql.schema import Kind

ROWS = 3_000
Codes = NDArray[np.int64]


def points(column: str, values: int) -> Points:
    """Cells of a number: NULL, each of ``values`` whole numbers, not in the copy."""
    return Points(column, Kind.NUMBER, tuple(map(float, range(values))))


def partitions(classes: int = 3) -> tuple[Partition, ...]:
    return (
        points("pay", classes),
        points("age", 9),
        points("job", 6),
    )


def drawn(rows: int, seed: int, classes: int = 3) -> Codes:
    """Codes of rows whose class depends on both columns, with some noise; no NULL."""
    rng = np.random.default_rng(seed)
    age, job = rng.integers(1, 10, rows), rng.integers(1, 7, rows)
    pay = (age + 2 * (job % 3) + rng.integers(0, 2, rows)) % min(classes, 3) + 1
    if classes > 3:
        pay = rng.permutation(np.arange(rows) % classes) + 1
    return np.column_stack([pay, age, job])


def plan(codes: Codes, classes: int = 3) -> TargetPlan:
    return train_target(partitions(classes), codes)


@pytest.fixture(scope="module")
def planned() -> TargetPlan:
    return plan(drawn(ROWS, 1))


def cells(marginal: Predictions, codes: Codes) -> Codes:
    return marginal.cells({one: codes[:, place] for place, one in enumerate(marginal.partitions)})


def every_kind_of_row() -> Codes:
    """Every combination of cells once: also NULL, and what the copy never has."""
    axes = [np.arange(one.size) for one in partitions()]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


def test_a_row_has_the_cell_of_its_true_and_named_class(planned: TargetPlan) -> None:
    codes = every_kind_of_row()
    found = cells(planned.marginal, codes)
    named = planned.marginal.classifier.predict(codes[:, 1:])
    target = codes[:, 0]
    classified = (target >= 1) & (target <= 3)
    assert planned.marginal.size == 10
    assert (found[~classified] == 9).all()
    assert (found[classified] == 3 * (target[classified] - 1) + named[classified]).all()
    assert len(set(named)) == 3


class Centred(Predictions):
    """The wrong map: codes are compared with the mean of the rows that are counted with them."""

    def cells(self, codes: Mapping[Partition, Codes]) -> Codes:
        """Cell of each row, which the other rows sway."""
        moved = {one: np.maximum(own - int(own.mean()) + 5, 0) for one, own in codes.items()}
        return super().cells({**moved, self.partitions[0]: codes[self.partitions[0]]})


def same_by_itself(marginal: Predictions, codes: Codes) -> bool:
    """Whether rows have the same cells one by one, in parts, and in another order."""
    whole = cells(marginal, codes)
    order = np.random.default_rng(3).permutation(len(codes))
    same = [(cells(marginal, codes[order]) == whole[order]).all()]
    for length in (1, 7, 1000):
        some = range(0, 60 * length if length < 10 else len(codes), length)
        parts = np.concatenate([cells(marginal, codes[k : k + length]) for k in some])
        same.append((parts == whole[: len(parts)]).all())
    return all(same)


def largest_move(marginal: Predictions, codes: Codes) -> int:
    """Rows that change their cell at most where one row is taken out, that row with them."""
    whole = np.bincount(cells(marginal, codes), minlength=marginal.size)
    moves = []
    for row in range(len(codes)):
        without = cells(marginal, np.delete(codes, row, axis=0))
        moves.append(np.abs(whole - np.bincount(without, minlength=marginal.size)).sum())
    return int(max(moves))


def test_the_cell_of_a_row_depends_on_that_row_alone(planned: TargetPlan) -> None:
    codes = np.concatenate([every_kind_of_row(), drawn(ROWS, 2)])
    assert same_by_itself(planned.marginal, codes)
    assert cells(planned.marginal, codes[:0]).shape == (0,)


@pytest.mark.parametrize("rows", [1, 7, ROWS - 1, ROWS])
def test_rows_are_predicted_some_at_a_time(
    planned: TargetPlan, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    codes = drawn(ROWS, 6)[: 40 * rows]
    whole = cells(planned.marginal, codes)
    monkeypatch.setattr(target, "_PREDICTED", rows)
    assert (cells(planned.marginal, codes) == whole).all()


def test_a_neighbour_moves_one_cell_by_one(planned: TargetPlan) -> None:
    assert largest_move(planned.marginal, drawn(50, 4)) == 1


def test_a_map_that_other_rows_sway_is_caught(planned: TargetPlan) -> None:
    good = planned.marginal
    broken = Centred(good.partitions, good.labels, good.classifier)
    assert not same_by_itself(broken, np.concatenate([every_kind_of_row(), drawn(ROWS, 2)]))
    # The first row alone keeps the mean of all from falling below 3.
    codes = drawn(50, 4)
    codes[:, 1:], codes[0, 1:], codes[1, 1:] = 3, 6, 2
    assert largest_move(broken, codes) > 1


def test_scores_of_the_rows_are_the_same_bit_for_bit(planned: TargetPlan) -> None:
    """Not only the class: the score that it is taken from; by several threads, and by one."""
    model = planned.marginal.classifier._model
    codes = every_kind_of_row()[:, 1:].astype(float)
    whole = model.decision_function(codes)
    order = np.random.default_rng(5).permutation(len(codes))
    assert (model.decision_function(codes[order]) == whole[order]).all()
    with threadpool_limits(limits=1, user_api="openmp"):
        single = np.concatenate([model.decision_function(codes[k : k + 1]) for k in range(40)])
    assert (single == whole[:40]).all()


def test_training_is_the_same_every_time(planned: TargetPlan) -> None:
    again = plan(drawn(ROWS, 1))
    codes = every_kind_of_row()[:, 1:].astype(float)
    first, second = planned.marginal.classifier, again.marginal.classifier
    assert first.facts() == second.facts()
    assert (first._model.decision_function(codes) == second._model.decision_function(codes)).all()
    assert (planned.held_out_confusion == again.held_out_confusion).all()


def test_facts_differ_with_the_rows_that_it_was_trained_on(planned: TargetPlan) -> None:
    changed = drawn(ROWS, 1)
    learnt = np.flatnonzero(~held_out_rows(ROWS))[0]
    changed[learnt, 1] = changed[learnt, 1] % 9 + 1
    other = plan(changed).marginal
    assert other.facts() != planned.marginal.facts()
    assert other.facts()[:3] == planned.marginal.facts()[:3]


def test_the_held_back_part_is_a_third_of_the_copy_and_was_not_trained_on(
    planned: TargetPlan,
) -> None:
    apart = held_out_rows(ROWS)
    assert abs(apart.mean() - 1 / 3) < 0.03
    # No stretch and no residue of row numbers is all in one part.
    assert all(0 < apart[k : k + 30].sum() < 30 for k in range(0, ROWS, 30))
    assert all(0.25 < apart[k::10].mean() < 0.42 for k in range(10))
    assert (held_out_rows(10) == apart[:10]).all()
    assert planned.held_out_confusion.sum() == apart.sum()
    assert planned.marginal.classifier.rows == (~apart).sum()
    codes = drawn(ROWS, 1)
    classifier = planned.marginal.classifier
    named = classifier.predict(codes[apart, 1:])
    assert planned.held_out_confusion.trace() == (named == codes[apart, 0] - 1).sum()
    # The classes can be learnt, half of their noise aside.
    assert planned.held_out_confusion.trace() > 0.45 * apart.sum()


def test_all_rows_of_a_person_are_held_back_or_none() -> None:
    """Persons' rows are scattered; each person weighs one row among those that are tried."""
    codes = drawn(ROWS, 1)
    persons = in_order(np.random.default_rng(4).integers(0, ROWS // 5, ROWS))
    partitions = plan(codes).marginal.partitions
    found = train_target(partitions, codes, persons)
    assert list(dict.fromkeys(persons.tolist())) == [*range(persons.max() + 1)]
    held = held_out_rows(persons.max() + 1)[persons]
    assert found.marginal.classifier.rows == (~held).sum()
    rows = np.bincount(persons)
    weights = PARTS // rows[persons[held]]
    assert found.held_out_confusion.sum() == weights.sum()
    assert train_target(partitions, codes, persons, 3).held_out_confusion.sum() == (
        (PARTS * np.minimum(rows, 3) // np.maximum(rows, 1))[persons[held]].sum()
    )


def test_rows_without_a_class_are_not_learnt_from() -> None:
    codes = drawn(ROWS, 6)
    codes[::2, 0] = 0
    sparse = plan(codes)
    assert sparse.marginal.classes == 3
    assert sparse.marginal.classifier.rows == (~held_out_rows(ROWS) & (codes[:, 0] > 0)).sum()
    assert sparse.held_out_confusion.sum() == (held_out_rows(ROWS) & (codes[:, 0] > 0)).sum()


def test_the_majority_is_the_most_frequent_class_of_the_copy() -> None:
    codes = drawn(ROWS, 7)
    codes[: ROWS // 2, 0] = 2
    assert plan(codes).majority == 1


def test_a_class_that_only_the_held_back_part_has_can_still_be_true() -> None:
    codes = drawn(ROWS, 8, classes=2)
    last = np.flatnonzero(held_out_rows(ROWS))[-1]
    codes[last, 0] = 3
    rare = plan(codes)
    assert rare.marginal.labels == (1, 2, 3)
    assert rare.held_out_confusion[2].sum() == 1
    assert rare.held_out_confusion[:, 2].sum() == 0


@pytest.mark.parametrize(
    ("codes", "classes", "message"),
    [
        (np.tile([1, 2, 3], (90, 1)), 3, "fewer than two classes"),
        (np.tile([0, 2, 3], (90, 1)), 3, "fewer than two classes"),
        (drawn(900, 9, MOST_CLASSES + 1), MOST_CLASSES + 1, "21 classes .* at most 20 .*cells="),
    ],
    ids=["constant", "null", "many"],
)
def test_a_target_that_cannot_be_is_refused(codes: Codes, classes: int, message: str) -> None:
    with pytest.raises(TableError, match=message):
        plan(codes, classes)


def test_twenty_classes_are_allowed() -> None:
    assert plan(drawn(900, 9, MOST_CLASSES), MOST_CLASSES).marginal.size == 401


@pytest.mark.parametrize(("classes", "rounds"), [(2, 50), (3, 33), (10, 10), (20, 10)], ids=str)
def test_rounds_keep_the_number_of_trees_down(classes: int, rounds: int) -> None:
    assert rounds_of(classes) == rounds


def test_without_the_library_the_message_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    with pytest.raises(ParameterError, match=r'pip install "pqd\[learn\]"') as caught:
        plan(drawn(90, 11))
    assert caught.value.exit_code == 2


def test_the_name_says_which_release(planned: TargetPlan) -> None:
    classifier: Classifier = planned.marginal.classifier
    assert classifier.name.startswith("HistGradientBoostingClassifier of scikit-learn 1.")


def test_figures_of_a_known_confusion_matrix(planned: TargetPlan) -> None:
    """Without noise every figure is the matrix's own; the last count has no class."""
    counts = [700, 200, 100, 50, 900, 50, 0, 0, 2_000, 37]
    facts = planned.facts(counts, Fraction(10), Fraction(1, 20), rounded=False)
    assert facts.confusion == ((700, 200, 100), (50, 900, 50), (0, 0, 2_000))
    assert facts.unclassified == 37
    assert facts.accuracy.value == pytest.approx(3_600 / 4_000)
    assert [each.recall and each.recall.value for each in facts.classes] == [0.7, 0.9, 1.0]
    assert [each.share.value for each in facts.classes] == [0.25, 0.25, 0.5]
    assert [each.label for each in facts.classes] == ["0", "1", "2"]
    assert facts.balanced
    assert facts.balanced.value == pytest.approx(2.6 / 3)
    assert facts.majority == facts.classes[planned.majority].share
    for figure in (facts.accuracy, facts.balanced, facts.majority):
        assert figure.low < figure.value < figure.high
        assert figure.high - figure.low < 0.01
    assert (
        facts.copy_accuracy == planned.held_out_confusion.trace() / planned.held_out_confusion.sum()
    )
    recalls = planned.held_out_confusion.diagonal() / planned.held_out_confusion.sum(axis=1)
    assert [each.copy_recall for each in facts.classes] == recalls.tolist()
    assert facts.copy_balanced == pytest.approx(recalls.mean())
    assert (facts.column, facts.epsilon) == ("pay", Fraction(10))


def test_a_class_without_rows_has_no_recall() -> None:
    """Neither where the private table has too few rows, nor where the held-back part has none."""
    codes = drawn(ROWS, 8, classes=2)
    codes[np.flatnonzero(~held_out_rows(ROWS))[:30], 0] = 3
    noisy = [400, 10, 0, 10, 500, 0, 1, 0, 0, 0]
    facts = plan(codes).facts(noisy, Fraction(1), Fraction(1, 20), rounded=False)
    assert facts.classes[2].copy_recall is None
    assert facts.classes[2].recall is None
    assert facts.balanced is None
    assert facts.copy_balanced == pytest.approx(
        sum(each.copy_recall or 0 for each in facts.classes) / 2
    )
