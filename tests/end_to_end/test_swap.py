"""Two private tables, the same noisy outcome: not one byte of what pqd says may differ.

``tests/support/swap_rows.py`` holds what is compared: one command, one workload in each row.
"""

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest

from pqd.commands.audit import run_audit
from pqd.engine.scan_plan import PrivacyUnit
from pqd.errors import PqdError
from pqd.parameters import Parameters
from pqd.sql.query import Query
from pqd.sql.workload_files import as_queries
from tests.support.noises import Absent
from tests.support.private_tables import (
    AGE_TABLES,
    CANARY,
    PAY,
    PAY_FILES,
    PAY_TABLES,
    PERSON_TABLES,
    PERSONS,
    WORKER_TABLES,
)
from tests.support.swap_rows import CANDIDATES, GROUPS, PEOPLE, STATED, SWAPS
from tests.support.swaps import (
    BUILD,
    EVERY,
    PAGES,
    RECORDS,
    RENDERINGS,
    SCREEN,
    audit,
    compare,
    profile,
)

# Reports that the records make: one bit is the same for both, answers below 0 are cut to it, and a
# noisy count that may be 0 leaves a mean untold.
ALIKE = {
    "audit by svt_sum": 1,
    "audit by svt_sum_plain": 1,
    "audit by r2t_sum": 1,
    "audit by r2t_sum_tight": 1,
    "audit by lm_mean": 1,
}
ALIKE |= {"release of range sums": 2}


def _renderings(name: str) -> int:
    return len(next(iter(SWAPS[name].records.values())))


# Of each command, which its name begins with, a swap in the most renderings.
AGAIN = {
    word: name for name in sorted(SWAPS, key=_renderings) for word in re.findall(r"^\w+", name)
}


@pytest.mark.parametrize("name", SWAPS)
def test_no_byte_depends_on_the_private_table(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """All tables under the first record; under each further one two that were not a pair yet."""
    swap = SWAPS[name]
    tables = list(swap.tables)
    assert len(tables) > 1
    reports = set()
    for place, (record, renderings) in enumerate(swap.records.items()):
        compared = tables if place == 0 else [tables[place - 1], tables[-place]]
        outcomes = {table: swap.ran(table, RECORDS[record]()) for table in compared}
        (_, first), *others = outcomes.items()
        said = first.said(renderings)
        for number, (table, other) in enumerate(others):
            # Renderings are functions of the report: of the same bytes they are made again once,
            # by one swap of each command.
            same = other.content == first.content and (
                place or number or name not in AGAIN.values()
            )
            assert same or other.said(renderings) == said, (record, table)
        assert all(said.values())
        for text in said.values():
            assert not any(secret in text for secret in swap.secrets)
        assert swap.words in said["text 0"]
        # What a ledger replays says so.
        assert "text 1" not in said or said["text 0"] != said["text 1"]
        reports.add(str(sorted(said.items())))
    # Each record reaches the report.
    assert len(reports) == ALIKE.get(name, len(swap.records))
    # Nothing is said but by reports and progress.
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", [name for name, swap in SWAPS.items() if swap.differing])
def test_without_noise_the_same_tables_do_differ(name: str) -> None:
    """The comparison would be worth nothing if these tables looked alike to every decider."""
    swap = SWAPS[name]
    (renderings, *_) = swap.records.values()
    said = [swap.said(table, Absent(), renderings) for table in swap.differing]
    for rendering in said[0].keys() - {"progress"}:
        # A notebook, and the one line of a verdict that is undecided, show little: two tables may
        # look alike there, and differ in the full text ("verbose").
        brief = {"text 0", *(["notebook 0"] if name.startswith("check") or "batch" in name else [])}
        least = 2 if rendering in brief else len(said)
        assert len({each[rendering] for each in said}) >= least, rendering


def test_every_rendering_and_every_table_is_compared() -> None:
    compared = {
        name for swap in SWAPS.values() for names in swap.records.values() for name in names
    }
    assert compared == set(RENDERINGS)
    tables = {id(table) for swap in SWAPS.values() for table in swap.tables.values()}
    for known in (PAY_TABLES, PAY_FILES, AGE_TABLES, PERSON_TABLES, WORKER_TABLES):
        assert tables >= {id(table) for table in known.values()}
    assert set(PAGES) | set(SCREEN) == set(EVERY) == set(RENDERINGS) - set(BUILD)


# Refusals -----------------------------------------------------------------------------------------

PAY_EXTRA, PERSONS_EXTRA = PAY.assign(extra=1), PERSONS.assign(extra=1)


def _of_pay(sql: str, decider: str = "auto") -> tuple[Any, Mapping[str, Any]]:
    return audit(PAY_EXTRA, sql, decider=decider), PAY_TABLES


def _of_persons(query: Query, unit: PrivacyUnit | None = None) -> tuple[Any, Mapping[str, Any]]:
    return audit(PERSONS_EXTRA, query, options={"unit": unit}), PERSON_TABLES


def _compared(sql: str, **options: Any) -> tuple[Any, Mapping[str, Any]]:
    return compare(CANDIDATES, sql, **options), PAY_TABLES


REFUSED = {
    "unknown column": _of_pay("SELECT COUNT(*) FROM D WHERE aeg > 1"),
    "column that is not private": _of_pay("SELECT SUM(extra) FROM D"),
    "decider of another aggregate": _of_pay("SELECT SUM(pay) FROM D", "lm_count"),
    "no median": _of_pay("SELECT MEDIAN(age) FROM D WHERE age > 99"),
    "no group": _of_persons(Query(f"SELECT COUNT(*) FROM D WHERE job = '{CANARY}' GROUP BY job")),
    "no such column": _of_persons(Query("SELECT COUNT(*) FROM D GROUP BY jobb")),
    "no such unit": _of_persons(Query("SELECT COUNT(*) FROM D"), PrivacyUnit("extra")),
    "a key of another kind": _of_persons(Query(STATED.sql, keys=((1,),), id="k"), PEOPLE),
    "no median of a group": _of_persons(
        Query("SELECT MEDIAN(age) FROM D GROUP BY job", keys=((CANARY,),), id="k"), PEOPLE
    ),
    "unknown column, compared": _compared("SELECT COUNT(*) FROM D WHERE aeg > 1"),
    "no answer, compared": _compared("SELECT MEDIAN(age) FROM D WHERE age > 99"),
    "a share of 0, compared": _compared("SELECT COUNT(*) FROM D WHERE age > 99"),
    "too small an epsilon, compared": _compared("SELECT SUM(pay) FROM D", epsilon="1e-300"),
    "column that is not private, profiled": (profile(PAY_EXTRA, columns=["extra"]), PAY_TABLES),
    "no such target": (profile(PAY_EXTRA, target="extra"), PAY_TABLES),
    "cells of another kind": (profile(PAY, cells={"pay": ["cook"]}), PAY_TABLES),
}


@pytest.mark.parametrize("label", REFUSED)
def test_refusals_do_not_depend_on_the_private_table(label: str) -> None:
    refused, tables = REFUSED[label]
    messages = set()
    for table in tables.values():
        with pytest.raises(PqdError) as caught:
            refused(table, RECORDS["near"](), lambda *_: None)
        messages.add((type(caught.value), str(caught.value)))
    assert len(messages) == 1


# Costs --------------------------------------------------------------------------------------------


def test_what_a_run_costs_does_not_depend_on_the_private_table() -> None:
    """Five keys of job, NULL among them, are one partition: one epsilon without a unit."""
    queries = as_queries(GROUPS[0])
    stated = Parameters.parse(tau="1.5", epsilon="0.5", alpha="0.05")
    for unit, expected in ((None, Fraction(1, 2)), (PEOPLE, Fraction(5, 2))):
        costs = {
            run_audit(table, PERSONS, queries, stated, RECORDS["near"](), unit=unit).spent
            for table in PERSON_TABLES.values()
        }
        assert costs == {expected}
