"""The page of the three papers: made of its CSV files, complete, and from sound numbers."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pqd
from benchmarks.paper.page import claims_of, page, picture_name, read_tables
from benchmarks.paper.papers import PAPERS
from benchmarks.paper.patwa.cases import Case, answer_of, matching, of_sum, printed_answers
from benchmarks.paper.patwa.errors import EPSILONS, TAUS, rows
from benchmarks.paper.patwa.tables import Errors, falling, told
from benchmarks.paper.record import Setting
from pqd.deciders import Histogram

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "papers"


def test_the_page_is_what_its_files_make() -> None:
    committed = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    assert page(FOLDER, PAPERS) == committed, "run python -m benchmarks.paper --redraw"
    named = set(re.findall(r"\(papers/([^)]+)\)", committed))
    assert {path.name for path in FOLDER.iterdir()} == named


def test_every_claim_that_does_not_reproduce_has_a_reason() -> None:
    tables = read_tables(FOLDER, PAPERS)
    claims = [
        claim for paper in PAPERS for item in paper.items for claim in claims_of(item, tables)
    ]
    assert all(claim.why for claim in claims if claim.verdict != "reproduces")
    assert not any(
        text.endswith(".") for each in claims for text in (each.text, each.ours, each.why)
    )


def test_all_figures_of_the_papers_are_drawn() -> None:
    drawn = {
        paper.key: {item.place for item in paper.items if item.draw is not None} for paper in PAPERS
    }
    # Figure 2 is a drawing of boxes and arrows.
    assert {f"Figure {number}" for number in (1, *range(3, 24))} <= drawn["patwa"]
    names = [picture_name(paper, item) for paper in PAPERS for item in paper.items if item.draw]
    assert len(set(names)) == len(names)


def test_answers_are_those_of_plain_pandas() -> None:
    frame = pd.read_parquet(ROOT / "samples" / "census_synthetic.parquet")
    every = pqd.read_queries(ROOT / "samples" / "census.sql")
    queries = [query for query in every if query.id in {"q5", "q20", "q29"}]
    count, total, middle = (
        answer_of(query.aggregate, Histogram.from_values(values))
        for query, values in zip(queries, matching(frame, queries), strict=True)
    )
    single = frame["marst"] == "Never married/single"
    female = frame["sex"] == "Female"
    school = frame["educ"] == "High school diploma or equivalent"
    assert count == (single & female & (frame["educ"] == "Grades 5 or 6")).sum() > 0
    assert total == frame.loc[single & female & school, "inctot"].sum() > 0
    private = frame["classwkr"] == "Wage/salary, private"
    ages = frame.loc[~female & (frame["race"] == "White") & private, "age"]
    assert middle == ages.quantile(0.5, interpolation="lower")
    assert answer_of("MEDIAN", Histogram.from_values([])) == 0


@pytest.mark.parametrize(("total", "largest"), [(6_915_340, 127_764), (1_357, 73), (120, 119)])
def test_a_table_of_the_printed_answer_has_its_sum_and_its_largest_value(
    total: int, largest: int
) -> None:
    values = np.arange(0, 500_000, 7)
    found = of_sum(values, total, largest, np.random.default_rng(1))
    assert answer_of("SUM", found) == total
    assert found.largest == largest
    with pytest.raises(ValueError, match=r"no value lies in 1\.\.6"):
        of_sum(values, total, 6, np.random.default_rng(1))


def test_errors_are_the_papers_where_it_prints_them() -> None:
    printed = {row.id: row for row in printed_answers().values() if row.aggregate == "COUNT"}
    assert len(printed) == 22
    five = printed["q5"]
    case = Case("printed", "q5", "COUNT", Histogram.of_mass(five.private), five.synthetic)
    errors = Errors.of(
        pd.DataFrame(rows(case, ["em_count"], 0, 0)).astype({"tau": float, "epsilon": float})
    )
    assert errors.at("q5", "em_count", tau="0.2") == pytest.approx(0.27, abs=0.002)
    assert not errors.inside("q5", "0.8")
    assert errors.inside("q5", "3.2")
    assert len(errors.frame) == len(TAUS) * len(EPSILONS)


def test_trials_are_wrong_about_as_often_as_the_exact_error_says() -> None:
    case = Case("printed", "q", "COUNT", Histogram.of_mass(87), 91)
    lines = pd.DataFrame(rows(case, ["lm_count", "em_count"], 400, 3)).dropna()
    assert len(lines) == 2 * (len(TAUS) + len(EPSILONS) - 1)
    spread = np.sqrt(lines["error"] * (1 - lines["error"]) / 400) + 1e-9
    assert (((lines["trials"] - lines["error"]) / spread).abs() < 4).all()


def test_phrases() -> None:
    assert falling([0.5, 0.5, 0.1])
    assert not falling([0.5, 0.6])
    assert told([0, 1, 0.4378, 1e-4, 0.9999999]) == "0 1 .438 <.001 1"
    assert not Setting().has(["adult_private.parquet"])
    with pytest.raises(FileNotFoundError, match="name its folder by --data"):
        Setting().table("adult_private.parquet")


@pytest.mark.thorough
def test_a_quick_run_makes_every_file_and_the_same_in_a_second_run(tmp_path: Path) -> None:
    def run(*options: str) -> dict[str, bytes]:
        command = [sys.executable, "-m", "benchmarks.paper", "--quick", "--out", str(tmp_path)]
        subprocess.run([*command, *options], check=True, cwd=ROOT, capture_output=True)  # noqa: S603 - ours
        return {path.name: path.read_bytes() for path in (tmp_path / "papers").iterdir()}

    made = run()
    experiments = [each for paper in PAPERS for each in paper.experiments]
    expected = {f"{each.name}.csv" for each in experiments if not each.needs and not each.timed}
    assert expected < made.keys()
    assert (tmp_path / "papers.md").read_text(encoding="utf-8").startswith("# The papers")
    again = run("--only", "patwa-count", "patwa-figure-4")
    assert again == made
    with pytest.raises(subprocess.CalledProcessError):
        run("--only", "nothing")
