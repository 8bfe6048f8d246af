"""Standings: one table, in which each subject is complete, and which nothing repeats."""

import ast
from pathlib import Path

import pytest

from pqd.reports.models.standings import (
    ALARMS,
    ATTACKS,
    CHANCES,
    CHECKS,
    COLUMNS,
    DISTANCES,
    FINDINGS,
    OUTLOOKS,
    PLANS,
    VERDICTS,
    Standing,
    passes_first,
    standing_of,
)

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "reports" / "models" / "standings.py"
SUBJECTS = (VERDICTS, DISTANCES, PLANS, CHECKS, CHANCES, OUTLOOKS)
# "undecided" is a status of a check too, "within" the title of a column, "?" an unknown number.
OWN = {*Standing, *(each.badge.text for each in Standing)} - {"undecided", "within", "?", "yes"}
# Words of a check's counts, of a release's page, and of an attack are no standings.
GATES = {"rate", "broken", "planned", "failed", "passed", "known", "not told"}


def constants(path: Path) -> set[str]:
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def test_no_other_file_has_names_or_marks_of_its_own() -> None:
    files = [*(ROOT / "reports").rglob("*.py"), *(ROOT / "pqd" / "commands").glob("*.py")]
    for path in files:
        assert path == TABLE or not constants(path) & (OWN - GATES), path


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_subject_stands_worst_first_and_passes_last(subject: tuple[Standing, ...]) -> None:
    places = {"failed": 0, "open": 1, "passed": 2}
    fates = [places[each.fate] for each in subject]
    assert fates == sorted(fates)
    assert subject[-1].badge.tone == "yes"
    assert passes_first(subject)[0] is subject[-1]
    assert len({each.badge for each in subject}) == len(subject)


def test_every_standing_has_a_subject() -> None:
    assert set().union(*SUBJECTS, ALARMS, ATTACKS, FINDINGS, COLUMNS) == set(Standing)


@pytest.mark.parametrize("subject", [VERDICTS, DISTANCES])
def test_a_verdict_counts_beyond_what_noise_may_do(subject: tuple[Standing, ...]) -> None:
    for answer in ("yes", "no"):
        assert standing_of(answer, subject).answer == answer
        assert standing_of(answer, subject, conclusive=False) is Standing.UNDECIDED


def test_what_fails_a_build_is_an_error_of_it() -> None:
    levels = {each: (each.level, each.tag, each.exit_code) for each in CHECKS}
    assert levels == {
        Standing.BROKEN: ("error", "error", 2),
        Standing.FAILED: ("error", "failure", 1),
        Standing.UNSURE: ("error", "failure", 1),
        Standing.NARROW: ("warning", "skipped", 0),
        Standing.WARNED: ("warning", "", 0),
        Standing.UNTOLD: ("", "skipped", 0),
        Standing.KNOWN: ("warning", "", 0),
        Standing.PLANNED: ("", "skipped", 0),
        Standing.PASSED: ("", "", 0),
    }
