"""Files of metadata in a run: read as the equal options, found beside the copy alone, told."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pqd
from pqd.commands.audit import run_audit
from pqd.commands.profile import run_profile_plan
from pqd.deciders.noise import SimulatedNoise
from pqd.errors import ParameterError
from pqd.marginals.profile_parameters import ProfileParameters
from pqd.parameters import Parameters
from pqd.spec.template import spec_template
from pqd.sql.workload_files import as_queries
from pqd.stated.column_facts import Facts, StatedCells, fact_notes
from pqd.stated.metadata_files import stated_facts

# Files that sdv 1.17 and 2.0 and frictionless 5.21 wrote, of a table with the columns of ``copy``.
FILES = Path(__file__).parent / "metadata_files"
QUERIES = ("SELECT SUM(pay) FROM D", "SELECT AVG(age) FROM D WHERE job = 'cook'")
BOUNDS: dict[str, dict[str, Any]] = {"age": {"bounds": (0, 120)}, "pay": {"bounds": (0, 100_000)}}
NUMBERS = {name: {**facts, "type": "number"} for name, facts in BOUNDS.items()}
JOBS: dict[str, Any] = {"type": "text", "cells": ["clerk", "cook", "smith"]}
SDV: dict[str, dict[str, Any]] = {
    "person": {"judge": False},
    "job": JOBS,
    "since": {"type": "time"},
}
SCHEMA: dict[str, dict[str, Any]] = {
    **NUMBERS,
    "job": JOBS,
    "since": {"type": "time"},
    "person": {"type": "text"},
    "zip": {"type": "text"},
    "member": {"type": "boolean"},
}
KINDS: dict[str, dict[str, Any]] = {"age": {"type": "number"}, "pay": {"type": "number"}}
# The options that say what each file says.
EQUAL: dict[str, dict[str, dict[str, Any]]] = {
    "sdv1.json": {**SDV, **KINDS},
    "sdv1_tables.json": {**SDV, **KINDS},
    "sdv2.json": {**SDV, **NUMBERS, "member": {"type": "boolean"}},
    "schema.json": SCHEMA,
    "resource.json": SCHEMA,
    "datapackage.json": SCHEMA,
}


def table(rows: int = 400, seed: int = 0) -> pd.DataFrame:
    """Table with a key, numbers, texts, days and truth values."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "person": [f"p{row:04d}" for row in range(rows)],
            "age": rng.integers(18, 80, rows),
            "pay": rng.gamma(2, 900, rows).round(2),
            "job": rng.choice(["cook", "clerk", "smith"], rows),
            "zip": rng.choice(["06680", "10115", "80331"], rows),
            "since": pd.date_range("2010-01-01", periods=rows).strftime("%Y-%m-%d"),
            "member": rng.choice([True, False], rows),
        }
    )


def ends(facts: Facts, name: str) -> tuple[float, ...]:
    """Stated bounds of a column."""
    return tuple(float(end) for end in facts[name].bounds or () if end is not None)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """CSV of the copy, in a folder of its own."""
    file = tmp_path / "released" / "copy.csv"
    file.parent.mkdir()
    table().to_csv(file, index=False)
    return file


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """CSV of the private table, in a folder of its own."""
    file = tmp_path / "secret" / "private.csv"
    file.parent.mkdir()
    table(seed=1).to_csv(file, index=False)
    return file


@pytest.mark.parametrize("name", EQUAL)
def test_a_file_is_read_to_the_plan_of_the_equal_options(copy: Path, name: str) -> None:
    def plan(**facts: Any) -> pqd.PlanReport:
        return pqd.plan(copy, QUERIES, tau="20%", epsilon=1, **facts)

    stated, of_file = plan(columns=EQUAL[name]), plan(metadata=FILES / name)
    assert of_file.queries == stated.queries
    own = [note for note in of_file.notes if not note.code.startswith("metadata-")]
    assert own == list(stated.notes)
    assert [note.code for note in of_file.notes if note not in own] == ["metadata-used"]


@pytest.mark.parametrize("name", EQUAL)
def test_a_file_is_read_to_the_profile_of_the_equal_options(copy: Path, name: str) -> None:
    def profile(facts: Facts) -> pqd.ProfileReport:
        return run_profile_plan(None, str(copy), ProfileParameters.parse(facts=facts))

    stated = profile(stated_facts(EQUAL[name], None, None, ()))
    of_file = profile(stated_facts(None, FILES / name, None, ()))
    assert (of_file.columns, of_file.marginals) == (stated.columns, stated.marginals)
    assert of_file.budget == stated.budget
    assert next(each for each in of_file.columns if each.name == "job").how == "stated"
    assert "person" not in {each.name for each in of_file.columns}


def test_what_sdv_detects_is_told_to_be_of_the_table_that_it_saw() -> None:
    facts = stated_facts(None, FILES / "sdv2_detected.json", None, ())
    assert ends(facts, "age") == (18, 79)
    assert facts["zip"].cells
    (used,) = fact_notes(facts)
    assert "those of the table that SDV has seen" in used.sentence


def test_stated_facts_go_before_those_of_the_file() -> None:
    stated: dict[str, dict[str, Any]] = {
        "AGE": {"bounds": (18, 99)},
        "pay": {"bounds": "copy"},
        "job": {"type": "number"},
        "member": {"judge": False},
    }
    facts = stated_facts(stated, FILES / "sdv2.json", None, ())
    assert ends(facts, "AGE") == (18, 99)
    assert facts["AGE"].kind == "number"
    assert "age" not in facts
    assert (facts["pay"].bounds, facts["pay"].takes_copy) == (None, True)
    assert (facts["job"].kind, facts["job"].cells) == ("number", None)
    assert facts["member"].judge is False
    parameters = ProfileParameters.parse(
        facts=stated_facts(None, FILES / "sdv2.json", None, ()), cells={"JOB": ["cook"]}
    )
    assert parameters.request.cells == {"JOB": StatedCells(values=("cook",))}
    with pytest.raises(ParameterError, match="step"):
        stated_facts({"age": {"step": 7}}, FILES / "sdv2.json", None, ())


def test_columns_that_are_not_compared_may_have_cells_in_the_file(copy: Path) -> None:
    report = pqd.profile(
        None, copy, columns=["age"], metadata=FILES / "schema.json", dry_run=True, anyway=True
    )
    assert [each.name for each in report.columns] == ["age"]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"job": ["Cook", "Clerk"]}, r'stated for "job" \(Cook, Clerk\).* nearest are cook, clerk'),
        (
            {"JOB": ["PhD", "MSc"]},
            r'stated for "JOB" \(PhD, MSc\), so it would have one cell alone',
        ),
    ],
)
def test_stated_values_that_the_copy_never_has_are_refused_before_anything_is_spent(
    cells: dict[str, list[str]], message: str, private: Path, copy: Path
) -> None:
    ledger = copy.with_name("ledger.sqlite")
    for metadata in (None, FILES / "schema.json"):
        with pytest.raises(ParameterError, match=message):
            pqd.profile(private, copy, cells=cells, metadata=metadata, ledger=ledger, anyway=True)
    facts = {name: {"cells": values} for name, values in cells.items()}
    with pytest.raises(ParameterError, match=message):
        pqd.profile(private, copy, facts=facts, ledger=ledger, anyway=True)
    assert not ledger.exists()


def test_values_of_a_file_may_all_lack_in_the_copy(copy: Path) -> None:
    columns = [
        {"name": "job", "type": "string", "constraints": {"enum": ["baker", "tailor"]}},
    ]
    report = pqd.profile(None, copy, metadata={"fields": columns}, dry_run=True, anyway=True)
    assert next(each for each in report.columns if each.name == "job").how == "stated"
    some = pqd.profile(None, copy, cells={"job": ["cook", "tailor"]}, dry_run=True, anyway=True)
    assert next(each for each in some.columns if each.name == "job").how == "stated"


def test_facts_in_the_place_of_names_are_refused(private: Path, copy: Path) -> None:
    ledger = copy.with_name("ledger.sqlite")
    wrong: Any = BOUNDS
    with pytest.raises(ParameterError, match=r"state the facts as facts=\{...\}, and columns="):
        pqd.profile(private, copy, columns=wrong, ledger=ledger)
    assert not ledger.exists()


def renamed(file: Path, target: Path, name: str = "agee") -> Path:
    """Copy of a schema, in which the column age has another name."""
    target.write_text(file.read_text("utf-8").replace('"age"', f'"{name}"'), "utf-8")
    return target


def test_a_column_that_the_copy_lacks_is_refused_by_its_place(copy: Path, tmp_path: Path) -> None:
    file = renamed(FILES / "schema.json", tmp_path / "people.json")
    place = r'metadata people\.json, fields\[1\]: there is no column "agee"; the nearest is "age"'
    with pytest.raises(ParameterError, match=place):
        pqd.plan(copy, QUERIES, tau="5%", epsilon=1, metadata=file)
    with pytest.raises(ParameterError, match=place):
        pqd.profile(None, copy, dry_run=True, metadata=str(file))


def test_bounds_beyond_every_number_are_refused_by_their_place(copy: Path) -> None:
    wide = {"columns": {"age": {"sdtype": "numerical", "range_min": -1e308, "range_max": 1e308}}}
    with pytest.raises(ParameterError, match=r"metadata the metadata, columns\.age: "):
        pqd.plan(copy, QUERIES, tau="5%", epsilon=1, metadata=wide)
    with pytest.raises(ParameterError, match="metadata is a int; give the path"):
        pqd.plan(copy, QUERIES, tau="5%", epsilon=1, metadata=3)  # type: ignore[arg-type]


def codes(facts: Facts) -> list[str]:
    """Codes of the notes on a file."""
    return [note.code for note in fact_notes(facts)]


def beside(copy: Path, name: str = "schema.json") -> Path:
    """File of metadata beside the copy."""
    target = copy.with_name("copy.metadata.json")
    shutil.copy(FILES / name, target)
    return target


def test_a_file_is_found_beside_the_copy(copy: Path, private: Path, tmp_path: Path) -> None:
    assert stated_facts(None, None, private, [copy]) == {}
    file = beside(copy)
    for given in (copy, str(copy)):
        found = stated_facts(None, None, private, [given])
        assert ends(found, "age") == (), "a range serves only in a named file"
        assert ends(stated_facts(None, file, private, [given]), "age") == (0, 120)
        assert codes(found) == ["metadata-used"]
        assert "which lies beside the copy" in fact_notes(found)[0].sentence
    # Frames and servers lie nowhere; several copies may have several files.
    for copies in ([table()], ["spark://people"], [f"{copy}::people"], [copy, copy], []):
        assert stated_facts(None, None, private, copies) == {}
    # Another name is not looked for.
    file.rename(copy.with_name("metadata.json"))
    assert stated_facts(None, None, private, [copy]) == {}
    # Parts of a copy have their file beside their folder.
    parts = tmp_path / "parts"
    parts.mkdir()
    shutil.copy(copy, parts / "part-0.csv")
    shutil.copy(FILES / "schema.json", tmp_path / "parts.metadata.json")
    assert codes(stated_facts(None, None, private.parent / "no.csv", [parts])) == ["metadata-used"]


SDV_FORM: dict[str, Any] = {
    "METADATA_SPEC_VERSION": "V1",
    "columns": {
        "age": {"sdtype": "numerical"},
        "pay": {"sdtype": "numerical"},
        "zip": {"sdtype": "categorical"},
    },
}
SCHEMA_FORM: dict[str, Any] = {
    "fields": [
        {"name": "age", "type": "integer"},
        {"name": "pay", "type": "number"},
        {"name": "zip", "type": "any"},
    ]
}
# What each format says of values, by column.
VALUES: dict[str, tuple[dict[str, Any], dict[str, dict[str, Any]]]] = {
    "sdv": (
        SDV_FORM,
        {
            "age": {"range_min": 17, "range_max": 90},
            "pay": {"range_values": [1, 2, 30_000]},
            "zip": {"range_values": ["06680", "10115"]},
        },
    ),
    "schema": (
        SCHEMA_FORM,
        {
            "age": {"constraints": {"minimum": 17, "maximum": 90}},
            "pay": {"constraints": {"enum": [1, 2, 30_000]}},
            "zip": {"categories": ["06680", "10115"]},
        },
    ),
}


@pytest.mark.parametrize("kind", VALUES)
def test_values_of_a_found_file_change_no_plan(copy: Path, private: Path, kind: str) -> None:
    """They may be those of private rows, until the custodian names the file."""
    form, values = VALUES[kind]
    valued = json.loads(json.dumps(form))
    for name, stated in values.items():
        fields = valued["columns"] if kind == "sdv" else {f["name"]: f for f in valued["fields"]}
        fields[name].update(stated)
    file, told = copy.with_name("copy.metadata.json"), []
    for content in (form, valued):
        file.write_text(json.dumps(content), "utf-8")
        found = stated_facts(None, None, private, [copy])
        plan = pqd.plan(copy, [*QUERIES, "SELECT SUM(pay) FROM D"], tau="5%", epsilon=1)
        (used,) = [note for note in plan.notes if note.code == "metadata-used"]
        told.append((dict(found), plan.queries, pqd.lint(copy).findings, used.sentence))
    assert told[0][:3] == told[1][:3]
    assert "do not serve" not in told[0][3]
    assert 'name the file: metadata="copy.metadata.json"' in told[1][3]
    named = stated_facts(None, file, private, [copy])
    assert (ends(named, "age"), ends(named, "pay")) == ((17, 90), (1, 30_000))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "copy.metadata.json is no JSON"),
        ("{}", "are understood"),
        ('{"fields": [{"name": "agee"}]}', "fields[0]: the copy has no such column"),
        ('{"fields": [{"name": "age", "type": "int"}]}', "fields[0].type is"),
    ],
)
def test_a_foreign_file_beside_the_copy_is_a_warning(
    copy: Path, private: Path, content: str, reason: str
) -> None:
    copy.with_name("copy.metadata.json").write_text(content, "utf-8")
    facts = stated_facts({"age": {"bounds": (0, 99)}}, None, private, [copy])
    assert dict(facts) == stated_facts({"age": {"bounds": (0, 99)}}, None, None, ())
    (note,) = fact_notes(facts)
    assert (note.code, note.warns) == ("metadata-not-used", True)
    assert reason in note.sentence
    assert str(copy.parent) not in note.sentence
    report = pqd.plan(copy, QUERIES, tau="5%", epsilon=1)
    assert note in report.notes


def test_a_file_beside_the_private_table_is_read_only_if_named(copy: Path, tmp_path: Path) -> None:
    file = beside(copy)
    neighbour = copy.with_name("private.csv")
    facts = stated_facts(None, None, neighbour, [copy])
    assert facts == {}
    assert codes(facts) == ["metadata-beside-both"]
    named = stated_facts(None, file, neighbour, [copy])
    assert ends(named, "age") == (0, 120)
    assert codes(named) == ["metadata-used", "metadata-of-private"]
    # A link into the folder of the private table is a file there.
    other = tmp_path / "other"
    other.mkdir()
    (other / "copy.metadata.json").symlink_to(file)
    shutil.copy(copy, other / "copy.csv")
    assert codes(stated_facts(None, None, neighbour, [other / "copy.csv"])) == [
        "metadata-beside-both"
    ]
    # So is a file beside the folder of parts that is the private table.
    assert codes(stated_facts(None, None, other, [tmp_path / "copy.csv"])) == []
    shutil.copy(file, tmp_path / "copy.metadata.json")
    (tmp_path / "copy.csv").write_text("age\n1\n")
    assert codes(stated_facts(None, None, other, [tmp_path / "copy.csv"])) == [
        "metadata-beside-both"
    ]


def test_the_private_table_is_no_file_of_metadata(private: Path) -> None:
    with pytest.raises(ParameterError, match=r"private\.csv is the private table"):
        stated_facts(None, private, private, ())
    with pytest.raises(ParameterError, match="is no JSON") as caught:
        stated_facts(None, private, None, ())
    assert "cook" not in str(caught.value)


REPEATED: dict[str, Callable[[], object]] = {
    "primary": lambda: {"fields": [{"name": "Zip"}], "primaryKey": "Zip"},
    "id": lambda: {"columns": {"zip": {"sdtype": "id"}}},
    "sequence": lambda: {"columns": {"zip": {"sdtype": "categorical"}}, "sequence_key": "zip"},
}


@pytest.mark.parametrize("name", REPEATED)
def test_a_key_that_repeats_in_the_copy_suggests_a_unit(
    copy: Path, tmp_path: Path, name: str
) -> None:
    file = tmp_path / "people.json"
    file.write_text(json.dumps(REPEATED[name]()), "utf-8")

    def notes(**unit: Any) -> list[str]:
        report = pqd.plan(copy, QUERIES, tau="5%", epsilon=1, metadata=file, **unit)
        profile = pqd.profile(None, copy, dry_run=True, anyway=True, metadata=file, **unit)
        found = [[n.sentence for n in r.notes if "key" in n.code] for r in (report, profile)]
        assert found[0] == found[1]
        return found[0]

    assert len(notes()) == 1
    assert 'states "zip" as a key or an identifier, and it repeats in copy.csv' in notes()[0]
    assert notes(row_is_person=True) == []
    assert notes(unit="person") == []


def test_two_private_tables_with_one_outcome_make_one_report(copy: Path, tmp_path: Path) -> None:
    beside(copy)
    texts = []
    for seed in (1, 2):
        private = tmp_path / f"secret{seed}" / "private.csv"
        private.parent.mkdir()
        # The same pays, of other people: the answer is the same.
        pays = table()["pay"].to_numpy()[:: 1 if seed == 1 else -1]
        table(seed=seed).assign(pay=pays).to_csv(private, index=False)
        # The metadata of the private table itself, beside it: nobody reads it.
        own = {"columns": {"age": {"sdtype": "numerical", "range_max": seed}}}
        for name in ("private.metadata.json", "metadata.json", "copy.metadata.json"):
            private.with_name(name).write_text(json.dumps(own), "utf-8")
        facts = stated_facts(None, None, private, [copy])
        parameters = Parameters.parse(tau=10**9, epsilon=50, alpha="0.05", columns=facts)
        noise = SimulatedNoise(np.random.default_rng(0))
        queries = as_queries("SELECT SUM(pay) FROM D")
        texts.append(run_audit(private, copy, queries, parameters, noise).to_json())
    assert texts[0] == texts[1]
    assert "copy.metadata.json" in texts[0]


def test_init_writes_a_file_from_the_copy_and_a_spec_that_names_it(
    copy: Path, private: Path
) -> None:
    folder = copy.parent
    file = folder / "people.json"
    made = spec_template(private, copy, folder, metadata=file)
    fields = {each["name"]: each for each in json.loads(made.metadata or "")["fields"]}
    assert fields["job"]["constraints"] == {"enum": ["clerk", "cook", "smith"]}
    assert [fields[name]["type"] for name in ("age", "pay", "member", "since")] == [
        *("integer", "number", "boolean", "datetime")
    ]
    # The copy's range is told, and not stated.
    assert "The copy has 18 to 79" in fields["age"]["description"]
    assert "constraints" not in fields["age"]
    assert "constraints" not in fields["person"]
    assert 'bounds = "copy"' not in made.text
    file.write_text(made.metadata or "", "utf-8")
    (folder / "audit.toml").write_text(made.text, "utf-8")
    report = pqd.check(folder / "audit.toml", dry_run=True)
    assert {each.status for each in report.checks} <= {"as expected", "planned"}
    assert "Facts of 7 columns come from people.json." in [n.sentence for n in report.notes]
    # A file that is there is named and kept.
    again = spec_template(private, copy, folder, metadata=file)
    assert (again.metadata, 'file = "people.json"' in again.text) == (None, True)


@pytest.mark.parametrize("argument", ["cells", "facts"])
def test_a_stated_value_that_the_copy_never_has_is_warned_of(argument: str, copy: Path) -> None:
    values = ["cook", "Clerk"]
    stated = (
        {"cells": {"job": values}} if argument == "cells" else {"facts": {"job": {"cells": values}}}
    )
    report = pqd.profile(None, copy, dry_run=True, anyway=True, **stated)
    (warning,) = (note for note in map(str, report.notes) if "is never" in note)
    assert "\"job\" is never 'Clerk' in copy.csv; the nearest that it holds is 'clerk'" in warning
