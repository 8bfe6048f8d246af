"""Attacks beside a ranking: what they cost on both tables, what is said first, what is refused."""

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import pqd
from pqd.accounting.accountant import Accountant
from pqd.accounting.accounts import Budget
from pqd.commands.rank import run_ranking
from pqd.comparison.ranking import RankingParameters
from pqd.errors import NothingSelectedError, ParameterError, PqdError
from pqd.reports.models.ranking import RankingReport
from pqd.reports.models.standings import Standing
from tests.end_to_end.test_risk import people
from tests.end_to_end.test_risk_beside import CLEAN, HELD_OUT, SECRET, WRONG
from tests.support.noises import Absent
from tests.support.swaps import attacks

Ran = tuple[int, str, str]
Command = Callable[..., Ran]

OTHER = people(4, 900)
LEAKED = pd.concat([SECRET.iloc[:200], CLEAN.iloc[200:]], ignore_index=True)
# The largest quality is that of the copy that leaks.
COPIES = {"clean": CLEAN, "leaked": LEAKED}


def ranked(
    copies: Any = None,
    held_out: Any = HELD_OUT,
    *,
    accountant: Accountant | None = None,
    held_out_accountant: Accountant | None = None,
    **options: Any,
) -> RankingReport:
    """Ranking with attacks, without noise."""
    stated = RankingParameters.parse(**({"total_epsilon": 1} | options))
    risk = attacks(held_out, accountant=held_out_accountant)
    return run_ranking(SECRET, copies or COPIES, stated, Absent(), accountant=accountant, risk=risk)


def spent(report: RankingReport) -> tuple[float, float]:
    """Epsilons of a run on the private and on the held-out table."""
    assert report.held_out_cost is not None
    return float(report.cost.epsilon), float(report.held_out_cost.epsilon)


@pytest.fixture(scope="module")
def leak() -> RankingReport:
    return ranked()


def test_a_copy_that_leaks_is_never_the_best_without_its_leak(leak: RankingReport) -> None:
    assert [copy.candidate for copy in leak.copies] == ["leaked", "clean"] == [*leak.risks]
    assert leak.leaking == ("leaked",)
    for text in (str(leak), leak.to_markdown(), leak.to_html(), leak._repr_html_()):
        told = " ".join(text.split())
        assert "leaked gives private rows away: 6 of 7 attacks gain from them" in told
        assert told.index("Do not hand it out") < told.lower().index("worst attack")
        assert "clean is the only copy that is shown neither to be bad nor to give private" in told
        sentences = [each for each in told.split(".") if "leaked has the highest quality" in each]
        assert sentences
        assert all("it gives private rows away" in each for each in sentences)
    assert "leaked says what to do" in " ".join(str(leak).split())


def test_a_copy_that_fails_an_attack_is_not_called_good_though_no_leak_is_shown() -> None:
    some = pd.concat([SECRET.iloc[:60], CLEAN.iloc[60:]], ignore_index=True)
    report = ranked({"some": some, "clean": CLEAN})
    assert (report.leaking, report.beyond) == ((), ("some",))
    told = " ".join(str(report).split())
    assert "undecided between some and clean; attacks on some gain more than the tolerance" in told
    assert (
        "judged all at once; attacks on some gain more than the tolerance, each by itself" in told
    )
    assert "on some says what to do" in told


def test_held_out_rows_that_stand_in_a_copy_are_no_control() -> None:
    report = ranked({"clean": CLEAN, "own": pd.concat([HELD_OUT.iloc[:300], CLEAN.iloc[300:]])})
    assert report.risks["own"].below_zero[:1] == ("copied",)
    assert report.leaking == ()
    told = " ".join(str(report).split())
    assert told.index("own: The held-out rows are no control") < told.lower().index("worst attack")
    assert "Whether a copy gives private rows away cannot be told: no yes counts" in told
    assert "shown to give private rows away" not in told
    assert "give held-out rows of the same population" in told


def test_each_copy_has_a_row_of_its_worst_attack(leak: RankingReport) -> None:
    text = str(leak)
    row = next(each for each in text.splitlines() if each.split()[:2] == ["NO", "leaked"])
    assert row.split()[-3:] == ["6", "of", "7"]
    page = leak.to_html()
    assert page.count('class="curve plot"') == 1
    assert page.count('class="named"') == len(COPIES)
    frame = leak.to_frame()
    assert list(frame["leaks"]) == [6, 0]
    assert (frame["excess_low"] <= frame["excess"]).all()
    values = json.loads(leak.to_json())
    assert values["risks"]["leaked"]["attacks"][0]["standing"] == "beyond"
    assert values["held_out_cost"]["epsilon"] == 1
    for rendered in (leak.to_csv(), leak.to_latex()):
        assert "none shown" in rendered


def test_the_copies_share_the_epsilon_of_attacks(leak: RankingReport) -> None:
    assert spent(leak) == (2, 1)
    parts = [part.epsilon for part in leak.budget if part.part == "attacks"]
    assert parts == [Fraction(1, 2)] * 2 == [risk.total_epsilon for risk in leak.risks.values()]
    assert sum(part.epsilon for part in leak.budget) == leak.cost.epsilon


def test_equal_copies_pay_for_their_attacks_once() -> None:
    report = ranked({"clean": CLEAN, "again": CLEAN})
    assert sum(part.epsilon for part in report.budget) == report.cost.epsilon == Fraction(3, 2)
    assert [*report.risks] == [copy.candidate for copy in report.copies]


def test_leaks_are_established_for_all_attacks_on_all_copies(leak: RankingReport) -> None:
    copies = {f"leaked{number}": LEAKED.iloc[number:] for number in range(5)}
    report = ranked(copies, alpha="0.007")
    level = report.alpha / sum(len(risk.attacks) for risk in report.risks.values())
    facts = [each.held_out for risk in report.risks.values() for each in risk.attacks]
    assert [each.at_once for each in facts if each] == [
        each.leak_p_value <= level for each in facts if each
    ]
    # The level of one copy alone would establish more.
    assert any(each.leak_p_value <= 5 * level and not each.at_once for each in facts if each)
    assert "for all 14 attacks on all copies at once" in " ".join(str(leak).split())


def test_without_a_leak_nothing_is_called_safe() -> None:
    report = ranked({"clean": CLEAN, "other": OTHER})
    assert report.leaking == ()
    text = " ".join(str(report).split())
    assert "None of 2 copies is shown to give private rows away, judged all at once" in text
    assert "A small excess does not prove that the copy is safe" in text
    assert "not hand it out" not in text
    number = sum(e.standing is Standing.UNDECIDED for risk in report.risks.values() for e in risk)
    assert f"Whether one of them gives anybody away is not known: {number} of 14 attacks" in text
    assert "says what decides its attacks" in text


def test_a_copy_that_is_no_good_is_not_recommended() -> None:
    shuffled = CLEAN.assign(
        **{
            str(name): CLEAN[name].sample(frac=1, random_state=state).to_numpy()
            for state, name in enumerate(CLEAN)
        }
    )
    report = ranked({"leaked": LEAKED, "shuffled": shuffled}, total_epsilon=20)
    lost = report["shuffled"].relations
    assert lost is not None
    assert lost.may_be_lost
    told = " ".join(str(report).split())
    assert "No copy is left: each gives private rows away, fails an attack or is bad" in told


def test_relations_that_cannot_be_judged_are_told_beside_the_name() -> None:
    # An independent sample of so few rows would itself keep no more than 29 % of the relations.
    moved = CLEAN[["job", "town"]].sample(frac=1, random_state=3)
    half = CLEAN.assign(job=moved["job"].to_numpy(), town=moved["town"].to_numpy())
    report = ranked({"leaked": LEAKED, "half": half}, total_epsilon=20)
    kept = report["half"].relations
    assert kept is not None
    assert (kept.is_unjudged, kept.may_be_lost) == (True, False)
    text = " ".join(str(report).split())
    assert (
        "half is the only copy that is shown neither to be bad nor to give private rows away, but "
        "whether its relations are kept is undecided; leaked gives them away." in text
    )
    assert text.count("is out of reach here") == 1


def test_without_held_out_rows_there_are_rates_beside_those_of_the_copy() -> None:
    report = ranked(held_out=None)
    assert (report.leaking, report.held_out_cost) == ((), None)
    text = " ".join(str(report).split())
    assert "nobody can tell learning from leaking" in text
    assert "own rows" in text
    assert "verdict" not in text.split("Risk")[1].split("Without held-out")[0]
    assert 'class="named"' not in report.to_html()
    assert list(report.to_frame()["attack_standing"]) == [Standing.UNJUDGED.value] * 2


def test_cells_of_another_table_are_not_those_of_the_attacks(leak: RankingReport) -> None:
    shared = ranked(cells_from=OTHER, copy_epsilon={"clean": 3})
    for name, risk in shared.risks.items():
        rates = [(each.name, each.rate) for each in risk.attacks]
        assert sorted(rates) == sorted((e.name, e.rate) for e in leak.risks[name].attacks)
    assert [risk.copy_epsilon for risk in shared.risks.values()] == [None, Fraction(3)]
    assert "clean: The copy is declared to be made with epsilon 3" in str(shared)


def test_seeded_noise_is_marked() -> None:
    simulated = pqd.simulate(pqd.compare, seed=1)
    report = simulated(SECRET, COPIES, total_epsilon=1, risk=3, held_out=HELD_OUT)
    assert report.held_out_cost is not None
    assert report.held_out_cost.simulated
    assert all(risk.cost.simulated and risk.simulated for risk in report.risks.values())
    assert "Nothing spent, epsilon 4 simulated" in " ".join(repr(report).split())


# Accounts -----------------------------------------------------------------------------------------


def test_each_table_has_one_charge_and_a_second_run_is_free(tmp_path: Path) -> None:
    own, other = Accountant(tmp_path / "own.sqlite"), Accountant(tmp_path / "other.sqlite")
    first, second = (ranked(accountant=own, held_out_accountant=other) for _ in range(2))
    assert (spent(first), spent(second)) == ((2, 1), (0, 0))
    assert second.replayed
    assert not first.replayed
    assert {name: risk.attacks for name, risk in first.risks.items()} == {
        name: risk.attacks for name, risk in second.risks.items()
    }
    for each, epsilon in ((own, 2), (other, 1)):
        (account,) = each.ledger.accounts
        assert [len(account.runs), account.epsilon] == [1, epsilon]
    alone = pqd.risk(
        SECRET, LEAKED, held_out=HELD_OUT, total_epsilon=Fraction(1, 2), ledger=own.path
    )
    # The attacks on the private rows are paid for; the account of the others is in another ledger.
    assert alone.cost.epsilon == 0


@pytest.mark.parametrize("poor", ["own", "other"])
def test_a_run_that_one_account_cannot_pay_spends_nothing(tmp_path: Path, poor: str) -> None:
    limits = {"own": Fraction(19, 10), "other": Fraction(9, 10)}
    own, other = (
        Accountant(tmp_path / f"{name}.sqlite", Budget(limit if name == poor else Fraction(9)))
        for name, limit in limits.items()
    )
    with pytest.raises(PqdError, match=r"1\.9|0\.9"):
        ranked(accountant=own, held_out_accountant=other)
    for each in (own, other):
        if each.exists():
            assert not any(account.runs for account in each.ledger.accounts)


def test_the_command_charges_both_and_tells_wrong_usage(command: Command, tmp_path: Path) -> None:
    tables = {"private": SECRET, "held": HELD_OUT, "clean": CLEAN, "leaked": LEAKED}
    for name, table in tables.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    at = {name: str(tmp_path / f"{name}.csv") for name in tables}
    given = ("compare", at["private"], f"clean={at['clean']}", f"leaked={at['leaked']}")
    ranks = (*given, "--total-epsilon", "1")
    held = ("--held-out", at["held"])
    for more, message in {
        held: "--held-out is for attacks, and no budget of attacks",
        ("--risk", "0"): "--risk",
        ("--risk", "1", "--unit", "job", "--max-rows", "3"): "counts each person as one row",
    }.items():
        code, _, told = command(*ranks, *more)
        assert code == 2
        assert message in " ".join(told.split())
    queries = ("--query", "SELECT COUNT(*) FROM D", "--tau", "5%", "--epsilon", "1")
    code, _, told = command(*given, *queries, "--risk", "1")
    assert code == 2
    assert "pqd risk tries attacks on one copy" in " ".join(told.split())
    assert not list(tmp_path.glob("*.sqlite"))
    code, told, _ = command(*ranks, "--risk", "3", *held)
    assert code == 0
    assert "epsilon 4 spent" in told
    assert "7 of 7 attacks gain" in told
    # The report names the command whose report on one copy costs nothing.
    assert "pqd risk ... --total-epsilon 1.5 on leaked says what to do, at no cost" in " ".join(
        told.split()
    )
    alone = ("risk", at["private"], at["leaked"], *held, "--total-epsilon", "1.5")
    code, told, _ = command(*alone)
    assert "nothing spent: all replayed" in told


# Plans --------------------------------------------------------------------------------------------


def test_a_plan_tells_the_price_on_both_tables_and_what_can_be_decided(tmp_path: Path) -> None:
    ledger, copies = tmp_path / "ledger.sqlite", {"clean": CLEAN, "other": OTHER}
    given: dict[str, Any] = {"total_epsilon": 2, "risk": 3, "held_out": HELD_OUT, "ledger": ledger}
    plan = pqd.compare(SECRET, copies, private_rows=10**6, dry_run=True, **given)
    assert not ledger.exists()
    assert plan.dry
    assert plan.spent == 0
    assert spent(plan) == (5, 3)
    text = " ".join(str(plan).split())
    assert "a run costs epsilon 5, and 3 on the held-out table, in an account of its own" in text
    assert "The plan is of 1,000,000 private and 900 held-out rows" in text
    alone = pqd.risk(
        SECRET,
        OTHER,
        total_epsilon=Fraction(3, 2),
        private_rows=10**6,
        held_out=HELD_OUT,
        dry_run=True,
        ledger=ledger,
    )
    # What a run of several copies decides is what a report of one copy decides at its share.
    assert plan.risks["other"].attacks == alone.attacks
    for rendered in (plan.to_markdown(), plan.to_html(), plan._repr_html_(), plan.to_csv()):
        assert "not decided" in rendered.lower()
    assert plan.to_frame()["score"].isna().all()
    report = pqd.compare(SECRET, copies, **given)
    assert spent(report) == (5, 3)
    assert not report.dry
    again = pqd.compare(SECRET, copies, dry_run=True, **given)
    assert spent(again) == (5, 3)


def test_a_plan_without_attacks_says_how_sure_qualities_will_be() -> None:
    plan = pqd.compare(SECRET, COPIES, total_epsilon=2, dry_run=True)
    assert plan.risks == {}
    assert plan.held_out_cost is None
    text = " ".join(str(plan).split())
    assert "A ranking of 2 copies would cost epsilon 2." in text
    assert f"clean ±{100 * plan['clean'].overall.half_width:.2g}" in text
    assert "better" not in text
    assert "cannot be told apart" not in text


def test_a_plan_of_queries_is_another_command(command: Command) -> None:
    queries = ("--query", "SELECT COUNT(*) FROM D", "--tau", "5%", "--epsilon", "1")
    code, _, told = command("compare", "private.csv", "a=a.csv", *queries, "--dry-run")
    assert code == 2
    assert "pqd plan says what queries cost" in " ".join(told.split())


# Refusals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_wrong_arguments_are_told(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    with pytest.raises(ParameterError) as found:
        pqd.compare(SECRET, COPIES, total_epsilon=1, ledger=ledger, **options)
    assert message in str(found.value)
    assert not ledger.exists()


@pytest.mark.parametrize("place", ["private", "copy"])
def test_a_table_of_spark_is_refused_in_words(place: str) -> None:
    spark = "spark://main.people"
    private = spark if place == "private" else SECRET
    copies = {"clean": CLEAN, "other": spark if place == "copy" else OTHER}
    with pytest.raises(ParameterError, match="cannot read a table of Spark yet"):
        pqd.compare(private, copies, total_epsilon=1, risk=1)


def test_queries_have_no_attacks() -> None:
    stated: Any = {"tau": "5%", "epsilon": 1, "risk": 1}
    with pytest.raises(ParameterError, match=r"risk is of a ranking.*pqd risk tries attacks"):
        pqd.compare(SECRET, COPIES, "SELECT COUNT(*) FROM D", **stated)


def test_a_copy_with_too_few_columns_is_named() -> None:
    with pytest.raises(NothingSelectedError, match="private table and thin have; there is age"):
        ranked({"clean": CLEAN, "thin": CLEAN[["age"]]})
