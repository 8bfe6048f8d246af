"""The pytest plugin, in pytest runs of its own, and the workflow of the documents."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest_plugins = ["pytester"]

Ran = tuple[int, str, str]
ROOT = Path(__file__).resolve().parents[2]
TESTS = """
import pytest

def test_holds(pqd):
    entry = pqd.assert_trusted("median-age-of-men")
    assert entry.gate == "pass"

def test_does_not_hold(pqd):
    pqd.assert_trusted("median-age-of-employed-black-women")

def test_sql(pqd):
    pqd.assert_trusted("SELECT COUNT(*) FROM D", tau="10%", epsilon=0.5)

def test_bad_sql(pqd):
    pqd.assert_trusted("SELECT COUNT(*) FROM D WHERE agee > 3", tau="10%", epsilon=0.5)

@pytest.mark.parametrize("how", ["fail", "warn", "pass"])
def test_undecided(pqd, how):
    sql = "SELECT COUNT(*) FROM D WHERE sex LIKE 'Female'"
    pqd.assert_trusted(sql, tau=1, epsilon=0.01, alpha=1e-9, on_undecided=how)

def test_no_check(pqd):
    with pytest.raises(TypeError, match="is no check of audit-fails.toml"):
        pqd.assert_trusted("median-age")
    with pytest.raises(TypeError, match="stand in audit-fails.toml"):
        pqd.assert_trusted("median-age-of-men", tau=3)
    with pytest.raises(TypeError, match="synthetic must name one of tree"):
        pqd.assert_trusted("median-age-of-men", synthetic="other")
"""


def test_the_fixture_fails_what_is_not_trusted(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    spec = ROOT / "samples" / "audit-fails.toml"
    pytester.makeini(f"[pytest]\npqd_spec = {spec}\n")
    result = pytester.runpytest_subprocess("-rs", "-p", "no:cacheprovider", "-p", "no:xdist")
    result.assert_outcomes(passed=4, failed=3, skipped=1)
    text = result.stdout.str()
    assert "outside tolerance (p < 0.001), but close was expected" in text
    assert 'there is no column "agee"' in text
    assert "undecided: leans" in text


def test_the_option_names_the_spec_and_the_warning_is_a_warning(pytester: pytest.Pytester) -> None:
    spec = (ROOT / "samples" / "audit-fails.toml").read_text(encoding="utf-8")
    spec = spec.replace('path = "census', f'path = "{ROOT}/samples/census')
    (pytester.path / "my.toml").write_text(
        spec.replace("[defaults]", '[defaults]\nseverity = "warn"'), encoding="utf-8"
    )
    pytester.makepyfile(
        "def test_w(pqd):\n    pqd.assert_trusted('median-age-of-employed-black-women')\n"
    )
    result = pytester.runpytest_subprocess("--pqd-spec", "my.toml", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, warnings=1)
    assert "UntrustedWarning" in result.stdout.str()


def test_a_missing_spec_is_said_where_the_fixture_is_used(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "def test_a():\n    pass\n\ndef test_b(pqd):\n    pqd.assert_trusted('x')\n"
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1)
    assert "audit.toml" in result.stdout.str()


def test_pytest_starts_without_what_is_heavy(process: Callable[..., Ran]) -> None:
    heavy = ("pandas", "duckdb", "opendp", "sqlglot", "numpy", "rich")
    code, out, err = process(
        "-c", f"import sys, pqd.pytest_plugin; print([m for m in {heavy} if m in sys.modules])"
    )
    assert (code, out.strip()) == (0, "[]"), err


def workflow() -> dict[Any, Any]:
    text = (ROOT / "docs" / "github-actions.yml").read_text(encoding="utf-8")
    found: dict[Any, Any] = yaml.safe_load(text)
    return found


def test_the_workflow_runs(
    command: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run what the workflow runs, in a folder with the sample spec as audit.toml."""
    spec = (ROOT / "samples" / "audit.toml").read_text(encoding="utf-8")
    spec = spec.replace('path = "census', f'path = "{ROOT}/samples/census')
    (tmp_path / "audit.toml").write_text(spec, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    ledger = str(tmp_path / "ledger.sqlite")
    steps = workflow()["jobs"]["check"]["steps"]
    lines = [step["run"] for step in steps if "run" in step]
    ours = [line for line in lines if line.startswith("pqd ")]
    assert len(ours) == 3
    for line in ours:
        words = shlex.split(line.replace("$PQD_LEDGER", ledger))
        code, out, err = command(*words[1:])
        assert (code, err) == (0, ""), line
        assert out
    kept = next(step for step in steps if "upload-artifact" in step.get("uses", ""))
    for name in kept["with"]["path"].split():
        assert (tmp_path / name).stat().st_size
    assert "::notice" in command("check", "audit.toml", "--output", "github")[1]


def git(*arguments: str, cwd: Path) -> str:
    owner = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(  # noqa: S603 - the arguments are the test's own
        ["git", *owner, *arguments],  # noqa: S607 - as in the workflow
        cwd=cwd,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_the_workflow_installs_the_commit_that_it_states(tmp_path: Path) -> None:
    """From a checkout that has gone on since; an index is asked for nothing without a hash."""
    job = workflow()["jobs"]["check"]
    (install,) = (step["run"] for step in job["steps"] if step.get("name") == "Install")
    assert re.fullmatch(r"[0-9a-f]{40}", job["env"]["PQD_COMMIT"])
    source, bin_ = tmp_path / "source", tmp_path / "bin"
    for folder in (source, bin_):
        folder.mkdir()
    git("init", "--quiet", cwd=source)
    commits = []
    for text in ("reviewed", "newer"):
        (source / "requirements.lock").write_text(text, encoding="utf-8")
        git("add", "requirements.lock", cwd=source)
        git("commit", "--quiet", "-m", text, cwd=source)
        commits.append(git("rev-parse", "HEAD", cwd=source))
    # Stands for Python: notes what it is asked for.
    (bin_ / "python").write_text('#!/bin/sh\necho "$@" >> "$RUNNER_TEMP/asked"\n', encoding="utf-8")
    (bin_ / "python").chmod(0o700)
    given = {"PQD_SOURCE": str(source), "RUNNER_TEMP": str(tmp_path), "HOME": str(tmp_path)}
    given["PATH"] = f"{bin_}{os.pathsep}{os.environ['PATH']}"

    def run(commit: str) -> int:
        shutil.rmtree(tmp_path / "pqd", ignore_errors=True)
        shell = ["bash", "-e", "-c", install]
        environment = given | {"PQD_COMMIT": commit}
        return subprocess.run(shell, env=environment, capture_output=True, check=False).returncode  # noqa: S603

    assert run(job["env"]["PQD_COMMIT"]) != 0, "nothing is installed until it is stated"
    assert not (tmp_path / "asked").exists()
    assert run(commits[0]) == 0
    assert (tmp_path / "pqd" / "requirements.lock").read_text(encoding="utf-8") == "reviewed"
    asked = (tmp_path / "asked").read_text(encoding="utf-8").splitlines()
    assert asked == [
        f"-m pip install --require-hashes -r {tmp_path}/pqd/requirements.lock",
        f"-m pip install --no-deps --no-build-isolation {tmp_path}/pqd",
    ]
    assert "hatchling==" in (ROOT / "requirements.lock").read_text(encoding="utf-8")


def test_the_workflow_is_one_that_github_accepts() -> None:
    found = workflow()
    # YAML 1.1 reads the key "on" as true.
    assert found[True]["push"]["paths"]
    for step in found["jobs"]["check"]["steps"]:
        assert ("run" in step) != ("uses" in step)
        assert re.fullmatch(r"[\w./-]+@v\d+", step.get("uses", "a/b@v1"))
