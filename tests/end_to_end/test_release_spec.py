"""``pqd release SPEC``: the [release] of a spec file, and the corrected copy by the command."""

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

Command = Callable[..., tuple[int, str, str]]
SAMPLES = Path(__file__).parents[2] / "samples"
SPEC = """
[private]
path = "{private}"
[synthetic.tree]
path = "{synthetic}"
[synthetic.flat]
path = "{flat}"
[ledger]
path = "own.sqlite"
[budget]
epsilon = 3
[columns.inctot]
bounds = [0, 500000]
[release]
total_epsilon = 2
queries = "asked.sql"
"""
ASKED = """
-- id: all
SELECT COUNT(*) FROM D;
-- id: women
SELECT SUM(inctot) FROM D WHERE sex LIKE 'Female';
"""


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("PQD_LEDGER")
    names = {"private": "census_private", "synthetic": "census_synthetic", "flat": "census_flat"}
    paths = {key: (SAMPLES / f"{name}.parquet").as_posix() for key, name in names.items()}
    (tmp_path / "asked.sql").write_text(ASKED)
    path = tmp_path / "audit.toml"
    path.write_text(SPEC.format(**paths))
    return path


def edited(path: Path, old: str, new: str) -> str:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return str(path)


def test_it_answers_what_the_spec_says(spec: Path, command: Command) -> None:
    found = spec.with_name("r.json")
    code, out, err = command("release", str(spec), "--json", str(found))
    assert (code, err) == (0, "")
    report = json.loads(found.read_text())
    assert [query["id"] for query in report["queries"]] == ["all", "women"]
    assert report["spent_epsilon"] == 2
    assert report["synthetic"] == "census_synthetic.parquet"
    assert report["cost"]["limit"] == 3
    # The ledger is the spec's, and its bounds are those of the spec.
    assert spec.with_name("own.sqlite").exists()
    assert "which are the bounds" not in " ".join(out.split())
    again, out, _ = command("release", str(spec))
    assert again == 0
    assert "nothing spent: all replayed" in out


def test_the_budget_of_the_spec_holds(spec: Path, command: Command) -> None:
    code, out, err = command("release", edited(spec, "epsilon = 3", "epsilon = 1.9"))
    assert (code, out) == (4, "")
    assert "needs epsilon 2; of 1.9 for this data set 0 are spent" in err


def test_mechanism_alpha_and_synthetic_of_the_spec(spec: Path, command: Command) -> None:
    said = 'total_epsilon = 2\nmechanism = "workload"\nalpha = 0.5\nsynthetic = "flat"'
    found = spec.with_name("r.json")
    assert command("release", edited(spec, "total_epsilon = 2", said), "--json", str(found))[0] == 0
    report = json.loads(found.read_text())
    assert {batch["mechanism"] for batch in report["batches"]} == {"workload"}
    assert report["alpha"] == 0.5
    assert report["synthetic"] == "census_flat.parquet"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "[release]\ntotal_epsilon = 2",
            "[release]",
            "[release] has no total_epsilon; add total_epsilon = 1",
        ),
        ('queries = "asked.sql"', "", "[release] has no queries; add queries ="),
        (
            "total_epsilon = 2",
            'total_epsilon = 2\nmechanism = "magic"',
            'mechanism is "magic"; use auto,',
        ),
        ("total_epsilon = 2", 'total_epsilon = 2\nsynthetic = "tre"', "did you mean tree?"),
        (
            "total_epsilon = 2",
            "total_epsilon = 2\ntotal_epsilom = 2",
            "did you mean total_epsilon?",
        ),
        ('"asked.sql"', '"none.sql"', "there is no such file"),
        ('"asked.sql"', '"${NO_SUCH_NAME}"', "NO_SUCH_NAME is not set"),
        ("[release]", '[privacy]\nunit = "aga"\n[release]', "aga"),
    ],
)
def test_mistakes_are_named_and_cost_nothing(
    old: str, new: str, words: str, spec: Path, command: Command
) -> None:
    code, out, err = command("release", edited(spec, old, new))
    assert (code, out) == (2, "")
    assert words in err
    assert not spec.with_name("own.sqlite").exists()


def test_what_a_secret_stands_for_is_not_told(
    spec: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHERE_ASKED", "hidden-place")
    code, _, err = command("release", edited(spec, '"asked.sql"', '"${WHERE_ASKED}/a.sql"'))
    assert code == 2
    assert "${WHERE_ASKED}/a.sql" in err
    assert "hidden-place" not in err


def test_a_spec_of_one_kind_is_not_for_the_other_command(spec: Path, command: Command) -> None:
    code, _, err = command("check", str(spec))
    assert code == 5
    assert "has no [[check]]" in err
    code, _, err = command("release", str(SAMPLES / "audit.toml"))
    assert code == 2
    assert "audit.toml has no [release]; add [release] with total_epsilon = 1" in err


def test_a_missing_table_is_asked_for(command: Command) -> None:
    code, out, err = command("release", "private.parquet")
    assert (code, out) == (2, "")
    assert "the synthetic table is missing" in err


@pytest.mark.parametrize(
    "options",
    [
        ["--total-epsilon", "1"],
        ["-q", "x"],
        ["--mechanism", "ranges"],
        ["--alpha", "0.3"],
        ["--bounds", "age=0:9"],
    ],
    ids=lambda options: options[0],
)
def test_what_a_spec_says_is_no_option(options: list[str], spec: Path, command: Command) -> None:
    """Else it would be passed over, and epsilon spent on something else."""
    code, out, err = command("release", str(spec), *options)
    assert (code, out) == (2, "")
    assert "leave these options out, or change the spec" in err


def test_outputs_never_overwrite_what_the_spec_names(spec: Path, command: Command) -> None:
    for target in ("audit.toml", "asked.sql"):
        before = spec.with_name(target).read_bytes()
        code, _, err = command("release", str(spec), "--json", str(spec.with_name(target)))
        assert code == 2
        assert "is an input of this run" in err
        assert spec.with_name(target).read_bytes() == before


def test_the_corrected_copy_by_the_command(spec: Path, command: Command) -> None:
    table = spec.with_name("corrected.parquet")
    code, out, _ = command("release", str(spec), "--table", str(table))
    assert code == 0
    assert "corrected.parquet: The table has " in " ".join(out.split())
    first = pd.read_parquet(table)
    copy = pd.read_parquet(SAMPLES / "census_synthetic.parquet")
    assert list(first.columns) == list(copy.columns)
    # No table is overwritten; a replay makes the same one at no cost.
    assert command("release", str(spec), "--table", str(table))[0] == 2
    again = spec.with_name("again.parquet")
    code, out, _ = command("release", str(spec), "--table", str(again))
    assert code == 0
    assert "nothing spent: all replayed" in out
    assert pd.read_parquet(again).equals(first)


@pytest.mark.parametrize("name", ["report.json", "no/where.parquet"])
def test_a_table_that_cannot_be_made_is_refused_before(
    name: str, spec: Path, command: Command
) -> None:
    code, out, err = command("release", str(spec), "--table", str(spec.parent / name))
    assert (code, out) == (2, "")
    assert "the table" in err
    assert not spec.with_name("own.sqlite").exists()


@pytest.mark.parametrize(("epsilon", "little"), [("2", False), ("0.0001", True)])
def test_answers_that_say_little_are_called_so(
    epsilon: str, little: bool, spec: Path, command: Command
) -> None:
    code, out, _ = command(
        "release", edited(spec, "total_epsilon = 2", f"total_epsilon = {epsilon}")
    )
    assert code == 0
    assert ("at this epsilon they say little" in " ".join(out.split())) == little
