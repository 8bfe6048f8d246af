"""The sample tables, the command that makes them, and the workloads that go with them."""

import csv
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import duckdb
import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT / "samples"
QUERIES = ROOT.parent / "shared" / "papers" / "dp-pqd-queries.csv"

NUMBERS = {
    "census": {"age": (0, 85), "inctot": (0, 500_000)},
    "taxi": {
        "vendorID": (1, 2),
        "passenger_count": (1, 6),
        "trip_distance": (1, 100),
        "rateCodeID": (1, 6),
        "payment_type": (1, 4),
        "fare_amount": (4, 250),
        "tip_amount": (0, 125),
        "total_amount": (8, 377),
        "congestion_surcharge": (0, 3),
    },
}
COLUMNS = {
    "census": [
        *("relate", "age", "sex", "race", "marst"),
        *("citizen", "workly", "classwkr", "educ", "inctot"),
    ],
    "taxi": [
        *("vendorID", "passenger_count", "trip_distance", "rateCodeID", "store_and_fwd_flag"),
        *("payment_type", "fare_amount", "tip_amount", "total_amount", "congestion_surcharge"),
    ],
}
KINDS = {
    "census": ("private", "synthetic", "coarse", "flat"),
    "taxi": ("private", "synthetic"),
}
PAIRS = [(table, kind) for table, kinds in KINDS.items() for kind in kinds]


def load_make() -> ModuleType:
    """Import make.py from its path, with its sibling modules in reach as in a script run."""
    sys.path.insert(0, str(SAMPLES))
    try:
        spec = importlib.util.spec_from_file_location("samples_make", SAMPLES / "make.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(SAMPLES))
    return module


make = load_make()


def read(path: Path) -> pd.DataFrame:
    with duckdb.connect() as connection:
        return connection.execute("SELECT * FROM read_parquet(?)", [str(path)]).df()


def statements(table: str) -> dict[str, str]:
    """Map each id of the workload to its statement, exactly as it stands in the file."""
    text = (SAMPLES / f"{table}.sql").read_text(encoding="utf-8")
    return dict(re.findall(r"^-- id: (\S+)\n(SELECT .*;)$", text, flags=re.MULTILINE))


def check_domains(table: str, frame: pd.DataFrame) -> None:
    assert list(frame.columns) == COLUMNS[table]
    assert not frame.isna().to_numpy().any()
    for column, (low, high) in NUMBERS[table].items():
        assert frame[column].between(low, high).all(), column
    labels = {a.name: a.labels for a in make.TABLES[table].TREE if a.labels}
    assert set(labels) | set(NUMBERS[table]) == set(COLUMNS[table])
    for column, allowed in labels.items():
        assert set(frame[column]) <= set(allowed), column
    if table == "census":
        assert not frame["age"].between(81, 84).any()
    else:
        assert set(frame["congestion_surcharge"]) <= {0, 2, 3}


@pytest.mark.parametrize("table", COLUMNS)
def test_same_seed_same_content(table: str) -> None:
    first, again, other = (make.make(table, 500, seed, 10.0) for seed in (3, 3, 4))
    for kind in range(2):
        pd.testing.assert_frame_equal(first[kind], again[kind])
        assert not first[kind].equals(other[kind])
    assert not first[0].equals(first[1])


@pytest.mark.parametrize("table", COLUMNS)
@pytest.mark.parametrize(("rows", "epsilon"), [(1, 10.0), (3000, 0.1), (3000, 1e6)])
def test_values_stay_in_their_domains(table: str, rows: int, epsilon: float) -> None:
    for frame in make.make(table, rows, 11, epsilon):
        assert len(frame) == rows
        check_domains(table, frame)


def test_command_writes_both_formats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make.main(["all", "--rows", "200", "--seed", "5", "--out", str(tmp_path), "--format", "both"])
    names = {f"{table}_{kind}.{ext}" for table, kind in PAIRS for ext in ("csv", "parquet")}
    assert {path.name for path in tmp_path.iterdir()} == names
    assert {Path(line).name for line in capsys.readouterr().out.splitlines()} == names
    for table, kind in PAIRS:
        stored = read(tmp_path / f"{table}_{kind}.parquet")
        text = pd.read_csv(tmp_path / f"{table}_{kind}.csv", keep_default_na=False)
        assert stored.to_dict("list") == text.to_dict("list")


@pytest.mark.parametrize("option", [["--rows", "0"], ["--seed", "-1"], ["--epsilon", "nan"]])
def test_command_refuses_bad_numbers(option: list[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        make.main(["taxi", "--out", str(tmp_path), *option])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("table", COLUMNS)
def test_committed_tables_are_what_the_command_makes(table: str, tmp_path: Path) -> None:
    make.main([table, "--out", str(tmp_path)])
    for kind in KINDS[table]:
        name = f"{table}_{kind}.parquet"
        committed = read(SAMPLES / name)
        assert len(committed) == 20_000
        check_domains(table, committed)
        pd.testing.assert_frame_equal(committed, read(tmp_path / name))


@pytest.mark.parametrize("table", COLUMNS)
def test_private_columns_depend_on_each_other(table: str) -> None:
    frame = read(SAMPLES / f"{table}_private.parquet")
    if table == "taxi":
        assert frame["fare_amount"].corr(frame["trip_distance"]) > 0.7
        assert (frame["total_amount"] >= frame["fare_amount"] + frame["tip_amount"]).all()
        assert (frame.loc[frame["payment_type"] != 1, "tip_amount"] == 0).all()
        return
    assert (frame.loc[frame["age"] < 15, "inctot"] == 0).all()
    pay = frame[frame["workly"] == "Yes"].groupby("educ")["inctot"].median()
    assert pay["Doctorate degree"] > 1.5 * pay["High school diploma or equivalent"]
    assert frame["inctot"].max() == 500_000


@pytest.mark.parametrize("table", COLUMNS)
@pytest.mark.parametrize("kind", ["private", "synthetic"])
def test_every_query_selects_something(table: str, kind: str) -> None:
    queries = statements(table)
    assert list(queries) == [f"q{n + (30 if table == 'taxi' else 0)}" for n in range(1, 31)]
    with duckdb.connect() as connection:
        connection.from_parquet(str(SAMPLES / f"{table}_{kind}.parquet")).create_view("D")
        for name, sql in queries.items():
            row = connection.execute(sql).fetchone()
            assert row is not None
            assert row[0] is not None, name
            assert row[0] > 0, name


def test_workloads_match_the_paper() -> None:
    if not QUERIES.exists():
        pytest.skip("needs the paper's Tables 5 and 6, in ../shared/papers beside this repository")
    with QUERIES.open(encoding="utf-8", newline="") as lines:
        expected = {
            row["id"]: f"SELECT {row['aggregate']}({row['attribute'] or '*'}) FROM D"
            f" WHERE {row['where_sql']};"
            for row in csv.DictReader(lines)
        }
    assert statements("census") | statements("taxi") == expected
