"""The command of the benchmark of verdict quality, and its page, which follows from its files."""

import re
import sys
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.quality import __main__ as command
from benchmarks.quality.entrants import Answer, named_entrant, noise_of
from benchmarks.quality.entries import SAMPLES, generated_pairs, tables_of
from benchmarks.quality.page import page_text, write_page
from benchmarks.quality.problems import AGGREGATES, ALPHA, drawn_queries, problems_of
from benchmarks.quality.results import ENTRANTS, results_of
from benchmarks.quality.scores import with_errors
from benchmarks.quality.similarity import TUNED

DOCS = Path(__file__).parents[2] / "docs"


def run(*stated: str) -> None:
    options = command.arguments([*stated])
    options.action(options)


def test_one_command_judges_any_table_and_writes_its_page(tmp_path: Path) -> None:
    private, copy = tmp_path / "people.csv", SAMPLES / "census_synthetic.parquet"
    pd.read_parquet(SAMPLES / "census_private.parquet").head(3000).to_csv(private, index=False)
    out, common = tmp_path / "results.csv", ["--queries", "2", "--seeds", "1"]
    stated = [str(private), f"mine={copy}", "--out", str(out), *common]
    run("run", *stated, "--epsilons", "1", "--taus", "10%")
    results = pd.read_csv(out)
    assert set(results["entry"]) == {"people/mine"}
    assert set(results["entrant"]) >= {"auto", "paper", "inv_sum", "OpenDP by hand", "always no"}
    again = tmp_path / "again.csv"
    run("run", *stated[:-5], str(again), *common, "--epsilons", "1", "--taus", "10%")
    assert again.read_bytes() == out.read_bytes()
    run("page", str(out), "--out", str(tmp_path))
    page = (tmp_path / "quality.md").read_text(encoding="utf-8")
    assert "| people/mine | 2 | 2 |" in page
    assert "prefers-color-scheme" in (tmp_path / "quality" / "decided.svg").read_text("utf-8")


@pytest.mark.thorough
def test_the_generated_pairs_are_entries_without_any_data(tmp_path: Path) -> None:
    out = tmp_path / "results.csv"
    run("run", "--out", str(out), "--queries", "6", "--seeds", "2")
    results = pd.read_csv(out)
    assert results["entry"].nunique() == 4
    assert results["seed"].nunique() == 2
    exact = results[
        (results["exact"] == 1) & ~results["entrant"].str.startswith(("OpenDP", "always"))
    ]
    private = with_errors(exact[exact["private"] == 1])
    assert private["false"].max() <= float(ALPHA) + 1e-9
    assert len(list(write_page(tmp_path, results))) == 6


def test_the_page_says_what_its_files_say() -> None:
    assert (DOCS / "quality.md").read_text(encoding="utf-8") == page_text(DOCS / "quality")


@pytest.mark.thorough
def test_pictures_are_those_of_the_scores(tmp_path: Path) -> None:
    folder = tmp_path / "quality"
    folder.mkdir()
    for name in ("scores", "problems", "queries"):
        text = (DOCS / "quality" / f"{name}.csv").read_bytes()
        (folder / f"{name}.csv").write_bytes(text)
    assert list(write_page(tmp_path, None))
    for picture in folder.glob("*.svg"):
        assert picture.read_bytes() == (DOCS / "quality" / picture.name).read_bytes()


def test_every_aggregate_of_the_page_has_both_truths() -> None:
    scored = pd.read_csv(DOCS / "quality" / "scores.csv")
    assert set(scored["aggregate"]) == set(AGGREGATES)
    assert ((scored["within"] > 0) & (scored["within"] < scored["problems"])).all()


def test_the_entrant_of_the_page_can_be_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (DOCS / "quality.md").read_text(), re.DOTALL)
    (tmp_path / "ten_rows.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    entrant = named_entrant("ten_rows:TenRows")
    monkeypatch.delitem(sys.modules, "ten_rows")
    queries = drawn_queries(tables_of(next(generated_pairs()), 0), 2)
    problems = [each for query in queries for each in problems_of(query, [Fraction(1, 10)])]
    problem = next(each for each in problems if entrant.fits(each))
    assert problem.query.aggregate == "COUNT"
    answer = entrant.verdict(problem, Fraction(1), noise_of("", problem, Fraction(1)))
    assert isinstance(answer, Answer)
    assert set(results_of(problems, [entrant], [Fraction(1)])["entrant"]) == {"ten rows"}


def test_names_of_entrants_differ() -> None:
    assert len({entrant.name for entrant in ENTRANTS}) == len(ENTRANTS)
    assert [entrant.name for entrant in ENTRANTS if not entrant.private] == [t.name for t in TUNED]


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        (["--taus", "0.1"], "--taus 0.1 is no tolerance; write a share such as 5%"),
        (["--epsilons", "0"], "--epsilons 0 is no budget"),
        (["--entrant", "nowhere:Nothing"], "write module:Class"),
        (["--entrant", "pathlib:Path"], "has no private, no fits, no verdict"),
    ],
)
def test_bad_options_are_told_before_anything_runs(
    stated: list[str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(SystemExit, match=re.escape(message)):
        run("run", "--out", str(tmp_path / "out.csv"), *stated)


def test_a_copy_needs_a_name_and_a_file(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("a\n1\n")
    with pytest.raises(SystemExit, match="names no copy"):
        run("run", str(table), "copy.csv", "--out", str(tmp_path / "out.csv"))
    with pytest.raises(SystemExit, match="is no table"):
        run("run", str(tmp_path / "none.csv"), "--out", str(tmp_path / "out.csv"))
    with pytest.raises(SystemExit, match="needs a column of whole numbers"):
        run("run", str(table), "--out", str(tmp_path / "out.csv"))


def test_a_page_needs_results_or_files(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="name the results of a run"):
        run("page", "--out", str(tmp_path))
