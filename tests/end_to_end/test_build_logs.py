"""Nothing that a user or a table names is obeyed by the runner of a build that reads pqd's output.

The runner is modelled here: GitHub's obeys a line that begins with ``::``, blanks aside, and
``##[`` wherever it stands; Azure's and TeamCity's obey ``##vso[`` and ``##teamcity[``.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import pqd
from pqd.reports.escape import inert

Ran = tuple[int, str, str]
Command = Callable[..., Ran]

STOP, MARK = "::stop-commands::all", "##[error]none##vso[task.complete]"
PUBLIC, SECRET = f"{STOP}{MARK}.csv", f"{MARK}.csv"
ODD = f"SELECT COUNT(*) FROM D WHERE name <> '{MARK}' AND name <> 'x\n{STOP}'\n"
GROUPED = "SELECT COUNT(*) FROM D GROUP BY name"
TERMS = ("--tau", "5", "--epsilon", "1")


def obeyed(text: str) -> list[str]:
    """Lines that a runner would take for a command."""
    lines = re.split(r"[\r\n]", text)
    marks = ("##[", "##vso[", "##teamcity[")
    return [n for n in lines if n.lstrip().startswith("::") or any(m in n for m in marks)]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder whose every name is a command."""
    monkeypatch.chdir(tmp_path)
    # A narrow terminal folds long words, so that a line may begin anywhere in them.
    monkeypatch.setenv("COLUMNS", "24")
    names = [STOP, MARK, f"x\n{STOP}", f"{'y' * 18} {STOP}"]
    pd.DataFrame({"age": range(80), "name": names * 20}).to_csv(PUBLIC, index=False)
    pd.DataFrame({"age": range(1, 81), "name": names * 20}).to_csv(SECRET, index=False)
    check = f"[[check]]\nid = '{{}}'\nsql = '''{ODD}'''\nexpect = \"{{}}\"\n"
    Path("audit.toml").write_text(
        f"[private]\npath = '{SECRET}'\n[synthetic.s]\npath = '{PUBLIC}'\n"
        '[budget]\nepsilon = 9\n[defaults]\ntau = 5\nepsilon = 1\nseverity = "error"\n'
        + check.format(STOP, "far")
        + check.format(MARK, "close")
        + f"[[check]]\nid = '{STOP} 2'\nsql = \"{GROUPED}\"\n"
        + f"[[check]]\nid = '{MARK} 3'\nsql = 'SELECT {STOP} FROM {MARK}'\n",
        encoding="utf-8",
    )


COMMANDS: dict[str, list[str]] = {
    "audit": ["audit", SECRET, PUBLIC, "-q", ODD, "-q", GROUPED, *TERMS, "--verbose"],
    "markdown": ["audit", SECRET, PUBLIC, "-q", ODD, *TERMS, "--markdown", "-"],
    "html": ["audit", SECRET, PUBLIC, "-q", ODD, *TERMS, "--html", "-"],
    "plan": ["plan", PUBLIC, "-q", ODD, *TERMS],
    "compare": ["compare", SECRET, f"{STOP}={PUBLIC}", f"{MARK}={PUBLIC}", "-q", ODD, *TERMS],
    "release": ["release", SECRET, PUBLIC, "-q", ODD, "--total-epsilon", "1"],
    "check": ["check", "audit.toml", "--verbose"],
    "dry run": ["check", "audit.toml", "--dry-run"],
    "a query that is none": ["audit", SECRET, PUBLIC, "-q", f"{STOP}\n{MARK}", *TERMS],
    "no such file": ["audit", SECRET, f"\n{STOP}{MARK}", "-q", ODD, *TERMS],
    "no such option": ["audit", f"--{MARK}"],
    "no such command": [f"{STOP}{MARK}"],
    "no such check": ["check", "audit.toml", "--only", f"{STOP}{MARK}"],
}


@pytest.mark.parametrize("label", COMMANDS)
def test_no_line_of_any_command_is_obeyed(label: str, command: Command) -> None:
    code, out, err = command(*COMMANDS[label])
    assert code in {0, 1, 2, 5}
    assert "none" in out + err or "stop-commands" in out + err, "the names are shown"
    assert obeyed(out) == obeyed(err) == []


@pytest.mark.parametrize("label", ["audit", "html", "a query that is none"])
def test_a_twin_that_writes_text_as_it_is_is_caught(
    label: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pqd.cli.streams.inert", lambda text: text)
    _, out, err = command(*COMMANDS[label])
    assert obeyed(out + err)


@pytest.mark.parametrize("rest", [[], ["--output", "json=-"]])
def test_only_annotations_are_obeyed(
    rest: list[str], command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    code, out, err = command("check", "audit.toml", "--output", "github", *rest)
    assert code == 2
    found = obeyed(err if rest else out)
    assert [line.split(" ")[0] for line in found] == ["::error"] * (len(found) - 1) + ["::notice"]
    assert len(found) >= 3
    assert not any(mark in line for line in found for mark in ("##[", "##vso["))
    if rest:
        assert obeyed(out) == []
        names = {check["id"] for check in json.loads(out)["checks"]}
        assert names == {STOP, MARK, f"{STOP} 2", f"{MARK} 3"}, "JSON says what it said"


def test_a_spec_that_is_refused_is_annotated(command: Command) -> None:
    text = Path("audit.toml").read_text(encoding="utf-8")
    Path("audit.toml").write_text(f"'{STOP}{MARK}' = 1\n{text}", encoding="utf-8")
    code, out, err = command("check", "audit.toml", "--output", "github")
    assert code == 2
    # The name of the key, and a mistake of the checks.
    assert [line.split(" ")[0] for line in obeyed(out)] == ["::error", "::error", "::notice"]
    assert obeyed(err) == []


def test_a_report_that_a_script_prints_is_not_obeyed() -> None:
    report = pqd.audit(SECRET, PUBLIC, [ODD, GROUPED], tau=5, epsilon=1)
    assert obeyed(str(report)) == []
    assert obeyed(str(pqd.check("audit.toml"))) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("::error::x", "\\u003a:error::x"),
        ("a\n \t::x\r::y", "a\n \t\\u003a:x\r\\u003a:y"),
        ("a::x", "a::x"),
        (": :x", ": :x"),
        ("###[x]##VSO[y]", "##\\u0023[x]#\\u0023VSO[y]"),
        ("# ## [x]", "# ## [x]"),
    ],
)
def test_what_is_written_out(text: str, expected: str) -> None:
    assert inert(text) == expected
    assert obeyed(inert(text)) == []
