"""The spec to begin with: it is read, its checks run, and the private table is never touched."""

import math
import re
import tomllib
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pqd
from benchmarks.persons import orders
from pqd.deciders.numbers import guess_text
from pqd.errors import TableError
from pqd.spec import Spec, read_spec
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
    return spec_template(folder / "secret" / "private.csv", synthetic, folder).text


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
        columns, *checks = spec.checks
        assert (columns.id, columns.schema) == ("columns", "complete")
        assert checks[0].sql == "SELECT COUNT(*) FROM D"
        for check in checks:
            assert check.tau is not None
            pqd.plan(
                spec.synthetic["my-copy"].path,
                pqd.Query(check.sql, check.id),
                tau=check.tau,
                epsilon=spec.gate,
                alpha=check.alpha,
                columns=spec.columns if spec.columns and check.tau != "5%" else None,
            )


def test_every_bound_is_there_and_too_few_rows_are_told(tmp_path: Path) -> None:
    text = made(TABLES["plain"], tmp_path)
    (tmp_path / "audit.toml").write_text(with_hints(text), encoding="utf-8")
    spec = read_spec(tmp_path / "audit.toml", {})
    assert [check.id for check in spec.checks] == ["columns", "rows"]
    assert "The copy has 3 rows. Sampling and noise explain " in text
    assert "Leave the check out if" in text
    assert "Left out, since an honest copy of this size would not surely pass" in text
    assert {name: facts["bounds"] for name, facts in spec.columns.items()} == {
        "age": "copy",
        "gain": "copy",
    }
    ends = re.findall(r'bounds = "copy" +# \[(\S+), (\S+)\];', text)
    assert [(float(low), float(high)) for low, high in ends] == [(17, 90), (0, 0.25)]


def large(rows: int = 20_000) -> dict[str, list[object]]:
    """A table whose columns a check of each kind fits: b depends on a, id tells rows apart."""
    rng = np.random.default_rng(7)
    a, age = rng.choice(["x", "y", "z"], rows, p=[0.5, 0.3, 0.2]), rng.integers(17, 91, rows)
    b = np.where(rng.random(rows) < 0.8, a, "w")
    columns = {"a": a, "b": b, "age": age, "same": np.zeros(rows, int), "id": np.arange(rows)}
    return {name: column.tolist() for name, column in columns.items()}


def read_of(text: str, folder: Path) -> Spec:
    (folder / "audit.toml").write_text(text, encoding="utf-8")
    return read_spec(folder / "audit.toml", {})


def test_a_check_of_each_kind(tmp_path: Path) -> None:
    text = made(large(), tmp_path)
    spec = read_of(text, tmp_path)
    shown = {check.id: (check.sql_text, check.tau or check.at_least) for check in spec.checks}
    marginals = ["a", "b", "age", "same", "a-b", "a-age", "b-age"]
    values = ["a-values", "b-values", "age-values", "same-values"]
    names = ["columns", "rows", "relations", *marginals, *values]
    assert list(shown) == [*names, "age-median"]
    assert shown["relations"] == ("RELATIONS KEPT", "50%")
    assert shown["rows"] == ("SELECT COUNT(*) FROM D", "5%")
    assert shown["a-b"][0] == "TOTAL VARIATION(a, b)"
    assert shown["b-values"] == ("VALUES(b)", "5%")
    assert 'MEDIAN("age")' in shown["age-median"][0]
    assert "# id: " in text
    assert "# same: " not in text
    assert spec.gate == Fraction(1, 4)
    assert (spec.epsilon, spec.names) == (Fraction(15, 2), Fraction(1, 2))
    assert max(map(len, text.splitlines())) <= 100
    assert all(line.isascii() for line in text.splitlines())


@pytest.mark.parametrize(("gate", "names"), [("0.25", "0.5"), ("1", "2")])
def test_the_price_is_that_of_the_gate_and_told_as_a_guess(
    gate: str, names: str, tmp_path: Path
) -> None:
    pq.write_table(pa.table(large()), tmp_path / "copy.parquet")
    one, worst = Fraction(gate), Fraction(names)
    text = spec_template(tmp_path / "p.csv", tmp_path / "copy.parquet", tmp_path, one, worst).text
    spec = read_of(text, tmp_path)
    assert (spec.gate, spec.names, spec.epsilon) == (one, worst, 10 * (one + worst))
    told = " ".join(text.replace("\n# ", " ").split())
    assert f"costs epsilon {gate} if all {len(spec.checks)} checks below hold" in told
    assert f"not: then {guess_text(one + worst)}." in told


def test_more_budget_and_more_rows_tell_more(tmp_path: Path) -> None:
    """Tolerances fall with epsilon, down to what sampling explains, and with the rows."""

    def tolerance(rows: int, gate: int) -> Fraction:
        pq.write_table(pa.table(large(rows)), tmp_path / "copy.parquet")
        budget = Fraction(gate, 4)
        text = spec_template(tmp_path / "p.csv", tmp_path / "copy.parquet", tmp_path, budget).text
        checks = {check.id: check for check in read_of(text, tmp_path).checks}
        return checks["a-b"].tolerance.share

    few, many, dear = tolerance(4_000, 1), tolerance(20_000, 1), tolerance(20_000, 50)
    assert few > many > dear > Fraction(1, 20)


def test_another_size_is_compared_by_shares(tmp_path: Path) -> None:
    pq.write_table(pa.table(large(4_000)), tmp_path / "copy.parquet")
    rows = 40_000
    template = spec_template(
        tmp_path / "p.csv", tmp_path / "copy.parquet", tmp_path, private_rows=rows
    )
    spec = read_of(template.text, tmp_path)
    assert spec.private_rows == rows
    assert "rows" not in {check.id for check in spec.checks}
    assert not any("COUNT(*)" in check.sql for check in spec.checks)
    assert {"a-values", "a-b"} <= {check.id for check in spec.checks}
    assert any("id, which look like identifiers" in each for each in template.unchecked)


def test_a_column_that_names_persons_is_the_unit_and_few_persons_are_told(tmp_path: Path) -> None:
    """Numbers of persons differ by sampling; identifiers of rows are no question of a gate."""
    table = orders(300, np.random.default_rng(4))
    table.to_parquet(tmp_path / "copy.parquet", index=False)
    template = spec_template(tmp_path / "p.csv", tmp_path / "copy.parquet", tmp_path)
    spec = read_of(template.text, tmp_path)
    assert spec.unit == "customer"
    rows = next(check for check in spec.checks if check.id == "rows")
    assert 3 * math.sqrt(600) < float(str(rows.tau)) < 150
    assert "The copy has 300 persons. " in template.text
    assert not any("order_id" in check.sql for check in spec.checks)
    few = "whether relations of columns are kept (of 300 persons chance alone may explain half)"
    assert template.unchecked[2] == few
    assert few in " ".join(template.text.replace("\n# ", " ").split())


def test_a_gate_that_would_judge_relations_is_named(tmp_path: Path) -> None:
    texts = ["x", "y", "z"] * 50
    columns = {"a": texts, "b": [2 * text for text in texts]}
    pq.write_table(pa.table(columns), tmp_path / "copy.parquet")
    cheap, dear = (
        spec_template(tmp_path / "p.csv", tmp_path / "copy.parquet", tmp_path, Fraction(gate))
        for gate in ("0.25", "0.5")
    )
    assert "noise hides half; pqd init --gate 0.5 checks them" in cheap.unchecked[2]
    assert '[[check]]\nid = "relations"' in dear.text


def test_private_rows_and_a_gate_that_would_judge_the_alarm_are_named_first(tmp_path: Path) -> None:
    numbers = {"a": [k % 30 for k in range(9_000)], "b": [k * 7919 % 31 for k in range(9_000)]}
    pq.write_table(pa.table(numbers), tmp_path / "copy.parquet")
    cheap, dear = (
        spec_template(tmp_path / "p.csv", tmp_path / "copy.parquet", tmp_path, Fraction(gate))
        for gate in ("0.1", "0.5")
    )
    assert cheap.unchecked[1] == (
        "whether the copy is nearly all private rows, the alarm (of 9,000 rows noise would explain "
        "it; pqd init --gate 0.5 checks it)"
    )
    assert "\n# Not checked: whether the copy is nearly all private rows, the alarm" in cheap.text
    assert "alarm = " not in cheap.text
    assert 'alarm = "overall"' in dear.text
    assert not any("alarm" in each for each in dear.unchecked)
    in_part = (
        "whether some rows of the copy are private (only attacks tell: pqd risk, or a second spec)"
    )
    for template in (cheap, dear):
        assert template.unchecked[0] == in_part
        assert f"Not checked: {in_part}." in " ".join(template.text.replace("# ", "").split())


def test_a_column_without_values_gets_no_check(tmp_path: Path) -> None:
    assert made(TABLES["empty columns"], tmp_path).count("\n[[check]]") == 2
    assert "[columns." not in made(TABLES["texts"], tmp_path)


def test_comments_stay_comments(tmp_path: Path) -> None:
    """A name that ends a line, or opens a table, is no part of the spec."""
    rows = 4_000
    odd: dict[str, list[object]] = {
        "a\n[[check]]\nid = 1": ["x", "y"] * (rows // 2),
        "b\r\n": list(range(rows)),
    }
    spec = read_of(made(odd, tmp_path), tmp_path)
    assert [check.id for check in spec.checks][1:3] == ["rows", "a-check-id-1"]
    assert spec.checks[2].marginal == ("a\n[[check]]\nid = 1",)
    same: dict[str, list[object]] = {
        "a b": ["x", "y"] * (rows // 2),
        "A-b": ["x", "y"] * (rows // 2),
    }
    ids = [check.id for check in read_of(made(same, tmp_path), tmp_path).checks]
    assert ids[:6] == ["columns", "rows", "relations", "a-b", "a-b-2", "a-b-a-b"]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("name", ["${HOME}", "a'b", 'a"b', "a\nb", "ü"])
def test_odd_paths_are_found_again(name: str, tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / name, tmp_path / "specs" / "deep"
    folder.mkdir()
    elsewhere.mkdir(parents=True)
    pq.write_table(pa.table({"a": [1]}), folder / "s.parquet")
    text = spec_template(folder / "p.csv", folder / "s.parquet", elsewhere).text
    (elsewhere / "audit.toml").write_text(text, encoding="utf-8")
    spec = read_spec(elsewhere / "audit.toml", {"HOME": "no"})
    assert spec.private.written.startswith("../../")
    assert Path(spec.private.path).resolve() == folder / "p.csv"
    assert Path(spec.synthetic["s"].path).resolve() == folder / "s.parquet"


def test_a_synthetic_table_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"the synthetic table .* does not exist"):
        spec_template(tmp_path / "p.csv", tmp_path / "s.csv", tmp_path)


@pytest.mark.parametrize("address", ["postgresql://h/d?table=hr.wages", "spark://hr.wages"])
def test_a_table_on_a_server_has_a_ledger_beside_the_spec(address: str, tmp_path: Path) -> None:
    made(TABLES["plain"], tmp_path)
    text = spec_template(address, tmp_path / "my copy.v2.parquet", tmp_path).text
    (tmp_path / "audit.toml").write_text(text, encoding="utf-8")
    spec = read_spec(tmp_path / "audit.toml", {})
    assert spec.private.path == address
    assert spec.ledger
    assert spec.ledger.path == tmp_path / "pqd-ledger.sqlite"


def test_a_private_path_that_is_no_text(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "s.parquet")
    with pytest.raises(TableError, match="the private table has a path that cannot be used"):
        spec_template(tmp_path / "p\udcff.csv", tmp_path / "s.parquet", tmp_path)


def test_no_more_hints_than_a_reader_reads(tmp_path: Path) -> None:
    text = made({f"c{number}": [number, 5] for number in range(60)}, tmp_path)
    assert text.count("\n[columns.") == 50


@examples(200)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_survives_toml(text: str) -> None:
    written = toml_text(text)
    assert written.isprintable()
    assert tomllib.loads(f"a = {written}\n") == {"a": text}
