"""Two private tables, one noisy outcome: not one byte of what ``pqd compare`` says may differ.

Noise is replaced by a record of what it gave, so whatever still differs did not come through it.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pqd.commands.compare import run_compare
from pqd.commands.comparison_parameters import ComparisonParameters
from pqd.engine.scan_plan import PrivacyUnit
from pqd.errors import PqdError
from pqd.execution import Accountant
from pqd.parameters import Parameters
from pqd.sql.workload_files import as_queries
from reports.html.document import html_text
from reports.markdown.check import markdown_text
from reports.models.compare import CompareReport
from reports.terminal.audit import rendered_text
from reports.terminal.compare import TerminalCompare
from tests.support.noises import Absent, Recorded

FIRST = pd.DataFrame(
    {
        "age": [20, 30, 40, 50, 60, 35, 45],
        "pay": [0.5, 1.5, 2.0, 0.0, 9.25, 3.0, 7.0],
        "job": ["cook", "cook", "smith", "cook", "smith", "nurse", "nurse"],
        "born": pd.Series(["1990-01-01"] * 7, dtype="datetime64[us]"),
    }
)
SECOND = FIRST.assign(age=FIRST["age"] + 3, pay=FIRST["pay"][::-1].to_numpy())
CANDIDATES = {"first": FIRST, "second": SECOND}
WHERE = "age > 25 AND job <> 'nurse' AND YEAR(born) = 1990"
QUERIES = [
    f"SELECT COUNT(*) FROM D WHERE {WHERE}",
    f"SELECT COUNT(DISTINCT job) FROM D WHERE {WHERE}",
    f"SELECT SUM(pay) FROM D WHERE {WHERE}",
    f"SELECT AVG(age) FROM D WHERE {WHERE}",
    f"SELECT MEDIAN(age) FROM D WHERE {WHERE}",
    f"SELECT QUANTILE(age, 0.25) FROM D WHERE {WHERE}",
    "SELECT COUNT(*) FROM D GROUP BY job",
    "SELECT SUM(age) FROM D WHERE age > 25 GROUP BY job",
]
SHORT = [*QUERIES[:3], QUERIES[4]]


def private_tables() -> dict[str, pd.DataFrame]:
    """Tables of one header that share as little as they can."""
    rng = np.random.default_rng(3)
    many = pd.DataFrame(
        {
            "age": rng.integers(-500, 500, 3_000),
            "pay": rng.normal(0, 1e6, 3_000),
            "job": rng.choice(["spy", "cook", "Zoë 🦓", "987654321"], 3_000),
            "born": pd.Series(["1990-05-05"] * 3_000, dtype="datetime64[us]"),
        }
    )
    return {
        "a neighbour": pd.concat([FIRST, FIRST.iloc[-1:]]),
        "many other rows": many,
        "no rows": FIRST.iloc[:0],
        "nothing but NULL": FIRST.astype(object).where(np.zeros((7, 4), dtype=bool), None),
        "texts for numbers": FIRST.assign(age="zebra-canary", pay="?", job=7),
        "extremes": FIRST.assign(age=np.inf, pay=[1e308, -1e308, np.nan, *[np.inf] * 4]),
        "long text": FIRST.assign(job="x" * 100_000),
    }


PRIVATE = private_tables()


# A new one per run, since it goes on through what was recorded.
RECORDS: dict[str, Callable[[], Recorded]] = {
    "near": lambda: Recorded([4, 2, 19, -3, 130, 7, 1, 0, 55], answer=True),
    "far below": lambda: Recorded([-(2**40)], answer=False),
    "far above": lambda: Recorded([2**40, 2**35 + 1], answer=True),
}


def rules(
    estimator: str = "auto", references: int | None = None, **options: Any
) -> ComparisonParameters:
    given: dict[str, Any] = {"tau": "20%", "epsilon": "0.5", "alpha": "0.05"} | options
    terms = Parameters.parse(decider=estimator, **given)
    return ComparisonParameters.parse(terms, {"q1": 2}, {"q2": "1.5"}, references)


def said(report: CompareReport) -> tuple[str, ...]:
    verbose = rendered_text(TerminalCompare(report, verbose=True), 60)
    pages = html_text(report), markdown_text(report), report.to_frame().to_csv()
    return str(report), verbose, report.to_json(), *pages


def compared(
    private: object,
    noise: Any,
    stated: ComparisonParameters,
    queries: Sequence[str] = QUERIES,
    **options: Any,
) -> CompareReport:
    return run_compare(private, CANDIDATES, as_queries(queries), stated, noise, **options)


CASES = [
    ("auto", "near"),
    ("auto", "far below"),
    ("split", "far above"),
    ("exponential", "near"),
    ("race_to_the_top", "far above"),
]


@pytest.mark.parametrize(("estimator", "record"), CASES)
def test_reports_do_not_depend_on_the_private_table(estimator: str, record: str) -> None:
    expected = said(compared(PRIVATE["a neighbour"], RECORDS[record](), rules(estimator)))
    for name in ("many other rows", "no rows", "extremes"):
        found = said(compared(PRIVATE[name], RECORDS[record](), rules(estimator)))
        assert found == expected, name


def test_reports_with_references_do_not_depend_on_the_private_table() -> None:
    reports = {
        name: said(compared(PRIVATE[name], RECORDS["near"](), rules(references=1)))
        for name in ("a neighbour", "many other rows", "no rows", "texts for numbers")
    }
    assert "independent marginals" in reports["a neighbour"][0]
    assert len(set(reports.values())) == 1


@pytest.mark.parametrize(("tau", "epsilon"), [("1%", "50"), ("90%", "0.01"), ("3", "0.5")])
def test_the_choice_of_releases_does_not_depend_on_the_private_table(
    tau: str, epsilon: str
) -> None:
    columns = {"age": {"bounds": (0, 99)}}
    stated = rules(tau=tau, epsilon=epsilon, columns=columns)
    expected = said(compared(PRIVATE["a neighbour"], RECORDS["near"](), stated))
    for name in ("many other rows", "nothing but NULL", "long text"):
        assert said(compared(PRIVATE[name], RECORDS["near"](), stated)) == expected, name


def test_without_noise_the_same_tables_do_differ() -> None:
    reports = {
        name: said(compared(PRIVATE[name], Absent(), rules(), SHORT))
        for name in ("a neighbour", "many other rows", "no rows", "extremes")
    }
    # The checks above would be worth nothing if these tables looked alike to every release.
    assert reports["a neighbour"] != reports["many other rows"]
    assert len(set(reports.values())) >= 3
    with_references = {
        said(compared(PRIVATE[name], Absent(), rules(references=1), SHORT))
        for name in ("a neighbour", "many other rows")
    }
    assert len(with_references) == 2


def test_a_record_reaches_the_report() -> None:
    reports = {
        said(compared(PRIVATE["a neighbour"], made(), rules(), SHORT)) for made in RECORDS.values()
    }
    assert len(reports) == len(RECORDS)


def test_reports_do_not_depend_on_the_private_file(tmp_path: Path) -> None:
    faulty: dict[str, str | bytes] = {
        "lines of other lengths": "age,pay,job,born\n1\n1,2,3,4,5,6\n\n",
        "open quote": 'age,pay,job,born\n1,2,"zebra-canary,4\n5,6,7,8\n',
        "no text": b"age,pay,job,born\n1,2,\xff\xfe,4\n",
        "zero byte": b"age,pay,job,born\n1,2,\0,4\n",
        "good": PRIVATE["a neighbour"].to_csv(index=False),
        "no rows": "age,pay,job,born\n",
    }
    reports = {}
    for name, content in faulty.items():
        path = tmp_path / name / "private.csv"
        path.parent.mkdir()
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        reports[name] = said(compared(path, RECORDS["near"](), rules()))
    for name, report in reports.items():
        assert report == reports["good"], name


def test_reports_with_a_ledger_do_not_depend_on_the_private_table(tmp_path: Path) -> None:
    """What is charged, replayed and kept is public too."""
    reports = []
    for number, name in enumerate(("a neighbour", "many other rows")):
        folder = tmp_path / str(number)
        folder.mkdir()
        accountant = Accountant(folder / "ledger.sqlite")
        told = [
            said(
                compared(
                    PRIVATE[name],
                    RECORDS["near"](),
                    rules(references=1),
                    SHORT,
                    accountant=accountant,
                )
            )
            for _ in range(2)
        ]
        assert told[0] != told[1], "the second run is replayed"
        reports.append(told)
    assert reports[0] == reports[1]


def test_reports_per_person_do_not_depend_on_the_private_table() -> None:
    unit = PrivacyUnit("born", 2)
    reports = {
        said(compared(PRIVATE[name], RECORDS["near"](), rules(), SHORT, unit=unit))
        for name in ("a neighbour", "many other rows", "no rows")
    }
    assert len(reports) == 1


REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "unknown column": ("SELECT COUNT(*) FROM D WHERE aeg > 1", {}),
    "no answer": ("SELECT MEDIAN(age) FROM D WHERE age > 99", {}),
    "a share of 0": ("SELECT COUNT(*) FROM D WHERE age > 99", {}),
    "too small an epsilon": ("SELECT SUM(pay) FROM D", {"epsilon": "1e-300"}),
}


@pytest.mark.parametrize("label", REFUSED)
def test_refusals_do_not_depend_on_the_private_table(label: str) -> None:
    sql, options = REFUSED[label]
    messages = set()
    for table in PRIVATE.values():
        with pytest.raises(PqdError) as caught:
            compared(table, RECORDS["near"](), rules(**options), [sql])
        messages.add((type(caught.value), str(caught.value)))
    assert len(messages) == 1


def test_progress_does_not_depend_on_the_private_table() -> None:
    told = []
    for table in (PRIVATE["a neighbour"], PRIVATE["many other rows"], PRIVATE["no rows"]):
        steps: list[tuple[object, ...]] = []

        def note(
            stage: str, done: int = 0, total: int = 0, *, steps: list[tuple[object, ...]] = steps
        ) -> None:
            steps.append((stage, done, total))

        stated = rules(references=1)
        run_compare(table, CANDIDATES, as_queries(SHORT), stated, RECORDS["near"](), note)
        told.append(steps)
    assert all(steps == told[0] for steps in told)
    assert told[0]
