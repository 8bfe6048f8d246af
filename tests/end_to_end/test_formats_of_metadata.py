"""Formats of cells in a file of metadata: both tables are read as with the equal options."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import pqd
from pqd.cli import command_line
from pqd.commands.audit import run_audit
from pqd.deciders import SimulatedNoise
from pqd.engine import tables
from pqd.engine.reading.text_format import TextFormat
from pqd.engine.sources.source import Source
from pqd.engine.tables import Role
from pqd.errors import ParameterError
from pqd.parameters import Parameters
from pqd.sql.workload_files import as_queries
from pqd.stated.column_facts import format_of_file
from pqd.stated.metadata_files import stated_facts
from pqd.stated.text_formats import text_formats
from tests.end_to_end.test_text_formats import QUERIES, german, stays

GERMAN = TextFormat(",", ".", ("%d.%m.%Y", "%d.%m.%Y %H:%M"), ("", "k.A."))
OPTIONS = [
    *("--decimal", ",", "--thousands", ".", "--missing", ",k.A."),
    *("--dates", "%d.%m.%Y", "--dates", "%d.%m.%Y %H:%M"),
]
SCHEMA: dict[str, Any] = {
    "fields": [
        {"name": "Age", "type": "integer"},
        {"name": " Cost ", "type": "number", "decimalChar": ",", "groupChar": "."},
        {"name": "Born", "type": "date", "format": "%d.%m.%Y"},
        {"name": "Admitted", "type": "datetime", "format": "%d.%m.%Y %H:%M"},
        {"name": "Ward", "type": "string"},
    ],
    "missingValues": ["", "k.A."],
}
SDV: dict[str, Any] = {
    "columns": {
        "Age": {"sdtype": "numerical"},
        "Born": {"sdtype": "datetime", "datetime_format": "%d.%m.%Y"},
        "Admitted": {"sdtype": "datetime", "datetime_format": "%d.%m.%Y %H:%M"},
        "Ward": {"sdtype": "categorical"},
    }
}
KINDS: dict[str, dict[str, Any]] = {
    "Age": {"type": "number"},
    " Cost ": {"type": "number"},
    "Born": {"type": "time"},
    "Admitted": {"type": "time"},
    "Ward": {"type": "text"},
}
# Content of a file, the equal format, and what a caller states beside either.
EQUAL = {
    "frictionless": (SCHEMA, GERMAN, TextFormat()),
    "sdv": (SDV, GERMAN, TextFormat(",", ".", missing=("", "k.A."))),
    "stated": (SCHEMA, TextFormat(".", "", GERMAN.dates), TextFormat(".", "", missing=())),
}


@pytest.fixture
def private(tmp_path: Path) -> Path:
    (tmp_path / "secret").mkdir()
    return german(stays(0), tmp_path / "secret" / "private.csv")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    (tmp_path / "released").mkdir()
    return german(stays(1), tmp_path / "released" / "copy.csv")


def written(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", EQUAL)
def test_a_file_is_read_to_the_plan_and_the_verdicts_of_the_equal_options(
    name: str, private: Path, copy: Path
) -> None:
    content, equal, beside = EQUAL[name]
    # Without decimal commas no cost can be told.
    queries = QUERIES[1:] if name == "stated" else QUERIES
    kinds = {} if name == "stated" else KINDS

    def plan(**stated: Any) -> Any:
        return pqd.plan(copy, queries, tau="5%", epsilon=1, columns=kinds, **stated).queries

    def audit(metadata: Any, stated: TextFormat) -> Any:
        facts = stated_facts(kinds, metadata, private, [copy])
        given = text_formats(stated, format_of_file(facts)).both(private, copy)
        terms = Parameters.parse(tau="5%", epsilon=1, alpha="0.05", columns=facts)
        return run_audit(*given, as_queries(queries), terms, SimulatedNoise(7)).verdicts

    assert plan(metadata=content, text_format=beside) == plan(text_format=equal)
    assert audit(content, beside) == audit(None, equal)


# Files that sdv 1.38 and 2.0 and frictionless 5.21 wrote of the German table, without and with
# ranges and values.
FILES = Path(__file__).parents[1] / "pqd" / "metadata_files" / "german"
RANGES: dict[str, dict[str, Any]] = {
    "Age": {"bounds": (0, 120)},
    " Cost ": {"bounds": (0, 30_000)},
    "Ward": {"cells": ["ENT", "Eyes", "Surgery"]},
}
RANGED = {name: {**facts, **RANGES.get(name, {})} for name, facts in KINDS.items()}
WRITTEN = [
    *((name, KINDS) for name in ("sdv1_single", "sdv1_multi", "sdv1", "sdv2", "schema")),
    *((name, RANGED) for name in ("sdv2_ranged", "schema_ranged", "package_ranged")),
]


@pytest.mark.parametrize(("name", "equal"), WRITTEN)
def test_what_each_library_writes_of_one_table_is_one_plan(
    name: str, equal: dict[str, Any], copy: Path
) -> None:
    def plan(text_format: TextFormat, **stated: Any) -> Any:
        return pqd.plan(copy, QUERIES, tau="5%", epsilon=1, text_format=text_format, **stated)

    # SDV states neither signs of numbers nor missing values.
    beside = TextFormat(",", ".", missing=("", "NA", "k.A."))
    of_options = plan(replace(beside, dates=GERMAN.dates), columns=equal)
    assert plan(beside, metadata=FILES / f"{name}.json").queries == of_options.queries


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sdv2_two_tables", "tables describes 2 tables; .*get_table_metadata"),
        ("package_two_tables", "resources describes 2 tables; .*get_resource"),
    ],
)
def test_metadata_of_two_tables_is_refused(name: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        stated_facts(None, FILES / f"{name}.json", None, ())


def test_the_command_line_and_a_found_file_give_the_plan_of_the_options(copy: Path) -> None:
    def plan(*options: str) -> dict[str, Any]:
        query = ["-q", QUERIES[0], "--tau", "5%", "--epsilon", "1"]
        ran = CliRunner().invoke(
            command_line(), ["plan", str(copy), *query, "--json", "-", *options]
        )
        assert ran.exit_code == 0, ran.output
        return dict(json.loads(ran.stdout))

    types = [
        f"--type={name}={fact['type']}" for name, fact in KINDS.items() if name.strip() == name
    ]
    by_hand = plan(*OPTIONS, *types)["queries"]
    file = written(copy.with_name("facts.json"), SCHEMA)
    assert plan("--metadata", str(file))["queries"] == by_hand
    file.rename(copy.with_name("copy.metadata.json"))
    assert plan()["queries"] == by_hand


COUNT = 'SELECT COUNT(*) FROM D WHERE " Cost " > 900 AND "Born" < DATE \'1970-01-01\''
QUERY = {"queries": COUNT, "tau": "5%", "epsilon": 1}
# Functions of Python, and what a caller states.
FUNCTIONS: dict[str, dict[str, Any]] = {
    "audit": QUERY,
    "gate": QUERY,
    "compare": QUERY,
    "profile": {"total_epsilon": 1, "anyway": True},
    "release": {"queries": COUNT, "total_epsilon": 1},
    "risk": {},
    "plan": QUERY,
    "lint": {},
}
ASKED = ("-q", COUNT, "--tau", "5%")
COMMANDS: dict[str, tuple[str, ...]] = {
    "audit": (*ASKED, "--epsilon", "1"),
    "compare": (*ASKED, "--epsilon", "1"),
    "profile": ("--total-epsilon", "1", "--anyway"),
    "release": ("-q", COUNT, "--total-epsilon", "1"),
    "risk": (),
    "plan": (*ASKED, "--epsilon", "1"),
    "lint": (),
    "init": ("--file", "-"),
}
OF_COPY = {"plan", "lint"}
# These read a named file alone.
NAMED = {"compare", "init"}
SPEC = f"""
[private]
path = "secret/private.csv"
[synthetic.copy]
path = "released/copy.csv"
[metadata]
file = "facts.json"
[budget]
epsilon = 5
[ledger]
path = "ledger.sqlite"
[[check]]
id = "one"
sql = '''{COUNT}'''
tau = "5%"
epsilon = 1
[release]
total_epsilon = 1
queries = "queries.sql"
"""


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[TextFormat]]:
    """Formats in which tables are opened by role, but for a first look at names of columns."""
    formats: dict[str, set[TextFormat]] = {}
    source = tables._source

    def recorded(given: object, role: Role, text_format: TextFormat) -> Source:
        if text_format != TextFormat():
            formats.setdefault(role, set()).add(text_format)
        return source(given, role, text_format)

    monkeypatch.setattr(tables, "_source", recorded)
    return formats


def facts_file(copy: Path, *, found: bool) -> Path:
    return written(copy.with_name("copy.metadata.json" if found else "facts.json"), SCHEMA)


def ways(commands: Iterable[str]) -> list[tuple[str, bool]]:
    """Commands, with a named file, and with one that is found if the command looks for it."""
    return [(name, found) for name in commands for found in (False, True)[: 2 - (name in NAMED)]]


@pytest.mark.parametrize(("name", "found"), ways(FUNCTIONS))
def test_every_function_reads_both_tables_in_the_format_of_the_file(
    name: str, found: bool, private: Path, copy: Path, opened: dict[str, set[TextFormat]]
) -> None:
    file = facts_file(copy, found=found)
    of_copy = name in OF_COPY
    copies = {"a": copy, "b": german(stays(2), copy.with_name("b.csv"))}
    stated = {**FUNCTIONS[name], **({} if found else {"metadata": file})}
    stated |= {} if of_copy else {"ledger": copy.with_name("ledger.sqlite")}
    given = [copy] if of_copy else [private, copies if name == "compare" else copy]
    getattr(pqd, name)(*given, **stated)
    assert opened == {role: {GERMAN} for role in ("private", "synthetic")[of_copy:]}


@pytest.mark.parametrize(("name", "found"), ways(COMMANDS))
def test_every_command_reads_both_tables_in_the_format_of_the_file(
    name: str, found: bool, private: Path, copy: Path, opened: dict[str, set[TextFormat]]
) -> None:
    file = facts_file(copy, found=found)
    of_copy = name in OF_COPY
    copies = [str(copy)]
    if name == "compare":
        copies = [f"a={copy}", f"b={german(stays(2), copy.with_name('b.csv'))}"]
    given = copies if of_copy else [str(private), *copies]
    options = [] if found else ["--metadata", str(file)]
    if name not in OF_COPY | {"init"}:
        options += ["--ledger", str(copy.with_name("ledger.sqlite"))]
    ran = CliRunner().invoke(command_line(), [name, *given, *COMMANDS[name], *options])
    assert ran.exit_code in {0, 1}, ran.output
    assert ran.exception is None or isinstance(ran.exception, SystemExit)
    roles = ("synthetic",) if of_copy or name == "init" else ("private", "synthetic")
    assert opened == {role: {GERMAN} for role in roles}


@pytest.mark.parametrize("release", [False, True])
def test_a_spec_reads_both_tables_in_the_format_of_the_file(
    release: bool, private: Path, copy: Path, tmp_path: Path, opened: dict[str, set[TextFormat]]
) -> None:
    written(tmp_path / "facts.json", SCHEMA)
    spec = tmp_path / "audit.toml"
    spec.write_text(SPEC, encoding="utf-8")
    (tmp_path / "queries.sql").write_text(f"{COUNT};", encoding="utf-8")
    assert private.is_file()
    assert copy.is_file()
    lines = ["release", str(spec)] if release else ["check", str(spec)]
    ran = CliRunner().invoke(command_line(), lines)
    assert opened == {"private": {GERMAN}, "synthetic": {GERMAN}}, repr(ran.exception)
    assert ran.exception is None or isinstance(ran.exception, SystemExit)


def of(*columns: dict[str, Any]) -> dict[str, Any]:
    """Schema of fields that are called a, b and so on."""
    fields = zip("abcdef", columns, strict=False)
    return {"fields": [{"name": name, **facts} for name, facts in fields]}


def number(**facts: str) -> dict[str, Any]:
    return {"type": "number", **facts}


def day(form: str | None = None) -> dict[str, Any]:
    return {"type": "date", **({"format": form} if form else {})}


TWO_DAYS = of(day("%d.%m.%Y"), day("%m/%d/%Y"))
CONFLICTS = [
    (
        of(number(decimalChar=","), number()),
        "decimals is ',' in fields.0. and '.' in fields.1.",
        TextFormat(","),
    ),
    (
        of(number(groupChar=","), number(groupChar="'")),
        "the sign of thousands is ',' in fields.0. and \"'\" in fields.1.",
        TextFormat(thousands=""),
    ),
    (
        of(number(groupChar=".")),
        r"fields.0. has '\.' between thousands, and fields.0. has it before decimals; state both",
        TextFormat(",", "."),
    ),
    (
        TWO_DAYS,
        r"the form of days is '%d\.%m\.%Y' in fields.0. and '%m/%d/%Y' in fields.1.",
        TextFormat(dates=["%d.%m.%Y", "%m/%d/%Y"]),
    ),
    (
        of(day("%Y-%d-%m"), day()),
        "the form of days is '%Y-%d-%m' in fields.0. and '%Y-%m-%d' in fields.1.",
        TextFormat(dates="%Y-%d-%m"),
    ),
]


@pytest.mark.parametrize(("content", "message", "stated"), CONFLICTS)
def test_columns_that_state_different_formats_are_refused_until_a_caller_chooses(
    content: dict[str, Any], message: str, stated: TextFormat, tmp_path: Path
) -> None:
    file = format_of_file(stated_facts(None, content, None, ()))
    with pytest.raises(ParameterError, match=f"metadata the metadata: .*{message}"):
        text_formats(None, file)
    # The other table is read in the format of the file, too.
    with pytest.raises(ParameterError, match=message):
        text_formats({"private": stated}, file)
    assert text_formats(stated, file).private == stated
    copy = tmp_path / "copy.csv"
    copy.write_text("a,b\n1,2\n", encoding="utf-8")
    named = written(tmp_path / "facts.json", content)
    lines = ["plan", str(copy), "-q", "SELECT COUNT(*) FROM D WHERE a > 1", "--tau", "5%"]
    ran = CliRunner().invoke(command_line(), [*lines, "--epsilon", "1", "--metadata", str(named)])
    assert isinstance(ran.exception, ParameterError), ran.output
    assert str(ran.exception).startswith("metadata facts.json: ")


@pytest.mark.parametrize(
    ("content", "equal"),
    [
        (of(number(), number(decimalChar=".")), TextFormat()),
        (of({"type": "integer"}, number(decimalChar=",")), TextFormat(",")),
        (of({"type": "string", "decimalChar": ";"}), TextFormat()),
        (of(day("any"), day("default"), day("%Y-%m-%d")), TextFormat()),
        (of(day("%d.%m.%y"), day()), TextFormat(dates="%d.%m.%y")),
        (of(day("%A %d"), day("%d.%m.%Y")), TextFormat(dates="%d.%m.%Y")),
        (of(day("%Y-%m-%d %Z"), day("%d.%m.%Y")), TextFormat(dates="%d.%m.%Y")),
        (of(day("%Y-%m-%d %I %p"), day()), TextFormat(dates="%Y-%m-%d %I %p")),
        ({"fields": [], "missingValues": [""]}, TextFormat()),
        (
            {"fields": [], "missingValues": [{"value": "-99", "label": "refused"}]},
            TextFormat(missing=("", "-99")),
        ),
    ],
)
def test_columns_that_agree_state_one_format(content: dict[str, Any], equal: TextFormat) -> None:
    file = format_of_file(stated_facts(None, content, None, ()))
    assert text_formats(None, file).synthetic == equal


def test_a_stated_sign_that_contradicts_the_file_is_refused() -> None:
    file = format_of_file(stated_facts(None, of(number(groupChar=",")), None, ()))
    with pytest.raises(ParameterError, match="the metadata and the stated signs contradict each"):
        text_formats(TextFormat(","), file)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (of(number(decimalChar=";")), r'fields.0..decimalChar is ";"; write "\." or ","'),
        (of(number(groupChar="'; --")), r"fields.0..groupChar is \"'; --\"; write "),
        (of({**number(), "decimalChar": 3}), r"fields.0..decimalChar is 3; write a text"),
        ({"fields": [], "missingValues": ["x" * 65]}, "missingValues is not understood: "),
        ({"fields": [], "missingValues": ["\x00"]}, "missingValues is not understood: "),
        ({"fields": [], "missingValues": list(map(str, range(200)))}, "200|201 texts"),
        (
            of({**number(decimalChar=","), "constraints": {"minimum": "1.000"}}),
            'minimum is "1.000"; write a number without quotes',
        ),
    ],
)
def test_what_can_be_no_format_is_refused_by_its_place(
    content: dict[str, Any], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        stated_facts(None, content, None, ())


@pytest.mark.parametrize("form", ["%" * 63, "%d'); DROP TABLE x; --%Y\n", "%Y" + "%d" * 99, "%"])
def test_a_form_that_is_not_read_is_told_and_its_column_is_none_of_times(form: str) -> None:
    content = {"columns": {"a": {"sdtype": "datetime", "datetime_format": form}}}
    facts = stated_facts(None, content, None, ())
    assert text_formats(None, format_of_file(facts)).private == TextFormat()
    assert facts["a"].kind is None
