"""``pqd init``: a spec from the copy alone, which a good copy passes and a bad one does not."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pqd.commands.check import run_check
from pqd.deciders.noise import SimulatedNoise
from pqd.engine import scan
from pqd.engine.tables import Table
from pqd.reports.models.check import CheckReport
from pqd.spec import read_spec
from pqd.spec.template import spec_template

Ran = tuple[int, str, str]
Command = Callable[..., Ran]
SAMPLES = Path(__file__).resolve().parents[2] / "samples"


@pytest.fixture(scope="module")
def census() -> pd.DataFrame:
    """The sample's private table."""
    return pd.read_parquet(SAMPLES / "census_private.parquet").reset_index(drop=True)


def checked(private: pd.DataFrame, copy: pd.DataFrame, folder: Path, seed: int) -> CheckReport:
    """Report of the spec that is written for a copy, with simulated noise."""
    private.to_parquet(folder / "private.parquet", index=False)
    copy.to_parquet(folder / "copy.parquet", index=False)
    text = spec_template(folder / "private.parquet", folder / "copy.parquet", folder)
    (folder / "audit.toml").write_text(text, encoding="utf-8")
    return run_check(read_spec(folder / "audit.toml", {}), SimulatedNoise(seed), fresh=True)


def test_a_copy_of_the_same_distribution_passes(census: pd.DataFrame, tmp_path: Path) -> None:
    """Two samples of one population: no check of more than twenty fails."""
    rng = np.random.default_rng(1)
    private, copy = (census.sample(len(census), replace=True, random_state=rng) for _ in "ab")
    report = checked(private, copy, tmp_path, 1)
    assert len(report.checks) > 20
    assert [check.message for check in report.checks if check.gate != "pass"] == []
    assert 0.9 < report.cost.epsilon <= 1


def test_a_copy_of_another_distribution_fails_where_it_is_wrong(
    census: pd.DataFrame, tmp_path: Path
) -> None:
    """A copy whose columns are independent has lost its pairs, and nothing else."""
    rng = np.random.default_rng(3)
    pair = census[["workly", "classwkr", "sex"]]
    shuffled = pair.assign(workly=rng.permutation(pair["workly"].to_numpy()))
    # The tolerances are those of the good copy: the strongest pairs are asked for.
    pair.to_parquet(tmp_path / "copy.parquet", index=False)
    text = spec_template(tmp_path / "private.parquet", tmp_path / "copy.parquet", tmp_path)
    pair.to_parquet(tmp_path / "private.parquet", index=False)
    shuffled.to_parquet(tmp_path / "copy.parquet", index=False)
    (tmp_path / "audit.toml").write_text(text, encoding="utf-8")
    report = run_check(read_spec(tmp_path / "audit.toml", {}), SimulatedNoise(3))
    failed = {check.id for check in report.checks if check.gate == "fail"}
    assert {"workly-classwkr", "overall"} <= failed
    assert not {"rows", "workly", "classwkr", "sex"} & failed


def test_a_copy_is_read_once_even_where_a_ledger_asks_for_its_rows(
    census: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = census.sample(500, random_state=5)
    report = checked(census[:400], census[-400:], tmp_path, 1)
    assert report.cost.epsilon
    copy.to_parquet(tmp_path / "other.parquet", index=False)
    read: list[str] = []
    one_pass = scan._in_one_pass

    def counted(table: Table, *rest: Any, **named: Any) -> Any:
        read.append(table.label)
        return one_pass(table, *rest, **named)

    monkeypatch.setattr(scan, "_in_one_pass", counted)
    spec_template(tmp_path / "new.parquet", tmp_path / "other.parquet", tmp_path)
    assert read == ["other.parquet"]


def test_the_command_writes_a_file_and_says_what_is_next(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    copy = str(SAMPLES / "census_synthetic.parquet")
    code, out, err = command("init", "private.parquet", copy, "--total-epsilon", "0.5")
    assert (code, err) == (0, "")
    assert out == "audit.toml is written. Next: pqd check audit.toml --dry-run\n"
    text = Path("audit.toml").read_text(encoding="utf-8")
    assert 'path = "private.parquet"' in text
    assert "odds of it by a factor of 1.6" in " ".join(text.split())
    assert list(tmp_path.iterdir()) == [tmp_path / "audit.toml"]
    code, _, err = command("init", "private.parquet", copy)
    assert code == 2
    assert "audit.toml exists already" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["spec", "--init", "p.csv", "my copy.csv"],
            "is now pqd init: pqd init p.csv 'my copy.csv'",
        ),
        (["spec", "--init"], "is now pqd init: pqd init PRIVATE COPY"),
        (["spec", "--init", "p", "c", "--file", "-"], "pqd init p c --file -"),
        (["init", "p.csv", "c.csv"], "c.csv does not exist"),
        (["init", "p.csv", "c.csv", "--total-epsilon", "0"], "greater than 0"),
        (["init", "p.csv", "c.csv", "--total-epsilon", "1000"], "at most 100"),
    ],
)
def test_what_cannot_be_is_told(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert not list(tmp_path.iterdir())
