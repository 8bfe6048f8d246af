"""Texts of typed columns: what a row matches does not hang on how other rows make pandas write."""

import math

import pandas as pd
import pyarrow as pa
import pytest

from pqd.engine.duckdb import DuckDBEngine
from pqd.engine.kernel.evaluator import Evaluator
from pqd.engine.tables import open_table
from pqd.sql.schema import Kind

WHOLE = [0, 1, -7, 3, 10**15, -(2**53) + 1]


def texts(frame: object) -> list[str | None]:
    """Text of each row's cell, as conditions see it."""
    engine = DuckDBEngine()
    columns = engine._reader(open_table(frame, "private")).columns(["code"])
    typed = Evaluator(engine._sql, columns, {"code": Kind.TEXT}, {"code": "code"}).typed("code")
    values = typed.values.to_pylist()  # noqa: PD011 - no pandas
    return [values[code] for code in typed.codes]


def test_a_missing_value_changes_the_text_of_no_other_row() -> None:
    whole = texts(pd.DataFrame({"code": WHOLE}))
    assert whole == list(map(str, WHOLE))
    missing = pd.DataFrame({"code": [*WHOLE[:-1], None]})
    assert missing["code"].dtype == "float64", "as pandas has it, which is what this is about"
    assert texts(missing)[:-1] == whole[:-1]


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32(), pa.float16()])
def test_other_floating_numbers_keep_their_texts(kind: pa.DataType) -> None:
    cells = pa.array([0.5, -0.0, math.inf, -math.inf, math.nan, None, 2.0], kind)
    expected = ["0.5", "0", "inf", "-inf", "nan", None, "2"]
    assert texts(pa.table({"code": cells})) == expected


def test_numbers_too_large_to_be_told_apart_keep_their_texts() -> None:
    assert texts(pa.table({"code": [2.0**53, 1e300, -1e300]})) == [
        "9007199254740992.0",
        "1e+300",
        "-1e+300",
    ]
