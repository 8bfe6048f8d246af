"""Pipelines to copy: the action and GitLab's job install a stated commit, and run as written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PINNED = "python -m pip install --quiet --require-hashes -r"
NOT_STATED = "0" * 40
# Stands for Python: notes what it is asked for, and makes a folder with itself for `-m venv`.
PYTHON = """#!/bin/sh
echo "$0 $@" >> "$ASKED"
if [ "$2" = venv ]; then mkdir -p "$3/bin" && cp "$0" "$3/bin/python"; fi
"""
# The second spec of a job; its tolerance is wide, too.
RISK = f"""
private.path = "{ROOT}/samples/census_private.parquet"
synthetic.copy.path = "{ROOT}/samples/census_synthetic.parquet"
held_out.path = "{ROOT}/samples/census_flat.parquet"
budget.epsilon = 10
risk.total_epsilon = 1

[[check]]
id = "copied"
risk = "copied"
tau = "50%"
"""


def read(name: str) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))
    return found


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """Folder of a job: the sample spec as audit.toml, and Python that installs nothing.

    The job draws noise of its own: the tolerance is so wide that none makes a check fail.
    """
    spec = (ROOT / "samples" / "audit.toml").read_text(encoding="utf-8")
    spec = spec.replace('path = "census', f'path = "{ROOT}/samples/census')
    assert 'tau = "10%"' in spec
    spec = spec.replace('tau = "10%"', 'tau = "60%"')
    (tmp_path / "audit.toml").write_text(spec, encoding="utf-8")
    (tmp_path / "bin").mkdir()
    for name in ("python", "python3"):
        place = tmp_path / "bin" / name
        place.write_text(PYTHON, encoding="utf-8")
        place.chmod(0o700)
    return tmp_path


def shell(job: Path, script: str, **environment: str) -> tuple[int, str]:
    """Exit code and output of a script, as runners run it."""
    path = [str(job / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
    done = subprocess.run(  # noqa: S603 - the script is the project's own
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],  # noqa: S607
        cwd=job,
        env={"HOME": str(job), "ASKED": str(job / "asked"), "PATH": ":".join(path), **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def git(*arguments: str, cwd: Path) -> str:
    owner = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(  # noqa: S603 - the arguments are the test's own
        ["git", *owner, *arguments],  # noqa: S607 - as in the pipelines
        cwd=cwd,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def asked(job: Path) -> list[str]:
    """What Python was asked for, the job's folder left out."""
    return (job / "asked").read_text(encoding="utf-8").replace(f"{job}/", "").splitlines()


def test_the_action_runs(job: Path) -> None:
    action = read("action.yml")
    given = {name: facts.get("default") for name, facts in action["inputs"].items()}
    given["ledger"] = str(job / "ledger.sqlite")
    values = {f"${{{{ inputs.{name} }}}}": str(value) for name, value in given.items()}
    values["${{ github.action_path }}"] = "the action's folder"
    runner = {"RUNNER_TEMP": str(job), "GITHUB_STEP_SUMMARY": str(job / "summary.md")}
    runner |= {name: str(job / name) for name in ("GITHUB_PATH", "GITHUB_OUTPUT")}
    shown = ""
    for step in action["runs"]["steps"]:
        if "run" in step:
            stated = {name: values[value] for name, value in step["env"].items()}
            assert "${{" not in step["run"], "what is stated reaches a shell as a variable alone"
            code, out = shell(job, step["run"], **runner, **stated)
            assert code == 0, (step["name"], out)
            shown += out
    assert asked(job) == [
        "bin/python -m venv pqd",
        f"pqd/bin/{PINNED} the action's folder/requirements-run.lock",
        "pqd/bin/python -m pip install --quiet --no-deps --no-build-isolation the action's folder",
    ]
    assert (job / "GITHUB_PATH").read_text(encoding="utf-8") == f"{job}/pqd/bin\n"
    outputs = (job / "GITHUB_OUTPUT").read_text(encoding="utf-8").splitlines()
    stored = dict(line.split("=", 1) for line in outputs)
    assert set(stored) == set(action["outputs"])
    assert all(Path(path).stat().st_size for path in stored.values())
    assert (job / "summary.md").stat().st_size
    assert "::notice" in shown


def test_the_workflow_runs_the_action_at_a_stated_commit() -> None:
    workflow, action = read("docs/github-actions.yml"), read("action.yml")
    # YAML 1.1 reads the key "on" as true.
    assert workflow[True]["push"]["paths"]
    steps = workflow["jobs"]["check"]["steps"]
    _, source, ours, attacks, kept = steps
    assert source["with"]["ref"] == NOT_STATED
    assert ours["uses"] == f"./{source['with']['path']}"
    assert set(ours["with"]) <= set(action["inputs"])
    assert attacks["env"]["PQD_LEDGER"] == ours["with"]["ledger"]
    assert "hashFiles('risk.toml')" in attacks["if"]
    written = re.findall(r"html=\$RUNNER_TEMP/([\w.]+)", attacks["run"])
    kept_files = kept["with"]["path"].splitlines()
    assert [f"${{{{ runner.temp }}}}/{name}" for name in written] == kept_files[2:]
    named = re.findall(r"steps\.pqd\.outputs\.(\w+)", kept["with"]["path"])
    assert set(named) == set(action["outputs"])
    for step in (*steps, *action["runs"]["steps"]):
        assert ("run" in step) != ("uses" in step)
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}|\./\.pqd", step.get("uses", "./.pqd"))


def test_the_job_of_gitlab_runs(job: Path) -> None:
    """At the commit that it states, of a checkout that has gone on since."""
    ((_, gitlab),) = read("docs/gitlab-ci.yml").items()
    source = job / "source"
    source.mkdir()
    git("init", "--quiet", cwd=source)
    commits = []
    for text in ("reviewed", "newer"):
        (source / "requirements-run.lock").write_text(text, encoding="utf-8")
        git("add", "requirements-run.lock", cwd=source)
        git("commit", "--quiet", "-m", text, cwd=source)
        commits.append(git("rev-parse", "HEAD", cwd=source))
    stated = gitlab["variables"] | {"PQD_SOURCE": str(source)}
    stated["PQD_LEDGER"] = str(job / "ledger.sqlite")
    script = "\n".join([*gitlab["before_script"], *gitlab["script"]])
    (job / "risk.toml").write_text(RISK, encoding="utf-8")
    assert stated["PQD_COMMIT"] == NOT_STATED
    assert shell(job, script, **stated)[0] != 0, "nothing is installed until it is stated"
    assert not (job / "asked").exists()
    code, out = shell(job, script, **stated | {"PQD_COMMIT": commits[0]})
    assert code == 0, out
    installed = (job / ".pqd" / "requirements-run.lock").read_text(encoding="utf-8")
    assert installed == "reviewed"
    assert asked(job)[1:] == [
        f".pqd/.venv/bin/{PINNED} .pqd/requirements-run.lock",
        ".pqd/.venv/bin/python -m pip install --quiet --no-deps --no-build-isolation ./.pqd",
    ]
    assert ET.parse(job / gitlab["artifacts"]["reports"]["junit"]).getroot().tag == "testsuites"  # noqa: S314
    for page in gitlab["artifacts"]["paths"]:
        assert (job / page).stat().st_size


def pinned(lock: str) -> set[str]:
    """Libraries of a lock with their versions."""
    return set(re.findall(r"^[\w.-]+==\S+", (ROOT / lock).read_text("utf-8"), flags=re.MULTILINE))


def test_what_the_program_needs_is_pinned_as_it_is_tested() -> None:
    run = pinned("requirements-run.lock")
    assert pinned("requirements-base.lock") <= run <= pinned("requirements.lock")
    # The build backend too, so that nothing unpinned is fetched.
    assert {"hatchling", "opendp", "pandas", "matplotlib", "scikit-learn", "dp-accounting"} <= {
        each.partition("==")[0] for each in run
    }
    assert not {"pytest", "mypy", "zensical"} & {each.partition("==")[0] for each in run}
