"""No measurement without an epsilon: none is invented, and nothing is read where none is said."""

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import pqd
from pqd.batches.shared_budget import verdict_plans
from pqd.commands.audit import run_audit
from pqd.commands.compare import run_compare
from pqd.comparison.comparison_parameters import ComparisonParameters
from pqd.comparison.references import select_group_counts
from pqd.deciders import SecureNoise
from pqd.deciders.options import for_shell
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.errors import ParameterError
from pqd.parameters import Criteria
from pqd.planning.binding import bind
from pqd.planning.bound_workload import BoundQuery, BoundWorkload, QueryRequest
from pqd.planning.planned_comparison import select_estimators
from pqd.planning.query_verdict import DeciderPlan, decider_plan, planned_verdict, select_deciders
from pqd.sql.workload_files import as_queries

# None of these files is there: what reads one first raises another error.
TABLES = ("nowhere.csv", "neither.csv")
SQL = "SELECT COUNT(*) FROM D WHERE age > 2"
COPY = pd.DataFrame({"age": [float(n % 7) for n in range(40)]})
SECRET = COPY.head(30)

ENTRIES: dict[str, Callable[[Any], object]] = {
    "audit": lambda epsilon: pqd.audit(*TABLES, SQL, tau=1, epsilon=epsilon),
    "shared": lambda epsilon: pqd.audit(*TABLES, SQL, tau=1, total_epsilon=epsilon),
    "compare": lambda epsilon: pqd.compare(
        TABLES[0], {"a": TABLES[1]}, SQL, tau=1, epsilon=epsilon
    ),
    "release": lambda epsilon: pqd.release(*TABLES, SQL, total_epsilon=epsilon),
}


@pytest.mark.parametrize("epsilon", [None, 0, -1, ""])
@pytest.mark.parametrize("name", ENTRIES)
def test_without_an_epsilon_nothing_is_read(name: str, epsilon: Any) -> None:
    with pytest.raises(ParameterError, match=r"epsilon\b.* is ") as refused:
        ENTRIES[name](epsilon)
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    "words",
    [
        ["audit", *TABLES, "-q", SQL, "--tau", "1"],
        ["audit", *TABLES, "-q", SQL, "--tau", "1", "--sharing", "auto"],
        ["audit", *TABLES, "-q", SQL, "--tau", "1", "--total-epsilon", ""],
        ["compare", TABLES[0], f"a={TABLES[1]}", "-q", SQL, "--tau", "1"],
        ["release", *TABLES, "-q", SQL],
    ],
)
@pytest.mark.parametrize("empty", [False, True])
def test_a_command_without_an_epsilon_is_refused(
    words: list[str], *, empty: bool, command: Callable[..., tuple[int, str, str]]
) -> None:
    option = "--total-epsilon" if words[0] == "release" else "--epsilon"
    code, out, err = command(*words, *([option, ""] if empty else []))
    assert (code, out) == (2, "")
    assert f"{option} is missing" in err


BOTH = "epsilon and total_epsilon are both given"
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "both": (
        {"epsilon": 1, "total_epsilon": 1},
        BOTH,
    ),
    "both, shared": (
        {"epsilon": 1, "total_epsilon": 1, "sharing": "alone"},
        BOTH,
    ),
    "nothing to share": ({"epsilon": 1, "sharing": "auto"}, "sharing is 'auto', but epsilon"),
    "sharing alone": ({"sharing": "alone"}, "epsilon is missing"),
    "neither": ({}, "epsilon is missing"),
    "no way": ({"total_epsilon": 1, "sharing": "magic"}, "sharing is 'magic'; use one of auto, "),
}


@pytest.mark.parametrize("name", WRONG)
def test_budgets_that_contradict_each_other_are_refused(
    name: str, tmp_path: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    """The library and the command line say the same, each with names of its own."""
    stated, message = WRONG[name]
    ledger = tmp_path / "ledger.sqlite"
    with pytest.raises(ParameterError, match=re.escape(message)) as refused:
        pqd.audit(SECRET, COPY, SQL, tau=1, ledger=ledger, **stated)
    assert refused.value.exit_code == 2
    options = [
        word for key, value in stated.items() for word in (f"--{key.replace('_', '-')}", str(value))
    ]
    code, out, err = command("audit", *TABLES, "-q", SQL, "--tau", "1", *options)
    assert (code, out) == (2, "")
    with for_shell(), pytest.raises(ParameterError) as refused:
        pqd.audit(SECRET, COPY, SQL, tau=1, ledger=ledger, **stated)
    assert err == f"pqd: {refused.value}\n"
    assert not ledger.exists()


def bound_query(epsilon: int | None = None) -> BoundQuery:
    criteria = Criteria.of(tau=1, alpha="0.05")
    request = QueryRequest(as_queries(SQL)[0], criteria.at(epsilon) if epsilon else criteria)
    bound = bind(SyntheticTables([open_table(COPY, "synthetic")]), [request], {})
    bound.check()
    return bound.queries[0]


@pytest.mark.parametrize("select", [select_deciders, select_estimators, select_group_counts])
def test_what_is_drawn_cannot_be_made_without_one(select: Callable[[BoundWorkload], Any]) -> None:
    criteria = Criteria.of(tau=1, alpha="0.05")
    tables = SyntheticTables([open_table(COPY, "synthetic")])
    bound = bind(tables, [QueryRequest(as_queries(SQL)[0], criteria)], {})
    bound.check()
    with pytest.raises(ParameterError, match="epsilon is missing"):
        select(bound).bound.check()


def test_a_plan_without_one_cannot_be_drawn() -> None:
    planned = decider_plan(bound_query())
    assert type(planned) is DeciderPlan
    assert not hasattr(planned, "measurement")
    assert not hasattr(planned.criteria, "epsilon")


def test_the_measurement_itself_refuses_a_budget_of_nothing() -> None:
    measurement = planned_verdict(bound_query(1)).measurement
    nothing: tuple[Any, ...] = (Fraction(0), Fraction(-1), None)
    for epsilon in nothing:
        with pytest.raises(ParameterError, match="epsilon"):
            replace(measurement, epsilon=epsilon)


@pytest.mark.parametrize("sharing", [None, "auto"])
def test_the_inner_runs_invent_none(sharing: str | None) -> None:
    wanted: Any = Criteria.of(tau=1, alpha="0.05")
    with pytest.raises((ParameterError, AttributeError), match="epsilon"):
        run_audit(SECRET, COPY, as_queries(SQL), wanted, SecureNoise(), sharing=sharing)


def test_the_inner_comparison_invents_none() -> None:
    wanted: Any = Criteria.of(tau=1, alpha="0.05")
    with pytest.raises((ParameterError, AttributeError), match="epsilon"):
        run_compare(
            SECRET, {"a": COPY}, as_queries(SQL), ComparisonParameters.parse(wanted), SecureNoise()
        )


def test_a_query_waits_for_a_budget_that_there_must_be() -> None:
    wanted = Criteria.of(tau=1, alpha="0.05")
    table = open_table(COPY, "synthetic")
    tables = SyntheticTables([table], open_table(SECRET, "private"))
    bound = bind(tables, [QueryRequest(as_queries(SQL)[0], wanted)], {})
    with pytest.raises(ParameterError, match="has no epsilon"):
        verdict_plans([bound], None)


SPEC = """
[private]
path = "nowhere.csv"
[synthetic.copy]
path = "neither.csv"
{more}
[[check]]
id = "one"
sql = "SELECT COUNT(*) FROM D"
tau = 5
"""


@pytest.mark.parametrize("more", ["", "[shared_budget]", "[defaults]\nalpha = 0.05"])
def test_a_spec_without_one_is_refused(more: str, tmp_path: Path) -> None:
    path = tmp_path / "audit.toml"
    path.write_text(SPEC.format(more=more))
    with pytest.raises(pqd.PqdError, match="epsilon") as refused:
        pqd.check(path)
    assert refused.value.exit_code == 2
