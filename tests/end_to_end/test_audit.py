"""Audits from end to end: the paper's 60 queries on the samples, the true verdicts on Adult."""

import csv
import json
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import pqd
from pqd.deciders import DECIDERS
from pqd.reports.models.standings import VERDICTS
from pqd.reports.writers.terminal import terminal_text
from pqd.reports.writers.terminal.layout import Extent
from tests.support.skipped import NO_TABLES

Ran = tuple[int, str, str]

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "samples"
BADGES = [standing.badge.text for standing in VERDICTS]
DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
PAIRS = {"census": range(1, 31), "taxi": range(31, 61)}

# What DESIGN promises of a verdict and of each candidate.
VERDICT = [
    *("id", "sql", "aggregate", "attribute", "q_synthetic", "tau", "lower", "upper"),
    *("epsilon", "alpha", "decider", "outcome", "p_value", "margin", "conclusive", "tau_min"),
    *("candidates", "synthetic", "replayed", "simulated"),
]
CANDIDATE = ["decider", "tau_min", "false_no", "false_yes"]
ESCAPE = re.compile("\x1b|\\[[0-9;]*m")


def sample(table: str) -> tuple[str, str]:
    return str(SAMPLES / f"{table}_private.parquet"), str(SAMPLES / f"{table}_synthetic.parquet")


def audited(table: str) -> pqd.AuditReport:
    queries = pqd.read_queries(SAMPLES / f"{table}.sql")
    return pqd.audit(*sample(table), queries, tau="5%", epsilon="0.25")


@pytest.fixture(scope="module", params=PAIRS)
def report(request: pytest.FixtureRequest) -> pqd.AuditReport:
    return audited(request.param)


def arguments(table: str, *rest: str) -> list[str]:
    queries = str(SAMPLES / f"{table}.sql")
    terms = ["--tau", "5%", "--epsilon", "0.25"]
    return ["audit", *sample(table), "--queries", queries, *terms, *rest]


def check_verdict(verdict: dict[str, Any]) -> None:
    assert set(VERDICT) <= set(verdict)
    assert all(set(CANDIDATE) <= set(candidate) for candidate in verdict["candidates"])
    assert verdict["decider"] in {candidate["decider"] for candidate in verdict["candidates"]}
    assert verdict["leans"] in {"yes", "no"}
    assert verdict["outcome"] == (verdict["leans"] if verdict["conclusive"] else "undecided")
    centre = (Fraction(str(verdict["lower"])) + Fraction(str(verdict["upper"]))) / 2
    assert float(centre) == pytest.approx(verdict["q_synthetic"])
    assert verdict["tau"] == pytest.approx(0.05 * verdict["q_synthetic"])
    assert verdict["epsilon"] == 0.25
    assert verdict["alpha"] == 0.05
    assert (verdict["replayed"], verdict["simulated"]) == (False, False)
    p_value = verdict["p_value"]
    assert 0 <= p_value <= 1
    assert verdict["conclusive"] == (p_value <= 0.05)
    margin = verdict["margin"]
    assert margin is None or (margin >= 1) == (verdict["leans"] == "yes")


def test_every_query_of_the_samples_has_a_verdict(report: pqd.AuditReport) -> None:
    ids = [verdict.id for verdict in report.verdicts]
    assert ids in [[f"q{n}" for n in numbers] for numbers in PAIRS.values()]
    # Many of the paper's queries are disjoint, so 30 queries at 1/4 cost less than 7.5.
    assert report.spent == {"q1": Fraction(3, 2), "q31": Fraction(9, 4)}[ids[0]]
    assert report.cost.rule == "parallel"
    assert sorted(name for group in report.cost.groups for name in group.ids) == sorted(ids)
    found = report.to_dict()
    assert found["schema_version"] == 2
    assert found["spent_epsilon"] == float(report.spent)
    for verdict in found["verdicts"]:
        check_verdict(verdict)


def test_the_synthetic_answers_are_those_of_plain_sql(
    report: pqd.AuditReport,
) -> None:
    with duckdb.connect() as connection:
        connection.from_parquet(str(SAMPLES / report.synthetic)).create_view("D")
        for verdict in report.verdicts:
            # DuckDB's own median is the mean of the middle two, ours is the lower one.
            sql = re.sub(r"MEDIAN\((\w+)\)", r"quantile_disc(\1, 0.5)", verdict.sql)
            assert connection.execute(sql).fetchone() == (verdict.q_synthetic,), verdict.sql


def test_a_report_is_a_frame_of_one_row_per_query(report: pqd.AuditReport) -> None:
    frame = report.to_frame()
    assert len(frame) == 30
    assert set(VERDICT) - set(frame.columns) == {"candidates"}
    assert frame["epsilon"].tolist() == [0.25] * 30
    assert frame["id"].tolist() == [verdict.id for verdict in report.verdicts]


@pytest.mark.parametrize("width", [40, 60, 80, 132])
def test_a_report_is_complete_at_any_width(report: pqd.AuditReport, width: int) -> None:
    text = terminal_text(report, width, Extent.VERBOSE)
    wide = terminal_text(report, 10_000, Extent.VERBOSE)
    assert "".join(text.split()) == "".join(wide.split())
    rows = terminal_text(report, width, Extent.ALL)
    assert max(map(len, (text + rows).splitlines())) <= width
    for verdict in report.verdicts:
        assert re.search(rf"\b{verdict.id}\b", rows)
        assert re.search(rf"\b{verdict.id}\b", text)
        assert "".join((verdict.where or "").split()) in "".join(text.split())


@pytest.mark.parametrize("width", [60, 80])
def test_a_block_stands_under_its_badge(report: pqd.AuditReport, width: int) -> None:
    *blocks, summary = terminal_text(report, width, Extent.VERBOSE).split("\n\n")
    assert len(blocks) == 30
    for block in blocks:
        head, *lines = block.splitlines()
        badge = max(filter(head.startswith, BADGES), key=len)
        indent = max(5, len(badge) + 1)
        assert head[len(badge) : indent].strip() == ""
        assert all(line.startswith(" " * 5) for line in lines), block
    assert not summary.startswith(" ")


def test_text_has_no_escapes_and_no_trailing_line(report: pqd.AuditReport) -> None:
    text = str(report)
    assert not ESCAPE.search(text)
    assert text == terminal_text(report, 80)


@pytest.mark.parametrize("table", PAIRS)
def test_json_on_standard_output(table: str, command: Callable[..., Ran]) -> None:
    code, out, err = command(*arguments(table, "--json", "-"))
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["schema_version"] == 2
    assert [verdict["id"] for verdict in found["verdicts"]] == [f"q{n}" for n in PAIRS[table]]
    for verdict in found["verdicts"]:
        check_verdict(verdict)


def test_json_in_a_file_beside_the_text(tmp_path: Path, command: Callable[..., Ran]) -> None:
    path = tmp_path / "réport.json"
    code, out, err = command(*arguments("census", "--all", "--json", str(path)))
    assert (code, err) == (0, "")
    found = json.loads(path.read_text(encoding="utf-8"))
    for verdict in found["verdicts"]:
        check_verdict(verdict)
        # One run, two renderings: the words must be of the same outcome.
        badge = {"yes": "yes", "no": "NO"}[verdict["outcome"]] if verdict["conclusive"] else r"\?"
        assert re.search(rf"^ *{badge} .*\b{verdict['id']}\b", out, flags=re.MULTILINE)


@pytest.mark.parametrize(
    "environment", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}, {"COLUMNS": "40"}, {"COLUMNS": "200"}]
)
def test_piped_output(
    environment: dict[str, str], command: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "TERM", "COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    code, out, err = command(*arguments("taxi", "--all"))
    assert (code, err) == (0, "")
    assert not ESCAPE.search(out)
    assert max(map(len, out.splitlines())) <= int(environment.get("COLUMNS", "80"))
    joined = " ".join(out.split())
    for number in PAIRS["taxi"]:
        assert re.search(rf"\bq{number}\b", joined)
    assert "epsilon 2.25 spent" in joined
    assert "In all epsilon 2.25 spent on taxi_private" in joined


def test_a_piped_process_says_the_same_and_nothing_else(process: Callable[..., Ran]) -> None:
    code, out, err = process("-m", "pqd", *arguments("census"))
    assert (code, err) == (0, "")
    assert not ESCAPE.search(out)
    assert max(map(len, out.splitlines())) <= 80
    assert "epsilon 1.5 spent\n" in out


def test_control_characters_of_a_query_do_not_reach_the_terminal(
    command: Callable[..., Ran],
) -> None:
    sql = "SELECT COUNT(*) FROM D WHERE sex <> '\x1b[31m\x07\x9b'"
    code, out, _ = command("audit", *sample("census"), "-q", sql, "--tau", "9", "--epsilon", "1")
    assert code == 0
    assert not set(out) & {"\x1b", "\x07", "\x9b"}


# Adult ------------------------------------------------------------------------------------------

BOUNDS = {
    "capital-gain": {"bounds": (0, 99_999)},
    "capital-loss": {"bounds": (0, 4_356)},
    "hours-per-week": {"bounds": (1, 99)},
    "education-num": {"bounds": (1, 16)},
}
SURE = {"COUNT": ("lm_count", "em_count"), "SUM": ("lm_sum", "r2t_sum"), "MEDIAN": ("hist_median",)}


def adult_queries() -> list[dict[str, str]]:
    if not (DATA / "adult_queries.csv").exists():
        return []
    with (DATA / "adult_queries.csv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


ADULT = adult_queries()
needs_adult = pytest.mark.skipif(not ADULT, reason=NO_TABLES)


@pytest.fixture(scope="module")
def adult() -> tuple[pa.Table, pa.Table]:
    """The private and the synthetic CSV, read once and not by pqd."""
    tables = [
        pyarrow.csv.read_csv(DATA / f"adult_{kind}.csv") for kind in ("private", "privbayes_eps1")
    ]
    return tables[0], tables[1]


def adult_parquet() -> tuple[str, str]:
    return str(DATA / "adult_private.parquet"), str(DATA / "adult_privbayes_eps1.parquet")


def statement(query: dict[str, str]) -> str:
    attribute = "*" if query["attribute"] == "*" else f'"{query["attribute"]}"'
    return f"SELECT {query['aggregate']}({attribute}) FROM D WHERE {query['where_sql']}"


def words(query: dict[str, str]) -> list[str]:
    return re.findall(r"[\w-]+", statement(query))


@needs_adult
def test_adult_answers_from_the_files(scan: Callable[..., list[Any]]) -> None:
    in_csv = [query for query in ADULT if query["attribute"] != "fnlwgt"]
    in_parquet = [query for query in ADULT if query["attribute"] == "fnlwgt"]
    assert len(in_csv) == 21
    private, synthetic = (DATA / name for name in ("adult_private.csv", "adult_privbayes_eps1.csv"))
    for queries, (first, second) in (
        (in_csv, (private, synthetic)),
        (in_parquet, tuple(map(Path, adult_parquet()))),
    ):
        for source, key in ((first, "private_answer"), (second, "synthetic_answer")):
            # The table is its own public one here, so that its own bounds clamp nothing.
            found = scan(source, source, *map(statement, queries))
            for query, answer in zip(queries, found, strict=True):
                assert aggregated(query["aggregate"], answer) == int(query[key]), query["id"]
                if query["aggregate"] != "COUNT" and key == "private_answer":
                    assert len(answer) == int(query["n_private_rows_matching"])
                    assert answer[-1] == int(query["max_value_matching"])


def aggregated(aggregate: str, answer: Any) -> Any:
    if aggregate == "COUNT":
        return answer
    return sum(answer) if aggregate == "SUM" else answer[(len(answer) - 1) // 2]


@needs_adult
@pytest.mark.usefixtures("noiseless")
@pytest.mark.parametrize("query", ADULT, ids=lambda query: str(query["id"]))
def test_adult_verdicts_are_true(query: dict[str, str], adult: tuple[pa.Table, pa.Table]) -> None:
    gap = Fraction(query["gap"])
    assert gap == abs(Fraction(query["private_answer"]) - Fraction(query["synthetic_answer"]))
    asked = words(query)
    columns = {
        name: facts
        for name, facts in BOUNDS.items()
        if query["aggregate"] == "SUM" and name in asked
    }
    # A run also hashes the columns that it does not ask about: here there are few.
    named = [name for name in adult[0].column_names if name in asked]
    private, synthetic = (
        adult_parquet()
        if query["attribute"] == "fnlwgt"
        else (table.select(named) for table in adult)
    )
    for decider in SURE[query["aggregate"]]:
        for share, outcome in ((Fraction(1, 2), "no"), (Fraction(3, 2), "yes")):
            report = pqd.audit(
                private,
                synthetic,
                statement(query),
                tau=gap * share,
                epsilon=100_000,
                decider=decider,
                columns=columns,
            )
            assert report.verdicts[0].q_synthetic == int(query["synthetic_answer"])
            assert report.verdicts[0].outcome == outcome, (decider, share)


@needs_adult
def test_adult_from_the_command_line(command: Callable[..., Ran]) -> None:
    query = next(query for query in ADULT if query["id"] == "adult-sum-05")
    tables = [str(DATA / name) for name in ("adult_private.csv", "adult_privbayes_eps1.csv")]
    for tau, outcome in (("5567", "no"), ("16701", "yes")):
        code, out, err = command(
            *("audit", *tables, "-q", statement(query), "--tau", tau, "--epsilon", "100"),
            *("--bounds", "hours-per-week=1:99", "--decider", "lm_sum", "--json", "-"),
        )
        # Warned of, as any budget above 10.
        assert (code, len(err.splitlines())) == (0, 1)
        assert json.loads(out)["verdicts"][0]["outcome"] == outcome


def test_every_decider_that_is_checked_exists() -> None:
    assert {name for names in SURE.values() for name in names} <= set(DECIDERS)
