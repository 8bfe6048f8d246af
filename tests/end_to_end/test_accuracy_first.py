"""``--sure`` and ``--at-most``: the epsilon of each query follows from the accuracy."""

import json
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import pqd
from pqd.accounting.ledger import Ledger
from pqd.accounting.ledger_location import FILE_NAME
from pqd.deciders import ParameterError
from pqd.errors import BudgetError, PqdError

Ran = tuple[int, str, str]

ROWS = 4000
COPY = pd.DataFrame(
    {
        "age": [20 + n * 7 % 60 for n in range(ROWS)],
        "sex": ["fm"[n % 2] for n in range(ROWS)],
        "town": [f"t{n * n % 7}" for n in range(ROWS)],
        "pay": [n * 37 % 1000 for n in range(ROWS)],
        "rare": [n if n < 4 else None for n in range(ROWS)],
    }
)
PRIVATE = COPY.sample(frac=1, random_state=1).iloc[5:].reset_index(drop=True)
OTHER = COPY[COPY.age > 50].reset_index(drop=True)
COLUMNS = {"pay": {"bounds": (0, 1000)}, "rare": {"bounds": (0, 10)}}
EASY = (
    "SELECT COUNT(*) FROM D WHERE age > 40",
    "SELECT town, COUNT(*) FROM D GROUP BY town",
    "SELECT SUM(pay) FROM D WHERE sex = 'f'",
    "SELECT AVG(pay) FROM D",
    "SELECT MEDIAN(pay) FROM D WHERE sex = 'm'",
    "SELECT QUANTILE(pay, 0.9) FROM D",
)
RARE = "SELECT AVG(rare) FROM D"
TERMS: dict[str, Any] = {"tau": "5%", "columns": COLUMNS}


def audited(queries: object, folder: Path, private: pd.DataFrame = PRIVATE, **more: Any) -> Any:
    terms = {**TERMS, "sure": "95%", "ledger": folder / FILE_NAME, **more}
    return pqd.audit(private, COPY, queries, **terms)  # type: ignore[arg-type]


def planned(queries: object = (*EASY, RARE), **more: Any) -> Any:
    return pqd.plan(COPY, queries, **{**TERMS, "sure": "95%", **more})  # type: ignore[arg-type]


def charged(folder: Path) -> list[dict[str, Any]]:
    """What the ledger says of its measurements, without what depends on the ledger's secret."""
    with closing(Ledger(folder / FILE_NAME)) as ledger:
        return [
            {name: facts[name] for name in ("id", "sql", "epsilon", "tau", "decider")}
            for account in ledger.accounts
            for run in account.runs
            for facts in run.body["questions"]
        ]


def spent(folder: Path) -> Fraction:
    with closing(Ledger(folder / FILE_NAME)) as ledger:
        return sum((account.epsilon for account in ledger.accounts), Fraction(0))


@pytest.mark.parametrize("sure", ["95%", "90 %", 0.95, "0.99", Fraction(19, 20)])
def test_each_query_has_the_epsilon_that_a_plan_without_a_budget_says_it_needs(sure: Any) -> None:
    report = planned(sure=sure)
    needs = pqd.plan(COPY, [*EASY, RARE], alpha=1 - report.sure, **TERMS)
    assert [float(each.epsilon) for each in report] == [
        each.chosen.epsilon_needed for each in needs
    ]
    assert report.alpha == 1 - report.sure
    assert f"each of {len(report.queries)} queries in nine runs of ten" in " ".join(
        str(report).split()
    )
    assert all(each.decidable for each in report)


def test_the_audit_spends_what_the_plan_says_and_the_ledger_says_the_same(tmp_path: Path) -> None:
    report = planned(EASY)
    result = audited(EASY, tmp_path, at_most=report.price)
    assert result.spent == report.price == spent(tmp_path)
    assert {v.id: v.epsilon for v in result} == {each.id: each.epsilon for each in report}
    assert {v.id: v.decider for v in result} == {each.id: each.decider for each in report}
    assert sorted(Fraction(each["epsilon"]) for each in charged(tmp_path)) == sorted(
        each.epsilon for each in report
    )
    assert "nine runs of ten" in " ".join(map(str, result.notes))


def test_disjoint_groups_are_charged_once_at_their_largest_epsilon(tmp_path: Path) -> None:
    report = planned(EASY[1])
    assert len({each.epsilon for each in report}) > 1
    assert report.price == max(each.epsilon for each in report)
    assert audited(EASY[1], tmp_path, at_most=report.price).spent == report.price


def test_the_same_question_is_replayed_and_by_its_epsilon_too(tmp_path: Path) -> None:
    first = audited(EASY, tmp_path, at_most=1)
    again = audited(EASY, tmp_path, at_most="0.001")
    assert again.spent == 0
    assert [v.p_value for v in again] == [v.p_value for v in first]
    stated = pqd.audit(
        PRIVATE, COPY, EASY[0], epsilon=first[0].epsilon, ledger=tmp_path / FILE_NAME, **TERMS
    )
    assert stated.spent == 0
    assert first.spent == spent(tmp_path)


def test_only_new_answers_count_against_the_limit(tmp_path: Path) -> None:
    first = planned(EASY[:2]).price
    rest = planned(EASY).price - first
    audited(EASY[:2], tmp_path, at_most=first)
    with pytest.raises(BudgetError, match="Nothing was spent"):
        audited(EASY, tmp_path, at_most=rest - Fraction(1, 10**6))
    assert spent(tmp_path) == first
    assert audited(EASY, tmp_path, at_most=rest).spent == rest


def test_a_run_beyond_the_limit_is_refused_and_says_what_would_fit(tmp_path: Path) -> None:
    total = planned().price
    with pytest.raises(BudgetError) as refusal:
        audited([*EASY, RARE], tmp_path, at_most=1)
    text = str(refusal.value)
    assert not (tmp_path / FILE_NAME).exists()
    assert f"cost epsilon {float(total):.6g}, more than the 1 of at_most" in text
    assert "dearest: q7 2.95," in text
    rest = planned(EASY).price
    assert f"Without q7 the rest costs {float(rest):.6g}." in text
    assert rest <= 1
    assert text in f"{' '.join(map(str, planned(at_most=1).notes))} Nothing was spent."


def test_a_tolerance_that_would_fit_is_told_and_fits(tmp_path: Path) -> None:
    most = planned(EASY).price / 3
    with pytest.raises(BudgetError, match="all would fit") as refusal:
        audited(EASY, tmp_path, at_most=most)
    tau = str(refusal.value).split('tau="')[1].split('"')[0]
    assert planned(EASY, tau=tau).price <= most


def test_without_a_limit_the_audit_says_what_it_would_cost(tmp_path: Path) -> None:
    with pytest.raises(ParameterError) as refusal:
        audited(EASY, tmp_path)
    limit = str(refusal.value).split("such as at_most=")[1].split(". ")[0]
    assert not (tmp_path / FILE_NAME).exists()
    assert planned(EASY).price <= Fraction(limit) < planned(EASY).price * Fraction("1.01")
    assert audited(EASY, tmp_path, at_most=limit).spent == planned(EASY).price


@pytest.mark.parametrize(
    ("terms", "found"),
    [
        ({"sure": "100%"}, "right with certainty"),
        ({"sure": 95}, "write 95% for per cent"),
        ({"sure": "50%"}, "a coin is right"),
        ({"sure": "0,95"}, "sure"),
        ({"sure": "often"}, "sure"),
        ({"sure": None, "at_most": 1}, "say how sure"),
        ({"epsilon": 0.1}, "epsilon states one"),
        ({"total_epsilon": 1, "sharing": "alone"}, "sharing states one"),
        ({"alpha": 0.1}, "leave alpha out"),
        ({"at_most": 0}, "at_most"),
        ({"at_most": 1000}, "at most 100"),
    ],
)
def test_contradictions_are_told(terms: dict[str, Any], found: str, tmp_path: Path) -> None:
    for run in (planned, lambda **more: audited(EASY, tmp_path, **{"at_most": 1, **more})):
        with pytest.raises(ParameterError, match=found):
            run(**terms)
    assert not (tmp_path / FILE_NAME).exists()


def test_a_decider_without_p_values_is_never_sure(tmp_path: Path) -> None:
    with pytest.raises(PqdError, match="em_count gives no p-value"):
        audited(EASY[0], tmp_path, at_most=1, decider="em_count")
    assert not (tmp_path / FILE_NAME).exists()


def test_the_rows_beyond_bounds_are_paid_for_beside_the_verdict(tmp_path: Path) -> None:
    terms: dict[str, Any] = {"columns": {}, "at_most": 1}
    plain, outside = (
        audited(EASY[2], tmp_path, outside=each, **terms)[0].epsilon for each in (False, True)
    )
    assert plain / Fraction(9, 10) <= outside <= plain / Fraction(9, 10) * Fraction("1.01")


def released(private: pd.DataFrame, folder: Path, copy: pd.DataFrame = COPY) -> Any:
    """All that a run, and a refused one, tell without noise: messages, epsilons, charges."""
    folder.mkdir()
    terms = {**TERMS, "sure": "95%", "ledger": folder / FILE_NAME}
    told = []
    for at_most in (None, "0.01", 10):
        try:
            report = pqd.audit(private, copy, [*EASY, RARE], at_most=at_most, **terms)
        except PqdError as error:
            told.append(str(error))
        else:
            told.append(str([(v.id, v.epsilon, v.decider) for v in report]))
            # That all counts are a NO is told from noisy verdicts.
            told.extend(str(each) for each in report.notes if each.code != "sizes-unlike")
    return told, charged(folder)


def test_epsilons_and_refusals_do_not_depend_on_the_private_table(tmp_path: Path) -> None:
    first = released(PRIVATE, tmp_path / "a")
    assert first == released(OTHER, tmp_path / "b")


def test_a_twin_that_plans_on_the_private_table_is_caught(tmp_path: Path) -> None:
    # The twin takes the private table as the copy, whose epsilons then follow it.
    twins = [
        released(COPY, tmp_path / name, copy=table)
        for name, table in (("a", PRIVATE), ("b", OTHER))
    ]
    assert twins[0][1] != twins[1][1]


def test_the_command_line(tmp_path: Path, command: Callable[..., Ran]) -> None:
    private, copy = str(tmp_path / "private.csv"), str(tmp_path / "copy.csv")
    PRIVATE.to_csv(private, index=False)
    COPY.to_csv(copy, index=False)
    sql = [part for text in (*EASY, RARE) for part in ("-q", text)]
    facts = [*sql, "--bounds", "pay=0:1000", "--bounds", "rare=0:10", "--tau", "5%"]
    total = planned().price
    code, out, _ = command("plan", copy, *facts, "--sure", "95%")
    words = " ".join(out.split())
    assert code == 0
    assert words.startswith(f"Epsilon {float(total):.6g} in all decides each of 10 queries in nine")
    assert "q7: one person can turn the verdict, so it takes epsilon 2.95" in words
    assert "no better than a coin; q7 selects 4 rows of the copy" in words
    assert f"--sure 95% --at-most {words.split('--at-most ')[1].split()[0]} would" in words
    code, out, err = command("plan", copy, *facts, "--sure", "95%", "--at-most", "1", "--json", "-")
    assert code == 0, err
    assert "more than the 1 of --at-most" in " ".join(json.loads(out)["notes"])
    audit = "audit", private, copy, *facts, "--sure", "95%"
    code, out, err = command(*audit, "--at-most", "1")
    assert (code, out) == (4, "")
    assert "Without q7 the rest costs" in err
    assert command(*audit)[0] == 2
    code, out, _ = command(*audit, "--at-most", "4")
    assert code == 0
    assert f"epsilon {float(total):.6g} spent" in out
    code, out, _ = command(*audit, "--at-most", "4", "--explain", "q1")
    assert code == 0
    assert "replayed" in out
    for more in (("--epsilon", "1"), ("--gate", "1"), ("--alpha", "0.2")):
        code, out, err = command(*audit, "--at-most", "4", *more)
        assert (code, out) == (2, ""), err
    code, _, err = command("plan", copy, "--sure", "95%")
    assert code == 2
    assert "--sure chooses the epsilon of queries" in err
