"""GROUP BY and bins: every group's answer against plain Python, and nothing that only D knows."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pqd
from pqd.accounting.composition import PARALLEL, SEQUENTIAL
from pqd.commands.audit import run_audit
from pqd.deciders import SecureNoise, SimulatedNoise, answer
from pqd.deciders.errors import ParameterError
from pqd.engine.scan_plan import ScanPlan
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.errors import PqdError, QueryError, UnanswerableError
from pqd.parameters import Parameters
from pqd.planning.binding import bind
from pqd.planning.bound_workload import QueryRequest
from pqd.planning.query_verdict import select_deciders
from pqd.reports.writers.terminal import terminal_text
from pqd.reports.writers.terminal.layout import Extent
from pqd.sql.grouping import MOST_GROUPS, Bins, grouped
from pqd.sql.query import Key, Query
from pqd.sql.workload_files import as_queries
from tests.support.likeness import like

Cells = Mapping[str, Any]

HIDDEN = "private-only"
TEXTS = ["it's", 'a"b', "", "M", "m", "M ", "NULL?", "Zoë 🦓", "5", "true", "%", "x\\y", "a = 1, b"]
NUMBERS = [0.0, 1.0, -1.5, 0.1, 1e15, 2**53 + 2.0, 1e-9]
TIMES = [datetime(1999, 12, 31, 23, 59, 59, 250000), datetime(2020, 2, 29)]  # noqa: DTZ001 - as in SQL


def table(size: int, seed: int, extra: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
    """Rows of every kind with NULL in each; ``extra`` are values that only this table has."""
    rng = np.random.default_rng(seed)
    cells: dict[str, list[Any]] = {
        "sex": [*TEXTS, None, *extra.get("sex", ())],
        "age": [*NUMBERS, None, *extra.get("age", ())],
        "flag": [True, False, None],
        "born": [*TIMES, None, *extra.get("born", ())],
    }
    frame = pd.DataFrame(
        {
            name: pd.Series([values[i] for i in rng.integers(0, len(values), size)], dtype=object)
            for name, values in cells.items()
        }
    )
    frame["age"] = frame["age"].astype("float64")
    frame["born"] = frame["born"].astype("datetime64[us]")
    # Pandas frames as the engine reads them: an empty text is a text, and None is NULL.
    frame["capital-gain"] = rng.integers(-3, 8, size)
    frame["pay"] = rng.integers(0, 9, size) / 4
    return frame


SYNTHETIC = table(300, 1, {})
PRIVATE = table(
    400,
    2,
    {"sex": [HIDDEN], "age": [77777.0], "born": [datetime(2001, 1, 1)]},  # noqa: DTZ001 - as in SQL
)
FACTS: dict[str, dict[str, Any]] = {
    "capital-gain": {"bounds": (-3, 7)},
    "pay": {"bounds": (0, 2), "step": "0.25"},
}
AGGREGATES = [
    "COUNT(*)",
    "COUNT(age)",
    "COUNT(DISTINCT sex)",
    'SUM("capital-gain")',
    "AVG(pay)",
    'MEDIAN("capital-gain")',
    "QUANTILE(pay, 0.75)",
]


def terms(tau: str = "2.5", columns: Mapping[str, Any] | None = None) -> Parameters:
    return Parameters.parse(
        tau=tau, epsilon="0.5", alpha="0.05", columns=FACTS if columns is None else columns
    )


def answers(
    queries: Sequence[Query],
    private: object = PRIVATE,
    synthetic: object = SYNTHETIC,
    stated: Parameters | None = None,
) -> dict[str | None, tuple[Fraction, Fraction | None]]:
    """By group in words: the synthetic answer, and the private one without any noise."""
    parameters = stated or terms()
    tables = SyntheticTables([open_table(synthetic, "synthetic")], open_table(private, "private"))
    requests = [QueryRequest(query, parameters) for query in queries]
    plan = select_deciders(bind(tables, requests, parameters.columns))
    plan.bound.check()
    scan = ScanPlan(tuple(verdict.statistic for verdict in plan.verdicts))
    bound = plan.bound
    histograms = tables.engine.histograms(bound.private, bound.schema, scan)
    found: dict[str | None, tuple[Fraction, Fraction | None]] = {}
    for verdict, histogram in zip(plan.verdicts, histograms, strict=True):
        query = verdict.query
        secret = answer(query.aggregate, histogram, query.p or Fraction(1, 2))
        assert query.group not in found
        found[query.group] = (verdict.answer, None if secret is None else secret * verdict.scale)
    return found


def rows_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Plain rows, None for whatever pandas takes for missing."""
    return [
        {str(name): None if pd.isna(cell) else cell for name, cell in row.items()}
        for row in frame.to_dict("records")
    ]


def words(cells: Cells) -> str:
    """How a report names a group."""

    def shown(cell: Any) -> str:
        if cell is None:
            return "NULL"
        if isinstance(cell, pd.Timestamp):
            return cell.to_pydatetime().isoformat(" ")
        if isinstance(cell, str):
            # Those that read as a text and as nothing else stand as they are.
            plain = cell in {"it's", "M", "m", "NULL?", "Zoë 🦓", "x\\y", HIDDEN}
            return cell if plain else "'" + cell.replace("'", "''") + "'"
        if isinstance(cell, bool):
            return str(cell)
        number = Fraction(cell)
        return f"{int(number):,}" if number.denominator == 1 else f"{float(number):g}"

    return ", ".join(f"{name} = {shown(cell)}" for name, cell in cells.items())


def clamped(values: Sequence[Any], low: float, high: float) -> list[Fraction]:
    return sorted(Fraction(min(max(value, low), high)) for value in values if value is not None)


def reference(aggregate: str, rows: Sequence[Cells]) -> Fraction | None:  # noqa: PLR0911 - a table
    """The aggregate in plain Python."""
    gains = clamped([row["capital-gain"] for row in rows], -3, 7)
    pays = clamped([row["pay"] for row in rows], 0, 2)
    match aggregate:
        case "COUNT(*)":
            return Fraction(len(rows))
        case "COUNT(age)":
            return Fraction(sum(row["age"] is not None for row in rows))
        case "COUNT(DISTINCT sex)":
            return Fraction(len({row["sex"] for row in rows} - {None}))
        case 'SUM("capital-gain")':
            return sum(gains, Fraction(0))
        case "AVG(pay)":
            return sum(pays, Fraction(0)) / len(pays) if pays else None
        case 'MEDIAN("capital-gain")':
            return gains[-(-len(gains) // 2) - 1] if gains else None
        case "QUANTILE(pay, 0.75)":
            return pays[-(-len(pays) * 3 // 4) - 1] if pays else None
        case other:
            raise ValueError(other)


def groups_of(rows: Sequence[Cells], names: Sequence[str]) -> dict[str, list[Cells]]:
    found: dict[str, list[Cells]] = {}
    for row in rows:
        found.setdefault(words({name: row[name] for name in names}), []).append(row)
    return found


@pytest.mark.parametrize(
    ("name", "aggregate"),
    [
        (name, aggregate)
        for name in ("sex", "age", "flag", "born", "capital-gain")
        for aggregate in AGGREGATES
        if f"COUNT({name})" != aggregate
    ],
)
def test_one_column_groups_like_plain_python(name: str, aggregate: str) -> None:
    check(aggregate, [name], "", rows_of(SYNTHETIC), rows_of(PRIVATE))


@pytest.mark.parametrize("names", [["sex", "flag"], ["flag", "born", "capital-gain"]])
@pytest.mark.parametrize("aggregate", ["COUNT(*)", 'SUM("capital-gain")'])
def test_several_columns_group_like_plain_python(names: list[str], aggregate: str) -> None:
    check(aggregate, names, "", rows_of(SYNTHETIC), rows_of(PRIVATE))


def test_a_group_whose_synthetic_rows_count_nothing_is_a_group() -> None:
    check("COUNT(age)", ["age"], "", rows_of(SYNTHETIC), rows_of(PRIVATE))


def test_where_narrows_the_groups_and_their_rows() -> None:
    where = "WHERE \"capital-gain\" > 0 AND (flag OR sex = 'it''s')"

    def matching(frame: pd.DataFrame) -> list[dict[str, Any]]:
        return [
            row
            for row in rows_of(frame)
            if row["capital-gain"] > 0 and (row["flag"] or row["sex"] == "it's")
        ]

    check("COUNT(*)", ["sex"], where, matching(SYNTHETIC), matching(PRIVATE))
    check("AVG(pay)", ["flag", "sex"], where, matching(SYNTHETIC), matching(PRIVATE))


def check(
    aggregate: str,
    names: Sequence[str],
    where: str,
    public: Sequence[Cells],
    secret: Sequence[Cells],
) -> None:
    listed = ", ".join(f'"{name}"' for name in names)
    query = Query(f"SELECT {aggregate} FROM D {where} GROUP BY {listed}", id="g")
    ordered = aggregate.startswith(("MEDIAN", "QUANTILE"))
    found = answers([query], stated=terms(NARROW) if ordered else None)
    here, there = groups_of(public, names), groups_of(secret, names)
    assert found.keys() == here.keys()
    for group, (synthetic, private) in found.items():
        expected = reference(aggregate, there.get(str(group), []))
        assert synthetic == reference(aggregate, here[str(group)]), group
        if ordered:
            # Of an order statistic it is counted which side of the tolerance it is on, no more.
            assert side(private, synthetic) == side(expected, synthetic), group
        else:
            assert private == expected, group


# A tolerance that some private medians and quantiles miss on either side.
NARROW = "0.5"


def side(private: Fraction | None, synthetic: Fraction) -> int | None:
    """Below the tolerance (-1), inside (0), above (1); None without an answer."""
    if private is None:
        return None
    tau = Fraction(NARROW)
    return (private >= synthetic + tau) - (private <= synthetic - tau)


def test_a_key_that_only_the_private_table_holds_appears_nowhere() -> None:
    query = as_queries(
        ["SELECT COUNT(*) FROM D GROUP BY sex", "SELECT COUNT(*) FROM D GROUP BY age"]
    )
    report = run_audit(PRIVATE, SYNTHETIC, query, terms(), SecureNoise())
    said = str(report) + report.to_json() + report.to_frame().to_csv()
    assert HIDDEN in set(PRIVATE["sex"])
    assert HIDDEN not in said
    assert "77,777" not in said
    assert "77777" not in said


def test_a_key_that_the_private_table_lacks_counts_none() -> None:
    lacking = PRIVATE[PRIVATE["sex"] != "M"]
    found = answers([Query("SELECT COUNT(*) FROM D GROUP BY sex", id="g")], lacking)
    assert found["sex = M"][0] == (SYNTHETIC["sex"] == "M").sum() > 0
    assert found["sex = M"][1] == 0


def test_groups_ascend_and_null_comes_last() -> None:
    found = answers([Query("SELECT COUNT(*) FROM D GROUP BY age", id="g")])
    assert next(iter(found)) == "age = -1.5"
    assert [*found][-1] == "age = NULL"


@pytest.mark.parametrize("stored", ["zip", "ZIP", "z i p", 'z"ip', "sex=", "ünï"])
def test_a_column_keeps_its_name_in_every_group(stored: str) -> None:
    frame = pd.DataFrame({stored: ["02139", "2139", None]})
    quoted = '"' + stored.lower().replace('"', '""') + '"'
    found = answers(
        [Query(f"SELECT COUNT(*) FROM D GROUP BY {quoted}", id="g")],
        frame,
        frame,
        terms(columns={stored: {"type": "text"}}),
    )
    assert {group: pair[1] for group, pair in found.items()} == {
        f"{stored.lower()} = '02139'": 1,
        f"{stored.lower()} = '2139'": 1,
        f"{stored.lower()} = NULL": 1,
    }


def test_a_number_of_kind_text_groups_by_its_text() -> None:
    private = pd.DataFrame({"zip": [2139.0, 2139.5, np.nan]})
    synthetic = pd.DataFrame({"zip": ["2139", "2139.0", None]})
    stated = terms(columns={"zip": {"type": "text"}})
    found = answers(
        [Query("SELECT COUNT(*) FROM D GROUP BY zip", id="g")], private, synthetic, stated
    )
    # 2139.0 is "2139": that another row has no number must not decide how this one is written.
    assert [pair[1] for pair in found.values()] == [1, 0, 1]


# Stated keys


def stated(sql: str, *keys: Key) -> Query:
    return Query(sql, id="g", keys=keys)


BY_SEX = "SELECT COUNT(*) FROM D GROUP BY sex"


def test_stated_keys_are_asked_for_whatever_the_synthetic_table_holds() -> None:
    found = answers([stated(BY_SEX, ("it's",), ("nobody",), (None,), (HIDDEN,))])
    assert [*found] == ["sex = it's", "sex = nobody", "sex = NULL", f"sex = {HIDDEN}"]
    assert found["sex = nobody"] == (Fraction(0), Fraction(0))
    assert found[f"sex = {HIDDEN}"][0] == 0
    assert found[f"sex = {HIDDEN}"][1] == (PRIVATE["sex"] == HIDDEN).sum() > 0
    assert found["sex = NULL"][1] == PRIVATE["sex"].isna().sum()


def test_stated_keys_of_every_kind() -> None:
    sql = "SELECT COUNT(*) FROM D GROUP BY flag, born, age"
    found = answers(
        [stated(sql, (True, TIMES[1], 1), (None, "2020-02-29", -1.5), (False, None, 0))]
    )
    rows = rows_of(PRIVATE)

    def held(flag: Any, born: Any, age: Any) -> int:
        return sum((row["flag"], row["born"], row["age"]) == (flag, born, age) for row in rows)

    expected = [held(True, TIMES[1], 1), held(None, TIMES[1], -1.5), held(False, None, 0)]
    assert [pair[1] for pair in found.values()] == expected


REFUSED_KEYS: dict[str, tuple[Query, str]] = {
    "twice": (stated(BY_SEX, ("M",), ("F",), ("M",)), "stated twice"),
    "a number for text": (stated(BY_SEX, (1,)), '"sex" is text and 1.0 is a number'),
    "a text for a number": (
        stated("SELECT COUNT(*) FROM D GROUP BY age", ("1",)),
        "\"age\" is a number and '1' is text",
    ),
    "a boolean for a number": (
        stated("SELECT COUNT(*) FROM D GROUP BY age", (True,)),
        '"age" is a number and TRUE is a boolean',
    ),
    "no time": (stated("SELECT COUNT(*) FROM D GROUP BY born", ("soon",)), "not a date or time"),
    "infinite": (
        stated("SELECT COUNT(*) FROM D GROUP BY age", (float("inf"),)),
        "a key is infinite",
    ),
    "none": (stated(BY_SEX), "there is no group"),
}


@pytest.mark.parametrize(
    ("columns", "key"), [("sex, age", ("M",)), ("sex", ("M", 1)), ("sex", 5), ("sex", "M")]
)
def test_keys_of_another_shape_are_refused(columns: str, key: Any) -> None:
    with pytest.raises(QueryError, match="has not one value for each of"):
        stated(f"SELECT COUNT(*) FROM D GROUP BY {columns}", key)


def test_keys_need_a_grouped_query() -> None:
    with pytest.raises(QueryError, match="there is no GROUP BY"):
        stated("SELECT COUNT(*) FROM D", ("M",))


@pytest.mark.parametrize("label", REFUSED_KEYS)
def test_keys_that_cannot_be_are_refused(label: str) -> None:
    query, message = REFUSED_KEYS[label]
    with pytest.raises(PqdError) as caught:
        run_audit(PRIVATE, SYNTHETIC, (query,), terms(), SecureNoise())
    assert message in str(caught.value)
    assert "query g" in str(caught.value)


SAME: dict[str, tuple[str, Key, Key]] = {
    "numbers": ("age", (1,), (1.0,)),
    "zero": ("age", (0.0,), (-0.0,)),
}


@pytest.mark.parametrize("label", SAME)
def test_one_key_in_two_spellings_is_stated_twice(label: str) -> None:
    column, first, second = SAME[label]
    query = stated(f"SELECT COUNT(*) FROM D GROUP BY {column}", first, second)
    with pytest.raises(QueryError, match="stated twice"):
        run_audit(PRIVATE, SYNTHETIC, (query,), terms(), SecureNoise())


def test_a_query_without_an_id_keeps_its_keys() -> None:
    (query,) = as_queries(Query(BY_SEX, keys=(("nobody",),)))
    assert [*answers([query])] == ["sex = nobody"]


# What is refused


def test_more_than_a_thousand_groups_are_refused() -> None:
    many = pd.DataFrame({"sex": [f"k{number}" for number in range(MOST_GROUPS + 1)]})
    with pytest.raises(UnanswerableError, match="GROUP BY sex makes more than 1,000 groups"):
        run_audit(PRIVATE, many, as_queries(BY_SEX), terms(columns={}), SecureNoise())
    keys = [(str(number),) for number in range(MOST_GROUPS + 1)]
    with pytest.raises(UnanswerableError, match="more than 1,000"):
        grouped(Query(BY_SEX), lambda: keys)
    assert len(grouped(Query(BY_SEX), lambda: keys[1:])) == MOST_GROUPS


def test_no_group_at_all_is_refused() -> None:
    sql = f"SELECT COUNT(*) FROM D WHERE sex = '{HIDDEN}' GROUP BY sex"
    with pytest.raises(UnanswerableError, match="no synthetic row matches, so there is no group"):
        run_audit(PRIVATE, SYNTHETIC, as_queries(sql), terms(), SecureNoise())


@pytest.mark.parametrize("aggregate", ["MEDIAN", "AVG"])
def test_a_group_without_a_synthetic_row_has_no_median(aggregate: str) -> None:
    sql = f"SELECT {aggregate}(pay) FROM D GROUP BY sex"
    with pytest.raises(UnanswerableError, match="no synthetic row matches, so there is no me"):
        run_audit(PRIVATE, SYNTHETIC, (stated(sql, (HIDDEN,)),), terms(), SecureNoise())
    both = stated(sql, ("it's",), (HIDDEN,))
    report = run_audit(PRIVATE, SYNTHETIC, (both,), terms(), SecureNoise())
    assert [verdict.group for verdict in report.verdicts] == ["sex = it's"]
    assert [each.group for each in report.refused] == [f"sex = {HIDDEN}"]


@pytest.mark.parametrize("column", ["xes", "sex || 'a'", "1", "ALL"])
def test_only_columns_group(column: str) -> None:
    def asked() -> None:
        queries = as_queries(f"SELECT COUNT(*) FROM D GROUP BY {column}")
        run_audit(PRIVATE, SYNTHETIC, queries, terms(), SecureNoise())

    with pytest.raises(QueryError, match=r"GROUP BY|to group by"):
        asked()


# Names and what a reader sees


def test_groups_have_ids_of_their_own_and_share_a_block() -> None:
    report = run_audit(PRIVATE, SYNTHETIC, as_queries(BY_SEX), terms(), SecureNoise())
    assert {verdict.block for verdict in report.verdicts} == {"q1"}
    assert all(verdict.id == f"q1[{verdict.group}]" for verdict in report.verdicts)
    assert len({verdict.id for verdict in report.verdicts}) == len(report.verdicts)


def test_null_and_the_text_null_have_two_names() -> None:
    frame = pd.DataFrame({"sex": ["NULL", None]})
    report = run_audit(like(frame), frame, as_queries(BY_SEX), terms(columns={}), SecureNoise())
    assert len({verdict.id for verdict in report.verdicts}) == 2


def test_keys_of_several_columns_have_different_names() -> None:
    frame = pd.DataFrame({"a": ["x, b = y", "x"], "b": ["z", "y, b = z"]})
    query = as_queries("SELECT COUNT(*) FROM D GROUP BY a, b")
    report = run_audit(like(frame), frame, query, terms(columns={}), SecureNoise())
    assert len({verdict.id for verdict in report.verdicts}) == 2


def test_a_grouped_query_is_a_block_of_each_standing_that_names_each_group_once() -> None:
    queries = as_queries([BY_SEX, "SELECT COUNT(*) FROM D"])
    report = run_audit(PRIVATE, SYNTHETIC, queries, terms(), SimulatedNoise(1))
    lines = terminal_text(report, extent=Extent.ALL).splitlines()
    heads = [line for line in lines if line.endswith("COUNT(*) per group")]
    assert 1 <= len(heads) <= len({verdict.standing for verdict in report.verdicts})
    for verdict in report.verdicts:
        if verdict.group:
            # The only group of a standing has the query's name before its own.
            names = f"   {verdict.group}  ", f"  q1[{verdict.group}]  "
            found = [line for line in lines if any(name in line for name in names)]
            assert len(found) == 1, verdict.group


def test_groups_are_charged_once_and_overlapping_queries_each() -> None:
    queries = as_queries(["SELECT COUNT(*) FROM D GROUP BY sex, flag"])
    report = run_audit(PRIVATE, SYNTHETIC, queries, terms(), SecureNoise())
    assert (report.spent, report.cost.rule) == (Fraction(1, 2), PARALLEL)
    both = as_queries([BY_SEX, "SELECT COUNT(*) FROM D GROUP BY flag"])
    assert run_audit(PRIVATE, SYNTHETIC, both, terms(), SecureNoise()).spent == 1
    alone = run_audit(PRIVATE, SYNTHETIC, (stated(BY_SEX, ("M",)),), terms(), SecureNoise())
    assert (alone.spent, alone.cost.rule) == (Fraction(1, 2), SEQUENTIAL)


def test_the_selected_columns_change_nothing() -> None:
    plain = answers([Query(BY_SEX, id="g")])
    assert answers([Query("SELECT sex, COUNT(*) FROM D GROUP BY SEX", id="g")]).keys() == {
        str(group).replace("sex", "SEX") for group in plain
    }


# Where the predicate is read again, it must mean the same

BINDING = [
    "sex NOT LIKE 'M%' < flag",
    "age NOT IN (0, 1) < flag",
    "age NOT BETWEEN 0 AND 1 < flag",
    "NOT age = 1 IS NULL",
    "flag = flag IS NULL",
    "NOT flag OR age = 1 AND sex = 'M'",
    "age > 1 -- */ OR TRUE",
]


@pytest.mark.parametrize(
    "where",
    BINDING,
)
def test_groups_add_up_to_the_whole(where: str) -> None:
    private = pd.concat([PRIVATE, SYNTHETIC])
    keys = [(text,) for text in [*TEXTS, HIDDEN, None]]
    (whole,) = answers([Query(f"SELECT COUNT(*) FROM D WHERE {where}", id="w")], private).values()
    sql = f"SELECT COUNT(*) FROM D WHERE {where}\nGROUP BY sex"
    parts = answers([Query(sql, id="g", keys=tuple(keys))], private)
    assert sum(pair[0] for pair in parts.values()) == whole[0]
    assert sum(pair[1] or 0 for pair in parts.values()) == whole[1]


# Bins

BINNED = [
    "x=0:1:0.1",
    "x=0:0.3:0.1",
    "x=-1:1:0.25",
    "x=0:100:10",
    "x=0.05:0.95:0.3",
    "x=1e15:1000000000000004:1",
    "x=0:1e-299:2.5e-300",
    "x=9007199254740992:9007199254740996:0.5",
]


@pytest.mark.parametrize("text", BINNED)
def test_bins_count_like_numpy(text: str) -> None:
    bins = Bins.parse(text)
    number = int((bins.upper - bins.lower) / bins.width)
    edges = [float(bins.lower + i * bins.width) for i in range(number + 1)]
    around = [
        near for e in edges for near in (e, np.nextafter(e, np.inf), np.nextafter(e, -np.inf))
    ]
    rng = np.random.default_rng(6)
    inside = rng.uniform(edges[0], edges[-1], 200)
    values = np.array([*around, *inside, -1e300, 1e300, np.inf, -np.inf, 0.30000000000000004, -0.0])
    frame = pd.DataFrame({"x": [*values, np.nan]})
    found = answers(
        bins.of(Query("SELECT COUNT(*) FROM D", id="b")), frame, frame, terms(columns={})
    )
    expected, _ = np.histogram(values, bins=np.array(edges))
    assert [pair[1] for pair in found.values()] == expected.tolist()
    assert [pair[0] for pair in found.values()] == expected.tolist()


def test_bins_of_a_hyphenated_column_keep_the_predicate() -> None:
    bins = Bins.parse('"capital-gain"=-2:4:2')
    query = Query("SELECT COUNT(*) FROM D WHERE flag OR sex = 'M'", id="b")
    found = answers(bins.of(query))
    expected = {
        f"capital-gain in [{low}, {low + 2}{']' if low == 2 else ')'}": sum(
            low <= row["capital-gain"] < low + 2 + (low == 2)
            for row in rows_of(PRIVATE)
            if row["flag"] or row["sex"] == "M"
        )
        for low in (-2, 0, 2)
    }
    assert {group: pair[1] for group, pair in found.items()} == expected


def test_bins_are_charged_once() -> None:
    queries = Bins.parse("age=-2:2:0.5").of(Query("SELECT COUNT(*) FROM D", id="b"))
    report = run_audit(PRIVATE, SYNTHETIC, queries, terms(), SecureNoise())
    assert len(report.verdicts) == 8
    assert (report.spent, report.cost.rule) == (Fraction(1, 2), PARALLEL)


@pytest.mark.parametrize(
    "text",
    [
        *("x", "x=1", "=0:1:1", "x=0:1", "x=0:1:1:1", "x=a:b:c", "x=0:1:0", "x=0:1:-1"),
        *("x=1:0:1", "x=1:1:1", "x=0:1:0.3", "x=0:1001:1", "x=0:inf:1", "x=0:1e400:1e399"),
    ],
)
def test_bins_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        Bins.parse(text)


def test_bins_and_group_by_do_not_go_together() -> None:
    with pytest.raises(QueryError, match="do not go together"):
        Bins.parse("age=0:10:1").of(Query(BY_SEX))


@pytest.mark.parametrize("text", ["sex=0:1:1", "nothing=0:1:1"])
def test_bins_of_what_is_no_number_are_refused(text: str) -> None:
    queries = Bins.parse(text).of(Query("SELECT COUNT(*) FROM D", id="b"))
    with pytest.raises(QueryError):
        run_audit(PRIVATE, SYNTHETIC, queries, terms(), SecureNoise())


def test_the_public_door_groups_too() -> None:
    report = pqd.audit(PRIVATE, SYNTHETIC, BY_SEX, tau="2.5", epsilon=1)
    assert len(report.verdicts) == SYNTHETIC["sex"].nunique(dropna=False)
    assert report.spent == 1
