"""Columns of a profile: those that every table has, but people's names, free text, identifiers."""

from typing import Any

import pandas as pd
import pytest

from pqd.engine.scan_plan import PrivacyUnit
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.errors import ParameterError, TableError
from pqd.marginals.profiled_columns import profiled_columns, shared_columns

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


def of(
    *copies: pd.DataFrame,
    wanted: list[str] | None = None,
    unit: PrivacyUnit | None = None,
    private: pd.DataFrame | None = PRIVATE,
) -> tuple[tuple[str, ...], dict[str, str]]:
    tables = SyntheticTables(
        [open_table(copy, "synthetic") for copy in copies],
        None if private is None else open_table(private, "private"),
    )
    shared, _ = shared_columns(tables, wanted, unit)
    schema = tables.schema(shared, {})
    names, left_out = profiled_columns(tables, schema, wanted, unit)
    return names, {each.columns[0]: each.reason for each in left_out}


def test_free_text_and_identifiers_are_left_out_with_a_reason() -> None:
    names, reasons = of(COPY)
    assert names == ("age", "ratio", "job", "half", "years", "who")
    assert list(reasons) == ["id", "letter", "more", "own"]
    assert reasons["id"].startswith("it holds 300 whole numbers, no two alike")
    assert reasons["letter"].startswith("its texts are nearly unique (300 different ones in 300")
    assert "151 different ones" in reasons["more"]
    assert all("--columns" in reasons[name] for name in ("id", "letter", "more"))
    assert reasons["own"] == "the private table has no such column"


def test_columns_that_are_named_are_profiled_whatever_they_hold() -> None:
    assert of(COPY, wanted=["LETTER", "age", "id"]) == (("id", "age", "letter"), {})


def test_few_rows_are_no_identifiers() -> None:
    few = COPY.iloc[:100]
    assert of(few)[0] == tuple(name for name in COPY.columns if name != "own")
    assert "id" not in of(COPY.iloc[:101])[0]


def test_the_column_of_the_unit_is_left_out() -> None:
    names, reasons = of(COPY, unit=PrivacyUnit("WHO", 1))
    assert "who" not in names
    assert reasons["who"] == "it names the person (--unit)"
    with pytest.raises(TableError, match='"who" is that of the privacy unit'):
        of(COPY, wanted=["who"], unit=PrivacyUnit("WHO", 1))


def test_every_copy_must_have_a_column_and_any_may_be_unique() -> None:
    plain = COPY.assign(id=5)
    names, reasons = of(plain, COPY.drop(columns="job"))
    assert names == ("age", "ratio", "half", "years", "who")
    assert reasons["job"] == "synthetic frame has no such column"
    assert "id" in reasons
    with pytest.raises(TableError, match='"job" is in the private table but not in the synthetic'):
        of(plain, COPY.drop(columns="job"), wanted=["job"])


def test_without_a_private_table_its_header_does_not_count() -> None:
    names, reasons = of(COPY, private=None)
    assert "own" in names
    assert list(reasons) == ["id", "letter", "more"]


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("own", 'the column "own" is in the synthetic table but not in the private one'),
        # What only the private table has is not told from what no table has.
        ("illness", 'columns: there is no column "illness"$'),
        ("zzzz", 'columns: there is no column "zzzz"$'),
        ("agee", "the nearest are age"),
    ],
)
def test_columns_that_a_table_lacks_are_refused(name: str, error: str) -> None:
    with pytest.raises((TableError, ParameterError), match=error) as caught:
        of(COPY, wanted=["age", name])
    assert "zebra" not in str(caught.value)


@pytest.mark.parametrize("odd", [float("inf"), float("nan"), None])
def test_identifiers_with_odd_cells(odd: Any) -> None:
    copy = COPY.astype({"id": float})
    copy.loc[5, "id"] = odd
    names, _ = of(copy)
    assert "id" not in names
