"""``pqd.simulate``: seeded noise, marked everywhere, without an account."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from math import sqrt
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import pqd
from pqd.deciders import DECIDERS, Histogram, Interval
from pqd.reports.github import github_text
from pqd.reports.junit import junit_text
from pqd.run.means import Means

QUERY = "SELECT COUNT(*) FROM D WHERE x = 1"
RUNS: dict[str, Callable[..., Any]] = {
    "audit": lambda command, private, copy: command(private, copy, QUERY, tau=10, epsilon=0.5),
    "profile": lambda command, private, copy: command(
        private, copy, tau="20%", zoom=1, anyway=True
    ),
    "compare": lambda command, private, copy: command(
        private, {"a": copy, "b": copy.tail(99)}, QUERY, tau=10, epsilon=0.5
    ),
    "ranking": lambda command, private, copy: command(
        private, {"a": copy, "b": copy.tail(99)}, total_epsilon=1
    ),
    "release": lambda command, private, copy: command(private, copy, QUERY, total_epsilon=0.5),
    "gate": lambda command, private, copy: command(private, copy, QUERY, tau=10, epsilon=0.5),
    "risk": lambda command, private, copy: command(
        private, copy, held_out=private.tail(60), total_epsilon=0.5
    ),
}


def tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Private table and copy of 100 rows; 48 and 40 of them have x = 1."""
    private, copy = ([1] * n + [0] * (100 - n) for n in (48, 40))
    return (
        pd.DataFrame({"x": private, "y": [n % 7 for n in range(100)]}),
        pd.DataFrame({"x": copy, "y": [n % 7 for n in range(100)]}),
    )


def simulated(name: str, seed: int = 3) -> Any:
    """Simulated report of a run."""
    command = getattr(pqd, "compare" if name == "ranking" else name)
    return RUNS[name](pqd.simulate(command, seed=seed), *tables())


@pytest.fixture
def _nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_nowhere")
@pytest.mark.parametrize("name", RUNS)
def test_every_rendering_is_marked_and_no_account_is_kept(name: str, tmp_path: Path) -> None:
    report = simulated(name)
    texts = [str(report), repr(report), report.to_markdown(), report.to_html()]
    texts += [report._repr_html_()]
    if name == "gate":
        texts += [junit_text(report), github_text(report, "audit.toml")]
    for text in texts:
        assert "SIMULATED: the noise of this report has a seed" in text
        assert "0.5 spent" not in text
    told = json.loads(report.to_json())
    assert report.simulated is True
    assert told["spent_epsilon"] == 0
    assert told["cost"]["simulated"] is True
    assert "nothing spent, epsilon" in str(report)
    assert "times as probable" not in report.to_html()
    assert not list(tmp_path.iterdir()), "a simulation writes no ledger"


@pytest.mark.usefixtures("_nowhere")
def test_one_seed_gives_one_report_and_another_seed_another() -> None:
    one = simulated("release").to_json()
    assert simulated("release").to_json() == one
    assert simulated("release", 4).to_json() != one


@pytest.mark.thorough
def test_the_report_is_the_same_in_every_process(tmp_path: Path) -> None:
    script = (
        "from tests.pqd.test_simulate import *\n"
        "for name in RUNS:\n"
        "    report = simulated(name)\n"
        "    print(report.to_json(), report.to_html(), report.to_markdown(), str(report))\n"
    )
    texts = []
    for number in ("0", "1"):
        where = {"PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONHASHSEED": number}
        made = subprocess.run(  # noqa: S603 - the script is the test's own
            [sys.executable, "-c", script],
            env={**os.environ, **where},
            cwd=tmp_path,
            capture_output=True,
            check=True,
        )
        texts.append(made.stdout)
    assert texts[0] == texts[1]
    assert texts[0].count(b"SIMULATED") > 20


def within(chance: float, yes: int, draws: int) -> bool:
    """Whether a frequency is within four standard deviations of a chance."""
    return abs(yes - chance * draws) < 4 * sqrt(draws * chance * (1 - chance))


def agreed(seed: int) -> int:
    """Number of yes among 25 independent draws with one true answer."""
    queries = [f"SELECT COUNT(*) FROM D WHERE x = 1 AND y < {8 + n}" for n in range(25)]
    audit = pqd.simulate(pqd.audit, seed=seed)
    report = audit(*tables(), queries, tau=10, epsilon=0.5, decider="em_count")
    return sum(verdict.leans == "yes" for verdict in report)


CHANCE = DECIDERS["em_count"]().accept(Histogram.from_values([0] * 48), Interval(30, 50), 0.5)


@pytest.mark.usefixtures("_nowhere")
def test_draws_have_the_exact_chance_of_the_decider() -> None:
    seeds = 12
    assert within(CHANCE, sum(map(agreed, range(seeds))), 25 * seeds)


@pytest.mark.thorough
@pytest.mark.usefixtures("_nowhere")
def test_seeds_have_the_exact_chance_of_the_decider() -> None:
    yes, seeds = 0, 300
    for seed in range(seeds):
        audit = pqd.simulate(pqd.audit, seed=seed)
        report = audit(*tables(), QUERY, tau=10, epsilon=0.5, decider="em_count")
        yes += report["q1"].leans == "yes"
    assert within(CHANCE, yes, seeds)


@pytest.mark.parametrize(
    ("stated", "reason"),
    [
        ({"ledger": "account.sqlite"}, "ledger: it keeps no account"),
        ({"dataset": "people"}, "dataset: it keeps no account"),
        ({"fresh": True}, "fresh: it keeps no account"),
    ],
)
def test_an_account_is_refused(stated: dict[str, Any], reason: str) -> None:
    audit = pqd.simulate(pqd.audit, seed=3)
    with pytest.raises(pqd.PqdError, match=f"a simulation has no argument {reason}"):
        audit("nowhere.csv", "copy.csv", QUERY, tau=1, epsilon=1, **stated)


def test_a_ledger_that_is_no_text_is_refused_too() -> None:
    audit: Any = pqd.simulate(pqd.audit, seed=3)
    with pytest.raises(pqd.PqdError, match="a simulation has no argument ledger: it keeps no"):
        audit("a.csv", "b.csv", QUERY, tau=1, epsilon=1, ledger=["x"])


SPEC = """
[private]
path = "private.csv"
[synthetic.copy]
path = "copy.csv"
[budget]
epsilon = 0.001
{gate}
[ledger]
path = "own.sqlite"
[[check]]
id = "ones"
sql = "SELECT COUNT(*) FROM D WHERE x = 1"
tau = 30
{epsilon}
"""


@pytest.mark.parametrize(("gate", "epsilon"), [("", "epsilon = 1"), ("gate = 0.5", "")])
def test_a_check_is_simulated_without_the_account_and_the_limit_of_its_spec(
    gate: str, epsilon: str, tmp_path: Path
) -> None:
    for name, ones in (("private.csv", 301), ("copy.csv", 300)):
        pd.DataFrame({"x": [0] * 300 + [1] * ones}).to_csv(tmp_path / name, index=False)
    spec = tmp_path / "audit.toml"
    spec.write_text(SPEC.format(gate=gate, epsilon=epsilon))
    one, again = (pqd.simulate(pqd.check, seed=3)(spec) for _ in "ab")
    assert one == again
    for text in (str(one), one.to_html(), one.to_markdown(), one.to_json(), one.to_csv()):
        assert "SIMULATED" in text.upper()
    assert "SIMULATED" in junit_text(one)
    assert "SIMULATED" in github_text(one, "audit.toml")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "audit.toml",
        "copy.csv",
        "private.csv",
    ]
    # Without a simulation the limit of the spec holds.
    with pytest.raises(pqd.PqdError, match="this run needs epsilon"):
        pqd.check(spec)


def test_a_table_and_a_plan_are_refused() -> None:
    with pytest.raises(pqd.PqdError, match="no argument table: a table has no place for the mark"):
        pqd.simulate(pqd.release, seed=3)("a.csv", "b.csv", QUERY, total_epsilon=1, table="c.csv")
    with pytest.raises(pqd.PqdError, match="no argument dry_run: a plan draws no noise"):
        pqd.simulate(pqd.gate, seed=3)("a.csv", "b.csv", epsilon=1, dry_run=True)


@pytest.mark.parametrize("command", [pqd.plan, pqd.lint, print, "audit", None])
def test_only_commands_that_draw_are_simulated(command: Any) -> None:
    with pytest.raises(pqd.PqdError, match=r"pqd\.simulate takes one of pqd\.audit, "):
        pqd.simulate(command, seed=3)


@pytest.mark.parametrize("seed", [None, -1, 0.5, True, "3"])
def test_a_seed_is_a_whole_number(seed: Any) -> None:
    with pytest.raises(pqd.PqdError, match="the seed must be a whole number of at least 0, not"):
        pqd.simulate(pqd.audit, seed=seed)


def test_a_seed_holds_for_the_one_call_alone(tmp_path: Path) -> None:
    def means() -> Means:
        ledger = tmp_path / "ledger.sqlite"
        return Means.of("p.csv", ledger, dataset=None, fresh=False, row_is_person=False)

    with pytest.raises(pqd.PqdError):
        pqd.simulate(pqd.audit, seed=3)("nowhere.csv", "copy.csv", QUERY, tau=1, epsilon=1)
    assert means().accountant is not None
    assert not means().noise().simulated


def test_a_simulation_has_the_types_of_its_command() -> None:
    audit = pqd.simulate(pqd.audit, seed=3)
    assert audit.__name__ == "audit"
    assert audit.__doc__ == pqd.audit.__doc__
