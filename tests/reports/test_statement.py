"""Statement on a ledger: what was guaranteed beforehand is told as it was."""

from dataclasses import replace
from fractions import Fraction

import pytest

from pqd.reports.models.ledger import DataSetFacts, LimitFacts, StatementReport
from pqd.reports.writers.terminal import terminal_text
from tests.support.ledger_reports import CENSUS, RUNS, STATEMENT


def limit(
    day: str, epsilon: str | None, delta: str | None = "0", data_set: int | None = None
) -> LimitFacts:
    return LimitFacts(
        time=f"{day}T00:00:00+00:00",
        data_set=data_set,
        period=None,
        epsilon=None if epsilon is None else Fraction(epsilon),
        delta=None if delta is None else Fraction(delta),
    )


def told(*limits: LimitFacts, data_set: DataSetFacts = CENSUS) -> str:
    report: StatementReport = replace(STATEMENT, data_sets=(data_set,), limits=limits)
    return " ".join(terminal_text(report, 80).split())


@pytest.mark.parametrize(
    ("limits", "raised"),
    [
        ([limit("2026-01-01", "4")], 0),
        ([limit("2026-01-01", "4"), limit("2026-01-02", "2")], 0),
        ([limit("2026-01-01", "4"), limit("2026-01-02", "5")], 1),
        ([limit("2026-01-01", "4"), limit("2026-01-02", None, None)], 1),
        ([limit("2026-01-01", "4"), limit("2026-01-02", "4", "1/10")], 1),
        ([limit("2026-01-01", "4"), limit("2026-01-02", "5", data_set=1)], 0),
        ([limit("2026-01-01", "4"), limit("2026-01-02", "5", data_set=2)], 0),
        ([limit("2026-01-01", "4"), limit("2026-01-02", "2"), limit("2026-01-03", "3")], 1),
    ],
)
def test_a_raised_limit_is_told(limits: list[LimitFacts], raised: int) -> None:
    text = told(*limits)
    assert ("Limits were raised 1 time;" in text) == (raised == 1)
    assert ("Limits were raised" in text) == (raised > 0)
    assert "after 1 run" not in text


def test_runs_before_the_first_limit_are_told() -> None:
    assert "The first limit was set on 2026-01-06, after 1 run." in told(limit("2026-01-06", "4"))
    assert "The first limit was set on 2027-01-01, after 3 runs." in told(limit("2027-01-01", "4"))


@pytest.mark.parametrize(
    ("unit", "stated", "words"),
    [
        (None, False, "or names a column of persons (--unit)"),
        (None, True, "Each row is one person, as the caller of each run has stated."),
        ("patient", False, 'all rows with one value of the column "patient" are one person'),
    ],
)
def test_who_is_protected(unit: str | None, stated: bool, words: str) -> None:
    run = replace(RUNS[0], unit=unit, row_is_person=stated)
    version = replace(CENSUS.versions[0], runs=(run,))
    assert words in told(data_set=replace(CENSUS, versions=(version,), rows_per_person=None))


@pytest.mark.parametrize(
    ("sources", "words"),
    [
        (("stated", None), "were stated by the callers."),
        (("copy", None), "are those of the copies;"),
        (("copy", "stated"), "are in part those of the copies, in part stated by the callers;"),
        (("half stated",), "are in part those of the copies, in part stated by the callers;"),
        ((None,), ""),
    ],
)
def test_whence_bounds_come(sources: tuple[str | None, ...], words: str) -> None:
    asked = tuple(replace(RUNS[0].measurements[0], bounds=source) for source in sources)
    version = replace(CENSUS.versions[0], runs=(replace(RUNS[0], measurements=asked),))
    text = told(data_set=replace(CENSUS, versions=(version,)))
    assert words in text
    assert ("The bounds to which values are cut" in text) == bool(words)
