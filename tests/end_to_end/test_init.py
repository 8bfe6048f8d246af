"""``pqd init``: a spec from the copy alone, which a good copy passes and a bad one does not."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks.persons import TABLES_OF_PERSONS, copies
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


def checked(
    private: pd.DataFrame, copy: pd.DataFrame, folder: Path, seed: int, rows: int | None = None
) -> CheckReport:
    """Report of the spec that is written for a copy, with simulated noise."""
    private.to_parquet(folder / "private.parquet", index=False)
    copy.to_parquet(folder / "copy.parquet", index=False)
    tables = folder / "private.parquet", folder / "copy.parquet"
    text = spec_template(*tables, folder, private_rows=rows).text
    (folder / "audit.toml").write_text(text, encoding="utf-8")
    return run_check(read_spec(folder / "audit.toml", {}), SimulatedNoise(seed), fresh=True)


def test_a_copy_of_the_same_distribution_passes(census: pd.DataFrame, tmp_path: Path) -> None:
    """Two samples of one population: all of many conditions hold, at the price of one."""
    rng = np.random.default_rng(1)
    private, copy = (census.sample(len(census), replace=True, random_state=rng) for _ in "ab")
    report = checked(private, copy, tmp_path, 1)
    assert len(report.checks) > 50
    assert report.exit_code == 0
    assert float(report.cost.epsilon) == 0.25


def test_a_column_of_persons_is_stated(tmp_path: Path, command: Command) -> None:
    copy = pd.DataFrame({"client": [1, 1, 2, 3] * 60, "x": range(240)})
    copy.to_csv(tmp_path / "copy.csv", index=False)
    tables = ("init", str(tmp_path / "private.csv"), str(tmp_path / "copy.csv"), "--file", "-")
    assert 'unit = "client"' in command(*tables, "--unit", "Client")[1]
    code, out, err = command(*tables, "--unit", "cliemt")
    assert (code, out) == (2, "")
    assert err == 'pqd: unit: there is no column "cliemt"; the nearest is "client"\n'


def shuffled(copy: pd.DataFrame) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    return copy.apply(lambda column: rng.permutation(column.to_numpy()))


def without_a_value(copy: pd.DataFrame) -> pd.DataFrame:
    """Copy that lacks the rarest frequent value of classwkr."""
    column = "classwkr"
    counts = copy[column].value_counts()
    value = counts[counts > 150].index[-1]
    return copy.assign(**{column: copy[column].where(copy[column] != value, counts.index[0])})


def with_other_amounts(copy: pd.DataFrame) -> pd.DataFrame:
    """Copy in which the lowest 4 % of the ages are a thousand times as large."""
    low = copy["age"].rank(pct=True) < 0.04
    return copy.assign(age=copy["age"].where(~low, copy["age"] * 1000))


def constant(copy: pd.DataFrame) -> pd.DataFrame:
    """Copy in which everybody works, as most do."""
    return copy.assign(workly=copy["workly"].mode()[0])


@pytest.mark.parametrize("damage", [shuffled, without_a_value, with_other_amounts, constant])
def test_a_bad_copy_fails(
    damage: Callable[[pd.DataFrame], pd.DataFrame], census: pd.DataFrame, tmp_path: Path
) -> None:
    """The tolerances are those of the bad copy itself."""
    private, copy = census[::2], damage(census[1::2])
    report = checked(private, copy, tmp_path, 3)
    assert report.exit_code == 1
    assert float(report.cost.epsilon) == 0.75


def test_a_copy_of_a_tenth_of_the_rows_passes(census: pd.DataFrame, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    private = census.sample(len(census), replace=True, random_state=rng)
    copy = census.sample(len(census) // 10, random_state=rng)
    report = checked(private, copy, tmp_path, 1, len(census))
    assert len(report.checks) > 20
    assert report.exit_code == 0


@pytest.mark.parametrize("name", TABLES_OF_PERSONS)
def test_rows_of_other_persons_pass_and_a_lost_value_fails(name: str, tmp_path: Path) -> None:
    """Half of the persons, by a coin for each, so that there are not as many in both tables."""
    draw, person = TABLES_OF_PERSONS[name]
    rng = np.random.default_rng(8)
    every = draw(800, rng)
    chosen = every[person].isin(every[person].unique()[rng.random(800) < 0.5])
    private, copy = every[chosen], every[~chosen].reset_index(drop=True)
    assert checked(private, copy, tmp_path, 1).exit_code == 0
    damaged = copies(copy, person, rng)["a common value lost"]
    assert checked(private, damaged, tmp_path, 2).exit_code == 1


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
    code, out, err = command("init", "private.parquet", copy, "--gate", "0.1", "--names", "0.4")
    assert (code, err) == (0, "")
    assert out.startswith("audit.toml is written. Not checked: ")
    assert out.endswith("Next: pqd check audit.toml --dry-run\n")
    assert "limits runs of that file alone; pqd ledger limit " in out
    text = Path("audit.toml").read_text(encoding="utf-8")
    assert 'path = "private.parquet"' in text
    words = " ".join(text.replace("\n#", "\n").split())
    assert "a guess of 50 % that a person is in the table becomes at most 62.3 %" in words
    assert list(tmp_path.iterdir()) == [tmp_path / "audit.toml"]
    code, _, err = command("init", "private.parquet", copy)
    assert code == 2
    assert "audit.toml exists already" in err


def test_the_ledger_is_kept_out_of_git(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed")
    subprocess.run([git, "init", "--quiet"], check=True)  # noqa: S603 - git
    (tmp_path / "data").mkdir()
    rules = tmp_path / "data" / ".gitignore"
    rules.write_text("build", encoding="utf-8")
    line = ["init", "data/private.parquet", str(SAMPLES / "census_synthetic.parquet"), "--file"]
    code, out, err = command(*line, "one.toml")
    assert (code, err) == (0, "")
    assert f"{rules} now keeps the ledger, which holds a key, out of git." in out
    assert rules.read_text(encoding="utf-8") == "build\npqd-ledger.sqlite*\n"
    assert "out of git" not in command(*line, "two.toml")[1]
    assert rules.read_text(encoding="utf-8") == "build\npqd-ledger.sqlite*\n"


def test_a_check_takes_the_spec_that_init_writes(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = command("check")
    assert (code, out) == (2, "")
    assert err.startswith("pqd: there is no audit.toml here; name the spec, such as pqd check ")
    tables = (str(SAMPLES / f"census_{name}.parquet") for name in ("private", "synthetic"))
    assert command("init", *tables)[0] == 0
    code, out, _ = command("check", "--dry-run")
    assert code == 0
    assert "checks of audit.toml" in out


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
        (["init", "p.csv", "c.csv", "--gate", "0"], "greater than 0"),
        (["init", "p.csv", "c.csv", "--names", "1000"], "at most 100"),
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
