"""Trees that guess secrets: they see the copy alone, and are tried on rows that they never saw."""

import sys
from typing import Any

import numpy as np
import pytest

from pqd.attacks.outcomes import Attacks, Trial, attacks_on
from pqd.attacks.parameters import RiskParameters
from pqd.attacks.trees import Trees, unseen_guesses
from pqd.engine.partitions import Categories, Ordered, Partition
from pqd.errors import ParameterError
from pqd.sql.schema import Kind

AGE = Ordered("age", Kind.NUMBER, tuple(map(float, range(20, 60))))
JOB = Categories("job", Kind.TEXT, ("cook", "smith", "nurse"))
SEX = Categories("sex", Kind.TEXT, ("f", "m"))
PARTITIONS: tuple[Partition, ...] = (AGE, JOB, SEX)
ROWS = 600


def drawn(seed: int, *, tells: bool = True) -> np.ndarray:
    """Rows of a copy in which age tells the job, or nothing tells anything."""
    rng = np.random.default_rng([5, seed])
    age = 2 * rng.integers(1, 40, ROWS)
    job = 1 + (age // 27 if tells else rng.integers(0, 3, ROWS))
    return np.column_stack([age, job, rng.integers(1, 3, ROWS)])


def attacked(copy: np.ndarray, known: tuple[int, ...] | None = None) -> tuple[Attacks, Trial]:
    secrets = ((JOB, copy[:, 1]), (SEX, copy[:, 2]))
    return attacks_on(PARTITIONS, copy, secrets, known, ("inference",), "trees")


def outcomes(attacks: Attacks, rows: np.ndarray) -> np.ndarray:
    columns = zip(attacks.partitions, [*rows.T, rows[:, 1], rows[:, 2]], strict=True)
    return attacks.cells(dict(columns))


def every_row() -> np.ndarray:
    """Every combination of cells, with those that a copy never has."""
    axes = [np.arange(each.size) for each in PARTITIONS]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


def test_a_guess_is_right_where_the_copy_tells_the_secret() -> None:
    attacks, trial = attacked(drawn(1))
    own = drawn(2)
    job, sex = (each.cells[outcomes(attacks, own)].mean() for each in attacks.attacks)
    assert job > 0.97
    assert abs(sex - 0.5) < 0.1
    assert trial.rates[0] == pytest.approx(job, abs=0.03)


def test_the_outcome_of_a_row_is_its_own() -> None:
    """It depends on no other row, and on no order of the copy's rows."""
    copy, rows = drawn(1), every_row()
    attacks, trial = attacked(copy)
    whole = outcomes(attacks, rows)
    assert all(outcomes(attacks, rows[n : n + 1])[0] == whole[n] for n in range(0, len(rows), 29))
    again, other = attacked(copy[::-1])
    assert (outcomes(again, rows) == whole).all()
    assert (again.facts(), other) == (attacks.facts(), trial)


def test_the_rows_of_the_copy_are_tried_by_trees_that_never_saw_them() -> None:
    """Wrong: trees that are tried on the rows they learnt from find more than there is."""
    copy = drawn(3, tells=False)
    _, trial = attacked(copy)
    trees = Trees.grown(copy, copy[:, 1:], (1, 2), None)
    seen = [
        (guess == own).mean() for guess, own in zip(trees.guesses(copy), copy.T[1:], strict=True)
    ]
    for rate, wrong, chance in zip(trial.rates, seen, (1 / 3, 1 / 2), strict=True):
        assert abs(rate - chance) < 0.07
        assert wrong > chance + 0.1


@pytest.mark.parametrize("own", [1, 3, 150, 600])
def test_each_row_is_left_out_with_a_third_of_the_rows_at_most(
    own: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy, learnt = drawn(4), []
    copy[:, 0] = np.arange(ROWS)
    grown = Trees.grown

    def recorded(codes: np.ndarray, *rest: Any) -> Trees:
        learnt.append(codes[:, 0])
        return grown(codes, *rest)

    monkeypatch.setattr(Trees, "grown", recorded)
    guesses = unseen_guesses(copy, copy[:, 1:2], (1,), None, np.arange(own))
    assert [len(each) for each in guesses] == [own]
    apart = [np.setdiff1d(np.arange(ROWS), rows) for rows in learnt]
    assert sorted(np.concatenate(apart)) == list(range(own))
    assert all(len(rows) >= 2 * ROWS / 3 for rows in learnt)


def test_trees_read_the_known_columns_alone() -> None:
    copy, rows = drawn(1), every_row()
    secrets = ((JOB, copy[:, 1]),)
    attacks, _ = attacks_on(PARTITIONS, copy, secrets, (1, 2), ("inference",), "trees")
    right = attacks.attacks[0].cells[
        attacks.cells(dict(zip(attacks.partitions, [*rows.T, rows[:, 1]], strict=True)))
    ]
    # A secret is not known to who guesses it.  By sex alone one job is guessed, whatever the age.
    for sex in (1, 2):
        assert len({*rows[right & (rows[:, 2] == sex), 1]}) == 1


def test_a_secret_of_one_value_is_guessed_and_a_copy_of_one_row_is_refused() -> None:
    copy = drawn(1)
    copy[:, 2] = 1
    _, trial = attacked(copy)
    assert trial.rates[1] == 1
    with pytest.raises(ParameterError, match="give a copy of at least 2 rows"):
        attacked(copy[:1])
    assert attacked(copy[:2])[1].rows == 2


def test_the_question_of_trees_is_another_question() -> None:
    copy = drawn(1)
    secrets = ((JOB, copy[:, 1]), (SEX, copy[:, 2]))
    nearest, _ = attacks_on(PARTITIONS, copy, secrets, None, ("inference",))
    trees, _ = attacked(copy)
    assert nearest.facts() != trees.facts()
    assert trees.facts() != attacked(copy, (0,))[0].facts()
    assert "scikit-learn" in str(trees.facts())
    assert trees.trees is not None
    assert trees.trees.name.startswith("HistGradientBoostingClassifier of scikit-learn")


# Parameters ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"learner": "tree"}, 'there is no learner "tree" (learner); did you mean trees?'),
        ({"learner": 3}, 'no learner "3" (learner); use nearest, trees'),
        ({"learner": "trees", "attacks": ["copied"]}, "a learner (learner) is of inference, which"),
    ],
)
def test_wrong_learners_are_told(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as found:
        RiskParameters.parse(**options)
    assert message in str(found.value)


def test_what_is_installed_changes_no_default(monkeypatch: pytest.MonkeyPatch) -> None:
    assert RiskParameters.parse().learner == "nearest"
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    assert RiskParameters.parse().learner == "nearest"
    with pytest.raises(
        ParameterError, match=r'trees .* needs scikit-learn.* "pqd\[learn\]"'
    ) as told:
        RiskParameters.parse(learner="trees")
    assert told.value.exit_code == 2
