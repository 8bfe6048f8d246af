"""Metadata of a table in a file: SDV and Frictionless, and what is refused."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from pqd.errors import ParameterError
from pqd.sql.schema import Kind
from pqd.stated.column_facts import parse_columns
from pqd.stated.metadata import Metadata, StatedColumn, parse_metadata, read_metadata

SDV: dict[str, Any] = {
    "METADATA_SPEC_VERSION": "SINGLE_TABLE_V1",
    "primary_key": "id",
    "alternate_keys": ["mail", ["ward", "bed"]],
    "columns": {
        "id": {"sdtype": "id", "regex_format": "[0-9]{5}"},
        "mail": {"sdtype": "email", "pii": True},
        "ward": {"sdtype": "categorical", "order": ["a", "b", 3]},
        "bed": {"sdtype": "numerical", "computer_representation": "Int64"},
        "since": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"},
        "born": {"sdtype": "datetime", "datetime_format": "%d.%m.%Y"},
        "flag": {"sdtype": "boolean"},
    },
}
SCHEMA: dict[str, Any] = {
    "fields": [
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": "120"}},
        {"name": "day", "type": "date", "constraints": {"maximum": "1970-01-02"}},
        {"name": "sex", "type": "string", "constraints": {"enum": ["m", "f"], "required": True}},
        {"name": "zip", "type": "string", "constraints": {"pattern": "[0-9]{5}", "unique": True}},
        {"name": "level", "type": "any", "constraints": {"enum": [1, 2.0, True]}},
    ],
    "primaryKey": ["age", "sex"],
    "missingValues": ["", "NA"],
}


@pytest.mark.parametrize("nested", [False, True])
def test_metadata_of_sdv(nested: bool) -> None:
    found = parse_metadata(
        {"METADATA_SPEC_VERSION": "V1", "tables": {"people": SDV}} if nested else SDV
    )
    assert found == Metadata(
        columns={
            "id": StatedColumn(unique=True),
            "mail": StatedColumn(),
            "ward": StatedColumn(values=("a", "b", "3")),
            "bed": StatedColumn(kind=Kind.NUMBER),
            "since": StatedColumn(kind=Kind.TIME),
            "born": StatedColumn(),
            "flag": StatedColumn(kind=Kind.BOOLEAN),
        },
        keys=(("id",), ("mail",), ("ward", "bed")),
        complete=True,
        unread=("the datetime_format of born",),
    )


@pytest.mark.parametrize("nested", [False, True])
def test_schema_of_frictionless(nested: bool) -> None:
    found = parse_metadata({"resources": [{"schema": SCHEMA}]} if nested else SCHEMA)
    day = 86_400e6
    assert found == Metadata(
        columns={
            "age": StatedColumn(kind=Kind.NUMBER, low="0", high="120", ends=(0.0, 120.0)),
            "day": StatedColumn(kind=Kind.TIME, high="1970-01-02", ends=(-math.inf, day)),
            "sex": StatedColumn(kind=Kind.TEXT, values=("m", "f"), required=True),
            "zip": StatedColumn(kind=Kind.TEXT, unique=True),
            "level": StatedColumn(values=("1", "2", "true")),
        },
        keys=(("age", "sex"),),
        complete=True,
        unread=("the pattern of zip", "missingValues"),
    )


def test_facts_of_the_caller_go_first() -> None:
    facts = parse_columns({"AGE": {"bounds": (18, None)}, "pay": {"type": "number"}})
    found = parse_metadata(SCHEMA).with_facts(facts, [["pay"]])
    stated = StatedColumn(kind=Kind.NUMBER, low="18", ends=(18.0, math.inf))
    assert found.columns["age"] == stated
    assert found.columns["pay"] == StatedColumn(kind=Kind.NUMBER)
    assert found.keys == (("age", "sex"), ("pay",))


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ([], "it is no JSON object"),
        ({}, "are understood"),
        ({"tables": {"a": SDV, "b": SDV}}, "several tables"),
        ({"resources": []}, "several tables or none"),
        ({"resources": [{"path": "a.csv"}]}, "the table is NoneType"),
        ({"columns": []}, "columns is list"),
        ({"columns": {"a": {}}}, "column a has no sdtype"),
        ({"columns": {"a": {"sdtype": "id"}}, "primary_key": "b"}, 'key names the column "b"'),
        ({"columns": {"a": {"sdtype": "id"}}, "primary_key": 3}, "the key 3 is neither"),
        ({"fields": "a"}, "fields is no list"),
        ({"fields": [{}]}, "field 1 has no name"),
        ({"fields": [{"name": "a", "constraints": {"enum": 1}}]}, "values of a are no list"),
        ({"fields": [{"name": "a", "constraints": {"minimum": "x"}}]}, "the minimum of a is 'x'"),
        ({"fields": [{"name": "a", "constraints": {"minimum": True}}]}, "the minimum of a is True"),
    ],
)
def test_what_is_not_understood_is_refused(stated: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        parse_metadata(stated)


def test_files_that_hold_no_metadata(tmp_path: Path) -> None:
    file = tmp_path / "meta.json"
    with pytest.raises(ParameterError, match=r"meta\.json cannot be read"):
        read_metadata(file)
    file.write_text("{")
    with pytest.raises(ParameterError, match=r"meta\.json is no JSON"):
        read_metadata(file)
    file.write_text("[" * 100_000)
    with pytest.raises(ParameterError, match=r"meta\.json is no JSON"):
        read_metadata(file)
    file.write_text("{}")
    with pytest.raises(ParameterError, match=r"metadata .*meta\.json: metadata of SDV"):
        read_metadata(file)
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps(SDV).encode())
    assert read_metadata(str(file)) == parse_metadata(SDV)
