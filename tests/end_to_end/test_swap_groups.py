"""Groups, bins and privacy units: not one byte may tell two private tables apart.

As in test_swap: noise is a record of what it gave, so whatever differs did not come through it.
"""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pqd.commands.audit import run
from pqd.engine.scan_plan import PrivacyUnit
from pqd.errors import PqdError
from pqd.parameters import Parameters
from pqd.sql.grouping import Bins
from pqd.sql.query import Query
from pqd.sql.workload_files import as_queries
from reports import AuditReport
from reports.terminal.audit import TerminalReport, rendered_text
from tests.support.noises import Absent, Recorded

CANARY = "zebra-canary"
SYNTHETIC = pd.DataFrame(
    {
        "pid": ["p1", "p1", "p2", None, "p3", "p4", "p4"],
        "age": [20, 30, 40, 50, 60, 35, 45],
        "capital-gain": [0.5, 1.5, 2.0, 0.0, 9.25, 3.0, 7.0],
        "job": ["cook", "cook", "smith", None, "smith", "nurse", "it's"],
        "retired": [True, False, None, True, False, False, True],
    }
)


def private_tables() -> dict[str, pd.DataFrame]:
    """Tables of one header that share as little as they can."""
    rng = np.random.default_rng(8)
    size = 3_000
    many = pd.DataFrame(
        {
            "pid": rng.choice([*(f"{CANARY} {n}" for n in range(50)), "p1"], size),
            "age": rng.integers(-500, 500, size),
            "capital-gain": rng.normal(0, 1e6, size),
            "job": rng.choice([CANARY, "cook", "Zoë 🦓", "987654321"], size),
            "retired": rng.choice([True, False], size),
        }
    )
    rows = len(SYNTHETIC)
    none = SYNTHETIC.astype(object).where(np.zeros(SYNTHETIC.shape, dtype=bool), None)
    return {
        "a neighbour": pd.concat([SYNTHETIC, SYNTHETIC.iloc[-1:]]),
        "many other rows and keys": many,
        "no rows": SYNTHETIC.iloc[:0],
        "nothing but NULL": none,
        "only keys that are not public": SYNTHETIC.assign(
            job=CANARY, age=77_777, retired="perhaps", pid=CANARY
        ),
        "one person": pd.concat([SYNTHETIC.assign(pid=CANARY)] * 40),
        "keys of other kinds": SYNTHETIC.assign(job=range(rows), retired=7, age=CANARY),
        "extremes": SYNTHETIC.assign(age=np.inf, pid=1e308, retired=np.nan),
        "long text": SYNTHETIC.assign(job="x" * 50_000, pid="y" * 50_000),
    }


PRIVATE = private_tables()
RECORDS = {"near": Recorded([3], answer=True), "far below": Recorded([-(2**50)], answer=False)}
FACTS: dict[str, dict[str, Any]] = {
    "age": {"bounds": (0, 99)},
    "capital-gain": {"bounds": (0, 10), "step": "0.25"},
}

BINNED = Bins.parse('"capital-gain"=0:10:2.5').of(
    Query("SELECT COUNT(*) FROM D WHERE job <> 'nurse'", id="bins")
)
STATED = Query("SELECT COUNT(*) FROM D GROUP BY job", id="stated", keys=(("cook",), (CANARY[:0],)))
WORKLOADS: dict[str, tuple[Query, ...]] = {
    "groups": as_queries(
        [
            "SELECT COUNT(*) FROM D GROUP BY job",
            "SELECT COUNT(DISTINCT age) FROM D WHERE age > 45 GROUP BY retired, job",
            "SELECT SUM(age) FROM D WHERE age > 45 GROUP BY age",
            'SELECT MEDIAN("capital-gain") FROM D GROUP BY retired',
        ]
    ),
    "bins": (*BINNED, STATED),
    "neither": as_queries(
        [
            "SELECT COUNT(*) FROM D WHERE job <> 'nurse'",
            'SELECT SUM("capital-gain") FROM D',
            "SELECT AVG(age) FROM D WHERE retired",
            "SELECT QUANTILE(age, 0.25) FROM D",
            "SELECT COUNT(DISTINCT pid) FROM D",
        ]
    ),
}
UNITS = {
    "rows": None,
    "people": PrivacyUnit("pid"),
    "people of three rows": PrivacyUnit("PID", 3),
    "ages": PrivacyUnit("age", 2),
}


def terms(queries: Sequence[Query]) -> Parameters:
    named = " ".join(query.sql for query in queries)
    facts = {name: fact for name, fact in FACTS.items() if name in named}
    return Parameters.parse(tau="1.5", epsilon="0.5", alpha="0.05", columns=facts)


def said(report: AuditReport) -> tuple[str, ...]:
    verbose = rendered_text(TerminalReport(report, verbose=True), 60)
    return str(report), report.to_json(), verbose, report.to_frame().to_csv()


CASES = [
    *(("groups", "rows"), ("groups", "people of three rows"), ("bins", "rows"), ("bins", "people")),
    *(("neither", "people of three rows"), ("neither", "ages")),
]


@pytest.mark.parametrize(
    ("workload", "unit", "record"),
    [*((*case, "near") for case in CASES), ("groups", "people of three rows", "far below")],
)
def test_reports_do_not_depend_on_the_private_table(workload: str, unit: str, record: str) -> None:
    queries = WORKLOADS[workload]
    reports = {
        name: said(
            run(table, SYNTHETIC, queries, terms(queries), RECORDS[record], unit=UNITS[unit])
        )
        for name, table in PRIVATE.items()
    }
    for name, report in reports.items():
        assert report == reports["a neighbour"], name
        assert all(CANARY not in text and "77777" not in text for text in report)


@pytest.mark.parametrize("unit", ["rows", "people of three rows"])
def test_reports_do_not_depend_on_the_private_file(tmp_path: Path, unit: str) -> None:
    queries = (*WORKLOADS["groups"][:2], *BINNED)
    reports = {}
    for name, table in PRIVATE.items():
        path = tmp_path / name / "private.csv"
        path.parent.mkdir()
        table.to_csv(path, index=False)
        report = run(path, SYNTHETIC, queries, terms(queries), RECORDS["near"], unit=UNITS[unit])
        reports[name] = said(report)
    for name, found in reports.items():
        assert found == reports["a neighbour"], name


@pytest.mark.parametrize(("workload", "unit"), CASES)
def test_without_noise_the_same_tables_do_differ(workload: str, unit: str) -> None:
    queries = WORKLOADS[workload]
    reports = {
        said(run(table, SYNTHETIC, queries, terms(queries), Absent(), unit=UNITS[unit]))
        for table in list(PRIVATE.values())[:4]
    }
    # The checks above would be worth nothing if these tables looked alike to every decider.
    assert len(reports) >= 3


REFUSED: dict[str, tuple[Query, PrivacyUnit | None]] = {
    "no group": (Query(f"SELECT COUNT(*) FROM D WHERE job = '{CANARY}' GROUP BY job"), None),
    "no such column": (Query("SELECT COUNT(*) FROM D GROUP BY jobb"), None),
    "no such unit": (Query("SELECT COUNT(*) FROM D"), PrivacyUnit("extra")),
    "a key of another kind": (Query(STATED.sql, keys=((1,),), id="k"), PrivacyUnit("pid")),
    "no median": (
        Query("SELECT MEDIAN(age) FROM D GROUP BY job", keys=((CANARY,),), id="k"),
        PrivacyUnit("pid"),
    ),
}


@pytest.mark.parametrize("label", REFUSED)
def test_refusals_do_not_depend_on_the_private_table(label: str) -> None:
    query, unit = REFUSED[label]
    public = SYNTHETIC.assign(extra=1)
    messages = set()
    for table in PRIVATE.values():
        with pytest.raises(PqdError) as caught:
            run(table, public, as_queries(query), terms([]), RECORDS["near"], unit=unit)
        messages.add((type(caught.value), str(caught.value)))
    assert len(messages) == 1


def test_what_a_run_costs_does_not_depend_on_the_private_table() -> None:
    """Five keys of job, NULL among them, are one partition: one epsilon without a unit."""
    queries = as_queries("SELECT COUNT(*) FROM D GROUP BY job")
    for unit, expected in ((None, Fraction(1, 2)), (PrivacyUnit("pid"), Fraction(5, 2))):
        costs = {
            run(table, SYNTHETIC, queries, terms(queries), RECORDS["near"], unit=unit).spent
            for table in PRIVATE.values()
        }
        assert costs == {expected}
