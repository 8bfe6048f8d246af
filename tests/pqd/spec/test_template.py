"""The spec to begin with: it is read, its checks run, and the private table is never touched."""

import re
import tomllib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pqd
from pqd.errors import TableError
from pqd.spec import read_spec
from pqd.spec.template import spec_template, toml_text
from tests.support.drawing import examples

ODD = ['a"b', "it's", "a\nb", "a b", "ünï", "x=1", "[[check]]", "capital-gain", "{id}", "#", "\\"]
TABLES: dict[str, dict[str, list[object]]] = {
    "plain": {"sex": ["f", "m", "f"], "age": [17, 90, 40], "gain": [0.0, 0.25, None]},
    "zeros": {"gain": [0, 0, 0], "sex": ["f", "m", "f"]},
    "negative": {"change": [-5, -7, 12]},
    "decimals": {"price": [0.01, 1234.56, 7.5], "tiny": [1e-7, 3e-7, 2e-7]},
    "large": {"id": [10**15, 10**15 + 7, 3]},
    "empty columns": {"note": [None, None], "value": pa.nulls(2, pa.float64()).to_pylist()},
    "texts": {"a": [None, "x"], "b": ["y", "z"]},
    "truth": {"flag": [True, False]},
    **{name: {name: [1, 2, 30], f"{name}?": ["u", "v", "w"]} for name in ODD},
}


def made(columns: dict[str, list[object]], folder: Path) -> str:
    """Template of a spec for a table in ``folder``; the private one does not exist."""
    synthetic = folder / "my copy.v2.parquet"
    pq.write_table(pa.table(columns), synthetic)
    return spec_template(folder / "secret" / "private.csv", synthetic, folder)


def with_hints(text: str) -> str:
    """Template of a spec with the facts of columns no longer in comments."""
    head, found, tail = text.partition("# Public facts")
    return head + found + re.sub(r"(?m)^# (\[columns|bounds = |step = )", r"\1", tail)


@pytest.mark.parametrize("name", TABLES)
def test_the_starter_is_a_spec_whose_checks_run(name: str, tmp_path: Path) -> None:
    text = made(TABLES[name], tmp_path)
    path = tmp_path / "audit.toml"
    for written in (text, with_hints(text)):
        path.write_text(written, encoding="utf-8")
        spec = read_spec(path, {})
        assert spec.private.path == tmp_path / "secret" / "private.csv"
        assert list(spec.synthetic) == ["my-copy"]
        assert spec.synthetic["my-copy"].path == tmp_path / "my copy.v2.parquet"
        assert spec.checks[0].sql == "SELECT COUNT(*) FROM D"
        for check in spec.checks:
            assert check.tau is not None
            pqd.plan(
                spec.synthetic["my-copy"].path,
                pqd.Query(check.sql, check.id),
                tau=check.tau,
                epsilon=check.epsilon,
                alpha=check.alpha,
                columns=spec.columns if spec.columns and check.tau != "5%" else None,
            )


def test_a_check_of_each_kind_and_every_bound(tmp_path: Path) -> None:
    text = made(TABLES["plain"], tmp_path)
    (tmp_path / "audit.toml").write_text(with_hints(text), encoding="utf-8")
    spec = read_spec(tmp_path / "audit.toml", {})
    assert [(check.id, check.sql, check.tau) for check in spec.checks] == [
        ("rows", "SELECT COUNT(*) FROM D", "5%"),
        ("sex-known", 'SELECT COUNT(*) FROM D WHERE "sex" IS NOT NULL', "5%"),
        ("age-average", 'SELECT AVG("age") FROM D', 3),
    ]
    assert {name: facts["bounds"] for name, facts in spec.columns.items()} == {
        "age": [17, 90],
        "gain": [0, pytest.approx(0.25)],
    }
    assert "# sql = 'SELECT COUNT(*) FROM D GROUP BY \"sex\"'" in text
    assert all(line.isascii() for line in text.splitlines())
    assert max(map(len, text.splitlines())) <= 100


def test_a_column_without_values_gets_no_check(tmp_path: Path) -> None:
    assert made(TABLES["empty columns"], tmp_path).count("[[check]]") == 1
    assert "[columns." not in made(TABLES["texts"], tmp_path)


def test_a_number_as_long_as_a_key_gets_no_average(tmp_path: Path) -> None:
    assert "AVG" not in made(TABLES["large"], tmp_path)
    assert 'AVG("age")' in made(TABLES["large"] | {"age": [1, 2, 3]}, tmp_path)


@pytest.mark.parametrize("name", ["${HOME}", "a'b", 'a"b', "a\nb", "ü"])
def test_odd_paths_are_found_again(name: str, tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / name, tmp_path / "specs" / "deep"
    folder.mkdir()
    elsewhere.mkdir(parents=True)
    pq.write_table(pa.table({"a": [1]}), folder / "s.parquet")
    text = spec_template(folder / "p.csv", folder / "s.parquet", elsewhere)
    (elsewhere / "audit.toml").write_text(text, encoding="utf-8")
    spec = read_spec(elsewhere / "audit.toml", {"HOME": "no"})
    assert spec.private.written.startswith("../../")
    assert spec.private.path.resolve() == folder / "p.csv"
    assert spec.synthetic["s"].path.resolve() == folder / "s.parquet"


def test_a_synthetic_table_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"the synthetic table .* does not exist"):
        spec_template(tmp_path / "p.csv", tmp_path / "s.csv", tmp_path)


def test_a_private_path_that_is_no_text(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "s.parquet")
    with pytest.raises(TableError, match="the private table has a path that cannot be used"):
        spec_template(tmp_path / "p\udcff.csv", tmp_path / "s.parquet", tmp_path)


def test_no_more_hints_than_a_reader_reads(tmp_path: Path) -> None:
    text = made({f"c{number}": [number, 5] for number in range(60)}, tmp_path)
    assert text.count("# [columns.") == 50


@examples(200)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_survives_toml(text: str) -> None:
    written = toml_text(text)
    assert written.isprintable()
    assert tomllib.loads(f"a = {written}\n") == {"a": text}
