"""The published JSON Schema of a spec: true to the code, and in agreement with the reader."""

import json
import tomllib
from collections.abc import Iterator
from copy import deepcopy
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pqd.errors import PqdError
from pqd.spec import json_schema, read_spec
from pqd.spec.schema import SECTIONS
from tests.pqd.spec.spec_texts import FULL, SMALL

PUBLISHED = Path(__file__).parents[3] / "docs" / "audit-spec.schema.json"
SCHEMA = Draft202012Validator(json_schema())
ENVIRON = {"DATA": "folder"}
REMAKE = (
    'python -c "import json; from pqd.spec import json_schema; '
    'print(json.dumps(json_schema(), indent=2))" > docs/audit-spec.schema.json'
)

Content = dict[str, Any]


def content(text: str) -> Content:
    return tomllib.loads(text, parse_float=Decimal)


def toml(value: object) -> str:
    """Write a value as TOML: tables inline."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return str(value) if isinstance(value, Decimal) else json.dumps(value)


def written(data: Content) -> str:
    return "".join(f"{json.dumps(name)} = {toml(value)}\n" for name, value in data.items())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("specs")


def reads(data: Content, folder: Path) -> bool:
    path = folder / "audit.toml"
    path.write_text(written(data), encoding="utf-8")
    try:
        read_spec(path, ENVIRON)
    except PqdError:
        return False
    return True


def test_the_published_schema_is_that_of_the_code() -> None:
    made = json.dumps(json_schema(), indent=2) + "\n"
    assert PUBLISHED.read_text(encoding="utf-8") == made, f"make it again: {REMAKE}"


def test_the_schema_is_one_and_documents_every_key() -> None:
    Draft202012Validator.check_schema(json_schema())
    properties = json_schema()["properties"]
    assert set(properties) == {section.name for section in SECTIONS}
    for section in SECTIONS:
        tables = properties[section.name]
        assert tables["title"] == section.header
        inner = {"list": "items", "named": "additionalProperties"}.get(section.form)
        keys = (tables[inner] if inner else tables)["properties"]
        assert set(keys) == set(section.key)
        assert all(key["title"] and key["description"].endswith(".") for key in keys.values())


def test_writing_a_spec_again_changes_nothing(folder: Path) -> None:
    for text in (SMALL, FULL):
        assert content(written(content(text))) == content(text)
        path = folder / "full.toml"
        path.write_text(text, encoding="utf-8")
        first = read_spec(path, ENVIRON)
        path.write_text(written(content(text)), encoding="utf-8")
        second = read_spec(path, ENVIRON)
        assert (first.synthetic, first.columns) == (second.synthetic, second.columns)
        assert [c.sql for c in first.checks] == [c.sql for c in second.checks]


@pytest.mark.parametrize("text", [SMALL, FULL])
def test_both_accept_what_is_valid(text: str, folder: Path) -> None:
    assert not list(SCHEMA.iter_errors(content(text)))
    assert reads(content(text), folder)


DATA = content(FULL)
Place = tuple[Any, ...]


def places(node: object, place: Place = ()) -> Iterator[Place]:
    """Yield the place of every table and value in a spec."""
    if place:
        yield place
    if isinstance(node, dict):
        for name, value in node.items():
            yield from places(value, (*place, name))
    if isinstance(node, list):
        for number, value in enumerate(node):
            yield from places(value, (*place, number))


def table_at(data: Content, place: Place) -> Any:
    node: Any = data
    for name in place:
        node = node[name]
    return node


def changed(place: Place, value: object, data: Content = DATA) -> Content:
    copy = deepcopy(data)
    table_at(copy, place[:-1])[place[-1]] = value
    return copy


def without(place: Place, data: Content = DATA) -> Content:
    copy = deepcopy(data)
    del table_at(copy, place[:-1])[place[-1]]
    return copy


OTHERS = [
    *(0, 1, -1, 7, True, Decimal("0.5"), Decimal("-1.5"), Decimal("1e13"), "", " ", "x", "5%", "7"),
    *("1/3", "1/0", "0/1", "-1", [], [1], [True, "a"], [1, 1], [[1], ["a"]], [[1], 2], [[]], {}),
    {"x": 1},
]
# What a schema cannot compare: names with names, bounds with each other and with the step, ids,
# the lengths of lists, and numbers that are written as text.
ONLY_READ = {"synthetic", "bounds", "step", "cells", "unit", "max_rows"}


def alone(place: Place) -> tuple[Content, Place]:
    """The spec with no other check than that of a place, and the place there."""
    if place[0] == "check" and len(place) > 1:
        return DATA | {"check": [DATA["check"][place[1]]]}, ("check", 0, *place[2:])
    return DATA, place


def judged(place: Place, base: Content, folder: Path) -> Iterator[tuple[Content, bool, bool]]:
    """Yield specs that differ in one place, and whether the schema and the reader accept them."""
    variants = [changed(place, value, base) for value in OTHERS]
    if isinstance(table_at(base, place), dict):
        variants += [changed((*place, name), 1, base) for name in ("zzz", "Path", "id ", "")]
    if isinstance(place[-1], str):
        variants.append(without(place, base))
    for data in variants:
        yield data, SCHEMA.is_valid(data), reads(data, folder)


def is_only_read(place: Place, data: Content = DATA) -> bool:
    if ONLY_READ & set(place) or place[-1] == "id":
        return True
    # The key may have been left out.
    value = table_at(data, place[:-1])
    value = value.get(place[-1]) if isinstance(value, dict) else value[place[-1]]
    return (place[-1] in {"alpha", "delta", "at_least"} and isinstance(value, str)) or (
        "keys" in place and isinstance(value, list)
    )


@pytest.mark.parametrize("place", list(places(DATA)), ids=lambda place: ".".join(map(str, place)))
def test_what_is_read_is_valid_and_the_reverse(place: Place, folder: Path) -> None:
    verdicts = set()
    base, place = alone(place)
    for data, valid, read in judged(place, base, folder):
        assert valid or not read, f"read, but not valid:\n{written(data)}"
        assert read or not valid or is_only_read(place, data), (
            f"valid, but not read:\n{written(data)}"
        )
        verdicts.add(read)
    assert False in verdicts


@pytest.fixture(scope="module")
def several(folder: Path) -> tuple[list[Content], list[bool]]:
    """Specs of all kinds, and whether each is accepted, by the reader and by the schema."""
    samples = [data for where in places(DATA) if not is_only_read(where) for data in tried(where)]
    samples += [content(SMALL), DATA | {"zzz": 1}, changed(("check", 1, "severity"), "warn")]
    samples += [*map(without, [("defaults", "tau"), ("defaults", "epsilon")])]
    samples += [changed(("check", 5, "tau"), 1), changed(("check", 4, "bins"), "age=0:9:1")]
    accepted = [reads(data, folder) for data in samples]
    assert [SCHEMA.is_valid(data) for data in samples] == accepted
    return samples, accepted


@pytest.mark.parametrize(
    ("place", "key", "value"),
    [
        (("properties", "check", "items"), "additionalProperties", True),
        (("properties", "check", "items"), "oneOf", [{"required": ["sql"]}]),
        (("properties", "check", "items"), "dependentSchemas", {}),
        (("properties", "check", "items"), "dependentRequired", {}),
        (("properties", "check", "items", "properties", "expect"), "enum", ["close", "far", "x"]),
        (("properties", "check", "items", "properties", "severity"), "enum", ["error"]),
        (("properties", "defaults", "properties", "tau"), "anyOf", [{"type": "number"}]),
        (("properties", "defaults", "properties", "epsilon"), "anyOf", [{}]),
        (("properties", "synthetic"), "propertyNames", {"pattern": "^[a-z]+$"}),
        (("properties", "private"), "required", []),
        ((), "allOf", []),
        ((), "additionalProperties", True),
    ],
)
def test_a_schema_that_says_something_else_is_noticed(
    place: Place, key: str, value: object, several: tuple[list[Content], list[bool]]
) -> None:
    broken: Any = json_schema()
    assert table_at(broken, place)[key] != value
    table_at(broken, place)[key] = value
    twin = Draft202012Validator(broken)
    samples, accepted = several
    assert [twin.is_valid(data) for data in samples] != accepted


def tried(place: Place) -> Iterator[Content]:
    base, place = alone(place)
    yield changed(place, "x", base)
    yield changed(place, "5%", base)
    if isinstance(place[-1], str):
        yield without(place, base)
    if isinstance(table_at(base, place), dict):
        yield changed((*place, "zzz"), 1, base)
