"""Two private tables, the same noisy outcome: not one byte of what pqd says may differ.

Noise is replaced by a record of what it gave, so whatever still differs did not come through it.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from deciders import DECIDERS
from pqd.commands.audit import run
from pqd.commands.check import run_check
from pqd.errors import PqdError
from pqd.parameters import Parameters
from pqd.spec import read_spec
from pqd.sql.workload_files import as_queries
from reports import AuditReport
from reports.models.check import CheckReport
from reports.terminal.audit import TerminalReport, rendered_text
from tests.support.likeness import like
from tests.support.noises import Absent, Recorded

SYNTHETIC = pd.DataFrame(
    {
        "age": [20, 30, 40, 50, 60, 35, 45],
        "pay": [0.5, 1.5, 2.0, 0.0, 9.25, 3.0, 7.0],
        "job": ["cook", "cook", "smith", "cook", "smith", "nurse", "nurse"],
        "born": pd.Series(["1990-01-01"] * 7, dtype="datetime64[us]"),
    }
)

OPERANDS = {
    "COUNT": "COUNT(*)",
    "COUNT DISTINCT": "COUNT(DISTINCT job)",
    "SUM": "SUM(pay)",
    "AVG": "AVG(age)",
    "MEDIAN": "MEDIAN(age)",
    "QUANTILE": "QUANTILE(age, 0.25)",
}
WHERE = "age > 25 AND job <> 'nurse' AND YEAR(born) = 1990"


def private_tables() -> dict[str, pd.DataFrame]:
    """Tables of one header that share as little as they can."""
    rng = np.random.default_rng(3)
    many = pd.DataFrame(
        {
            "age": rng.integers(-500, 500, 5_000),
            "pay": rng.normal(0, 1e6, 5_000),
            "job": rng.choice(["spy", "cook", "Zoë 🦓", "987654321"], 5_000),
            "born": pd.Series(["1990-05-05"] * 5_000, dtype="datetime64[us]"),
        }
    )
    return {
        "a neighbour": pd.concat([SYNTHETIC, SYNTHETIC.iloc[-1:]]),
        "many other rows": many,
        "no rows": SYNTHETIC.iloc[:0],
        "nothing but NULL": SYNTHETIC.astype(object).where(np.zeros((7, 4), dtype=bool), None),
        "texts for numbers": SYNTHETIC.assign(age="zebra-canary", pay="?", job=7),
        "extremes": SYNTHETIC.assign(age=np.inf, pay=[1e308, -1e308, np.nan, *[np.inf] * 4]),
        "long text": SYNTHETIC.assign(job="x" * 100_000),
    }


PRIVATE = private_tables()


RECORDS = {"near": Recorded([3], answer=True), "far below": Recorded([-(2**50)], answer=False)}


def terms(decider: str = "auto", columns: Mapping[str, Any] | None = None) -> Parameters:
    return Parameters.parse(
        tau="1.5", epsilon="0.5", alpha="0.05", decider=decider, columns=columns
    )


def said(report: AuditReport) -> tuple[str, ...]:
    verbose = rendered_text(TerminalReport(report, verbose=True), 60)
    return str(report), report.to_json(), verbose, report.to_frame().to_csv()


@pytest.mark.parametrize("decider", DECIDERS)
@pytest.mark.parametrize("record", RECORDS)
def test_reports_do_not_depend_on_the_private_table(decider: str, record: str) -> None:
    operand = OPERANDS[DECIDERS[decider].aggregate]
    queries = as_queries(f"SELECT {operand} FROM D WHERE {WHERE}")
    expected = said(
        run(PRIVATE["a neighbour"], SYNTHETIC, queries, terms(decider), RECORDS[record])
    )
    for name in ("many other rows", "no rows", "texts for numbers", "extremes"):
        found = said(run(PRIVATE[name], SYNTHETIC, queries, terms(decider), RECORDS[record]))
        assert found == expected, name


def test_automatic_choice_does_not_depend_on_the_private_table() -> None:
    queries = as_queries(
        [f"SELECT {operand} FROM D WHERE {WHERE}" for operand in OPERANDS.values()]
    )
    columns = {"age": {"bounds": (0, 99)}}
    reports = {
        said(run(table, SYNTHETIC, queries, terms(columns=columns), RECORDS["near"]))
        for table in PRIVATE.values()
    }
    assert len(reports) == 1


def pages(report: AuditReport | CheckReport) -> tuple[str, ...]:
    return report.to_html("pqd"), report.to_markdown(), report._repr_html_()


def test_pages_do_not_depend_on_the_private_table() -> None:
    queries = as_queries(
        [f"SELECT {operand} FROM D WHERE {WHERE}" for operand in OPERANDS.values()]
    )
    asked = replace(terms(columns={"age": {"bounds": (0, 99)}}), detailed=True)
    for record in RECORDS.values():
        shown = {pages(run(t, SYNTHETIC, queries, asked, record)) for t in PRIVATE.values()}
        assert len(shown) == 1
    assert len({pages(run(t, SYNTHETIC, queries, asked, Absent())) for t in PRIVATE.values()}) > 1


SPEC = """
[private]
path = "private.parquet"
[synthetic.copy]
path = "copy.parquet"
[defaults]
tau = 1.5
epsilon = 0.5
[columns.age]
bounds = [0, 99]
[[check]]
id = "count"
sql = "SELECT COUNT(*) FROM D WHERE age > 25"
[[check]]
id = "by-job"
sql = "SELECT job, COUNT(*) FROM D GROUP BY job"
[[check]]
id = "middle"
sql = "SELECT MEDIAN(age) FROM D"
"""


def test_pages_of_a_check_do_not_depend_on_the_private_table(tmp_path: Path) -> None:
    shown = set()
    for number, name in enumerate(("a neighbour", "many other rows", "no rows", "extremes")):
        folder = tmp_path / str(number)
        folder.mkdir()
        PRIVATE[name].to_parquet(folder / "private.parquet")
        SYNTHETIC.to_parquet(folder / "copy.parquet")
        (folder / "audit.toml").write_text(SPEC, encoding="utf-8")
        spec = read_spec(folder / "audit.toml")
        ledger = folder / "ledger.sqlite"
        report = run_check(spec, RECORDS["near"], ledger=ledger, detailed=True)
        shown.add(pages(report))
    assert len(shown) == 1


def test_without_noise_the_same_tables_do_differ() -> None:
    queries = as_queries(f"SELECT COUNT(*) FROM D WHERE {WHERE}")
    reports = {
        name: said(run(table, SYNTHETIC, queries, terms("inv_count"), Absent()))
        for name, table in PRIVATE.items()
    }
    # The check above would be worth nothing if these tables looked alike to every decider.
    assert reports["a neighbour"] != reports["many other rows"]
    assert len(set(reports.values())) >= 3


def folders(tmp_path: Path) -> list[Path]:
    """Private tables as files of one name, each in a folder of its own."""
    made = []
    for number, table in enumerate(PRIVATE.values()):
        path = tmp_path / str(number) / "private.csv"
        path.parent.mkdir()
        table.to_csv(path, index=False)
        made.append(path)
    faulty: dict[str, str | bytes] = {
        "lines of other lengths": "age,pay,job,born\n1\n1,2,3,4,5,6\n\n",
        "open quote": 'age,pay,job,born\n1,2,"zebra-canary,4\n5,6,7,8\n',
        "no text": b"age,pay,job,born\n1,2,\xff\xfe,4\n",
        "zero byte": b"age,pay,job,born\n1,2,\0,4\n",
        "long line": "age,pay,job,born\n1,2," + "x" * 3_000_000 + ",4\n",
    }
    for name, content in faulty.items():
        path = tmp_path / name / "private.csv"
        path.parent.mkdir()
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        made.append(path)
    return made


def test_reports_do_not_depend_on_the_private_file(tmp_path: Path) -> None:
    queries = as_queries(
        [f"SELECT {operand} FROM D WHERE {WHERE}" for operand in OPERANDS.values()]
    )
    reports = {
        str(path.parent.name): said(run(path, SYNTHETIC, queries, terms(), RECORDS["near"]))
        for path in folders(tmp_path)
    }
    for name, report in reports.items():
        assert report == reports["0"], name


LONG = " * ".join(["LENGTH(job)"] * 6)
FRAMES: dict[str, Callable[[], pd.DataFrame]] = {
    "mixed objects": lambda: pd.DataFrame(
        {"age": pd.Series([1] * 4_999 + ["zebra-canary"], dtype=object), "job": "cook"}
    ),
    "long text": lambda: pd.DataFrame({"age": 1, "job": ["x" * 100_000]}),
    "lists": lambda: pd.DataFrame({"age": [[1], [2]], "job": [["a"], ["b"]]}),
    "bytes": lambda: pd.DataFrame({"age": [b"\xff", b"1"], "job": [b"\xff", b"a"]}),
    "huge numbers": lambda: pd.DataFrame({"age": [10**40, -(10**40)], "job": [10**40, 1]}),
    "categories": lambda: pd.DataFrame(
        {"age": pd.Categorical(["1", "zebra"]), "job": pd.Categorical([1, 2])}
    ),
    "other times": lambda: pd.DataFrame(
        {"age": pd.to_datetime(["2020-01-01"]), "job": pd.to_timedelta([1], unit="s")}
    ),
}


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize(
    "where", ["job <> 'x'", f"{LONG} > 0", "job ILIKE 'X%' OR age * age * age > 1e300"]
)
def test_no_private_value_makes_an_error(name: str, where: str) -> None:
    queries = as_queries(["SELECT SUM(age) FROM D", f"SELECT COUNT(*) FROM D WHERE {where}"])
    public = SYNTHETIC[["age", "job"]]
    expected = said(run(like(public), public, queries, terms(), RECORDS["near"]))
    assert said(run(FRAMES[name](), public, queries, terms(), RECORDS["near"])) == expected


REFUSED: dict[str, tuple[str, str]] = {
    "unknown column": ("SELECT COUNT(*) FROM D WHERE aeg > 1", "auto"),
    "column that is not private": ("SELECT SUM(extra) FROM D", "auto"),
    "decider of another aggregate": ("SELECT SUM(pay) FROM D", "lm_count"),
    "no median": ("SELECT MEDIAN(age) FROM D WHERE age > 99", "auto"),
}


@pytest.mark.parametrize("label", REFUSED)
def test_refusals_do_not_depend_on_the_private_table(label: str) -> None:
    sql, decider = REFUSED[label]
    public = SYNTHETIC.assign(extra=1)
    messages = set()
    for table in PRIVATE.values():
        with pytest.raises(PqdError) as caught:
            run(table, public, as_queries(sql), terms(decider), RECORDS["near"])
        messages.add((type(caught.value), str(caught.value)))
    assert len(messages) == 1


def test_progress_does_not_depend_on_the_private_table() -> None:
    told = []
    for table in PRIVATE.values():
        steps: list[tuple[object, ...]] = []

        def note(
            stage: str, done: int = 0, total: int = 0, *, steps: list[tuple[object, ...]] = steps
        ) -> None:
            steps.append((stage, done, total))

        queries = as_queries(["SELECT COUNT(*) FROM D", "SELECT SUM(pay) FROM D"])
        run(table, SYNTHETIC, queries, terms(), RECORDS["near"], note)
        told.append(steps)
    assert all(steps == told[0] for steps in told)
    assert told[0]
