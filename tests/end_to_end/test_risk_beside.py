"""Attacks beside a profile: what they cost on both tables, what is said first, what is refused."""

import html
import json
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pqd
from pqd.accounting.accountant import Accountant
from pqd.accounting.accounts import Budget
from pqd.attacks.planned_risk import RiskRequest
from pqd.commands.profile import run_profile
from pqd.deciders import SimulatedNoise
from pqd.errors import NothingSelectedError, ParameterError, PqdError
from pqd.marginals.profile_parameters import ProfileParameters
from pqd.reports.documents.profile import next_step
from pqd.reports.models.profile import ProfileReport
from pqd.reports.models.risk import RiskReport
from tests.end_to_end.test_risk import people
from tests.support import risk_reports
from tests.support.noises import Absent
from tests.support.profile_reports import PLAIN, TOO_NEAR
from tests.support.swaps import attacks

Ran = tuple[int, str, str]
Command = Callable[..., Ran]

SECRET, HELD_OUT, CLEAN = people(1, 900), people(2, 800), people(3, 900)
PAGE_TOO_NEAR = TOO_NEAR.to_html()
LEAKED = pd.concat([SECRET.iloc[:200], CLEAN.iloc[200:]], ignore_index=True)


def profiled(
    copy: pd.DataFrame = LEAKED,
    held_out: Any = HELD_OUT,
    noise: Any = None,
    *,
    accountant: Accountant | None = None,
    held_out_accountant: Accountant | None = None,
    risk: RiskRequest | None = None,
    **options: Any,
) -> ProfileReport:
    """Profile with attacks, without noise, if no other is given."""
    stated = ProfileParameters.parse(**({"ways": 1} | options))
    risk = risk or attacks(held_out, accountant=held_out_accountant)
    return run_profile(SECRET, copy, stated, noise or Absent(), accountant=accountant, risk=risk)


def risk_of(report: ProfileReport) -> RiskReport:
    assert report.risk is not None
    return report.risk


def spent(report: ProfileReport) -> tuple[float, float]:
    """Epsilons of a run on the private and on the held-out table."""
    assert report.held_out_cost is not None
    return float(report.cost.epsilon), float(report.held_out_cost.epsilon)


def total(report: ProfileReport) -> tuple[float, float]:
    """Epsilons that both ledgers hold after a run."""
    assert report.held_out_cost is not None
    own, other = report.cost.total, report.held_out_cost.total
    return float(own or 0), float(other or 0)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    tables = {"private": SECRET, "held": HELD_OUT, "copy": LEAKED}
    for name, table in tables.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    return {name: str(tmp_path / f"{name}.csv") for name in tables}


@pytest.fixture(scope="module")
def leak() -> ProfileReport:
    return profiled()


def test_a_leak_stands_on_top_in_every_format(leak: ProfileReport) -> None:
    names = ", ".join(each.name for each in risk_of(leak).leaks[:-1])
    for text in (str(leak), leak.to_markdown(), leak.to_html(), leak._repr_html_()):
        told = " ".join(text.rpartition("</head>")[2].split())
        assert "gives private rows away: 7 of 7 attacks gain from them" in told
        assert names in told
        assert told.index("gives private rows away") < told.index("Do not hand the copy out")
        assert told.index("Do not hand the copy out") < told.index("verdict")
        # Once on a page, and a second time at the end of a terminal.
        assert told.lower().count("do not hand") == (2 if text == str(leak) else 1)
        assert "Use it for" not in told
        assert "zoom" not in told
    assert "Given away: " in str(leak)
    clean = profiled(CLEAN)
    assert risk_of(clean).leaks == ()
    assert not clean.withhold
    assert "Do not hand" not in str(clean)


def test_an_error_of_the_alarm_is_told_as_a_leak_is() -> None:
    for text in (str(TOO_NEAR), TOO_NEAR.to_markdown(), TOO_NEAR._repr_html_(), PAGE_TOO_NEAR):
        told = " ".join(text.rpartition("</head>")[2].split())
        assert told.index("ERROR: the copy") < told.index("Do not hand the copy out")
        assert "do not publish" not in told
        assert "Use it for" not in told
        assert "or let pqd risk with" in re.sub("<[^>]*>", "", told)
    assert "<title>Do not hand the copy out: pqd profile</title>" in PAGE_TOO_NEAR
    assert "<h1>Do not hand the copy out</h1>" in PAGE_TOO_NEAR
    assert json.loads(TOO_NEAR.to_json())["withhold"] is True
    both = replace(TOO_NEAR, risk=risk_of(profiled(CLEAN)))
    assert "let pqd risk" not in next_step(both)
    assert "ask its maker" in next_step(both)


@pytest.mark.parametrize(
    ("risk", "said", "step"),
    [
        (
            replace(risk_reports.RISK, attacks=risk_reports.ATTACKS[3:5]),
            "Whether the copy gives anybody away is not known: 2 of 2 attacks are undecided.",
            'tau="2.21%") is proven by the same numbers',
        ),
        (
            risk_reports.QUIET,
            "Whether the copy gives anybody away is not known: 2 of 4 attacks are undecided.",
            "pqd.risk(..., total_epsilon=",
        ),
        (
            risk_reports.FAILED,
            "The copy may give private rows away: 1 of 4 attacks gains more than 1 percentage",
            "do not hand the copy out; ",
        ),
        (
            risk_reports.CONTAMINATED,
            "Whether the copy gives anybody away is not known: the held-out rows are no control.",
            "give held-out rows of the same population",
        ),
        (
            risk_reports.ALONE,
            "Whether the copy gives anybody away is not known: attacks need held-out rows",
            "pqd.risk(..., held_out=TABLE) gives verdicts",
        ),
        (
            replace(risk_reports.RISK, attacks=risk_reports.ATTACKS[5:]),
            "None of 2 attacks gains more than 1 percentage point, each judged by itself.",
            "shows in which cells the worst differ",
        ),
    ],
)
def test_what_attacks_found_is_the_second_sentence_where_no_leak_is_shown(
    risk: RiskReport, said: str, step: str
) -> None:
    report = replace(PLAIN, risk=risk)
    for text in (str(report), report.to_markdown(), report.to_html(), report._repr_html_()):
        told = " ".join(html.unescape(re.sub("<[^>]*>", "", text)).split())
        first = told.index("Use it for 11 of 15 columns")
        assert first < told.index(said) < told.index("Do not use it for")
        assert step in told
        assert "It does not measure whether the copy protects" not in told
    assert str(report).replace("\n", " ").count(said) == 2
    assert ("zoom" in next_step(report)) == (risk is not risk_reports.FAILED)


@pytest.mark.parametrize("strict", [False, True])
def test_the_exit_code_says_with_strict_that_the_copy_must_be_withheld(
    strict: bool,
    command: Command,
    files: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    leak: ProfileReport,
) -> None:
    given = ("profile", files["private"], files["copy"], *(["--strict"] if strict else []))
    for report in (leak, TOO_NEAR, PLAIN):
        monkeypatch.setattr("pqd.commands.profile.run_profile", lambda *_, r=report, **__: r)
        assert command(*given)[0] == (strict and report is not PLAIN)
        name = report.marginals[0].columns[0]
        assert command(*given, "--explain", name)[0] == 0


def test_equally_sure_attacks_stand_in_the_order_of_their_least_gain(leak: ProfileReport) -> None:
    gains = [each.held_out for each in risk_of(leak) if each.held_out]
    printed = [(max(each.leak_p_value, 0.001), -each.excess.low) for each in gains]
    assert len(gains) == 7
    assert printed == sorted(printed)


def test_the_attacks_are_those_of_a_report_of_their_own(leak: ProfileReport) -> None:
    alone = pqd.simulate(pqd.risk, seed=3)(SECRET, LEAKED, held_out=HELD_OUT)
    own = risk_of(leak)
    rates, others = ({e.name: e.copy_rate for e in each.attacks} for each in (own, alone))
    assert rates == others
    text = " ".join(str(leak).split())
    assert "Does the copy give anybody away?" in text
    assert "For a choice of attacks, of secrets or of the tolerance, run pqd risk" in text
    page = leak.to_html()
    assert page.count('class="curve plot"') == 2
    rows = leak.to_csv()
    assert "inference of job" in rows
    assert "inference of job" in leak.to_latex()


def test_both_costs_are_in_the_report(leak: ProfileReport) -> None:
    own = risk_of(leak)
    assert leak.cost.epsilon == leak.spent == leak.total_epsilon == 2
    assert leak.held_out_cost is own.held_out_cost
    assert own.cost == leak.cost
    assert [part.epsilon for part in leak.budget if part.part == "attacks"] == [1]
    values = json.loads(leak.to_json())
    assert values["held_out_cost"]["epsilon"] == values["risk"]["total_epsilon"] == 1
    assert len(values["risk"]["attacks"]) == 7


def test_without_held_out_rows_there_are_rates_alone() -> None:
    report = profiled(held_out=None)
    assert (risk_of(report).leaks, report.held_out_cost) == ((), None)
    assert "nobody can tell learning from leaking" in " ".join(str(report).split())


def test_stated_columns_and_the_level_hold_for_the_attacks_too() -> None:
    report = profiled(columns=["age", "job"], alpha="0.1", copy_epsilon=2)
    own = risk_of(report)
    assert own.columns == ("age", "job")
    assert (own.alpha, own.copy_epsilon) == (Fraction(1, 10), Fraction(2))
    with pytest.raises(NothingSelectedError, match="at least two columns"):
        profiled(columns=["age"])


def test_cells_of_another_table_are_not_those_of_the_attacks() -> None:
    """The attacks see the copy alone, so that pqd risk replays them."""
    plain, shared = profiled(), profiled(cells_from=CLEAN, zoom=1)
    assert risk_of(plain).attacks == risk_of(shared).attacks
    assert risk_of(shared).synthetic == shared.synthetic


def test_seeded_noise_is_marked() -> None:
    report = profiled(noise=SimulatedNoise(np.random.default_rng(1)))
    assert risk_of(report).simulated
    assert "SIMULATED" in str(report)
    seeded = pqd.simulate(pqd.profile, seed=1)(SECRET, LEAKED, ways=1, risk=1, held_out=HELD_OUT)
    own = risk_of(seeded)
    assert own.held_out_cost is not None
    assert own.cost.simulated
    assert own.held_out_cost.simulated
    assert "nothing spent, epsilon 1 simulated" in " ".join(repr(seeded).split())


# Accounts -----------------------------------------------------------------------------------------


def test_each_table_has_one_charge_and_a_second_run_is_free(tmp_path: Path) -> None:
    own, other = Accountant(tmp_path / "own.sqlite"), Accountant(tmp_path / "other.sqlite")
    first, second = (profiled(accountant=own, held_out_accountant=other) for _ in range(2))
    assert (spent(first), spent(second)) == ((2, 1), (0, 0))
    assert second.replayed
    assert risk_of(second).replayed
    assert not first.replayed
    assert risk_of(first).attacks == risk_of(second).attacks
    assert first.cost.runs == 1
    assert total(second) == (2, 1)


@pytest.mark.parametrize("zoom", [0, 2])
@pytest.mark.parametrize("poor", ["own", "other"])
def test_a_run_that_one_account_cannot_pay_spends_nothing(
    tmp_path: Path, poor: str, zoom: int
) -> None:
    """The private table pays epsilon 2 in all, with the zoom a part of it in a second charge."""
    limits = {"own": Fraction(19, 10), "other": Fraction(9, 10)}
    own, other = (
        Accountant(tmp_path / f"{name}.sqlite", Budget(limit if name == poor else Fraction(9)))
        for name, limit in limits.items()
    )
    with pytest.raises(PqdError, match=r"1\.9|0\.9"):
        profiled(accountant=own, held_out_accountant=other, zoom=zoom)
    for each in (own, other):
        if each.exists():
            assert not any(account.runs for account in each.ledger.accounts)


def test_the_command_keeps_both_accounts_and_says_them_before(
    command: Command, files: dict[str, str], tmp_path: Path
) -> None:
    given = ("profile", files["private"], files["copy"], "--ways", "1", "--risk", "0.5")
    apart = (*given, "--held-out", files["held"])
    code, told, _ = command(*apart, "--dry-run")
    assert code == 0
    text = " ".join(told.split())
    assert "a run costs epsilon 1.5, and 0.5 on the held-out table, in an account" in text
    # Nothing was spent, and no ledger was made.
    assert not (tmp_path / "pqd-ledger.sqlite").exists()
    code, told, _ = command(*apart)
    assert code == 0
    assert "epsilon 1.5 spent" in told
    code, told, _ = command(*apart, "--explain", "inference of job")
    assert code == 0
    assert "most frequent value alone" in " ".join(told.split())
    # The attacks are paid for: a report of their own replays them.
    code, told, _ = command(
        "risk", *apart[1:3], "--held-out", files["held"], "--total-epsilon", "0.5"
    )
    assert "nothing spent: all replayed" in told


def test_the_function_of_python_keeps_both_accounts(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    report = pqd.profile(SECRET, CLEAN, ways=1, risk=1, held_out=HELD_OUT, ledger=ledger)
    assert total(report) == (2, 1)
    dry = pqd.profile(
        SECRET, LEAKED, ways=1, risk=1, held_out=HELD_OUT, ledger=ledger, dry_run=True
    )
    assert spent(dry) == (2, 1)
    assert risk_of(dry).dry
    rows = pqd.risk(SECRET, LEAKED, held_out=HELD_OUT, ledger=ledger, dry_run=True)
    assert risk_of(dry).attacks == rows.attacks
    text = " ".join(str(dry).split())
    assert "The plan is of 900 private and 900 held-out rows" in text
    assert "own account" not in text
    for rendered in (dry.to_markdown(), dry.to_html(), dry._repr_html_(), dry.to_json()):
        assert "copied" in rendered


# Refusals -----------------------------------------------------------------------------------------


# Wrong arguments of attacks beside another report, and what is said of them.
WRONG = [
    ({"held_out": HELD_OUT}, "held_out is for attacks, and no budget of attacks is stated"),
    ({"held_out_dataset": "x"}, "state risk=1 too, or leave held_out_dataset out"),
    ({"risk": 1, "held_out_dataset": "x"}, "and there is none; give held_out="),
    ({"risk": 0}, "risk"),
    ({"risk": 1, "unit": "job", "max_rows": 2}, "counts each person as one row"),
    ({"risk": 1, "held_out": "spark://main.people"}, "cannot read a table of Spark yet"),
    ({"risk": 1, "held_out": SECRET}, "is the private table, or shares a part"),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_wrong_arguments_are_told(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError) as found:
        pqd.profile(SECRET, CLEAN, ledger=tmp_path / "ledger.sqlite", **options)
    assert message in str(found.value)


def test_a_plan_of_attacks_needs_the_private_table() -> None:
    with pytest.raises(ParameterError, match="of a private table, which is missing"):
        pqd.profile(None, CLEAN, risk=1, dry_run=True)


def test_the_command_tells_wrong_usage(command: Command, files: dict[str, str]) -> None:
    given = ("profile", files["private"], files["copy"])
    for more, message in {
        ("--held-out", files["held"]): "--held-out is for attacks, and no budget of attacks",
        ("--gate", "1", "--risk", "1"): "--gate is one test without figures, and --risk has",
        ("--risk", "0"): "--risk",
        ("--risk", "1", "--max-rows", "3", "--unit", "job"): "counts each person as one row",
    }.items():
        code, _, told = command(*given, *more)
        assert code == 2
        assert message in " ".join(told.split())
        assert "Traceback" not in told
