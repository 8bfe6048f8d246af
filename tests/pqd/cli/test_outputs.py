"""Renderings beside the terminal report: every command writes them alike."""

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from pqd.cli.outputs import Target, Targets
from reports.html import MOST_ROWS

Ran = tuple[int, str, str]
Command = Callable[..., Ran]

SQL = "SELECT COUNT(*) FROM D WHERE age > 2"
SPEC = """
[private]
path = "private.csv"
[synthetic.copy]
path = "copy.csv"
[[check]]
id = "some"
sql = "SELECT COUNT(*) FROM D WHERE age > 2"
tau = 5
epsilon = 1
on_undecided = "pass"
severity = "warn"
"""
TERMS = ["-q", SQL, "--tau", "5", "--epsilon", "1"]
REPORTS: dict[str, list[str]] = {
    "audit": ["audit", "private.csv", "copy.csv", *TERMS],
    "plan": ["plan", "copy.csv", *TERMS],
    "compare": ["compare", "private.csv", "a=copy.csv", *TERMS],
    "release": ["release", "private.csv", "copy.csv", "-q", SQL, "--total-epsilon", "1"],
    "check": ["check", "audit.toml"],
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, modulus in (("private", 7), ("copy", 6)):
        frame = pd.DataFrame({"age": [float(n % modulus) for n in range(40)]})
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "audit.toml").write_text(SPEC, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return tmp_path


@pytest.mark.parametrize("name", REPORTS)
def test_each_kind_is_written_by_either_option(name: str, folder: Path, command: Command) -> None:
    named = ["--json", "1.json", "--markdown", "1.md", "--html", "1.html"]
    listed = ["json=2.json", "markdown=2.md", "html=2.html"]
    outputs = [word for text in listed for word in ("--output", text)]
    code, out, err = command(*REPORTS[name], *named, *outputs)
    assert (code, err) == (0, "")
    assert out
    for suffix in ("json", "md", "html"):
        one, other = (folder / f"{n}.{suffix}" for n in (1, 2))
        assert one.read_text(encoding="utf-8") == other.read_text(encoding="utf-8") != ""
    assert json.loads((folder / "1.json").read_text(encoding="utf-8"))["kind"] == name


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("options", [["--json", "-"], ["--output", "json=-"]])
def test_standard_output_has_one_rendering_alone(
    name: str, options: list[str], command: Command
) -> None:
    code, out, err = command(*REPORTS[name], *options)
    assert (code, err) == (0, "")
    assert json.loads(out)["kind"] == name


@pytest.mark.parametrize("name", REPORTS)
def test_github_gets_the_summary_of_the_step(
    name: str, folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = folder / "summary.md"
    summary.write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    code, out, err = command(
        *REPORTS[name], "--output", "github", "--markdown", "own.md", "--json", "-"
    )
    assert code == 0
    json.loads(out)
    told = summary.read_text(encoding="utf-8")
    assert told == "before\n" + (folder / "own.md").read_text(encoding="utf-8")
    # Only a spec has lines that an annotation can point at.
    assert err == "" or name == "check"


@pytest.mark.parametrize("name", REPORTS)
def test_github_without_a_summary_says_so(name: str, command: Command) -> None:
    code, out, err = command(*REPORTS[name], "--output", "github")
    assert code == 0
    assert out
    assert len(err.splitlines()) == 1
    assert "GITHUB_STEP_SUMMARY is not set" in err
    assert ("annotations alone" in err) == (name == "check")


@pytest.mark.parametrize("name", REPORTS)
def test_the_help_names_the_kinds_of_the_command(name: str, command: Command) -> None:
    words = command(name, "--help")[1]
    assert "markdown=FILE" in words
    assert ("junit=FILE" in words) == (name == "check")


REFUSED: dict[str, tuple[list[str], str]] = {
    "an unknown kind": (["--output", "pdf=x"], "output 'pdf=x' is not understood"),
    "no file": (["--output", "json="], "output 'json=' is not understood"),
    "no kind": (["--output", "x.json"], "output 'x.json' is not understood"),
    "a file for github": (["--output", "github=x"], "output 'github=x' is not understood"),
    "one place": (["--json", "x", "--output", "html=x"], "two outputs go to the same place"),
    "standard output twice": (["--html", "-", "--output", "json=-"], "to the same place"),
    "an input": (["--output", "json=audit.toml"], "is an input of this run"),
    "a table": (["--output", "json=private.csv"], "named like a table"),
    "no folder": (["--output", "json=no/x.json"], "there is no such folder"),
}


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("label", REFUSED)
def test_a_place_that_cannot_be_is_refused_before_anything_is_spent(
    label: str, name: str, folder: Path, command: Command
) -> None:
    options, message = REFUSED[label]
    if label == "an input" and name != "check":
        options, message = ["--output", "json=copy.csv"], "named like a table"
    code, out, err = command(*REPORTS[name], *options)
    assert (code, out) == (2, "")
    assert message in err
    assert not list(folder.glob("*.sqlite"))


@pytest.mark.parametrize("name", REPORTS)
def test_junit_is_for_checks(name: str, folder: Path, command: Command) -> None:
    code, _, err = command(*REPORTS[name], "--output", "junit=x.xml")
    assert (code, (folder / "x.xml").exists()) == ((0, True) if name == "check" else (2, False))
    assert ("is for the checks of a spec" in err) == (name != "check")


def test_a_page_of_very_many_queries_has_no_curves() -> None:
    page, text = Targets((Target("html", "x.html"),)), Targets((Target("json", "x.json"),))
    assert page.has_curves(MOST_ROWS)
    assert not page.has_curves(MOST_ROWS + 1)
    assert not text.has_curves(1)
