"""Pages of experiments: they follow from CSV files, which benchmarks write with their columns."""

import json
import sys
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

from benchmarks import damages, honest_halves, least_damage, persons, relations_kept, risk_splits
from benchmarks.experiments.__main__ import ROOT, pages
from benchmarks.experiments.page import FOLDER, read_tables, summary_page, topic_page
from benchmarks.experiments.topics import TOPICS
from benchmarks.paper.page import draw, picture_name
from benchmarks.result_tables import ResultTable, read_table

DOCS = ROOT / "docs"
CSV = DOCS / FOLDER


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    return read_tables(CSV, TOPICS)


def test_pages_follow_from_their_files(tables: dict[str, pd.DataFrame]) -> None:
    """So no number of a claim is older than its file."""
    for path, text in pages(DOCS, tables):
        assert path.read_text(encoding="utf-8") == text, f"run `make experiments`: {path.name}"


def test_every_file_has_its_page(tables: dict[str, pd.DataFrame]) -> None:
    pictures = {
        picture_name(topic, study) for topic in TOPICS for study in topic.items if study.draw
    }
    known = {f"{name}.csv" for name in tables} | {f"{topic.key}.md" for topic in TOPICS} | pictures
    assert {path.name for path in CSV.iterdir()} == known


def test_another_number_is_another_page(tables: dict[str, pd.DataFrame]) -> None:
    topic = next(topic for topic in TOPICS if topic.key == "gates")
    text = (CSV / "gates.md").read_text(encoding="utf-8")
    changed = dict(tables)
    changed["honest-halves"] = tables["honest-halves"].assign(green=0)
    assert "| yes |" in text
    other = topic_page(topic, text, changed)
    assert "profile --gate: 0 of 254" in other
    assert "| **no** |" in other
    summary = summary_page(TOPICS, (DOCS / "experiments.md").read_text("utf-8"), changed)
    assert "profile --gate: 0 of 254; init + check: 0 of 254 (holds: **no**)" in summary


def test_a_page_without_the_block_of_a_study_is_an_error(tables: dict[str, pd.DataFrame]) -> None:
    topic = TOPICS[0]
    text = (CSV / f"{topic.key}.md").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match=r"experiments/.*\.md has the blocks .* it needs"):
        topic_page(topic, text.replace("<!-- study: paper -->", ""), tables)


def test_least_damages_are_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["least_damage", "--csv", str(tmp_path)])
    least_damage.main()
    name = "least-damage.csv"
    assert (tmp_path / name).read_bytes() == (CSV / name).read_bytes()


GATED = {"init + check": [], "profile --gate": ["age"]}
FIGURES = dict.fromkeys(relations_kept.FIGURES, 0.5)
COUNTS = {"private": [90, 2, 3, 9], "held_out": [80, 1, 2, 9]}
RISK = {"seed": 0, "names": ["copied", "near"], **COUNTS}
# Lines of results, by the table that is made of them.
RESULTS: dict[str, tuple[ModuleType, dict[str, object]]] = {
    "honest-halves": (honest_halves, {"table": "adult", "size": "all", "failures": GATED}),
    "relations": (
        relations_kept,
        {
            "table": "adult",
            "copy": "c",
            "seed": 0,
            "rows": 9,
            "exact": FIGURES,
            "released": FIGURES,
        },
    ),
    "damages": (
        damages,
        {"table": "t", "damage": damages.GOOD, "names": [], "copy": "c", "failures": GATED},
    ),
    "persons-coverage": (persons, {"table": "coverage", "found": {"score": [1, 9]}}),
    "persons-marks": (
        persons,
        {"table": "marks", "law": ["even", "alike"], "k": 1, "persons": 9, "words": ["note"]},
    ),
    "persons-halves": (
        persons,
        {"table": "halves", "law": ["even", "alike"], "persons": 9, "failures": GATED},
    ),
    "risk-clean": (risk_splits, {"kind": "clean", "table": "t", **RISK}),
    "risk-planted": (
        risk_splits,
        {"kind": "planted", "table": "t", "columns": "all", "changes": 1, "share": 0.01, **RISK},
    ),
}


@pytest.mark.parametrize("name", RESULTS)
def test_benchmarks_write_the_columns_of_the_pages(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, line = RESULTS[name]
    results = tmp_path / "results.jsonl"
    results.write_text(f"{json.dumps(line)}\n{json.dumps(line)}\n", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["", "show", str(results), "--csv", str(tmp_path)])
    module.main()
    written = read_table(tmp_path / f"{name}.csv")
    assert list(written) == list(read_table(CSV / f"{name}.csv"))
    assert len(written) > 0


def test_a_part_that_is_measured_again_replaces_its_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for epsilon, error in (("1", 0.25), ("0.25", 0.5), ("1", 0.125)):
        with ResultTable("errors", tmp_path, keys=["epsilon"]) as table:
            table.add(epsilon=epsilon, error=error, note=None)
    text = (tmp_path / "errors.csv").read_text(encoding="utf-8")
    assert text == "epsilon,error,note\n0.25,0.5,\n1,0.125,\n"
    assert capsys.readouterr().out.endswith("| 1 | 0.125 |  |\n")
    with pytest.raises(KeyError), ResultTable("errors", tmp_path):
        raise KeyError
    assert (tmp_path / "errors.csv").read_text(encoding="utf-8") == text


@pytest.mark.thorough
def test_pictures_are_drawn_again(tables: dict[str, pd.DataFrame], tmp_path: Path) -> None:
    drawn = draw(tmp_path, TOPICS, tables)
    assert len(drawn) > 15
    for path in drawn:
        text = path.read_text(encoding="utf-8")
        assert text == (CSV / path.name).read_text(encoding="utf-8"), path.name
        assert "prefers-color-scheme:dark" in text
