"""Metadata of a table in a file: SDV and Frictionless, and what is refused."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from pqd.errors import ParameterError
from pqd.sql.schema import Kind
from pqd.stated.column_facts import parse_columns
from pqd.stated.metadata import Metadata
from pqd.stated.metadata_files import parse_metadata, read_metadata
from pqd.stated.stated_column import StatedColumn

SDV: dict[str, Any] = {
    "METADATA_SPEC_VERSION": "SINGLE_TABLE_V1",
    "primary_key": "id",
    "alternate_keys": ["mail", ["ward", "bed"]],
    "columns": {
        "id": {"sdtype": "id", "regex_format": "[0-9]{5}"},
        "mail": {"sdtype": "email", "pii": True},
        "ward": {"sdtype": "categorical", "order": ["a", "b"]},
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
        {"name": "level", "type": "any", "constraints": {"enum": [1, 2.0, 3]}},
    ],
    "primaryKey": ["age", "sex"],
    "missingValues": ["", "NA"],
}


def column(**facts: object) -> dict[str, Any]:
    """Metadata of SDV for one column, of numbers if nothing else is stated."""
    return {"columns": {"a": {"sdtype": "numerical", **facts}}}


def listed(values: object) -> dict[str, Any]:
    """Metadata of SDV for one column with these values."""
    return column(sdtype="categorical", range_values=values)


def field(**constraints: object) -> dict[str, Any]:
    """Schema of Frictionless for one field with these constraints."""
    return {"fields": [{"name": "a", "constraints": constraints}]}


@pytest.mark.parametrize("nested", [False, True])
def test_metadata_of_sdv(nested: bool) -> None:
    found = parse_metadata(
        {"METADATA_SPEC_VERSION": "V1", "tables": {"people": SDV}} if nested else SDV
    )
    assert found == Metadata(
        columns={
            "id": StatedColumn(unique=True, identifier=True),
            "mail": StatedColumn(identifier=True),
            "ward": StatedColumn(
                kind=Kind.TEXT, values=("a", "b"), of_texts=True, kind_of_values=True
            ),
            "bed": StatedColumn(kind=Kind.NUMBER),
            "since": StatedColumn(kind=Kind.TIME, dates="%Y-%m-%d"),
            "born": StatedColumn(kind=Kind.TIME, dates="%d.%m.%Y"),
            "flag": StatedColumn(kind=Kind.BOOLEAN),
        },
        keys=(("id",), ("mail",), ("ward", "bed")),
        complete=True,
        persons=("id",),
        ranged=True,
    )


@pytest.mark.parametrize("nested", [False, True])
def test_schema_of_frictionless(nested: bool) -> None:
    found = parse_metadata({"resources": [{"schema": SCHEMA}]} if nested else SCHEMA)
    day = 86_400e6
    assert found == Metadata(
        columns={
            "age": StatedColumn(kind=Kind.NUMBER, low="0", high="120", ends=(0.0, 120.0)),
            "day": StatedColumn(
                kind=Kind.TIME, high="1970-01-02", ends=(-math.inf, day), of_texts=True
            ),
            "sex": StatedColumn(kind=Kind.TEXT, values=("m", "f"), of_texts=True, required=True),
            "zip": StatedColumn(kind=Kind.TEXT, unique=True),
            "level": StatedColumn(values=("1", "2", "3")),
        },
        keys=(("age", "sex"),),
        complete=True,
        unread=("the pattern of zip",),
        missing=("", "NA"),
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
        ({"tables": {"a": SDV, "b": SDV}}, r"tables describes 2 tables; give .*get_table_metadata"),
        ({"resources": []}, r"resources describes 0 tables; give .*get_resource"),
        ({"resources": [{"path": "a.csv"}]}, r"resources\[0\]\.schema is missing and no JSON obj"),
        ({"columns": []}, "columns is a list and no JSON object"),
        ({"columns": {"a": 3}}, "columns.a is 3 and no JSON object"),
        ({"columns": {"a": {}}}, "columns.a.sdtype is missing; state one such as numerical"),
        ({"columns": {"a": {"sdtype": 3}}}, "columns.a.sdtype is 3; write a text"),
        (column(sdtype="numeric"), 'columns.a.sdtype is "numeric"; did you mean numerical?'),
        (column(sdtype="id") | {"primary_key": "b"}, 'primary_key names the column "b", which'),
        (column(sdtype="id") | {"primary_key": 3}, "primary_key is 3; write a name or a list"),
        (column(sdtype="id") | {"alternate_keys": [[3]]}, r"alternate_keys\[0\]\[0\] is 3; a key"),
        (column(sdtype="id", pii="yes"), 'columns.a.pii is "yes"; write true or false'),
        (column(range_min=math.nan), "columns.a.range_min is no finite number; write a finite"),
        (column(range_max=math.inf), "columns.a.range_max is no finite number; write a finite"),
        (column(range_max=10**400), "columns.a.range_max is 10+; write a finite number"),
        (column(range_max="1e999"), "columns.a.range_max is .1e999.; write a finite number"),
        (column(range_min=3, range_max=2), "columns.a.range_min is 3 and columns.a.range_max is 2"),
        (column(range_min=[1]), "columns.a.range_min is a list; write a number"),
        (column(sdtype="boolean", range_min=1), "range_min is of a column of kind boolean"),
        (column(sdtype="datetime", range_min="1.5."), "range_min is .1.5..; write a day as 2020"),
        (column(sdtype="datetime", range_min=3), "range_min is 3; write a text"),
        (
            listed([1, "b"]),
            r'range_values\[1\] is "b"; columns.a.range_values\[0\] is 1: write text',
        ),
        (listed([1, True]), r"range_values\[1\] is true; columns.a.range_values\[0\] is 1"),
        (listed(["b", "b"]), r'range_values\[1\] is "b"; so is columns.a.range_values\[0\]'),
        (listed([math.nan]), r"range_values\[0\] is no finite number; write texts"),
        (listed([["b"]]), r"range_values\[0\] is a list; write texts"),
        (listed("b"), 'columns.a.range_values is "b"; write a list'),
        (listed([*range(1_000_000)]), "range_values has 1,000,000 items; at most 100,000"),
        ({"columns": {"a": {"sdtype": "id"}, "A": {"sdtype": "id"}}}, "columns.A differs from the"),
        ({"columns": {'"\n': 3}}, r'columns\."\\"\\n" is 3'),
        ({"fields": "a"}, 'fields is "a"; write a list'),
        ({"fields": [3]}, r"fields\[0\] is 3 and no JSON object"),
        ({"fields": [{}]}, r"fields\[0\].name is missing; name the column"),
        (
            {"fields": [{"name": "a"}, {"name": "a"}]},
            r"fields\[1\].name is .a.; so is the name of f",
        ),
        ({"fields": [{"name": "a", "type": "int"}]}, r"fields\[0\].type is .int.; use one of any"),
        (
            {"fields": [{"name": "a", "type": "date", "format": ["%Y"]}]},
            r"fields\[0\].format is a list; write a text",
        ),
        (field(enum=1), r"fields\[0\].constraints.enum is 1; write a list"),
        (field(minimum="x"), r"fields\[0\].constraints.minimum is .x.; write a finite number"),
        (field(minimum=True), r"fields\[0\].constraints.minimum is true; write a number"),
        (field(required="yes"), r"fields\[0\].constraints.required is .yes.; write true or false"),
        ({"fields": [{"name": "a"}], "missingValues": [3]}, r"missingValues\[0\] is 3; write a te"),
    ],
)
def test_what_is_not_understood_is_refused(stated: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        parse_metadata(stated)


def test_files_that_hold_no_metadata(tmp_path: Path) -> None:
    file = tmp_path / "meta.json"
    with pytest.raises(
        ParameterError, match=r"there is no .*meta\.json; pqd init PRIVATE COPY --metadata "
    ):
        read_metadata(file)
    file.write_text("{")
    with pytest.raises(ParameterError, match=r"meta\.json is no JSON"):
        read_metadata(file)
    file.write_text("[" * 100_000)
    with pytest.raises(ParameterError, match=r"meta\.json is nested too deeply"):
        read_metadata(file)
    file.write_text('{"columns": {"a": {"sdtype": "id"}, "a": {"sdtype": "id"}}}')
    with pytest.raises(ParameterError, match=r"meta\.json: columns\.a stands there twice"):
        read_metadata(file)
    file.write_text(f'{{"columns": {{}}, "x": "{"x" * 2**24}"}}')
    with pytest.raises(ParameterError, match=r"meta\.json is larger than 16 MiB"):
        read_metadata(file)
    file.write_bytes(b'{"columns": "\xff"}')
    with pytest.raises(ParameterError, match=r"meta\.json is no JSON"):
        read_metadata(file)
    with pytest.raises(ParameterError, match="cannot be read; name a JSON file"):
        read_metadata(tmp_path)
    file.write_text("{}")
    with pytest.raises(ParameterError, match=r"metadata .*meta\.json: metadata of SDV"):
        read_metadata(file)
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps(SDV).encode())
    assert read_metadata(str(file)) == parse_metadata(SDV)
