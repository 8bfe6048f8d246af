"""``pqd risk`` from end to end: what it finds, what it costs, what it refuses."""

import json
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pqd
from pqd.accounting.accountant import Accountant
from pqd.accounting.accounts import Budget
from pqd.accounting.ledger import Ledger
from pqd.attacks import outcomes
from pqd.attacks.outcomes import KINDS
from pqd.attacks.parameters import RiskParameters
from pqd.commands.risk import run_risk, run_risk_plan
from pqd.deciders import SimulatedNoise
from pqd.deciders.note import note
from pqd.engine.scan_plan import PrivacyUnit
from pqd.errors import BudgetError, NothingSelectedError, ParameterError, PqdError, TableError
from pqd.progress import Step
from pqd.reports.models.risk import AttackFacts, AttackOutlook, RiskReport
from pqd.reports.models.standings import Standing
from tests.support.noises import Absent

Ran = tuple[int, str, str]
Command = Callable[..., Ran]


def people(seed: int, rows: int) -> pd.DataFrame:
    """Persons whose job tells of their age and town, with NULLs."""
    rng = np.random.default_rng([7, seed])
    job = rng.choice(["cook", "smith", "nurse", "clerk"], rows)
    age = 20 + rng.integers(0, 30, rows) + 10 * (job == "smith")
    town = np.where(job == "cook", "Aachen", rng.choice(["Bonn", "Celle", "Aachen"], rows))
    town = town.astype(object)
    town[rng.random(rows) < 0.05] = None
    pay = np.round(rng.gamma(2.0, 900.0, rows), 2)
    return pd.DataFrame({"age": age, "job": job, "town": town, "pay": pay})


SECRET, HELD_OUT, CLEAN = people(1, 3_000), people(2, 2_500), people(3, 3_000)
LEAKED = pd.concat([SECRET.iloc[:300], CLEAN.iloc[300:]], ignore_index=True)


def attacked(
    copy: pd.DataFrame = CLEAN,
    held_out: Any = HELD_OUT,
    noise: Any = None,
    *,
    private: Any = SECRET,
    unit: Any = None,
    **options: Any,
) -> RiskReport:
    """Risk report without noise, if no other is given, and without an account."""
    stated = RiskParameters.parse(**options)
    return run_risk(private, copy, stated, noise or Absent(), held_out=held_out, unit=unit)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    tables = {"private": SECRET[:400], "held": HELD_OUT[:400], "copy": LEAKED[:400]}
    for name, table in tables.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    return {name: str(tmp_path / f"{name}.csv") for name in tables}


def of(report: RiskReport, name: str) -> AttackFacts:
    return next(each for each in report.attacks if each.name == name)


@pytest.fixture(scope="module")
def leak() -> RiskReport:
    return attacked(LEAKED)


@pytest.fixture(scope="module")
def clean() -> RiskReport:
    return attacked()


def test_copied_rows_are_counted_and_found(leak: RiskReport) -> None:
    copied = of(leak, "copied")
    rows = LEAKED.drop_duplicates()
    exact = len(SECRET.merge(rows, how="inner", on=list(rows)))
    assert copied.rate.value == exact / len(SECRET)
    assert copied.standing is Standing.BEYOND
    assert leak.attacks[0].standing is Standing.BEYOND
    assert copied in leak.leaks
    assert copied.held_out is not None
    low, high = copied.held_out.persons.low, copied.held_out.persons.high
    assert low < 300 < high


def test_a_clean_copy_leaks_nothing(clean: RiskReport) -> None:
    assert clean.leaks == ()
    assert {each.standing for each in clean.attacks} <= {Standing.WITHIN, Standing.UNDECIDED}
    # At epsilon 1 the noise of all attacks hides more than the tolerance in so small a table.
    alone = attacked(attacks=["copied", "near"], tau="1.5%")
    assert of(alone, "copied").standing is Standing.WITHIN


def test_held_out_rows_that_stand_in_the_copy_are_no_control(leak: RiskReport) -> None:
    copy = pd.concat([HELD_OUT.iloc[:100], CLEAN.iloc[100:]], ignore_index=True)
    report = attacked(copy, tau="5%")
    assert report.below_zero[:2] == ("copied", "near")
    assert {each.standing for each in report.attacks} == {Standing.UNDECIDED}
    assert report.exit_code == 1
    facts = of(report, "copied").held_out
    assert facts
    assert (facts.outcome, facts.conclusive) == ("yes", False)
    assert facts.p_value <= 0.001
    assert facts.excess.high < 0
    # What would decide a yes is other held-out rows.
    assert of(report, "copied").outlook is None
    # An attack that shows nothing by itself does not count either.
    guess = attacked(copy, tau="30%", attacks=["copied", "inference"])
    assert guess.below_zero == ("copied",)
    assert of(guess, "inference of job").standing is Standing.UNDECIDED
    # A NO still counts.
    assert leak.below_zero == ()
    both = pd.concat([HELD_OUT.iloc[:300], SECRET.iloc[:3000]], ignore_index=True)
    told = attacked(both, attacks=["copied"]).attacks
    assert [each.standing for each in told] == [Standing.BEYOND]


def test_a_tolerance_that_is_no_share_is_refused_in_words_of_attacks() -> None:
    with pytest.raises(ParameterError, match=r"what an attack gains is a share of the rows.* 2%"):
        RiskParameters.parse(tau="0.02")


def test_guesses_are_of_texts_and_beat_the_majority(clean: RiskReport) -> None:
    town = of(clean, "inference of town")
    assert {each.column for each in clean.attacks if each.column} == {"job", "town"}
    assert town.majority is not None
    assert town.rate.value > 0.3
    exact = CLEAN["town"].value_counts(dropna=False, normalize=True).iloc[0]
    assert town.majority == pytest.approx(exact)


def test_stated_secrets_and_knowledge() -> None:
    report = attacked(secrets=["pay"], known=["Job", "town"])
    (guess,) = (each for each in report.attacks if each.column)
    assert guess.column == "pay"
    # A number is guessed within one of about ten ranges.
    assert 0.05 < guess.rate.value < 0.3
    assert report.known == ("Job", "town")


def test_without_held_out_rows_there_is_no_verdict() -> None:
    report = attacked(LEAKED, None)
    assert {each.standing for each in report.attacks} == {Standing.UNJUDGED}
    assert report.leaks == ()
    assert [report.held_out, report.held_out_rows, report.held_out_cost] == [None] * 3
    for text in (str(report), report.to_html(), report.to_markdown()):
        assert "nobody can tell learning from leaking" in " ".join(text.split())


def test_the_nearest_rows_of_a_large_copy_are_found_in_a_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outcomes, "MOST_COPY", 500)
    monkeypatch.setattr("pqd.attacks.bound_risk.MOST_COPY", 500)
    report = attacked(LEAKED)
    assert (report.searched, report.copy_rows) == (500, 3000)
    assert "among 500 of the copy's 3,000 rows" in " ".join(str(report).split())
    # Copied rows are looked for in all of the copy.
    assert of(report, "copied").rate.value == of(attacked(LEAKED), "copied").rate.value


def test_a_person_of_several_rows_counts_once() -> None:
    """All of a person's rows stand in the copy, or none; each person weighs one row."""
    rows = np.repeat(np.arange(600), 1 + np.arange(600) % 4)
    table = SECRET.iloc[: len(rows)].assign(who=[f"p{n}" for n in rows])
    others = HELD_OUT.assign(who=[f"q{n}" for n in range(len(HELD_OUT))])
    leaked = table[table["who"].isin([f"p{n}" for n in range(60)])]
    copy = pd.concat([leaked.drop(columns="who"), CLEAN], ignore_index=True)
    report = attacked(copy, others, private=table, unit=PrivacyUnit("who"))
    assert report.rows.value == 600
    assert of(report, "copied").rate.value == pytest.approx(60 / 600)
    assert report.cost.unit == "who"
    assert "persons are rare rows of the copy" in " ".join(str(report).split())


def test_seeded_noise_is_marked() -> None:
    report = attacked(noise=SimulatedNoise(np.random.default_rng(1)))
    for text in (str(report), report.to_html(), report.to_markdown(), report._repr_html_()):
        assert "SIMULATED" in text
    assert report.simulated


def test_every_number_is_in_json_and_in_the_frame(leak: RiskReport) -> None:
    values = json.loads(leak.to_json())
    assert values["kind"] == "risk"
    assert values["attacks"][0]["held_out"]["excess"]["value"] == (
        leak.attacks[0].held_out and leak.attacks[0].held_out.excess.value
    )
    frame = leak.to_frame()
    assert frame["simulated"].tolist() == [leak.simulated] * len(frame)
    assert list(frame["attack"]) == [each.id for each in leak.attacks]
    assert len(leak) == len(frame) == 7
    assert leak["copied"].id == "copied"


def test_membership_has_a_curve_of_advantages(leak: RiskReport, clean: RiskReport) -> None:
    for report in (leak, clean):
        own = of(report, "membership")
        point = report.roc[1]
        assert (point.private.value, point.copy) == (own.rate.value, 0.01)
        assert own.held_out is not None
        assert point.advantage is not None
        assert point.advantage.value == own.held_out.excess.value
        rates = [each.private.value for each in report.roc]
        assert rates == sorted(rates)
        page = report.to_html()
        assert page.count('class="curve plot"') == 2
        assert "an attacker who guesses at random" in page
    worst = leak.roc[1].advantage
    assert worst is not None
    assert worst.low > 0.02


def test_chosen_attacks_alone_are_tried_and_have_less_noise() -> None:
    report = attacked(LEAKED, attacks=["Copied"])
    assert [each.id for each in report.attacks] == ["copied"]
    assert (report.curve, report.roc) == ((), ())
    copied, every = report.attacks[0].rate, of(attacked(LEAKED), "copied").rate
    assert copied.value == every.value
    assert copied.high - copied.low < (every.high - every.low) / 3
    assert 'class="curve plot"' not in report.to_html()
    with pytest.raises(NothingSelectedError, match="no secret to guess"):
        attacked(attacks=["inference"], columns=["age", "pay"])
    numbers = attacked(columns=["age", "pay"])
    assert {each.id for each in numbers.attacks} == {*KINDS} - {"inference"}


def test_trees_guess_by_what_the_copy_tells_and_the_report_names_them() -> None:
    """Age and town tell the job; the nearest row is swayed by pay, which tells nothing."""
    chosen: dict[str, Any] = {"attacks": ["inference"], "secrets": ["job"], "alpha": "0.01"}
    nearest, trees = attacked(**chosen), attacked(**chosen, learner="Trees")
    one, other = nearest.attacks[0], trees.attacks[0]
    assert (nearest.learner, nearest.model, trees.learner) == ("nearest", "", "trees")
    assert trees.model.startswith("HistGradientBoostingClassifier of scikit-learn")
    assert other.rate.value > one.rate.value + 0.04
    # Rows that the trees learnt from would be guessed better than others.
    assert other.held_out is not None
    assert abs(other.copy_rate - other.held_out.rate.value) < 0.04
    for text in (str(trees), trees.to_html(), trees.to_markdown(), trees.to_json()):
        assert trees.model in " ".join(text.split())
    assert "by the nearest row of the copy" in nearest.to_html()
    assert "Secrets are guessed" not in attacked(attacks=["copied"]).to_html()


def test_a_declared_epsilon_bounds_each_attack() -> None:
    for copy, epsilon, broken in ((LEAKED, "0.01", True), (CLEAN, "0.01", False)):
        report = attacked(copy, copy_epsilon=epsilon)
        assert report.copy_epsilon == Fraction(epsilon)
        facts = [each.held_out for each in report.attacks if each.held_out]
        assert all(each.bound is not None and 0 <= each.bound <= 0.0101 for each in facts)
        assert any(each.breaks_bound for each in facts) == broken
        told = " ".join(str(report).split())
        assert "declared to be made with epsilon 0.01" in told
        assert ("an excess beyond its own bound is established" in told) == broken
    assert attacked(LEAKED).attacks[0].held_out.bound is None  # type: ignore[union-attr]


# Plans --------------------------------------------------------------------------------------------


def planned(copy: pd.DataFrame = CLEAN, held_out: Any = HELD_OUT, **options: Any) -> RiskReport:
    """Plan of a risk report, without an account."""
    stated = RiskParameters.parse(**options)
    return run_risk_plan(SECRET, copy, stated, held_out=held_out)


def outlook(report: RiskReport, name: str) -> AttackOutlook:
    told = of(report, name).outlook
    assert told is not None
    return told


def test_a_plan_with_a_unit_has_as_many_persons_as_the_copy() -> None:
    tables = [t.assign(who=[f"{n // 4}" for n in range(len(t))]) for t in (SECRET, CLEAN, HELD_OUT)]
    secret, copy, others = tables

    def plan(**rows: Any) -> RiskReport:
        stated = RiskParameters.parse(**rows)
        return run_risk_plan(secret, copy, stated, held_out=others, unit=PrivacyUnit("who"))

    assert len(CLEAN) == 3_000
    assert plan().rows.value == 750
    assert any("no number of persons is stated" in str(each) for each in plan().notes)
    assert plan().attacks == plan(private_rows=750, held_out_rows=750).attacks


def test_a_plan_is_of_the_copy_and_of_what_is_stated_alone() -> None:
    report = planned(private_rows=3_000, held_out_rows=2_500)
    assert report.dry
    assert report.spent == 0
    assert report.cost.epsilon == 1
    assert report.held_out_cost is not None
    assert report.held_out_cost.epsilon == 1
    assert (report.curve, report.roc, report.leaks) == ((), (), ())
    assert {each.rate.value == each.copy_rate for each in report.attacks} == {True}
    other = run_risk_plan(
        SECRET * 2,
        CLEAN,
        RiskParameters.parse(private_rows=3_000, held_out_rows=2_500),
        held_out=HELD_OUT[::-1] * 3,
    )
    assert str(other) == str(report)
    assert other.to_json() == report.to_json()


def test_a_plan_foretells_what_a_run_decides(clean: RiskReport) -> None:
    """The copy, the private rows and the held-out rows are alike; there is no noise here."""
    report = planned(private_rows=3_000, held_out_rows=2_500, tau="3%")
    run = attacked(tau="3%")
    sure = [each.name for each in report.attacks if each.standing is Standing.DECIDABLE]
    assert "membership" in sure
    assert all(of(run, name).standing is Standing.WITHIN for name in sure)
    # Half the width of the interval is that of the run.
    for each in report.attacks:
        width = of(clean, each.name).rate
        assert each.rate.high - each.rate.low == pytest.approx(width.high - width.low, rel=0.2)


def test_a_plan_says_what_would_decide() -> None:
    report = planned(private_rows=3_000, held_out_rows=2_500)
    copied = outlook(report, "copied")
    assert copied.standing is Standing.TOO_LITTLE
    assert copied.alone
    assert copied.needed_epsilon is not None
    assert copied.needed_held_out_rows is not None
    ways: tuple[dict[str, Any], ...] = (
        {"attacks": ["copied"]},
        {"tau": f"{100 * copied.tau_decided + 0.01:.2f}%"},
        {"total_epsilon": copied.needed_epsilon},
        {"held_out_rows": copied.needed_held_out_rows},
    )
    for more in ways:
        again = planned(**{"private_rows": 3_000, "held_out_rows": 2_500, **more})
        assert of(again, "copied").standing is Standing.DECIDABLE
    # Guesses that are right half of the time are not told to one point from so few rows.
    town = outlook(report, "inference of town")
    assert (town.needed_epsilon, town.needed_held_out_rows, town.alone) == (None, None, False)
    told = " ".join(str(report).split())
    assert "No epsilon decides" in told
    assert "--tau" in told or "tau=" in told
    frame = report.to_frame()
    assert list(frame["tau_decided"]) == sorted(frame["tau_decided"], reverse=True)
    assert report.to_html().count("LOW") > 1


def test_a_plan_without_numbers_takes_those_of_the_copy_and_says_so() -> None:
    report = planned(CLEAN[:1_234], None)
    assert (report.rows.value, report.held_out_rows and report.held_out_rows.value) == (1234, 1234)
    assert report.held_out_cost is None
    told = " ".join(str(report).split())
    assert "takes that of the copy, 1,234; state private_rows and held_out_rows" in told
    assert "no verdicts" in told
    half = " ".join(str(planned(private_rows=99)).split())
    assert "state held_out_rows where that may be published" in half


def test_an_undecided_attack_is_told_with_what_would_decide_it(clean: RiskReport) -> None:
    open_ = [each for each in clean.attacks if each.standing is Standing.UNDECIDED]
    assert open_
    assert {each.outlook is not None for each in clean.attacks} == {True, False}
    assert all(each.outlook for each in open_)
    most = max(each.outlook.tau_decided for each in open_ if each.outlook)
    again = attacked(tau=f"{100 * most + 0.001:.3f}%")
    assert {of(again, each.name).standing for each in open_} == {Standing.WITHIN}


def test_the_command_plans_and_prices(
    command: Command, files: dict[str, str], tmp_path: Path
) -> None:
    assert command("ledger", "limit", files["private"], "1.5")[0] == 0
    given = ("risk", files["private"], files["copy"], "--held-out", files["held"], "--dry-run")
    names = ("--dataset", "ward", "--held-out-dataset", "others")
    code, shown, told = command(*given, "--held-out-rows", "400", "--json", str(tmp_path / "p"))
    assert code == 0, told
    assert "a run costs epsilon 1" in shown
    assert "and 1 on the held-out table" in " ".join(shown.split())
    assert json.loads((tmp_path / "p").read_text("utf-8"))["dry"] is True
    # A limit holds for a plan, too, of each table.
    apart = given[:3]
    assert command(*apart, *names[:2])[0] == 0
    code, shown, _ = command(*given, *names)
    assert code == 0
    assert "epsilon 0 on the private table and 1 on the held-out" in " ".join(shown.split())
    code, _, told = command(*given, *names, "--total-epsilon", "1.4")
    assert code == 4
    assert "0.5" in told
    code, _, told = command(*given, *names, "--total-epsilon", "1.6")
    assert code == 4


@pytest.mark.parametrize("rows", ["0", "1.5", "many"])
def test_a_number_of_rows_is_a_whole_number(
    rows: str, command: Command, files: dict[str, str]
) -> None:
    given = ("risk", files["private"], files["copy"], "--dry-run")
    for name in ("--private-rows", "--held-out-rows"):
        code, _, told = command(*given, name, rows)
        assert code == 2
        assert name in told


def test_options_of_a_plan_are_refused_in_a_run(command: Command, files: dict[str, str]) -> None:
    given = ("risk", files["private"], files["copy"])
    for name in ("--private-rows", "--held-out-rows"):
        code, _, told = command(*given, name, "400")
        assert code == 2
        assert f"{name} is 400; it is for a plan" in " ".join(told.split())
    with pytest.raises(ParameterError, match="private_rows is 9; it is for a plan"):
        pqd.risk(SECRET, CLEAN, private_rows=9)
    apart = (*given, "--held-out", files["held"], "--check", "--dry-run")
    code, _, told = command(*apart)
    assert code == 2
    assert "--check needs verdicts" in told
    code, _, told = command("ledger", "show", files["private"])
    assert "epsilon 1" not in told


# Refusals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"secrets": ["twon"]}, 'secret: there is no column "twon"; the nearest is "town"'),
        ({"known": ["x"]}, 'known: there is no column "x"'),
        ({"secrets": ["town"], "known": ["town"]}, "only known column"),
        ({"secrets": ["town", "job"], "known": ["job"]}, "only known column"),
        ({"secrets": []}, "secrets is an empty list; name columns such as age, or leave it out"),
        ({"attacks": 3}, "attacks are names of attacks, which are copied, near, "),
        ({"known": [3]}, "known are names of columns"),
        ({"columns": 3}, "columns are names of columns such as age, not 3"),
        ({"columns": {"town": {"type": "text"}}}, "state the facts as facts={...}, and columns="),
        ({"secrets": list("abcdefghi")}, "at most 8"),
        ({"attacks": ["copid"]}, 'no attack "copid" (attacks); did you mean copied?'),
        ({"attacks": ["copied"], "secrets": ["town"]}, "is of inference, which is not among"),
        ({"copy_epsilon": 0}, "copy_epsilon"),
        ({"tau": "120%"}, "120%"),
        ({"total_epsilon": 0}, "epsilon"),
        ({"alpha": 2}, "alpha"),
    ],
)
def test_wrong_parameters_are_told(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as found:
        attacked(**options)
    assert message in str(found.value)


def test_a_known_column_is_no_secret_unless_it_is_stated() -> None:
    assert [each.column for each in attacked(known=["job"]).attacks if each.column] == ["town"]
    report = attacked(secrets=["town", "job"], known=["job", "age"])
    assert len([each for each in report.attacks if each.column]) == 2


def test_wrong_tables_are_told() -> None:
    with pytest.raises(ParameterError, match="is the private table, or shares a part"):
        attacked(held_out=SECRET)
    with pytest.raises(PqdError, match="private table"):
        attacked(SECRET)
    with pytest.raises(ParameterError, match="is the synthetic table, or shares a part"):
        attacked(HELD_OUT)
    with pytest.raises(TableError, match='no column "pay", which the copy'):
        attacked(held_out=HELD_OUT.drop(columns="pay"))
    with pytest.raises(NothingSelectedError, match="at least two columns"):
        attacked(columns=["age"])
    with pytest.raises(ParameterError, match="counts each person as one row"):
        attacked(unit=PrivacyUnit("job", 2))


def test_a_warning_stops_a_strict_run_before_it_spends(
    command: Command, files: dict[str, str]
) -> None:
    given = ("risk", files["private"], files["copy"], "--total-epsilon", "30")
    code, _, told = command(*given, "--strict")
    assert code == 2
    assert "30" in told
    code, _, told = command("ledger", "show", files["private"])
    assert "epsilon 30" not in told


def test_a_table_of_spark_is_refused_in_words() -> None:
    with pytest.raises(ParameterError, match="cannot read a table of Spark yet"):
        pqd.risk("spark://main.people", CLEAN)


# Accounts -----------------------------------------------------------------------------------------


def test_each_table_has_an_account_and_a_second_run_is_free(
    command: Command, files: dict[str, str], tmp_path: Path
) -> None:
    given = ("risk", files["private"], files["copy"], "--held-out", files["held"])
    code, shown, _ = command(*given, "--total-epsilon", "2", "--json", str(tmp_path / "a.json"))
    assert code == 0
    assert "epsilon 2 spent" in shown
    code, again, _ = command(*given, "--total-epsilon", "2", "--json", str(tmp_path / "b.json"))
    assert code == 0
    assert "nothing spent: all replayed" in again
    first, second = (json.loads((tmp_path / f"{n}.json").read_text("utf-8")) for n in "ab")
    assert first["attacks"] == second["attacks"]
    assert first["cost"]["epsilon"] == first["held_out_cost"]["epsilon"] == 2
    assert second["cost"]["epsilon"] == second["held_out_cost"]["epsilon"] == 0
    code, one, _ = command(*given, "--total-epsilon", "2", "--explain", "copied")
    assert code == 0
    assert "The row stands in the copy" in one


def test_a_page_tells_no_folder_and_takes_no_private_table_for_public(
    command: Command, files: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "risk.html"
    given = [
        "risk",
        files["private"],
        files["copy"],
        "--held-out",
        files["held"],
        "--html",
        str(page),
    ]
    monkeypatch.setattr("sys.argv", ["pqd", *given])
    assert command(*given)[0] == 0
    text = page.read_text("utf-8")
    assert tmp_path.name not in text
    assert "attacked by copy.csv, taken as public." in text
    assert "held.csv." in text
    assert "held.csv, taken as public" not in text


def test_a_run_that_one_account_cannot_pay_spends_nothing(tmp_path: Path) -> None:
    own = Accountant(tmp_path / "own.sqlite")
    poor = Accountant(tmp_path / "other.sqlite", Budget(Fraction(1, 2)))
    stated = RiskParameters.parse()
    with pytest.raises(PqdError, match=r"0\.5"):
        run_risk(
            SECRET,
            CLEAN,
            stated,
            Absent(),
            held_out=HELD_OUT,
            accountant=own,
            held_out_accountant=poor,
        )
    told: list[object] = []
    report = run_risk(
        SECRET, CLEAN, stated, Absent(), lambda stage, *_: told.append(stage), accountant=own
    )
    assert report.cost.total == report.cost.epsilon == 1
    assert told.index(note("risk-without-held-out")) < told.index(Step.READING_PRIVATE)
    rich = Accountant(tmp_path / "rich.sqlite")
    report = run_risk(
        SECRET,
        CLEAN,
        stated,
        Absent(),
        held_out=HELD_OUT,
        accountant=own,
        held_out_accountant=rich,
    )
    assert report.cost.epsilon == 0
    assert report.held_out_cost
    assert report.held_out_cost.epsilon == 1
    assert "epsilon 1 spent on the held-out table, nothing on the private one" in " ".join(
        str(report).split()
    )


def test_a_held_out_table_that_a_limit_does_not_know_is_named_by_its_own_option(
    command: Command, files: dict[str, str]
) -> None:
    assert command("ledger", "limit", files["private"], "10")[0] == 0
    given = ("risk", files["private"], files["copy"], "--held-out", files["held"])
    assert command(*given[:3], "--dataset", "ward")[0] == 0
    code, _, told = command(*given, "--dataset", "ward")
    assert code == 2
    assert "--held-out-dataset NAME" in told
    assert command(*given, "--dataset", "ward", "--held-out-dataset", "others")[0] == 0


@pytest.mark.parametrize("named", [(), ("--dataset", "ward")])
def test_a_limit_refuses_unnamed_held_out_rows_before_the_first_charge(
    command: Command, files: dict[str, str], named: tuple[str, ...]
) -> None:
    """The first charge opens the data set from which the held-out rows cannot be told."""
    assert command("ledger", "limit", files["private"], "10")[0] == 0
    given = ("risk", files["private"], files["copy"], "--held-out", files["held"], *named)
    code, _, told = command(*given)
    assert code == 2
    assert "one is opened for private.csv" in " ".join(told.split())
    assert "Nothing was spent" in told
    assert "was charged" not in told
    code, _, told = command("ledger", "show", files["private"])
    assert "spent epsilon" not in told
    assert command(*given, "--held-out-dataset", "others")[0] == 0


def test_the_same_rows_in_another_file_are_no_others(
    command: Command, files: dict[str, str], tmp_path: Path
) -> None:
    again = tmp_path / "again.csv"
    SECRET[:400].sample(frac=1, random_state=1).to_csv(again, index=False)
    given = ("risk", files["private"], files["copy"], "--held-out", str(again))
    code, _, told = command(*given)
    assert code == 2
    assert "holds the same rows as the private table; give rows of other" in " ".join(told.split())
    code, shown, _ = command("ledger", "show", files["private"])
    assert "epsilon 1" not in shown
    # A table that shares some rows is not noticed.
    SECRET[:399].to_csv(again, index=False)
    code, _, _ = command(*given)
    assert code == 0


def test_a_check_passes_only_with_a_yes_for_each_attack(
    command: Command, files: dict[str, str]
) -> None:
    given = ("risk", files["private"], files["copy"], "--check", "--attacks", "copied")
    code, _, told = command(*given)
    assert code == 2
    assert "--check needs held-out rows" in told
    apart = (*given, "--held-out", files["held"], "--total-epsilon", "20")
    for tau, expected in (("90%", 0), ("2%", 1)):
        code, shown, _ = command(*apart, "--tau", tau)
        assert code == expected, shown
    # Without --check a NO is no failure.
    code, _, _ = command(*(each for each in apart if each != "--check"), "--tau", "2%")
    assert code == 0


def test_the_function_of_python_keeps_both_accounts(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    report = pqd.risk(SECRET[:300], CLEAN[:300], held_out=HELD_OUT[:300], ledger=ledger)
    assert report.held_out_cost is not None
    assert report.cost.total == report.held_out_cost.total == 1
    assert not report.simulated
    assert (report.private, report.held_out) == ("private frame", "held-out frame")
    others = SECRET[300:600], CLEAN[:300]
    dry = pqd.risk(*others, held_out=HELD_OUT[300:600], ledger=ledger, dry_run=True)
    unseen = [note for note in map(str, dry.notes) if "no data set by the place or name of" in note]
    assert [each.partition("name of ")[2].partition(".")[0] for each in unseen] == [
        "private frame",
        "held-out frame",
    ]


def test_one_data_set_pays_for_both_tables_or_for_none(tmp_path: Path) -> None:
    """The second charge is checked as if the first were spent, before either is."""
    ledger = tmp_path / "ledger.sqlite"
    for name, table in (("private", SECRET), ("held", HELD_OUT)):
        table[:300].to_csv(tmp_path / f"{name}.csv", index=False)
    with closing(Ledger(ledger)) as opened:
        opened.set_limit(Budget(Fraction(3, 2)))
    tables = tmp_path / "private.csv", CLEAN[:300]
    other = tmp_path / "held.csv"
    with pytest.raises(BudgetError):
        pqd.risk(*tables, held_out=other, dataset="d", held_out_dataset="d", ledger=ledger)
    with closing(Ledger(ledger)) as opened:
        assert opened.data_sets == ()


def test_text_formats_and_facts_of_a_file_hold_for_all_three_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    tables = {"private": SECRET[:400], "held": HELD_OUT[:400], "copy": LEAKED[:400]}
    for name, table in tables.items():
        table.to_csv(f"{name}.csv", index=False)
        table.to_csv(f"{name}-german.csv", index=False, sep=";", decimal=",")
    facts = {"METADATA_SPEC_VERSION": "SINGLE_TABLE_V1", "columns": {"town": {"sdtype": "id"}}}
    Path("facts.json").write_text(json.dumps(facts), encoding="utf-8")
    seeded = pqd.simulate(pqd.risk, seed=3)
    german = seeded(
        "private-german.csv",
        "copy-german.csv",
        held_out="held-german.csv",
        metadata="facts.json",
        text_format=pqd.TextFormat(decimal=","),
    )
    plain = seeded("private.csv", "copy.csv", held_out="held.csv", metadata=facts)
    assert german.attacks == plain.attacks
    assert german.columns == plain.columns == ("age", "job", "pay")

    given = ("private-german.csv", "copy-german.csv", "--held-out", "held-german.csv")
    stopped, _, said = command("risk", *given)
    assert stopped == 2
    assert "--decimal ," in said
    code, out, said = command("risk", *given, "--decimal", ",", "--metadata", "facts.json")
    assert code == 0, said
    assert "town is set aside: it is an identifier" in out


def test_the_command_tells_wrong_usage(command: Command, files: dict[str, str]) -> None:
    given = ("risk", files["private"], files["copy"])
    code, _, told = command(*given, "--held-out", files["private"])
    assert code == 2
    assert "the held-out table (--held-out) is the private table" in " ".join(told.split())
    code, _, told = command(*given, "--secret", "nobody")
    assert code == 2
    assert 'there is no column "nobody"' in told
    code, _, told = command(*given, "--columns", "age")
    assert code == 5
    code, _, told = command(*given, "--explain", "copied")
    assert code != 0
    assert "nothing can be replayed" in " ".join(told.split())
