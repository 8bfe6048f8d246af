"""``pqd profile --target`` from end to end: the confusion matrix, its price, and bad targets."""

import json
import sys
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pqd
from pqd.accounting.ledger import Ledger
from pqd.commands.profile import run_profile
from pqd.engine.scan_plan import PrivacyUnit
from pqd.marginals.profile_parameters import ProfileParameters
from pqd.reports.models.target import TargetFacts
from tests.support.noises import Absent

Ran = tuple[int, str, str]
Command = Callable[..., Ran]


def people(seed: int, rows: int, tilt: float = 0.0) -> pd.DataFrame:
    """Table whose jobs follow from age and sex, with chance; some are NULL."""
    rng = np.random.default_rng(seed)
    age, sex = rng.integers(20, 60, rows), rng.choice(["f", "m"], rows)
    place = (age > 40).astype(int) + (sex == "m") + (rng.random(rows) < 0.1 + tilt)
    job = np.array(["cook", "nurse", "smith", "smith"], dtype=object)[place]
    job[rng.random(rows) < 0.05] = None
    return pd.DataFrame({"age": age, "sex": sex, "job": job, "id": range(rows), "pay": 10.0 * age})


COPY = people(1, 1_200)
SECRET = people(2, 800, 0.2).assign(age=lambda table: table["age"].where(table.index % 9 > 0))
SECRET.loc[:39, "job"] = "spy"


def profiled(private: Any = SECRET, *, unit: Any = None, **options: Any) -> TargetFacts:
    """Target of a profile without noise, and without an account."""
    usual: dict[str, Any] = {"target": "job", "anyway": True}
    stated = ProfileParameters.parse(**usual | options)
    report = run_profile(private, COPY, stated, Absent(), unit=unit)
    assert report.target
    return report.target


def spent(folder: Path) -> list[Fraction]:
    path = folder / "ledger.sqlite"
    if not path.exists():
        return []
    with closing(Ledger(path)) as ledger:
        return [account.epsilon for account in ledger.accounts]


def test_rows_are_counted_by_their_true_class() -> None:
    facts = profiled()
    counts = SECRET["job"].value_counts()
    for each, row in zip(facts.classes, facts.confusion, strict=True):
        assert sum(row) == counts[each.label]
    assert [each.label for each in facts.classes] == list(COPY["job"].value_counts().index)
    # NULL, and a job that the copy never has.
    assert facts.unclassified == SECRET["job"].isna().sum() + 40
    assert facts.model.startswith("HistGradientBoostingClassifier of scikit-learn")


def test_what_can_be_learnt_is_learnt_and_told_beside_the_copy() -> None:
    facts = profiled()
    assert facts.copy_accuracy > 0.85
    assert 0.6 < facts.accuracy.value < facts.copy_accuracy
    assert facts.accuracy.low < facts.accuracy.value < facts.accuracy.high
    assert facts.majority.value < facts.accuracy.value
    trace = sum(row[place] for place, row in enumerate(facts.confusion))
    assert facts.accuracy.value == pytest.approx(trace / sum(map(sum, facts.confusion)))


@pytest.mark.parametrize("kind", ["csv", "parquet", "shuffled", "in another order of columns"])
def test_format_and_order_of_rows_do_not_matter(kind: str, tmp_path: Path) -> None:
    private: Any = SECRET
    if kind == "csv":
        private = tmp_path / "private.csv"
        SECRET.to_csv(private, index=False)
    elif kind == "parquet":
        private = tmp_path / "private.parquet"
        SECRET.to_parquet(private, row_group_size=100)
    elif kind == "shuffled":
        private = SECRET.sample(frac=1, random_state=4).reset_index(drop=True)
    else:
        private = SECRET[SECRET.columns[::-1]]
    assert profiled(private) == profiled()


def test_a_row_that_is_taken_out_is_missing_from_one_cell() -> None:
    whole = profiled()
    for row in (0, 50, 51, 52):
        without = profiled(SECRET.drop(index=row))
        changes = np.array(whole.confusion) - np.array(without.confusion)
        left_out = whole.unclassified - without.unclassified
        assert sorted([*changes.ravel().tolist(), left_out]) == [0] * 9 + [1]


def test_a_person_counts_by_so_many_rows() -> None:
    twice = pd.concat([SECRET, SECRET])
    one = profiled(twice, unit=PrivacyUnit("id", 1))
    both = profiled(twice, unit=PrivacyUnit("id", 2))
    assert (2 * np.array(one.confusion) == np.array(both.confusion)).all()


def test_numbers_are_classes_by_their_cells() -> None:
    facts = profiled(target="pay", cells={"pay": [0, 300, 450, 900]})
    assert [each.label for each in facts.classes] == ["0 to < 300", "300 to < 450", "450 to 900"]
    assert facts.unclassified == 0


def test_it_costs_a_tenth_once(tmp_path: Path) -> None:
    first = pqd.profile(SECRET, COPY, target="job")
    parts = {part.part: part.epsilon for part in first.budget}
    assert parts["target"] == Fraction(1, 10)
    assert sum(parts.values()) == first.cost.epsilon == 1
    again = pqd.profile(SECRET, COPY, target="job", tau="10%")
    assert again.target == first.target
    assert (again.cost.epsilon, again.replayed) == (Fraction(0), True)
    # Another target has cells of its own; the distances are replayed.
    other = pqd.profile(SECRET, COPY, target="sex")
    assert other.cost.epsilon == Fraction(1, 10)
    assert spent(tmp_path) == [Fraction(11, 10)]


def test_another_copy_is_another_classifier(tmp_path: Path) -> None:
    pqd.profile(SECRET, COPY, target="job", tau="10%")
    changed = COPY.assign(sex=COPY["sex"].where(COPY.index % 5 > 0, "m"))
    # The histograms have the same cells and are replayed: a fifth of nine tenths.
    again = pqd.profile(SECRET, changed, target="job", tau="10%")
    assert again.cost.epsilon == Fraction(41, 50)
    assert spent(tmp_path) == [Fraction(91, 50)]


def test_the_command_names_accuracy_and_recalls(tmp_path: Path, command: Command) -> None:
    SECRET.to_csv(tmp_path / "private.csv", index=False)
    COPY.to_csv(tmp_path / "copy.csv", index=False)
    paths = str(tmp_path / "private.csv"), str(tmp_path / "copy.csv")
    code, out, _ = command("profile", *paths, "--total-epsilon", "50", "--target", "JOB")
    assert code == 0
    for words in ("Accuracy", "Balanced accuracy", "cook", "nurse", "smith", "scikit-learn"):
        assert words in out
    assert "spy" not in out
    code, out, _ = command(
        "profile", *paths, "--total-epsilon", "50", "--target", "JOB", "--json", "-"
    )
    assert (code, json.loads(out)["target"]["column"]) == (0, "job")


CASES: dict[str, tuple[tuple[str, ...], str]] = {
    "unknown": (("--target", "jobs"), "not among the profiled columns: age, sex, job, pay"),
    "left out": (("--target", "id"), "the target id is not profiled"),
    "alone": (("--target", "job", "--columns", "job"), "at least one other column"),
    "one class": (("--target", "same", "--columns", "same,age"), "fewer than two classes"),
    "too many classes": (("--target", "age", "--cells", "age=30"), "at most 20"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_bad_target_is_one_message_and_costs_nothing(
    name: str, tmp_path: Path, command: Command
) -> None:
    options, words = CASES[name]
    SECRET.assign(same="x").to_csv(tmp_path / "private.csv", index=False)
    COPY.assign(same="x").to_csv(tmp_path / "copy.csv", index=False)
    tables = str(tmp_path / "private.csv"), str(tmp_path / "copy.csv")
    code, out, err = command("profile", *tables, *options)
    assert (code, out) == (2, "")
    assert words in err
    assert "spy" not in err
    assert spent(tmp_path) == []


def test_without_the_extra_one_message_says_how_to_install_it(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    COPY.to_csv(tmp_path / "copy.csv", index=False)
    SECRET.to_csv(tmp_path / "private.csv", index=False)
    tables = str(tmp_path / "private.csv"), str(tmp_path / "copy.csv")
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    code, out, err = command("profile", *tables, "--target", "job")
    assert (code, out) == (2, "")
    assert 'pip install "pqd[learn]"' in err
    assert spent(tmp_path) == []
    # Nothing else needs it.
    assert command("profile", *tables, "--ways", "1")[0] == 0
