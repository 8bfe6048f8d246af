"""``pqd compare`` from end to end: on the samples, what it costs, what it says, what it refuses."""

import json
import re
from collections.abc import Callable, Mapping
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pqd
from pqd.accounting.ledger import Ledger
from pqd.commands.compare import run_compare
from pqd.comparison.comparison_parameters import ComparisonParameters
from pqd.comparison.references import MARGINALS
from pqd.deciders import SimulatedNoise
from pqd.parameters import Parameters
from pqd.reports.models.compare import CompareReport
from pqd.reports.writers.html import html_text
from pqd.reports.writers.markdown import markdown_text
from pqd.sql.workload_files import as_queries

pytestmark = pytest.mark.usefixtures("noiseless")

Ran = tuple[int, str, str]
Command = Callable[..., Ran]
SAMPLES = Path(__file__).resolve().parents[2] / "samples"
PRIVATE, SYNTHETIC = (SAMPLES / f"census_{kind}.parquet" for kind in ("private", "synthetic"))

# What is shuffled in each candidate: from nothing to most.
SHUFFLED: Mapping[str, tuple[str, ...]] = {
    "whole": (),
    "ages": ("age",),
    "incomes": ("inctot",),
    "people": ("sex", "race"),
    "both": ("age", "inctot"),
    "marriages": ("marst",),
    "schools": ("educ", "workly"),
    "homes": ("relate", "age", "educ"),
    "most": ("sex", "race", "marst", "citizen", "educ", "inctot"),
}
WORKLOAD = {
    "women": "SELECT COUNT(*) FROM D WHERE sex = 'Female' AND age > 40",
    "widowed": "SELECT COUNT(*) FROM D WHERE marst = 'Widowed' AND age > 70",
    "income": "SELECT SUM(inctot) FROM D WHERE age > 40",
    "masters": "SELECT AVG(inctot) FROM D WHERE educ LIKE 'Master%'",
    "old": "SELECT MEDIAN(age) FROM D WHERE marst = 'Widowed'",
    "rich": "SELECT QUANTILE(inctot, 0.9) FROM D WHERE sex = 'Male'",
    "kinds": "SELECT COUNT(DISTINCT inctot) FROM D WHERE race = 'Black'",
    "each": "SELECT COUNT(*) FROM D WHERE age > 30 GROUP BY sex",
}


@pytest.fixture(scope="module")
def candidates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Copies of the synthetic table, columns of which are shuffled."""
    folder = tmp_path_factory.mktemp("candidates")
    table = pd.read_parquet(SYNTHETIC)
    rng = np.random.default_rng(11)
    made = {}
    for name, columns in SHUFFLED.items():
        shuffled = {column: rng.permutation(table[column].to_numpy()) for column in columns}
        path = folder / f"{name}.parquet"
        table.assign(**shuffled).to_parquet(path)
        made[name] = str(path)
    return made


@pytest.fixture
def account(tmp_path: Path) -> Path:
    """Where the fixture of every test keeps the account."""
    return tmp_path / "ledger.sqlite"


def queries(*names: str) -> list[pqd.Query]:
    return [pqd.Query(WORKLOAD[name], name) for name in names or WORKLOAD]


def compared(tables: Mapping[str, object], *names: str, **options: Any) -> CompareReport:
    terms: dict[str, Any] = {"tau": "5%", "epsilon": "1/2"} | options
    return pqd.compare(PRIVATE, tables, queries(*names), **terms)


def few(candidates: Mapping[str, str], count: int) -> dict[str, str]:
    return dict(list(candidates.items())[:count])


def spent(path: Path) -> list[Fraction]:
    if not path.exists():
        return []
    with closing(Ledger(path)) as ledger:
        return [account.epsilon for account in ledger.accounts]


def arguments(candidates: Mapping[str, str], *rest: str, names: tuple[str, ...] = ()) -> list[str]:
    pairs = [f"{name}={path}" for name, path in candidates.items()]
    texts = [part for name in names or WORKLOAD for part in ("-q", WORKLOAD[name])]
    terms = ["--tau", "5%", "--epsilon", "0.5"]
    return ["compare", str(PRIVATE), *pairs, *texts, *terms, *rest]


# What it costs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tau", "epsilon"), [("1%", "0.25"), ("3%", "0.25"), ("10%", "0.05")])
def test_the_cost_does_not_grow_with_the_number_of_candidates(
    tau: str, epsilon: str, candidates: dict[str, str], tmp_path: Path
) -> None:
    taken, costs, entered = set(), set(), set()
    for count in (1, 2, 9):
        path = tmp_path / f"{count}.sqlite"
        report = compared(few(candidates, count), tau=tau, epsilon=epsilon, ledger=path)
        assert len(report.leaderboard) == count
        costs.add((report.cost.epsilon, report.cost.delta, report.cost.rule, report.cost.groups))
        entered.add(tuple(spent(path)))
        taken |= {query.estimator for query in report.queries}
    # Eight queries, of which one is grouped and two others have no row in common.
    assert {cost[0] for cost in costs} == {7 * Fraction(epsilon)}
    assert len(costs) == 1
    assert entered == {(7 * Fraction(epsilon),)}
    assert {"laplace", "sum_and_count", "rank_counts", "split"} <= taken


@pytest.mark.parametrize("estimator", ["laplace", "race_to_the_top", "exponential", "split"])
def test_the_cost_is_that_of_any_estimator(estimator: str, candidates: dict[str, str]) -> None:
    report = compared(few(candidates, 5), estimator=estimator)
    assert report.cost.epsilon == Fraction(7, 2)
    assert {query.epsilon for query in report.queries} == {Fraction(1, 2)}
    assert estimator in {query.estimator for query in report.queries}


# Replays ------------------------------------------------------------------------------------------


def drawn(report: CompareReport) -> list[Any]:
    """What chance took part in, and all that follows from it."""
    cells = [(query.estimate, query.low, query.high, query.cells) for query in report.queries]
    return [cells, report.leaderboard, report.better]


def test_the_second_run_costs_nothing_and_says_the_same(
    candidates: dict[str, str], account: Path
) -> None:
    first = compared(few(candidates, 4))
    before = account.read_bytes()
    second = compared(few(candidates, 4))
    assert second.cost.epsilon == 0
    assert drawn(second) == drawn(first)
    assert all(query.replayed for query in second.queries)
    assert not any(query.replayed for query in first.queries)
    assert account.read_bytes() == before
    # All but what it costs is the same.
    found = [report.to_dict() for report in (first, second)]
    for values in found:
        del values["cost"], values["spent_epsilon"]
        for query in values["queries"]:
            del query["replayed"]
    assert found[0] == found[1]


def test_a_candidate_that_comes_later_costs_nothing_for_counts(
    candidates: dict[str, str], account: Path
) -> None:
    names = ("women", "widowed", "kinds", "each")
    first = compared(few(candidates, 3), *names, estimator="laplace")
    second = compared(candidates, *names, estimator="laplace", tau="2%")
    assert first.cost.epsilon == 2
    assert second.cost.epsilon == 0
    for old, new in zip(first.queries, second.queries, strict=True):
        assert (old.estimate, old.low, old.high) == (new.estimate, new.low, new.high)
    assert spent(account) == [2]
    # Nor for a sum whose bounds are stated.
    bounds = {"inctot": {"bounds": (0, 500_000)}}
    for count, cost in ((2, Fraction(1, 2)), (9, 0)):
        report = compared(few(candidates, count), "income", estimator="laplace", columns=bounds)
        assert report.cost.epsilon == cost


def test_fresh_pays_again(candidates: dict[str, str], account: Path) -> None:
    first = compared(few(candidates, 2), "women", "old")
    fresh = compared(few(candidates, 2), "women", "old", fresh=True)
    assert first.cost.epsilon == fresh.cost.epsilon == 1
    assert spent(account) == [2]
    assert not any(query.replayed for query in fresh.queries)
    assert drawn(compared(few(candidates, 2), "women", "old")) == drawn(fresh)


def test_the_budget_is_refused_before_anything_is_spent(
    candidates: dict[str, str], account: Path, command: Command
) -> None:
    assert command("ledger", "limit", str(account), "3.4")[0] == 0
    code, out, err = command(*arguments(few(candidates, 3)))
    assert (code, out) == (4, "")
    assert "Nothing was spent" in err
    assert spent(account) == []
    assert command("ledger", "limit", str(account), "3.5", "--raise")[0] == 0
    assert command(*arguments(few(candidates, 3)))[0] == 0


# What it says -------------------------------------------------------------------------------------


def truth(table: pd.DataFrame, name: str) -> float:
    """The answer of a query, by pandas."""
    male, female = (table["sex"] == sex for sex in ("Male", "Female"))
    widowed = table["marst"] == "Widowed"
    masters = table["educ"].str.startswith("Master")
    old = table["age"] > 30

    def ranked(values: pd.Series, p: float) -> float:
        return float(values.sort_values().iloc[int(np.ceil(p * len(values))) - 1])

    return {
        "women": lambda: float((female & (table["age"] > 40)).sum()),
        "widowed": lambda: float((widowed & (table["age"] > 70)).sum()),
        "income": lambda: float(table["inctot"][table["age"] > 40].sum()),
        "masters": lambda: float(table["inctot"][masters].mean()),
        "old": lambda: ranked(table["age"][widowed], 0.5),
        "rich": lambda: ranked(table["inctot"][male], 0.9),
        "kinds": lambda: float(table["inctot"][table["race"] == "Black"].nunique()),
        "each[sex = Male]": lambda: float((male & old).sum()),
        "each[sex = Female]": lambda: float((female & old).sum()),
    }[name]()


@pytest.mark.parametrize("estimator", ["auto", "split"])
def test_without_noise_to_speak_of_all_is_as_pandas_says(
    estimator: str, candidates: dict[str, str]
) -> None:
    secret = pd.read_parquet(PRIVATE)
    copies = {name: pd.read_parquet(path) for name, path in candidates.items()}
    # Else private values beyond the candidates' own would count as their ends.
    bounds = {"inctot": {"bounds": (0, 500_000)}}
    # An interval at 95 % would miss the true gap in one run of twenty.
    report = compared(candidates, epsilon=100_000, alpha=1e-9, estimator=estimator, columns=bounds)
    right = dict.fromkeys(candidates, 0)
    for query in report.queries:
        private = truth(secret, query.id)
        if estimator == "auto":
            assert query.estimate is not None
            rough = query.estimator == "rank_counts"
        for cell in query.cells:
            synthetic = truth(copies[cell.candidate], query.id)
            gap = private - synthetic
            assert cell.q_synthetic == pytest.approx(synthetic)
            assert cell.tau == pytest.approx(0.05 * synthetic)
            within = abs(gap) < 0.05 * synthetic
            assert cell.outcome == ("yes" if within else "no"), (query.id, cell.candidate)
            assert cell.standing == ("trusted" if within else "not trusted")
            right[cell.candidate] += within
            if estimator == "auto":
                assert cell.gap is not None
                assert cell.gap_low is not None
                assert cell.gap_high is not None
                # A rank is known between the cuts of the candidates' intervals only.
                if not rough:
                    assert cell.gap == pytest.approx(gap, abs=max(1, 1e-4 * synthetic))
                slack = 1e-9 * synthetic
                assert cell.gap_low - slack <= gap <= cell.gap_high + slack
    shares = {name: count / len(report.queries) for name, count in right.items()}
    assert len(set(shares.values())) >= 4
    for standing in report.leaderboard:
        share = shares[standing.candidate]
        assert (standing.low, standing.share, standing.high) == pytest.approx([share] * 3)
        assert standing.undecided == 0
        assert standing.trusted == right[standing.candidate]
        assert standing.best_rank == 1 + sum(other > share for other in shares.values())
        assert standing.worst_rank == sum(other >= share for other in shares.values())
    order = [shares[standing.candidate] for standing in report.leaderboard]
    assert order == sorted(order, reverse=True)
    assert set(report.better) == {(a, b) for a in shares for b in shares if shares[a] > shares[b]}


def test_weights_and_tolerances_of_single_queries(candidates: dict[str, str]) -> None:
    report = compared(
        few(candidates, 3),
        epsilon=100_000,
        weights={"women": 5, "each": "1/2"},
        tolerances={"old": 30, "each": "90%"},
    )
    weights = {query.id: query.weight for query in report.queries}
    assert weights["women"] == 5
    assert weights["income"] == 1
    assert weights["each[sex = Male]"] == 0.5
    tolerances = {query.id: query.tolerance for query in report.queries}
    assert (tolerances["old"], tolerances["each[sex = Male]"]) == ("30", "90%")
    for standing in report.leaderboard:
        yes = [q.weight for q in report.queries if q.cell(standing.candidate).outcome == "yes"]
        assert standing.share == pytest.approx(sum(yes) / sum(weights.values()))
    by_age = next(query for query in report.queries if query.id == "old")
    assert {cell.tau for cell in by_age.cells} == {30}


def test_a_weight_can_turn_the_order(candidates: dict[str, str]) -> None:
    tables = {name: candidates[name] for name in ("ages", "incomes")}
    options: dict[str, Any] = {"epsilon": 100_000, "tau": "70%"}
    asked = ("widowed", "masters")
    for weights, first in (({"widowed": 3}, "incomes"), ({"masters": 3}, "ages")):
        report = compared(tables, *asked, weights=weights, **options)
        assert report.leaderboard[0].candidate == first
        assert report.better == ((first, report.leaderboard[1].candidate),)


# The command --------------------------------------------------------------------------------------

REPORT = {
    *("schema_version", "kind", "private", "tolerance", "alpha", "spent_epsilon", "cost"),
    *("simulated", "notes", "candidates", "leaderboard", "better", "tied", "queries"),
}
QUERY = {
    "decidable",
    *("id", "sql", "aggregate", "attribute", "p", "where", "weight", "tolerance", "estimator"),
    *("reason", "estimators", "epsilon", "tau_min", "estimate", "low", "high", "closest", "cells"),
    *("block", "block_sql", "group", "counted", "max_rows", "replayed", "simulated"),
}
CELL = {
    *("candidate", "q_synthetic", "tau", "lower", "upper", "outcome", "standing", "error"),
    *("alpha", "condition", "p_value", "margin", "gap", "gap_low", "gap_high"),
}
STANDING = {
    *("candidate", "kind", "share", "low", "high", "trusted", "not_trusted", "undecided"),
    *("best_rank", "worst_rank", "wins", "worst"),
}


def test_json_on_standard_output(candidates: dict[str, str], command: Command) -> None:
    chosen = few(candidates, 3)
    code, out, err = command(*arguments(chosen, "--json", "-", "--weight", "q1=2"))
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert set(found) >= REPORT
    assert (found["schema_version"], found["kind"]) == (2, "compare")
    assert found["spent_epsilon"] == found["cost"]["epsilon"] == 3.5
    assert (found["simulated"], found["tolerance"], found["alpha"]) == (False, "5%", 0.05)
    assert found["candidates"] == {name: f"{name}.parquet" for name in chosen}
    assert found["private"] == "census_private.parquet"
    assert [query["weight"] for query in found["queries"]] == [2] + [1] * 8
    names = [standing["candidate"] for standing in found["leaderboard"]]
    assert sorted(names) == sorted(chosen)
    for standing in found["leaderboard"]:
        assert set(standing) == STANDING
        assert standing["low"] <= standing["share"] <= standing["high"]
        counts = [standing[name] for name in ("trusted", "not_trusted", "undecided")]
        # A query that no copy can be decided on takes no part.
        assert 0 < sum(counts) <= 9
    for query in found["queries"]:
        assert set(query) == QUERY
        assert [cell["candidate"] for cell in query["cells"]] == list(chosen)
        assert query["estimator"] in {facts["estimator"] for facts in query["estimators"]}
        for cell in query["cells"]:
            assert set(cell) == CELL
            assert cell["outcome"] in {"yes", "no"}
            assert cell["condition"] is None or set(cell["condition"]) == {
                *("lower", "upper", "rows_beyond", "accepted")
            }
            within = {"yes within bounds", "no within bounds"} if cell["condition"] else set()
            plain = {"trusted", "not trusted"} if not cell["condition"] else set()
            assert cell["standing"] in {"undecided", *within, *plain}


def test_json_beside_the_text(candidates: dict[str, str], tmp_path: Path, command: Command) -> None:
    path = tmp_path / "réport.json"
    code, out, err = command(*arguments(few(candidates, 3), "--verbose", "--json", str(path)))
    assert (code, err) == (0, "")
    found = json.loads(path.read_text(encoding="utf-8"))
    words = " ".join(out.split())
    assert re.search("Spent epsilon 3.5 .*on census_private.parquet, whatever the number", words)
    order = [words.index(f" {s['candidate']} ") for s in found["leaderboard"]]
    assert order == sorted(order)
    again = command(*arguments(few(candidates, 3), "--json", "-"))
    replayed = json.loads(again[1])
    assert replayed["leaderboard"] == found["leaderboard"]
    assert replayed["spent_epsilon"] == 0


def test_the_function_and_the_command_share_what_is_known(
    candidates: dict[str, str], command: Command
) -> None:
    names = ("women", "income")
    code, out, err = command(*arguments(few(candidates, 2), "--json", "-", names=names))
    assert (code, err) == (0, "")
    report = pqd.compare(
        str(PRIVATE),
        few(candidates, 2),
        [WORKLOAD[name] for name in names],
        tau="5%",
        epsilon=0.5,
    )
    assert report.cost.epsilon == 0
    assert report.to_dict()["leaderboard"] == json.loads(out)["leaderboard"]


def test_pages_beside_the_text(
    candidates: dict[str, str], tmp_path: Path, command: Command
) -> None:
    html, markdown = tmp_path / "report.html", tmp_path / "report.md"
    options = ("--html", str(html), "--markdown", str(markdown))
    code, out, err = command(*arguments(few(candidates, 3), *options))
    assert (code, err) == (0, "")
    assert "whole" in out
    for path in (html, markdown):
        text = path.read_text(encoding="utf-8")
        assert all(name in text for name in few(candidates, 3))
        assert "epsilon 3.5" in text


def test_verbose_tells_every_query_in_full(candidates: dict[str, str], command: Command) -> None:
    code, out, err = command(*arguments(few(candidates, 2), "--verbose"))
    assert (code, err) == (0, "")
    words = " ".join(out.split())
    for text in ("private answer about", "estimated by laplace", "wrong at most, on test tables"):
        assert text in words
    assert words.count("whole: ") >= 9


def test_options_of_single_queries(candidates: dict[str, str], command: Command) -> None:
    options = ("--weight", "q1=2", "--weight", "q2=1/2", "--tau-of", "q1=50%", "--tau-of", "q2=7")
    names = ("women", "widowed", "income")
    code, out, err = command(*arguments(few(candidates, 2), *options, "--json", "-", names=names))
    assert (code, err) == (0, "")
    found = {query["id"]: query for query in json.loads(out)["queries"]}
    assert [(q["weight"], q["tolerance"]) for q in found.values()] == [
        (2, "50%"),
        (0.5, "7"),
        (1, "5%"),
    ]
    assert {cell["tau"] for cell in found["q2"]["cells"]} == {7}


def test_a_named_release(candidates: dict[str, str], command: Command) -> None:
    options = ("--estimator", "exponential", "--json", "-")
    code, out, err = command(
        *arguments(few(candidates, 2), *options, names=("women", "old", "rich"))
    )
    assert code == 0
    assert err.startswith("pqd: Warning: estimator exponential does not fit q1, which does with")
    estimators = [query["estimator"] for query in json.loads(out)["queries"]]
    assert estimators == ["laplace", "exponential", "exponential"]


def test_with_references(candidates: dict[str, str], command: Command) -> None:
    options = ("--with-references", "--reference-epsilon", "10", "--json", "-")
    code, out, err = command(*arguments(few(candidates, 2), *options))
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["spent_epsilon"] == 13.5
    kinds = {standing["candidate"]: standing["kind"] for standing in found["leaderboard"]}
    assert kinds == {
        "whole": "candidate",
        "ages": "candidate",
        MARGINALS: "marginals",
        "whole resampled": "bootstrap",
    }
    assert any("rows of whole drawn anew" in note for note in found["notes"])
    cells = {cell["candidate"]: cell for cell in found["queries"][0]["cells"]}
    assert abs(cells["whole resampled"]["q_synthetic"] / cells["whole"]["q_synthetic"] - 1) < 0.1
    code, out, err = command(*arguments(few(candidates, 2), *options))
    assert (code, err, json.loads(out)["spent_epsilon"]) == (0, "", 0)


def test_a_frame_has_a_row_per_query_and_candidate(candidates: dict[str, str]) -> None:
    report = compared(few(candidates, 3))
    frame = report.to_frame()
    assert len(frame) == 27
    expected = {*(CELL - {"alpha"}), "id", "estimator", "weight"}
    assert set(frame.columns) == expected
    assert frame["candidate"].tolist() == list(few(candidates, 3)) * 9
    for standing in report.leaderboard:
        some = frame[frame["candidate"] == standing.candidate]
        ranked = {query.id for query in report.ranked}
        judged = some[some["id"].isin(ranked)]
        assert (judged["outcome"] == "yes").mean() == pytest.approx(standing.share)


def test_frames_compare_as_files_do(candidates: dict[str, str]) -> None:
    first = compared(few(candidates, 2))
    frames = {name: pd.read_parquet(path) for name, path in few(candidates, 2).items()}
    second = pqd.compare(
        pd.read_parquet(PRIVATE), frames, queries(), tau="5%", epsilon=Fraction(1, 2)
    )
    assert second.cost.epsilon == 0
    assert drawn(second) == drawn(first)


def test_simulated_noise_is_stamped(candidates: dict[str, str]) -> None:
    terms = Parameters.parse(tau="5%", epsilon="1/2", alpha=0.05)
    workload = as_queries(WORKLOAD["women"])
    tables = few(candidates, 2)
    report = run_compare(
        PRIVATE, tables, workload, ComparisonParameters.parse(terms), SimulatedNoise(1)
    )
    assert report.simulated
    assert str(report).startswith("SIMULATED")
    assert report.to_dict()["simulated"] is True
    assert [query["simulated"] for query in report.to_dict()["queries"]] == [True]
    for text in renderings(report).values():
        assert "SIMULATED" in text
    real = compared(tables, "women")
    for text in (str(real), *renderings(real).values()):
        assert "SIMULATED" not in text


def renderings(report: CompareReport) -> dict[str, str]:
    """Pages of a report."""
    return {"html": html_text(report), "markdown": markdown_text(report)}


# What it refuses ----------------------------------------------------------------------------------

ROWS = "age,sex,pay\n" + "".join(f"{20 + n % 50},{'fm'[n % 2]},{n % 9}\n" for n in range(80))
SQL = "SELECT COUNT(*) FROM D WHERE age > 35"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with good and bad tables."""
    files = {
        "private.csv": ROWS.replace("\n", "\n987,zebra-canary,1\n", 1),
        "narrow-private.csv": "age\n987\n",
        "a.csv": ROWS,
        "b.csv": ROWS.replace("21,", "44,"),
        "narrow.csv": "age,sex\n30,f\n",
        "empty.csv": "",
        "header.csv": "age,sex,pay\n",
        "none.sql": "",
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


TERMS = ("--tau", "5", "--epsilon", "1")
REFERENCES = ("--with-references", "--reference-epsilon", "1")
GOOD = ("a=a.csv", "b=b.csv")
PAID = ("-q", "SELECT SUM(pay) FROM D", *TERMS)


def on(*rest: str) -> list[str]:
    return ["private.csv", *GOOD, "-q", SQL, *TERMS, *rest]


# Per label: the arguments of `pqd compare`, words that the message must have, and the exit code.
CASES: dict[str, tuple[list[str], str, int]] = {
    "no name": (
        ["private.csv", "b=b.csv", "my a.csv", "-q", SQL, *TERMS],
        "candidate 'my a.csv' has no name; write it as 'my a=my a.csv'",
        2,
    ),
    "no name of parts": (
        ["private.csv", "a=a.csv", "copies/*.csv", "-q", SQL, *TERMS],
        "write it as 'copies=copies/*.csv'",
        2,
    ),
    "no name of a URL": (
        ["private.csv", "postgresql://me:pw@host/db?table=hr.copy", "-q", SQL, *TERMS],
        "has no name; write it as 'copy=postgresql://?table=hr.copy'",
        2,
    ),
    "no file": (["private.csv", "tree", "-q", SQL, *TERMS], "write it as tree=copy.csv", 2),
    "an empty name": (["private.csv", "=a.csv", "-q", SQL, *TERMS], "write it as", 2),
    "an empty file name": (["private.csv", "a=", "-q", SQL, *TERMS], "write it as", 2),
    "one name twice": (
        ["private.csv", "a=a.csv", "a=b.csv", "-q", SQL, *TERMS],
        "two candidates are called 'a'",
        2,
    ),
    "a name that is taken": (
        ["private.csv", f"{MARGINALS}=a.csv", "-q", SQL, *TERMS, *REFERENCES],
        "cannot be called",
        2,
    ),
    "a missing candidate": (
        ["private.csv", "a=a.csv", "b=nowhere.csv", "-q", SQL, *TERMS],
        "nowhere.csv does not exist",
        2,
    ),
    "a missing private table": (["nowhere.csv", *GOOD, "-q", SQL, *TERMS], "does not exist", 2),
    "no epsilon": (
        ["private.csv", *GOOD, "-q", SQL, "--tau", "5"],
        "--epsilon is missing",
        2,
    ),
    "no tau": (["private.csv", *GOOD, "-q", SQL, "--epsilon", "1"], "--tau is missing", 2),
    "no query": (["private.csv", *GOOD, *TERMS], "--total-epsilon 0.25", 2),
    "terms of queries without any": (
        ["private.csv", *GOOD, *TERMS, "--total-epsilon", "1"],
        "--tau, --epsilon means nothing; leave it out, or give queries",
        2,
    ),
    "a reference of no queries": (
        ["private.csv", *GOOD, "--total-epsilon", "1", "--with-references"],
        "where --with-references means nothing",
        2,
    ),
    "terms of a ranking with queries": (
        on("--total-epsilon", "1", "--ways", "1", "--marginals"),
        "--total-epsilon, --ways, --marginals is of a ranking",
        2,
    ),
    "an empty query file": (
        ["private.csv", *GOOD, "--queries", "none.sql", *TERMS],
        "no query",
        5,
    ),
    "an unknown estimator": (
        on("--estimator", "best"),
        "there is no estimator 'best'; use auto or",
        2,
    ),
    "a decider for an estimator": (on("--estimator", "inv_count"), "there is no estimator", 2),
    "a weight of no query": (on("--weight", "q9=2"), "a weight is given for 'q9'", 2),
    "a tolerance of no query": (on("--tau-of", "q9=2"), "a tolerance is given for 'q9'", 2),
    "a weight of 0": (on("--weight", "q1=0"), "weight of q1", 2),
    "a negative weight": (on("--weight", "q1=-1"), "weight of q1", 2),
    "a weight of words": (on("--weight", "q1=heavy"), "weight of q1", 2),
    "a weight without a name": (on("--weight", "2"), "write it as q1=2", 2),
    "one weight twice": (on("--weight", "q1=2", "--weight", "q1=3"), "two weights are called", 2),
    "a tolerance of words": (on("--tau-of", "q1=much"), "tau is", 2),
    "a tolerance of 0": (on("--tau-of", "q1=0"), "greater than 0", 2),
    "a reference for nothing": (
        on("--with-references", "--reference-epsilon", "0"),
        "greater than 0",
        2,
    ),
    "a reference without a budget": (on("--with-references"), "go together", 2),
    "a budget for no reference": (on("--reference-epsilon", "1"), "go together", 2),
    "a reference of words": (
        on("--with-references", "--reference-epsilon", "some"),
        "--reference-epsilon is",
        2,
    ),
    "epsilon 0": (["private.csv", *GOOD, "-q", SQL, "--tau", "5", "--epsilon", "0"], "than 0", 2),
    "alpha 1": (on("--alpha", "1"), "strictly between 0 and 1", 2),
    "a private table without a column": (
        ["narrow-private.csv", *GOOD, *PAID],
        '"pay" is in the synthetic table but not in the private one (narrow-private.csv)',
        2,
    ),
    "a later candidate without a column": (
        ["private.csv", "a=a.csv", "b=narrow.csv", *PAID],
        '"pay" is in the private table but not in the synthetic one (b)',
        2,
    ),
    "a first candidate without a column": (
        ["private.csv", "b=narrow.csv", "a=a.csv", *PAID],
        "pay",
        2,
    ),
    "an empty candidate": (
        ["private.csv", "a=a.csv", "b=empty.csv", "-q", SQL, *TERMS],
        "empty.csv is empty",
        2,
    ),
    "a candidate without rows": (
        ["private.csv", "a=a.csv", "b=header.csv", "-q", SQL, *TERMS],
        "the synthetic table b has no rows",
        2,
    ),
    "a unit with references": (on("--unit", "pay", *REFERENCES), "without --with-references", 2),
    "bad SQL": (
        ["private.csv", *GOOD, "-q", "SELECT", *TERMS],
        "nothing stands between SELECT and FROM",
        2,
    ),
    "JSON into no folder": (on("--json", "no/where.json"), "cannot be written", 2),
    "two outputs in one place": (on("--json", "-", "--html", "-"), "same place", 2),
}


def check_one_message(ran: Ran, code: int) -> None:
    found, out, err = ran
    assert found == code, err
    assert out == ""
    first, *more = err.splitlines()
    assert first.startswith("pqd: ")
    assert "internal error" not in first
    assert all(line.startswith("  ") for line in more), "a second message"
    assert "Traceback" not in err
    assert not re.search("zebra-canary|987", err)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("label", CASES)
def test_bad_input_is_one_message_and_nothing_is_spent(
    label: str, command: Command, account: Path
) -> None:
    given, words, code = CASES[label]
    ran = command("compare", *given)
    check_one_message(ran, code)
    assert words in ran[2]
    assert not account.exists()


@pytest.mark.usefixtures("folder")
def test_a_run_that_breaks_is_exit_code_3(command: Command) -> None:
    frame = pd.DataFrame({"age": range(5000)})
    frame.to_parquet("broken.parquet")
    whole = Path("broken.parquet").read_bytes()
    # The footer stands, the rows do not.
    Path("broken.parquet").write_bytes(bytes(4) + b"\xff" * 400 + whole[404:])
    ran = command("compare", "broken.parquet", *GOOD, "-q", SQL, *TERMS)
    check_one_message(ran, 3)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("option", ["--json", "--html", "--markdown"])
def test_inputs_are_never_overwritten(option: str, command: Command, folder: Path) -> None:
    (folder / "queries.sql").write_text(f"{SQL};", encoding="utf-8")
    (folder / "copy").symlink_to(folder / "b.csv")
    kept = {path.name: path.read_bytes() for path in folder.iterdir()}
    given = ["private.csv", *GOOD, "--queries", "queries.sql", *TERMS, "--ledger", "own.sqlite"]
    for target in ("private.csv", "a.csv", "b.csv", "copy", "own.sqlite"):
        check_one_message(command("compare", *given, option, target), 2)
    check_one_message(command("compare", *given, option, "queries.sql"), 2)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == kept


@pytest.mark.usefixtures("folder")
def test_a_ledger_in_use_is_never_overwritten(command: Command, account: Path) -> None:
    assert command("compare", *on())[0] == 0
    before = account.read_bytes()
    # By its name alone: the number of a temporary folder may hold the digits of a canary.
    check_one_message(command("compare", *on("--json", account.name)), 2)
    assert account.read_bytes() == before


def test_mistakes_in_python(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": range(9)})
    options: dict[str, Any] = {"queries": "SELECT COUNT(*) FROM D", "tau": 2, "epsilon": 1}
    wrongs: list[Any] = [{}, [frame], frame, None]
    for wrong in wrongs:
        with pytest.raises(pqd.PqdError, match="synthetics must be a mapping"):
            pqd.compare(frame, wrong, **options)
    with pytest.raises(pqd.PqdError, match="the synthetic table is a int"):
        pqd.compare(frame, {"a": 7}, **options)
    with pytest.raises(pqd.PqdError):
        pqd.compare(frame, {"1": frame, 1: frame}, **options)  # type: ignore[dict-item]
    assert not (tmp_path / "ledger.sqlite").exists()
