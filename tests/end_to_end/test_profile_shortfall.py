"""A profile that can decide too little is refused before it spends, by public facts alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pqd
from pqd.accounting.accountant import Accountant
from pqd.commands.profile import run_profile, run_profile_plan
from pqd.deciders import ParameterError, SimulatedNoise
from pqd.engine.scan_plan import PrivacyUnit
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.marginals.bound_profile import bind_profile
from pqd.marginals.profile_parameters import ProfileParameters
from pqd.marginals.profile_plan import plan_profile, vector_law
from pqd.reports.models.profile import ProfileReport, Shortfall
from pqd.reports.text.distances import refusal_text
from tests.support.noises import Absent

Command = Callable[..., tuple[int, str, str]]
NOTHING_SPENT = "nothing was measured and nothing was spent"


def table(seed: int, rows: int, columns: int = 6) -> pd.DataFrame:
    """Independent columns, half of them numbers."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            f"c{place}": rng.integers(0, 5, rows) if place % 2 else rng.choice([*"abc"], rows)
            for place in range(columns)
        }
    )


COPY, SECRET = table(1, 300), table(2, 320)


def planned(
    copy: pd.DataFrame = COPY, unit: PrivacyUnit | None = None, **how: Any
) -> ProfileReport:
    return run_profile_plan(None, copy, ProfileParameters.parse(**how), unit=unit)


def shortfall(**how: Any) -> Shortfall:
    found = planned(**how).shortfall
    assert found is not None
    return found


def outcome(private: pd.DataFrame, **how: Any) -> str:
    """Message of a refusal, or ``measured``."""
    try:
        run_profile(private, COPY, ProfileParameters.parse(**how), SimulatedNoise(1))
    except ParameterError as error:
        return str(error)
    return "measured"


@pytest.mark.parametrize("how", [{}, {"total_epsilon": 2, "zoom": 2}, {"total_epsilon": 60}])
def test_the_private_table_does_not_move_the_refusal(how: dict[str, Any]) -> None:
    neighbours = [SECRET.iloc[1:], pd.concat([SECRET, SECRET.iloc[:1]], ignore_index=True)]
    others = [table(3, 12), table(4, 5_000), COPY.assign(c1=7, c0="zzz"), SECRET.iloc[:0]]
    outcomes = {outcome(private, **how) for private in (SECRET, *neighbours, *others)}
    assert len(outcomes) == 1
    assert (outcomes == {"measured"}) == (how.get("total_epsilon") == 60)


def test_a_refusal_costs_nothing_and_says_what_would_do(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with pytest.raises(ParameterError, match=NOTHING_SPENT) as error:
        pqd.profile(SECRET, COPY, ledger=path)
    assert not path.exists()
    message = str(error.value)
    assert message == refusal_text(shortfall())
    assert "0 of 24 distances can be decided at epsilon 1 and a tolerance of 5 %" in message
    assert "total_epsilon" in message
    assert "anyway=True" in message


def test_the_command_ends_with_2_and_goes_on_only_if_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    SECRET.to_csv("private.csv", index=False)
    COPY.to_csv("copy.csv", index=False)
    code, out, err = command("profile", "private.csv", "copy.csv")
    assert (code, out) == (2, "")
    assert NOTHING_SPENT in err
    assert [each.name for each in tmp_path.iterdir() if "ledger" in each.name] == []
    code, out, _ = command("profile", "private.csv", "copy.csv", "--dry-run", "--json", "-")
    assert code == 0
    assert json.loads(out)["shortfall"]["decidable"] == 0
    code, out, _ = command("plan", "copy.csv")
    assert (code, "A run would be refused" in out) == (0, True)
    assert "Next:" not in out
    code, out, _ = command("profile", "private.csv", "copy.csv", "--anyway", "--json", "-")
    assert code == 0
    assert json.loads(out)["spent_epsilon"] == 1
    # What was paid for can be looked at again.
    code, out, _ = command("profile", "private.csv", "copy.csv", "--explain", "c0")
    assert (code, "c0" in out) == (0, True)


def test_stated_private_rows_take_the_place_of_the_copy_s() -> None:
    """A copy of a tenth is as decidable as a whole copy, where the private rows are stated."""
    assert planned(private_rows=24_000).shortfall is None
    few = shortfall(private_rows=320)
    assert (few.copy_rows, few.private_rows) == (300, 320)
    assert "if the private table has the stated 320 rows" in refusal_text(few)


def test_each_remedy_suffices_by_itself() -> None:
    found = shortfall()
    assert found.needed_epsilon
    assert found.needed_tau
    assert planned(total_epsilon=found.needed_epsilon).shortfall is None
    assert planned(total_epsilon=0.99 * found.needed_epsilon).shortfall is not None
    assert planned(tau=f"{100 * found.needed_tau}%").shortfall is None
    assert planned(tau=f"{100 * found.needed_tau - 0.2}%").shortfall is not None
    nearly = shortfall(total_epsilon=3)
    assert nearly.singles_decide
    assert planned(ways=1, total_epsilon=3).shortfall is None
    assert nearly.needed_columns
    names = list(COPY)[-nearly.needed_columns :]
    assert planned(columns=names, total_epsilon=3).shortfall is None


def test_with_the_budget_of_a_zoom_or_under_delta_or_of_persons() -> None:
    plain, zoomed = shortfall().needed_epsilon, shortfall(zoom=2).needed_epsilon
    assert plain
    assert zoomed
    assert zoomed > 1.2 * plain
    gaussian = shortfall(delta="1e-6").needed_epsilon
    assert gaussian
    assert planned(delta="1e-6", total_epsilon=gaussian).shortfall is None
    copy = COPY.assign(who=[f"p{place // 2}" for place in range(len(COPY))])
    persons = planned(copy, PrivacyUnit("who", 2)).shortfall
    assert persons
    assert persons.needed_epsilon == pytest.approx(2 * plain, rel=0.02)


def test_anyway_takes_the_refusal_out_of_the_plan_too() -> None:
    assert planned(anyway=True).shortfall is None
    assert "A run would spend epsilon 1" in str(planned(anyway=True))


@pytest.mark.parametrize("delta", [None, "1e-6"])
def test_the_law_that_is_searched_is_the_law_of_the_run(delta: str | None) -> None:
    parameters = ProfileParameters.parse(delta=delta, total_epsilon="1.7")
    tables = SyntheticTables([open_table(COPY, "synthetic")])
    plan = plan_profile(bind_profile(tables, parameters.request, None), parameters)
    own = vector_law(len(plan.terms) + 1, plan.shares.distances, None, parameters.delta)
    assert own == plan.law


def test_nothing_is_drawn_where_a_profile_is_refused(tmp_path: Path) -> None:
    accountant = Accountant(tmp_path / "ledger.sqlite")
    with pytest.raises(ParameterError, match=NOTHING_SPENT):
        run_profile(SECRET, COPY, ProfileParameters.parse(), Absent(), accountant=accountant)
    assert not accountant.exists()
