"""Recipes to copy run as written; stand-ins take the place of Airflow, dbt and MLflow."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Self

import duckdb
import pytest

ROOT = Path(__file__).resolve().parents[2]
RECIPES = ROOT / "docs" / "recipes"
BASH = "airflow.providers"
# The tolerance is so wide that no noise makes a check fail.
WIDE = 'tau = "60%"'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Folder of a pipeline with the sample spec."""
    spec = (ROOT / "samples" / "audit.toml").read_text(encoding="utf-8")
    spec = spec.replace('path = "census', f'path = "{ROOT}/samples/census')
    text = spec.replace('tau = "10%"', WIDE).replace('"2%"', '"60%"')
    (tmp_path / "audit.toml").write_text(text, encoding="utf-8")
    return tmp_path


def environment(**more: str) -> dict[str, str]:
    """Environment whose path has pqd."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path} | more


class Task:
    """Stand-in for BashOperator: keeps its arguments, and can be put before another task."""

    made: list[Task]

    def __init__(self, **arguments: Any) -> None:
        self.arguments = arguments
        self.after: list[Task] = []
        Task.made.append(self)

    def __rshift__(self, other: Task) -> Task:
        other.after.append(self)
        return other

    def run(self) -> int:
        """Exit code of the command, run as Airflow runs it."""
        stated = self.arguments
        assert stated["append_env"]
        command = ["bash", "-c", stated["bash_command"]]
        return subprocess.run(  # noqa: S603 - the command of the recipe
            command, cwd=stated["cwd"], env=environment(**stated["env"]), check=False
        ).returncode


class Dag:
    """Stand-in for DAG."""

    def __init__(self, **arguments: Any) -> None:
        assert (arguments["catchup"], arguments["max_active_runs"]) == (False, 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        return


def stand_in(patch: pytest.MonkeyPatch, name: str, **members: object) -> None:
    """Module ``name`` with these members."""
    module = ModuleType(name)
    vars(module).update(members)
    patch.setitem(sys.modules, name, module)


def test_airflow_prices_and_checks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Task.made = []
    for name in ("airflow", "airflow.providers", f"{BASH}.standard", f"{BASH}.standard.operators"):
        stand_in(monkeypatch, name)
    stand_in(monkeypatch, "airflow.sdk", DAG=Dag)
    stand_in(monkeypatch, f"{BASH}.standard.operators.bash", BashOperator=Task)
    ledger = folder / "kept" / "ledger.sqlite"
    ledger.parent.mkdir()
    monkeypatch.setenv("TRUST_FOLDER", str(folder))
    monkeypatch.setenv("PQD_LEDGER", str(ledger))
    runpy.run_path(str(RECIPES / "airflow_dag.py"))
    price, check = Task.made
    assert check.after == [price]
    assert price.run() == 0
    assert not ledger.exists()
    assert check.run() == 0
    assert ledger.exists()
    assert "<testsuite " in (folder / "pqd.xml").read_text(encoding="utf-8")
    assert (folder / "pqd.html").exists()
    text = (folder / "audit.toml").read_text(encoding="utf-8")
    (folder / "audit.toml").write_text(text.replace(WIDE, 'tau = "0.001%"'), encoding="utf-8")
    assert check.run() == 1


def test_dbt_builds_before_the_check(folder: Path) -> None:
    """The spec is that of the recipe's own comment."""
    recipe = (RECIPES / "dbt.sh").read_text(encoding="utf-8")
    tables = [line.removeprefix("#   ") for line in recipe.splitlines() if line.startswith("#   ")]
    check = '[[check]]\nid = "rows"\nsql = "SELECT COUNT(*) FROM D"\ntau = "60%"\nepsilon = 1\n'
    (folder / "audit.toml").write_text("\n".join([*tables, check]), encoding="utf-8")
    builds = folder / "bin" / "dbt"
    builds.parent.mkdir()
    builds.write_text(
        f"#!{sys.executable}\nimport duckdb, sys\n"
        'assert sys.argv[1:] == ["build", "--select", "patients", "patients_synthetic"]\n'
        'with duckdb.connect("warehouse.duckdb") as made:\n'
        '    made.execute("CREATE TABLE patients AS SELECT range AS age FROM range(90)")\n'
        '    made.execute("CREATE TABLE patients_synthetic AS SELECT 1 AS age FROM range(95)")\n',
        encoding="utf-8",
    )
    builds.chmod(0o755)
    found = environment()
    found["PATH"] = f"{builds.parent}{os.pathsep}{found['PATH']}"
    ran = subprocess.run(  # noqa: S603 - the recipe
        ["/bin/sh", str(RECIPES / "dbt.sh")],
        cwd=folder,
        env=found,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "PASSED: 1 passed." in ran.stdout
    with duckdb.connect(str(folder / "warehouse.duckdb"), read_only=True) as made:
        assert made.execute("SELECT count(*) FROM patients").fetchone() == (90,)


class Run:
    """Stand-in for a run of MLflow: a context, and what was logged."""

    def __init__(self) -> None:
        self.metrics: dict[str, float] = {}
        self.texts: dict[str, str] = {}
        self.tags: dict[str, object] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        return


def test_mlflow_gets_the_report_and_what_was_released(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run()
    stand_in(
        monkeypatch,
        "mlflow",
        start_run=lambda run_name: run if run_name else None,
        set_tag=run.tags.__setitem__,
        log_metric=run.metrics.__setitem__,
        log_text=lambda text, name: run.texts.__setitem__(name, text),
    )
    monkeypatch.setenv("PQD_LEDGER", str(folder / "ledger.sqlite"))
    monkeypatch.setattr(sys, "argv", ["mlflow_log.py", str(folder / "audit.toml")])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(RECIPES / "mlflow_log.py"))
    assert (ended.value.code, run.tags) == (0, {"pqd.exit_code": 0})
    assert run.metrics["pqd.epsilon"] > 0
    assert run.metrics["employed-women.passed"] == 1
    assert any(name.endswith(".p_value") for name in run.metrics)
    assert set(run.texts) == {"pqd.json", "pqd.html"}
    assert '"kind": "check"' in run.texts["pqd.json"]
    assert str(folder) not in run.texts["pqd.html"]
