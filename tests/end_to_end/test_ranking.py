"""``pqd compare`` without queries, on the command line and in the library: ledger and refusals."""

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pqd
from pqd.accounting.accounts import Budget
from pqd.accounting.ledger import Ledger
from pqd.errors import NotPublicError, ParameterError, PqdError

Ran = tuple[int, str, str]
Command = Callable[..., Ran]


def table(seed: int, share: float) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sex = np.where(rng.random(2_000) < share, "f", "m")
    return pd.DataFrame({"sex": sex, "age": rng.integers(18, 80, 2_000) + 20 * (sex == "f")})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a private table and two copies of it."""
    for seed, (name, share) in enumerate({"private": 0.5, "a": 0.5, "b": 0.2}.items()):
        table(seed, share).to_csv(tmp_path / f"{name}.csv", index=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PQD_LEDGER", str(tmp_path / "ledger.sqlite"))
    return tmp_path


GOOD = ("private.csv", "a=a.csv", "b=b.csv")


@pytest.mark.usefixtures("folder")
def test_copies_are_ranked_charged_and_replayed(command: Command) -> None:
    code, out, err = command("compare", *GOOD, "--total-epsilon", "0.5", "--json", "report.json")
    assert (code, err) == (0, "")
    assert "a is the best of 2 copies" in out
    assert "epsilon 0.5 spent" in out
    facts = json.loads(Path("report.json").read_text(encoding="utf-8"))
    assert facts["kind"] == "ranking"
    assert [copy["candidate"] for copy in facts["copies"]] == ["a", "b"]
    assert facts["better"] == [["a", "b"]]
    report = pqd.compare("private.csv", {"a": "a.csv", "b": "b.csv"}, total_epsilon=0.5)
    assert report.replayed
    assert report.spent == 0
    assert [copy.overall.value for copy in report.copies] == [
        copy["overall"]["estimate"]["value"] for copy in facts["copies"]
    ]
    (account,) = Ledger("ledger.sqlite").accounts
    assert account.epsilon == Fraction(1, 2)
    asked = [facts["id"] for facts in account.runs[0].body["questions"]]
    assert asked == ["ranking of 2 copies", "relations of 2 copies"]
    assert pqd.compare("private.csv", {"a": "a.csv"}, total_epsilon=0.5).spent == Fraction(1, 2)


@pytest.mark.usefixtures("folder")
def test_every_output_is_there(command: Command) -> None:
    outputs = [f"--output={kind}=out.{kind}" for kind in ("markdown", "html", "json")]
    options = ["--marginals", "--ways", "1", "--columns", "sex", "--cells", "sex=f|m"]
    code, out, err = command("compare", *GOOD, "--total-epsilon", "1", *options, *outputs)
    assert (code, err) == (0, "")
    assert "1 column" in out
    for kind in ("markdown", "html", "json"):
        assert "sex" in Path(f"out.{kind}").read_text(encoding="utf-8")
        assert "age" not in json.dumps(json.loads(Path("out.json").read_text())["columns"])


@pytest.mark.usefixtures("folder")
def test_the_bar_of_relations_is_an_option(command: Command) -> None:
    bar = ("--relations", "80%")
    code, out, _ = command("compare", *GOOD, "--total-epsilon", "9", *bar, "--json", "out.json")
    assert code == 0
    assert "relations kept" in out
    copies = json.loads(Path("out.json").read_text(encoding="utf-8"))["copies"]
    assert [copy["relations"]["bar"] for copy in copies] == [0.8, 0.8]
    query = ("-q", "SELECT COUNT(*) FROM D", "--tau", "5%", "--epsilon", "1")
    code, _, err = command("compare", *GOOD, *query, *bar)
    assert (code, "--relations is of a ranking" in err) == (2, True)
    code, out, _ = command("compare", "--help-all")
    assert (code, "--relations" in out) == (0, True)


@pytest.mark.usefixtures("folder")
def test_a_budget_that_does_not_reach_refuses_at_no_cost(command: Command) -> None:
    Ledger("ledger.sqlite").set_limit(Budget(Fraction(3, 10)))
    code, out, err = command("compare", *GOOD, "--total-epsilon", "0.5")
    assert (code, out) == (4, "")
    assert "needs epsilon 0.5; of 0.3" in err
    assert not Ledger("ledger.sqlite").accounts


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no budget": ({}, "there is no query"),
    "a tolerance": ({"total_epsilon": 1, "tau": 5}, "tau means nothing"),
    "an epsilon": ({"total_epsilon": 1, "epsilon": 1}, "epsilon means nothing"),
    "an estimator": ({"total_epsilon": 1, "estimator": "laplace"}, "estimator means nothing"),
    "facts as columns": ({"total_epsilon": 1, "columns": {"age": {}}}, "facts="),
    "no such column": ({"total_epsilon": 1, "columns": ["agee"]}, "agee"),
    "too many ways": ({"total_epsilon": 1, "ways": 4}, "ways"),
    "ways of queries": (
        {"queries": "SELECT COUNT(*) FROM D", "tau": 5, "epsilon": 1, "ways": 1},
        "ways is of a ranking",
    ),
    "a total of queries": (
        {"queries": "SELECT COUNT(*) FROM D", "tau": 5, "total_epsilon": 1},
        "total_epsilon is of a ranking",
    ),
    "names with queries": (
        {"queries": "SELECT COUNT(*) FROM D", "tau": 5, "epsilon": 1, "columns": ["age"]},
        "columns by name is of a ranking",
    ),
    "relations of queries": (
        {"queries": "SELECT COUNT(*) FROM D", "tau": 5, "epsilon": 1, "relations": 0},
        "relations is of a ranking",
    ),
    "a bar that is no share": ({"total_epsilon": 1, "relations": "150%"}, "relations is 150%"),
    "too small a budget": ({"total_epsilon": "1e-300"}, "epsilon"),
}


@pytest.mark.parametrize("label", REFUSED)
def test_what_does_not_go_together_is_told_at_once(label: str, folder: Path) -> None:
    stated, words = REFUSED[label]
    with pytest.raises(PqdError) as refused:
        pqd.compare("private.csv", {"a": "a.csv", "b": "b.csv"}, **stated)
    assert words in str(refused.value)
    assert refused.value.exit_code == 2
    assert not (folder / "ledger.sqlite").exists() or not Ledger("ledger.sqlite").accounts


@pytest.mark.usefixtures("folder")
def test_the_private_table_is_no_candidate() -> None:
    with pytest.raises(NotPublicError):
        pqd.compare("private.csv", {"a": "a.csv", "b": "private.csv"}, total_epsilon=1)
    with pytest.raises(ParameterError, match="mapping"):
        pqd.compare("private.csv", {}, total_epsilon=1)


def test_a_named_column_that_one_copy_lacks_is_wholly_off(folder: Path) -> None:
    """As without names; the attacks on this copy leave the column out."""
    table(0, 0.5).assign(job="x").to_csv(folder / "a.csv", index=False)
    table(9, 0.5).assign(job="x").to_csv(folder / "private.csv", index=False)
    table(8, 0.5).assign(job="x").to_csv(folder / "held.csv", index=False)
    names: dict[str, Any] = {"columns": ["sex", "age", "job"], "ways": 1, "total_epsilon": 8}
    copies = {"b": "b.csv", "a": "a.csv"}
    report = pqd.compare("private.csv", copies, **names, risk=1, held_out="held.csv")
    whole, lacking = report.copies
    assert (lacking.overall.value or 1) < 0.67 < (whole.overall.value or 0)
    assert "b lacks job" in report.to_markdown()
    assert set(report.risks) == {"a", "b"}
