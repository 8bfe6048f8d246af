"""The page that compares with SDMetrics says what its recorded run and the samples say."""

import csv
import re
from pathlib import Path

import duckdb
import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "other-reports.md").read_text(encoding="utf-8")
with (ROOT / "docs" / "side-by-side.csv").open(encoding="utf-8") as file:
    ROWS = {row["columns"]: row for row in csv.DictReader(file)}
SHOWN = re.findall(
    r"^\| (\w+(?:, \w+)?) \| ([\d.]+) % \| (.*?) \| (yes|NO) \| (.*?) \|", PAGE, re.MULTILINE
)


def answered(sql: str) -> float:
    """Only cell of an answer."""
    with duckdb.connect() as connection:
        ((cell,),) = connection.execute(sql).fetchall()
    return float(cell)


def exact(columns: list[str]) -> float:
    """Exact total variation of texts, by DuckDB."""
    names = ", ".join(columns)
    shares = [
        f"(SELECT {names}, COUNT(*) / 20000 AS share FROM 'samples/census_{name}.parquet' "
        f"GROUP BY {names}) AS {name}"
        for name in ("private", "synthetic")
    ]
    sql = (
        "SELECT SUM(ABS(COALESCE(private.share, 0) - COALESCE(synthetic.share, 0))) / 2 "
        f"FROM {shares[0]} FULL JOIN {shares[1]} USING ({names})"
    )
    return answered(sql)


def test_the_page_shows_rows_of_the_recorded_run() -> None:
    assert len(ROWS) == 55
    assert len(SHOWN) == 7
    for name, theirs, ours, verdict, truth in SHOWN:
        row = {key: value for key, value in ROWS[name].items() if key.startswith(("pqd", "exact"))}
        outcome = row.pop("pqd_verdict")
        value, low, high, known = (100 * float(each) for each in row.values())
        assert verdict == {"yes": "yes", "no": "NO"}[outcome]
        assert ours == f"{value:.1f} % ({low:.1f} to {high:.1f})"
        assert truth == f"{known:.1f} %"
        assert theirs == f"{100 * (1 - float(ROWS[name]['sdmetrics_score'])):.1f}"


def test_what_the_page_says_of_all_rows() -> None:
    for row in ROWS.values():
        truth = float(row["exact"])
        assert float(row["pqd_low"]) <= truth <= float(row["pqd_high"])
        assert row["pqd_verdict"] == ("yes" if truth < 0.05 else "no")
        assert abs(float(row["pqd"]) - truth) < 0.0045
    pairs = [row for name, row in ROWS.items() if "," in name]
    assert sum(row["sdmetrics_counts"] == "True" for row in pairs) == 9
    far = [row["sdmetrics_counts"] for row in pairs if float(row["exact"]) > 0.05]
    assert (len(far), far.count("True")) == (15, 5)


@pytest.mark.parametrize("name", ["race", "workly, educ", "relate, marst"])
def test_of_texts_both_have_the_exact_distance(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    distance = exact(name.split(", "))
    assert float(ROWS[name]["exact"]) == pytest.approx(distance, abs=1e-6)
    assert 1 - float(ROWS[name]["sdmetrics_score"]) == pytest.approx(distance, abs=1e-6)


def test_children_with_an_income(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    counts = [
        answered(
            f"SELECT COUNT(*) FROM 'samples/census_{name}.parquet' WHERE age < 15 AND inctot > 0"
        )
        for name in ("private", "synthetic")
    ]
    assert counts == [0, 1576]
    assert "1,576 children" in PAGE
