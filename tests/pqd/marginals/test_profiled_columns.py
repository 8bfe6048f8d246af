"""Columns of a profile: those that every table has, but people's names, free text, identifiers."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pqd.engine.scan_plan import PrivacyUnit
from pqd.engine.tables import open_table
from pqd.errors import ParameterError, TableError
from pqd.marginals.profile_parameters import ProfileRequest
from pqd.marginals.profiled_columns import (
    ColumnChoice,
    candidate_columns,
    choose_columns,
    coarse_columns,
)
from pqd.planning.table_separation import opened_tables
from pqd.reports.models.standings import Standing
from pqd.stated.column_facts import parse_columns

ROWS = 300
COPY = pd.DataFrame(
    {
        "id": range(7, ROWS + 7),
        "age": [number % 60 for number in range(ROWS)],
        "letter": [f"Dear {number}" for number in range(ROWS)],
        "ratio": [number + 0.5 for number in range(ROWS)],
        "job": [f"job {number % 120}" for number in range(ROWS)],
        "half": [f"street {number % 150}" for number in range(ROWS)],
        "more": [f"street {number % 151}" for number in range(ROWS)],
        "years": pd.date_range("2020-01-01", periods=ROWS),
        "who": [f"person {number % 40}" for number in range(ROWS)],
        "own": 1,
    }
)
PRIVATE = COPY.drop(columns="own").iloc[:2].assign(illness="zebra-canary")


def choice(
    *copies: pd.DataFrame,
    wanted: list[str] | None = None,
    unit: PrivacyUnit | None = None,
    private: object = PRIVATE,
    cells_from: pd.DataFrame | None = None,
    **judge: bool,
) -> ColumnChoice:
    """Choice of columns of copies; ``judge`` states whether a column is judged."""
    tables = opened_tables(
        copies, None if private is None else open_table(private, "private"), cells_from
    )
    facts = parse_columns({name: {"judge": is_judged} for name, is_judged in judge.items()})
    request = ProfileRequest(columns=tuple(wanted) if wanted else None, facts=facts)
    names, _ = candidate_columns(tables, request, unit)
    schema = tables.schema(names, {}, partial=True)
    return choose_columns(tables, schema, request, unit)


def of(*copies: pd.DataFrame, **stated: Any) -> tuple[tuple[str, ...], dict[str, str]]:
    """Judged columns, and the reasons for the others."""
    chosen = choice(*copies, **stated)
    return chosen.judged, {each.columns[0]: each.reason for each in chosen.left_out}


def standings(chosen: ColumnChoice) -> dict[str, str | None]:
    """Standing of each column that is left out."""
    return {each.columns[0]: each.standing for each in chosen.left_out}


def test_every_column_has_a_place_or_a_reason() -> None:
    names, reasons = of(COPY)
    assert names == ("age", "ratio", "job", "half", "years", "who")
    assert reasons == {
        "id": "looks like an identifier in the copy (300 values in 300 rows); judge it with "
        'columns=["id"]',
        "letter": "looks like an identifier or free text in the copy (300 values in 300 rows); "
        'judge it with columns=["letter"]',
        "more": "looks like an identifier or free text in the copy (151 values in 300 rows); judge "
        'it with columns=["more"]',
        "own": "the private table has no such column",
    }
    kinds = dict.fromkeys(("id", "letter", "more"), Standing.NOT_JUDGED)
    assert standings(choice(COPY)) == {**kinds, "own": Standing.COPY_ALONE}


def test_columns_that_the_copy_lacks_are_told_where_names_are_no_cells(tmp_path: Path) -> None:
    """A frame or a CSV tells them if it has all columns of the copy, a Parquet file always."""
    copy, wide = COPY.drop(columns="own"), COPY.assign(illness="zebra")
    assert standings(choice(copy))["illness"] is Standing.MISSING
    assert "illness" not in standings(choice(COPY))
    parquet, csv = tmp_path / "private.parquet", tmp_path / "private.csv"
    narrow = wide.drop(columns="own")
    narrow.to_parquet(parquet)
    narrow.to_csv(csv, index=False)
    assert standings(choice(COPY, private=parquet))["illness"] is Standing.MISSING
    assert standings(choice(copy, private=csv))["illness"] is Standing.MISSING
    assert "illness" not in standings(choice(COPY, private=csv))
    # Without a header the first row would be told.
    narrow[["job", "letter", "illness"]].to_csv(csv, index=False, header=False)
    tables = opened_tables([copy], open_table(csv, "private"))
    names, left_out = candidate_columns(tables, ProfileRequest(), None)
    assert names == ()
    assert {each.standing for each in left_out} == {Standing.COPY_ALONE}


def test_columns_that_are_named_are_profiled_whatever_they_hold() -> None:
    assert of(COPY, wanted=["LETTER", "age", "id"]) == (("id", "age", "letter"), {})


def test_a_fact_says_whether_a_column_is_judged() -> None:
    chosen = choice(COPY, id=True, age=False, letter=False, illness=False)
    assert "id" in chosen.judged
    assert standings(chosen)["age"] is standings(chosen)["letter"] is Standing.SET_ASIDE
    assert "illness" not in standings(choice(COPY.drop(columns="own"), illness=False))


def test_few_rows_are_no_identifiers() -> None:
    few = COPY.iloc[:100]
    assert of(few)[0] == tuple(name for name in COPY.columns if name != "own")
    assert "id" not in of(COPY.iloc[:101])[0]


def test_free_text_and_identifiers_are_recognised_among_filled_rows() -> None:
    """Most rows have no note, and every note is another text."""
    rows = 1_000
    copy = pd.DataFrame(
        {
            "note": [f"text {n}" if n % 5 == 0 else None for n in range(rows)],
            "iban": [f"DE{n:08}" if n % 8 == 0 else None for n in range(rows)],
            "town": [f"town {n % 60}" if n % 5 == 0 else None for n in range(rows)],
        }
    )
    chosen = choice(copy, private=copy)
    assert chosen.judged == ("town",)
    assert "(200 values in 200 rows)" in chosen.left_out[0].reason
    assert [each.columns for each in chosen.left_out] == [("note",), ("iban",)]


def test_the_column_of_the_unit_is_left_out() -> None:
    names, reasons = of(COPY, unit=PrivacyUnit("WHO", 1))
    assert "who" not in names
    assert reasons["who"] == "it names the person (unit)"
    with pytest.raises(TableError, match='"who" is that of the privacy unit'):
        of(COPY, wanted=["who"], unit=PrivacyUnit("WHO", 1))


def test_a_column_that_one_copy_can_be_judged_on_is_judged_in_all() -> None:
    """The copies that lack it, or turned it into identifiers, are named."""
    plain = COPY.assign(id=5)
    chosen = choice(plain, COPY.drop(columns="job"))
    assert chosen.judged == ("id", "age", "ratio", "job", "half", "years", "who")
    first, second = ({f.columns[0]: f for f in flaws} for flaws in chosen.flaws)
    assert first == {}
    assert {name: flaw.standing for name, flaw in second.items()} == {
        "id": Standing.NOT_JUDGED,
        "job": Standing.MISSING,
    }
    assert "looks like an identifier in synthetic frame (300 values" in second["id"].reason
    assert set(standings(chosen)) == {"letter", "more", "own"}
    # The order of the copies does not matter, even for a column that only the second one has.
    other = choice(COPY.drop(columns="job"), plain)
    assert set(other.judged) == set(chosen.judged)
    assert other.flaws == chosen.flaws[::-1]


def test_a_table_that_gives_cells_gives_the_columns_too() -> None:
    chosen = choice(COPY.drop(columns="job"), cells_from=COPY.drop(columns="half").assign(id=7))
    assert chosen.judged == ("id", "age", "ratio", "job", "years", "who")
    assert {each.columns[0] for each in chosen.flaws[0]} == {"id", "job"}
    assert standings(chosen)["half"] is Standing.NOT_JUDGED


def test_a_copy_with_half_the_cells_of_another_is_coarse() -> None:
    sizes = {"age": [4, 12, 12], "job": [6, 12, 50], "same": [3, 3, 3]}
    assert coarse_columns(sizes, [(), (), ()]) == {0: ("age", "job"), 1: ("job",)}
    # A column that a copy turned into identifiers has many cells, which says nothing.
    assert coarse_columns(sizes, [(), (), ("job",)]) == {0: ("age",)}


def test_without_a_private_table_its_header_does_not_count() -> None:
    names, reasons = of(COPY, private=None)
    assert "own" in names
    assert list(reasons) == ["id", "letter", "more"]


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("own", 'the column "own" is in the synthetic table but not in the private one'),
        # What only the private table has is not told from what no table has.
        ("illness", 'columns: there is no column "illness"; there are id, age'),
        ("zzzz", 'columns: there is no column "zzzz"; there are id, age'),
        ("agee", 'the nearest is "age"'),
    ],
)
def test_columns_that_a_table_lacks_are_refused(name: str, error: str) -> None:
    with pytest.raises((TableError, ParameterError), match=error) as caught:
        of(COPY, wanted=["age", name])
    assert "zebra" not in str(caught.value)


def test_a_wanted_column_that_one_copy_lacks_is_a_flaw_of_it() -> None:
    for copies in ((COPY, COPY.drop(columns="job")), (COPY.drop(columns="job"), COPY)):
        chosen = choice(*copies, wanted=["job", "age"])
        assert sorted(chosen.judged) == ["age", "job"]
        lacked = [[each.columns for each in flaws] for flaws in chosen.flaws]
        assert lacked == [[] if "job" in copy else [("job",)] for copy in copies]
    with pytest.raises(ParameterError, match='there is no column "job"; there are id, '):
        choice(COPY.drop(columns="job"), wanted=["job"])


@pytest.mark.parametrize("odd", [float("inf"), float("nan"), None])
def test_identifiers_with_odd_cells(odd: Any) -> None:
    copy = COPY.astype({"id": float})
    copy.loc[5, "id"] = odd
    names, _ = of(copy)
    assert "id" not in names
