"""How much the terminal shows, and one verdict of an earlier run, which must spend nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from pqd.cli.display import DisplayOptions
from pqd.reports.models.audit import AuditReport

if TYPE_CHECKING:
    from pqd.reports.models.audit import Verdict
    from pqd.reports.models.check import CheckReport

Ran = tuple[int, str, str]
Command = Callable[..., Ran]

GROUPS = "SELECT COUNT(*) FROM D GROUP BY sex"
COUNT = "SELECT COUNT(*) FROM D WHERE age > 2"
SPEC = f"""
[private]
path = "private.csv"
[synthetic.copy]
path = "copy.csv"
[defaults]
tau = 5
epsilon = 1
on_undecided = "pass"
severity = "warn"
[[check]]
id = "some"
sql = "{COUNT}"
[[check]]
id = "groups"
sql = "{GROUPS}"
"""
SHARED = SPEC.replace("epsilon = 1\n", "") + "[shared_budget]\ntotal_epsilon = 1\n"
TABLES = "private.csv", "copy.csv"
QUERIES = "-q", COUNT, "-q", GROUPS, "--tau", "5"
BINS = "-q", "SELECT COUNT(*) FROM D", "--bins", "age=0:6:3", "--tau", "5", "--epsilon", "1"
# Each command, an id that it has, and a word of what is known of it.
RUNS: dict[str, tuple[list[str], str, str]] = {
    "audit": (["audit", *TABLES, *QUERIES, "--epsilon", "1"], "q1", "decided by"),
    "audit-group": (["audit", *TABLES, *QUERIES, "--epsilon", "1"], "q2[sex = f]", "decided by"),
    "audit-block": (["audit", *TABLES, *QUERIES, "--epsilon", "1"], "q2", "per group"),
    "audit-bin": (["audit", *TABLES, *BINS], "q1[age in [0, 3)]", "decided by"),
    "audit-shared": (["audit", *TABLES, *QUERIES, "--total-epsilon", "1"], "q1", "decided by"),
    "compare": (["compare", "private.csv", "a=copy.csv", *QUERIES, "--epsilon", "1"], "q1", "esti"),
    "release": (
        ["release", *TABLES, "-q", COUNT, "-q", GROUPS, "--total-epsilon", "1"], "q1", "together"
    ),
    "check": (["check", "audit.toml"], "some", "decided by"),
    "check-groups": (["check", "audit.toml"], "groups", "2 groups of"),
    "check-shared": (["check", "shared.toml"], "some", "decided by"),
    "profile": (["profile", *TABLES, "--anyway"], "age,sex", "total variation"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, modulus in (("private", 7), ("copy", 6)):
        ages = [float(place % modulus) for place in range(40)]
        sexes = ["fm"[place % 2] for place in range(40)]
        frame = pd.DataFrame({"age": ages, "sex": sexes})
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "audit.toml").write_text(SPEC, encoding="utf-8")
    (tmp_path / "shared.toml").write_text(SHARED, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PQD_LEDGER", str(tmp_path / "ledger.sqlite"))
    return tmp_path


@pytest.mark.parametrize("run", RUNS)
def test_one_verdict_is_shown_again_and_nothing_is_spent(
    run: str, folder: Path, command: Command
) -> None:
    arguments, name, word = RUNS[run]
    ledger = folder / "ledger.sqlite"
    code, out, err = command(*arguments, "--explain", name)
    assert (code, out) == (2, "")
    assert "without --explain first. Nothing was spent." in " ".join(err.split())
    assert not ledger.exists()
    code, out, err = command(*arguments)
    assert (code, err) == (0, "")
    before = ledger.read_bytes()
    code, out, err = command(*arguments, "--explain", name)
    assert (code, err) == (0, "")
    assert word in out
    assert ledger.read_bytes() == before


@pytest.mark.parametrize("run", ["audit-shared", "check-shared"])
def test_curves_are_computed_of_what_is_explained_alone(
    run: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Queries that share a budget are replayed together, but the others are not shown."""
    reports: list[Any] = []
    monkeypatch.setattr(DisplayOptions, "show", lambda _, report: reports.append(report))
    arguments, name, _ = RUNS[run]
    assert command(*arguments)[0] == 0
    assert command(*arguments, "--explain", name)[0] == 0
    before, after = [
        {v.id: v for v in getattr(report, "verdicts", ()) or verdicts_in(report)}
        for report in reports
    ]
    assert len(after) == 3
    assert [each for each in after if any(c.curve for c in after[each].candidates)] == [name]
    for each in set(after) - {name}:
        # A threshold that no table shows is found once it is read, by facts of another class.
        assert asdict(after[each]) == asdict(replace(before[each], replayed=True))


def verdicts_in(report: AuditReport | CheckReport) -> list[Verdict]:
    if isinstance(report, AuditReport):
        return list(report.verdicts)
    return [verdict for check in report.checks for verdict in check.verdicts]


def test_the_verdict_is_the_one_that_was_paid_for(command: Command) -> None:
    arguments = ["audit", *TABLES, "-q", COUNT, "--tau", "5", "--epsilon", "0.01"]
    row = re.search(r"^ *(yes|NO|\?) +q1 ", command(*arguments)[1], re.MULTILINE)
    assert row
    shown = command(*arguments, "--explain", "q1")[1]
    assert shown.startswith(row[1].upper())
    assert "replayed" in shown.splitlines()[0]


def test_what_was_not_asked_is_not_drawn(folder: Path, command: Command) -> None:
    """One verdict is known, another is not: an explanation neither draws nor charges it."""
    terms = ["--tau", "5", "--epsilon", "1"]
    assert command("audit", *TABLES, "-q", COUNT, *terms)[0] == 0
    before = (folder / "ledger.sqlite").read_bytes()
    queries = ["-q", COUNT, "-q", "SELECT COUNT(*) FROM D WHERE age > 4"]
    assert command("audit", *TABLES, *queries, *terms, "--explain", "q1")[0] == 0
    # At another tolerance it is the same noisy answer.
    assert command("audit", *TABLES, *queries, "--tau", "6", *terms[2:], "--explain", "q1")[0] == 0
    # At another budget, or by another decider, it is another verdict.
    for changed in (
        [*queries, *terms, "--explain", "q2"],
        [*queries, "--tau", "5", "--epsilon", "2", "--explain", "q1"],
        [*queries, *terms, "--decider", "inv_count", "--explain", "q1"],
    ):
        code, out, err = command("audit", *TABLES, *changed)
        assert (code, out) == (2, "")
        assert "has no such verdict" in err
    assert (folder / "ledger.sqlite").read_bytes() == before


def test_an_explanation_leaves_the_files_of_the_run_as_they_are(
    folder: Path, command: Command
) -> None:
    """The command is repeated as it was typed; a run tells what it has written."""
    arguments = ["audit", *TABLES, *QUERIES, "--epsilon", "1", "--html", "p.html"]
    arguments += ["--output", "json=r.json"]
    written = "Written: p.html (the report as a page), r.json (all of it as JSON).\n"
    assert command(*arguments)[1].endswith(written)
    before = {name: (folder / name).read_bytes() for name in ("p.html", "r.json")}
    code, out, err = command(*arguments, "--explain", "q1")
    assert (code, "Written" in out) == (0, False)
    assert err == "pqd: --explain shows one verdict alone, so p.html, r.json stay as they are\n"
    assert {name: (folder / name).read_bytes() for name in before} == before
    assert "Written" not in command(*arguments, "--quiet")[1]


def test_a_spent_limit_does_not_hide_what_was_paid_for(command: Command) -> None:
    arguments = ["audit", *TABLES, "-q", COUNT, "--tau", "5", "--epsilon", "1"]
    assert command(*arguments)[0] == 0
    assert command("ledger", "limit", "private.csv", "0.5")[0] == 0
    assert command(*arguments, "--explain", "q1")[0] == 0


@pytest.mark.parametrize(
    ("run", "code"),
    [("audit", 5), ("compare", 5), ("release", 5), ("check", 5), ("profile", 2)],
)
def test_an_id_that_is_not_there_is_refused(run: str, code: int, command: Command) -> None:
    arguments, _, _ = RUNS[run]
    assert command(*arguments)[0] == 0
    found, out, err = command(*arguments, "--explain", "nothing")
    assert (found, out) == (code, "")
    assert "nothing" in err


def test_a_plan_is_explained_without_a_ledger(folder: Path, command: Command) -> None:
    arguments = ["plan", "copy.csv", *QUERIES, "--epsilon", "1"]
    code, out, err = command(*arguments, "--explain", "q2[sex = f]")
    assert (code, err) == (0, "")
    assert "> noisy_count" in out
    assert command(*arguments, "--explain", "q9")[0] == 5
    assert not (folder / "ledger.sqlite").exists()


@pytest.mark.parametrize(
    ("run", "more"),
    [
        *(("audit", [option, "--quiet"]) for option in ("--all", "--verbose")),
        *(("audit", ["--explain", "q1", option]) for option in ("--quiet", "--fresh")),
        ("audit", ["--explain", "q1", "--json", "-"]),
        ("profile", ["--explain", "age", "--html", "-"]),
        ("release", ["--explain", "q1", "--table", "x.parquet"]),
        ("check", ["--explain", "some", "--dry-run"]),
        ("check", ["--explain", "some", "--only", "some"]),
        ("check", ["--explain", "some", "--baseline", "b.json", "--update-baseline"]),
    ],
)
def test_what_contradicts_each_other_is_refused_before_anything(
    run: str, more: list[str], folder: Path, command: Command
) -> None:
    code, out, err = command(*RUNS[run][0], *more)
    assert (code, out) == (2, "")
    assert re.search("contradict each other|leave .* out", " ".join(err.split()))
    assert not (folder / "ledger.sqlite").exists()


def test_of_two_that_ask_for_more_the_larger_is_shown(command: Command) -> None:
    arguments, _, _ = RUNS["audit"]
    assert command(*arguments)[0] == 0
    verbose = command(*arguments, "--verbose")
    assert command(*arguments, "--all", "--verbose") == verbose
    explained = command(*arguments, "--explain", "q1")
    assert explained[0] == 0
    for option in ("--all", "--verbose"):
        assert command(*arguments, option, "--explain", "q1") == explained


def test_a_ranking_has_nothing_to_explain(command: Command) -> None:
    options = ["--total-epsilon", "1", "--explain", "age"]
    code, _, err = command("compare", "private.csv", "a=copy.csv", *options)
    assert code == 2
    assert "without queries give --marginals" in err


def test_quiet_shows_failures_and_all_every_line(command: Command) -> None:
    queries = [part for age in range(20) for part in ("-q", f"{COUNT} AND age > {age}")]
    arguments = ["audit", *TABLES, *queries, "--tau", "1000", "--epsilon", "1"]
    brief, all_, quiet = (
        command(*arguments, *option)[1] for option in ([], ["--all"], ["--quiet"])
    )
    assert "and 4 more   (--all lists them)" in brief
    assert len(re.findall("^ *yes ", brief, re.MULTILINE)) == 10 + 1
    assert len(re.findall("^ *yes ", all_, re.MULTILINE)) == 20
    assert quiet.startswith("20 trusted, 0 not; by noisy_count. In all epsilon ")
