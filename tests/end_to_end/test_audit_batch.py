"""``pqd audit --total-epsilon`` and ``[shared_budget]`` of a spec: cost, words, secrets."""

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
from pqd.accounting.accounts import Budget
from pqd.accounting.ledger import Ledger
from pqd.batches.mechanisms import SHARINGS
from pqd.commands.audit import run_audit
from pqd.commands.check import run_check
from pqd.deciders import SimulatedNoise
from pqd.errors import BudgetError, ParameterError
from pqd.parameters import Detail, Parameters
from pqd.reports import AuditReport
from pqd.reports.writers.terminal import terminal_text
from pqd.reports.writers.terminal.layout import Extent
from pqd.spec import SpecError, read_spec
from pqd.sql.workload_files import as_queries
from tests.end_to_end.test_release import spent
from tests.support.swap_rows import BATCH_SPEC

pytestmark = pytest.mark.usefixtures("noiseless")

Ran = tuple[int, str, str]
Command = Callable[..., Ran]
SAMPLES = Path(__file__).resolve().parents[2] / "samples"
TABLES = [SAMPLES / f"census_{kind}.parquet" for kind in ("private", "synthetic")]
ROWS = 3000
# Each query in SQL and in pandas.
CENSUS: dict[str, Callable[[pd.DataFrame], float]] = {
    "SELECT COUNT(*) FROM D WHERE age > 64": lambda d: (d.age > 64).sum(),
    "SELECT COUNT(*) FROM D WHERE age > 64 AND sex = 'Female'": lambda d: (
        (d.age > 64) & (d.sex == "Female")
    ).sum(),
    "SELECT COUNT(*) FROM D WHERE age BETWEEN 20 AND 39": lambda d: d.age.between(20, 39).sum(),
    "SELECT COUNT(*) FROM D WHERE sex <> 'Male' AND NOT workly = 'Yes'": lambda d: (
        (d.sex != "Male") & (d.workly != "Yes")
    ).sum(),
    "SELECT SUM(age) FROM D WHERE sex = 'Male'": lambda d: d.age[d.sex == "Male"].sum(),
    "SELECT SUM(age) FROM D WHERE race = 'White' AND sex = 'Male'": lambda d: d.age[
        (d.sex == "Male") & (d.race == "White")
    ].sum(),
    "SELECT AVG(age) FROM D WHERE workly = 'Yes'": lambda d: d.age[d.workly == "Yes"].mean(),
}


@pytest.fixture(scope="module")
def census() -> tuple[pd.DataFrame, pd.DataFrame]:
    """The first rows of the sample tables, which answer sooner."""
    private, synthetic = (pd.read_parquet(path).iloc[:ROWS] for path in TABLES)
    return private, synthetic


@pytest.fixture
def account(tmp_path: Path) -> Path:
    """Where the fixture of every test keeps the account."""
    return tmp_path / "ledger.sqlite"


def table(seed: int, rows: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(0, 80, rows),
            "pay": rng.integers(0, 9, rows),
            "job": rng.choice(["cook", "smith", "nurse"], rows),
        }
    )


COPY, SECRET = table(1), table(2)
NESTED = [f"SELECT COUNT(*) FROM D WHERE age > {age}" for age in range(10, 70, 10)]
MIXED = [
    *NESTED[:3],
    "SELECT COUNT(*) FROM D GROUP BY job",
    "SELECT SUM(pay) FROM D",
    "SELECT SUM(pay) FROM D WHERE age > 30 AND job = 'cook'",
    "SELECT MEDIAN(age) FROM D",
]


def audited(queries: Any = MIXED, **options: Any) -> AuditReport:
    given: dict[str, Any] = {"tau": 20, "total_epsilon": 1, "sharing": "identity"} | options
    private, synthetic = given.pop("private", SECRET), given.pop("synthetic", COPY)
    return pqd.audit(private, synthetic, queries, **given)


def simulated(
    private: object,
    noise: Any,
    sharing: str = "auto",
    queries: Any = MIXED,
    *,
    detailed: bool = False,
) -> AuditReport:
    terms = Parameters.parse(
        tau=20, epsilon="0.5", alpha=0.05, detail=Detail.CURVES if detailed else Detail.THRESHOLDS
    )
    return run_audit(private, COPY, as_queries(queries), terms, noise, sharing=sharing)


def drawn(report: AuditReport) -> list[tuple[Any, ...]]:
    return [(v.sql, v.group, v.outcome, v.p_value) for v in report.verdicts]


# What it says -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sharing", ["auto", "alone", "workload", "identity", "clipped_composition"]
)
def test_verdicts_at_a_large_epsilon_are_the_truth(
    sharing: str, census: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    private, synthetic = census
    given = {"private": private, "synthetic": synthetic, "sharing": sharing, "tau": "3%"}
    report = audited(list(CENSUS), total_epsilon=10**7, **given)
    expected = []
    for rule in CENSUS.values():
        here, there = float(rule(private)), float(rule(synthetic))
        assert abs(abs(here - there) - 0.03 * there) > 1e-3, "no answer lies on an end"
        expected.append("yes" if abs(here - there) < 0.03 * there else "no")
    assert set(expected) == {"yes", "no"}
    assert [v.leans for v in report.verdicts] == expected
    assert report.spent == 10**7
    # Nothing proves a verdict of clipped_composition, however little noise there is.
    open_ = {v.decider for v in report.verdicts if v.p_value is None}
    assert all(v.evidence == "none" for v in report.verdicts if v.p_value is None)
    assert open_ == ({"clipped_composition_batch"} if sharing == "clipped_composition" else set())
    if sharing in {"workload", "identity"}:
        ways = [f"{sharing}_batch"] * 6 + ["inv_mean"]
        assert [v.decider for v in report.verdicts] == ways
        assert all((v.p_value or 0) < 1e-11 for v in report.verdicts)


@pytest.mark.parametrize("sharing", ["numerical", "normalization", "global_truncation"])
def test_multiplicative_weights_tell_wide_gaps(sharing: str) -> None:
    """They are never exact, so the answers are far off here, or right."""
    # Not the copy itself, which is no private table.
    near, far = COPY.iloc[1:], pd.concat([COPY] * 5, ignore_index=True)
    for private, outcome in ((near, "yes"), (far, "no")):
        report = audited(NESTED[:3], private=private, sharing=sharing, tau=150, total_epsilon=10**6)
        assert [v.leans for v in report.verdicts] == [outcome] * 3
        assert {v.decider for v in report.verdicts} == {f"{sharing}_batch"}
        assert all(v.p_value is None and v.standing == f"leans {outcome}" for v in report.verdicts)


def test_range_sums_have_a_batch_of_their_own() -> None:
    sums = [f"SELECT SUM(pay) FROM D WHERE pay {rule}" for rule in ("> 3", "<= 6", "< 8")]
    report = audited(sums, sharing="ranges", total_epsilon=10**7)
    pay, copy = SECRET.pay, COPY.pay
    gaps = [pay[pay > 3].sum() - copy[copy > 3].sum(), pay[pay <= 6].sum() - copy[copy <= 6].sum()]
    gaps.append(pay.sum() - copy.sum())
    expected = ["yes" if abs(gap) < 20 else "no" for gap in gaps]
    assert [verdict.leans for verdict in report.verdicts] == expected
    assert {v.decider for v in report.verdicts} == {"ranges_batch"}


def test_the_command_says_how_it_shared(command: Command, account: Path) -> None:
    queries = [part for sql in list(CENSUS)[:4] for part in ("-q", sql)]
    arguments = ["audit", *map(str, TABLES), *queries, "--tau", "10%", "--total-epsilon", "0.5"]
    code, out, err = command(*arguments, "--sharing", "identity", "--verbose")
    assert (code, err) == (0, "")
    words = " ".join(out.split())
    assert "COUNT: 4 queries" in words
    assert "in one batch by identity" in words
    assert "identity_batch" in words
    assert spent(account) == [Fraction(1, 2)]
    code, out, err = command(*arguments, "--sharing", "identity", "--json", "-")
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert report["spent_epsilon"] == 0
    assert all(v["replayed"] for v in report["verdicts"])
    assert spent(account) == [Fraction(1, 2)]


def test_the_shape_of_a_verdict_of_a_batch() -> None:
    report = json.loads(audited(MIXED, total_epsilon="0.7").to_json())
    assert report["spent_epsilon"] == pytest.approx(0.7)
    assert len(report["verdicts"]) == 9
    for verdict in report["verdicts"][:8]:
        assert verdict["decider"] == "identity_batch"
        assert verdict["leans"] in {"yes", "no"}
        assert 0 <= verdict["p_value"] <= 1
        assert verdict["margin"] is None
        assert verdict["conclusive"] == (verdict["p_value"] <= 0.05)
        ways = [candidate["decider"] for candidate in verdict["candidates"]]
        assert ways[0] == "identity_batch"
        assert ways[-1] == ("inv_sum" if verdict["aggregate"] == "SUM" else "inv_count")
        chosen = verdict["candidates"][0]
        assert chosen["tau_min"] == verdict["tau_min"] > 0
        assert chosen["tau_min_exact"] is True
        assert 0 <= chosen["false_no"] <= 1
        assert 0 <= chosen["false_yes"] <= 1
    shares = [verdict["epsilon"] for verdict in report["verdicts"]]
    assert shares == pytest.approx([0.7 * 6 / 9] * 6 + [0.7 * 2 / 9] * 2 + [0.7 / 9])
    assert report["verdicts"][8]["decider"].startswith("inv_")
    assert sum("in one batch by identity" in note for note in report["notes"]) == 2


def test_auto_shows_every_query_what_else_could_have_answered() -> None:
    report = json.loads(audited(MIXED, sharing="auto").to_json())
    for verdict in report["verdicts"][:8]:
        ways = [candidate["decider"] for candidate in verdict["candidates"]]
        assert verdict["decider"] in ways
        assert any(way.endswith("_batch") for way in ways)
        assert any(way.startswith("inv_") for way in ways)
        assert len(set(ways)) == len(ways)


@pytest.mark.parametrize(
    ("sharing", "detailed"),
    [("auto", True), ("identity", True), ("identity", False), ("numerical", True)],
)
def test_every_rendering_takes_them(sharing: str, *, detailed: bool) -> None:
    queries = [MIXED[0], *MIXED[3:6]]
    report = simulated(SECRET, SimulatedNoise(5), sharing, queries, detailed=detailed)
    for width in (40, 200):
        assert terminal_text(report, width, Extent.VERBOSE)
    for text in (report.to_html("pqd"), report.to_markdown(), report._repr_html_()):
        assert len(text) > 500
    assert len(report.to_frame()) == 6


@pytest.mark.parametrize("sharing", ["alone", "workload", "identity", "auto"])
def test_whoever_wants_curves_has_them_of_batches_too(sharing: str) -> None:
    report = simulated(SECRET, SimulatedNoise(5), sharing, MIXED[3:6], detailed=True)
    assert all(verdict.chosen.curve for verdict in report.verdicts)
    assert report.plot_operating_characteristic() is not None
    brief = simulated(SECRET, SimulatedNoise(5), sharing, MIXED[3:6])
    assert not any(candidate.curve for v in brief.verdicts for candidate in v.candidates)


def test_simulated_verdicts_are_stamped() -> None:
    for sharing in ("alone", "identity"):
        report = simulated(SECRET, SimulatedNoise(1), sharing)
        assert report.simulated
        assert all(v.simulated for v in report.verdicts)
        for text in (str(report), report.to_html("pqd"), report.to_markdown()):
            assert "SIMULATED" in text
        assert all(v["simulated"] for v in json.loads(report.to_json())["verdicts"])


# What it costs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("sharing", ["auto", "alone", "workload"])
def test_asked_again_it_costs_nothing_and_says_the_same(sharing: str, account: Path) -> None:
    first = audited(sharing=sharing, total_epsilon="1/3")
    assert first.spent == Fraction(1, 3)
    assert spent(account) == [Fraction(1, 3)]
    before = account.read_bytes()
    again = audited(sharing=sharing, total_epsilon="1/3")
    backwards = audited(MIXED[::-1], sharing=sharing, total_epsilon="1/3")
    for second in (again, backwards):
        assert second.spent == 0
        assert all(v.replayed for v in second.verdicts)
    assert drawn(again) == drawn(first)
    assert sorted(drawn(backwards), key=str) == sorted(drawn(first), key=str)
    assert account.read_bytes() == before


def test_a_part_of_a_batch_is_another_query(account: Path) -> None:
    audited(NESTED)
    fewer = audited(NESTED[:-1])
    assert fewer.spent == 1
    assert not any(v.replayed for v in fewer.verdicts)
    assert spent(account) == [2]


def test_another_tolerance_is_read_from_the_same_release(account: Path) -> None:
    first = audited(NESTED, tau=20, total_epsilon=10**6)
    other = audited(NESTED, tau=1, total_epsilon=10**6)
    assert other.spent == 0
    assert all(v.replayed for v in other.verdicts)
    assert [v.outcome for v in first.verdicts] != [v.outcome for v in other.verdicts]
    assert spent(account) == [10**6]


def test_fresh_pays_again(account: Path) -> None:
    audited(NESTED)
    assert audited(NESTED, fresh=True).spent == 1
    assert audited(NESTED).spent == 0
    assert spent(account) == [2]


def test_a_query_twice_in_one_run_is_answered_once() -> None:
    report = audited([NESTED[0], NESTED[1], NESTED[0]])
    first, _, third = report.verdicts
    assert (first.outcome, first.p_value) == (third.outcome, third.p_value)
    assert report.spent == 1


def test_a_budget_that_does_not_reach_is_refused_whole(command: Command, account: Path) -> None:
    with closing(Ledger(account)) as ledger:
        ledger.set_limit(Budget(Fraction(1, 2)))
    for sharing in ("auto", "alone", "identity"):
        with pytest.raises(BudgetError, match="this run needs epsilon 1"):
            audited(sharing=sharing, dataset="people")
    queries = ["-q", NESTED[0].replace("D", "x"), "-q", next(iter(CENSUS))]
    arguments = ["audit", *map(str, TABLES), *queries, "--tau", "5%", "--total-epsilon", "0.6"]
    code, out, err = command(*arguments, "--sharing", "workload")
    assert (code, out) == (4, "")
    assert "this run needs epsilon 0.6; of 0.5" in err
    assert "Nothing was spent." in err
    assert spent(account) == []


def test_what_is_known_already_does_not_make_the_rest_dearer(account: Path) -> None:
    """All cost the stated epsilon; a part of them can cost no more."""
    rules = ["k IN (4)", "k IN (1)", "k IN (3, 4)", "k IN (1, 2)", "k IN (2, 3)"]
    chain = [f"SELECT COUNT(*) FROM D WHERE {rule}" for rule in rules]
    private, copy = (pd.DataFrame({"k": np.arange(n) % 6}) for n in (300, 360))
    given: dict[str, Any] = {"tau": 5, "sharing": "alone"}
    other = account.with_name("other.sqlite")
    whole = pqd.audit(private, copy, chain, total_epsilon=1, ledger=other, **given)
    assert whole.spent == 1
    share = whole.verdicts[0].epsilon
    pqd.audit(private, copy, chain[0], tau=5, epsilon=share)
    rest = pqd.audit(private, copy, chain, total_epsilon=1, **given)
    assert [v.replayed for v in rest.verdicts] == [True, False, False, False, False]
    assert rest.spent <= 1


# What it refuses ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sharing", "magic"], "sharing is 'magic'; use one of auto, alone, workload"),
        (["--sharing", "inv_count"], "sharing is 'inv_count'"),
        (["--sharing", ""], "sharing is ''"),
        (["--sharing", "ranges"], "COUNT: the mechanism ranges is"),
    ],
)
def test_mistakes_at_the_command_line(
    command: Command, account: Path, options: list[str], message: str
) -> None:
    arguments = [
        "audit",
        *map(str, TABLES),
        "-q",
        next(iter(CENSUS)),
        "--tau",
        "5%",
        "--total-epsilon",
        "1",
    ]
    code, out, err = command(*arguments, *options)
    assert (code, out) == (2, "")
    assert message in err
    assert not account.exists()


def test_only_a_total_is_shared(command: Command, account: Path) -> None:
    arguments = ["audit", *map(str, TABLES), "-q", next(iter(CENSUS)), "--tau", "5%"]
    code, out, err = command(*arguments, "--sharing", "auto")
    assert (code, out) == (2, "")
    assert "--epsilon is missing" in err
    assert not account.exists()


def test_mistakes_in_python_spend_nothing(account: Path) -> None:
    pattern = "SELECT COUNT(*) FROM D WHERE job LIKE '%oo%'"
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"sharing": "magic"}, "sharing is 'magic'"),
        ({"queries": [*NESTED, pattern], "sharing": "ranges"}, "ranges is for SUM"),
        ({"total_epsilon": 0}, "greater than 0"),
        ({"tau": "much"}, "much"),
    ]
    for options, message in wrong:
        with pytest.raises(ParameterError, match=message):
            audited(**options)
    assert not account.exists()
    assert audited([*NESTED, pattern], sharing="auto").spent == 1


def test_the_help_names_every_way(command: Command) -> None:
    code, out, _ = command("audit", "--help-all")
    assert code == 0
    for mode in SHARINGS:
        assert mode in out
        assert mode in (pqd.audit.__doc__ or "")


# Specs --------------------------------------------------------------------------------------------


def spec(folder: Path, *changes: tuple[str, str], private: pd.DataFrame = SECRET) -> Path:
    folder.mkdir(exist_ok=True)
    text = BATCH_SPEC
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    private.to_parquet(folder / "private.parquet")
    COPY.to_parquet(folder / "copy.parquet")
    (folder / "audit.toml").write_text(text, encoding="utf-8")
    return folder / "audit.toml"


def test_a_dry_run_a_run_and_a_replay(tmp_path: Path, account: Path) -> None:
    path = spec(tmp_path)
    cost = Fraction(3, 5) + Fraction(1, 4)
    dry = pqd.check(path, dry_run=True)
    assert dry.cost.epsilon == cost
    assert not account.exists()
    said = {entry.id: entry.message for entry in dry.checks}
    assert "epsilon 0.48 with its batch" in said["old"]
    assert "by identity_batch" in said["old"]
    assert "epsilon 0.48 with its batch" in said["jobs"]
    assert "epsilon 0.12 by itself" in said["middle"]
    assert "epsilon 0.25 by itself" in said["own"]
    first = pqd.check(path)
    assert first.cost.epsilon == cost
    assert spent(account) == [cost]
    assert [len(entry.verdicts) for entry in first.checks] == [1, 3, 1, 1]
    ways = [entry.verdicts[0].decider for entry in first.checks]
    assert ways[:2] == ["identity_batch"] * 2
    assert not any(way.endswith("_batch") for way in ways[2:])
    assert any("COUNT: 4 queries" in str(note) for note in first.notes)
    again = pqd.check(path)
    assert again.cost.epsilon == 0
    for one, other in zip(first.checks, again.checks, strict=True):
        assert (one.status, one.message) == (other.status, other.message)
        assert all(v.replayed for v in other.verdicts)
    assert "known already" in pqd.check(path, dry_run=True).checks[0].message
    assert spent(account) == [cost]


def test_a_spec_at_a_large_epsilon_says_the_truth(tmp_path: Path) -> None:
    for number, mode in enumerate(("identity", "workload", "alone", "auto")):
        changes = ('"3/5"', "1000000"), ('sharing = "identity"', f'sharing = "{mode}"')
        report = pqd.check(spec(tmp_path / str(number), *changes, ('epsilon = "1/4"', "")))
        gaps: list[float] = [(SECRET.age > 40).sum() - (COPY.age > 40).sum()]
        gaps.append(max(abs(SECRET.job.value_counts() - COPY.job.value_counts())))
        gaps += [SECRET.age.median() - COPY.age.median()]
        gaps += [(SECRET.age > 20).sum() - (COPY.age > 20).sum()]
        expected = ["as expected" if abs(gap) < 30 else "not as expected" for gap in gaps]
        assert [entry.status for entry in report.checks] == expected


def test_a_mechanism_is_chosen_where_none_is_named(tmp_path: Path) -> None:
    report = pqd.check(spec(tmp_path, ('sharing = "identity"\n', "")))
    assert report.cost.epsilon == Fraction(17, 20)


def test_chosen_checks_share_the_whole(tmp_path: Path, account: Path) -> None:
    report = pqd.check(spec(tmp_path), only=["old", "middle"])
    assert [entry.verdicts[0].epsilon for entry in report.checks] == [Fraction(3, 10)] * 2
    assert spent(account) == [Fraction(3, 5)]


def test_a_broken_check_takes_no_share(tmp_path: Path) -> None:
    report = pqd.check(spec(tmp_path, ("MEDIAN(age)", "MEDIAN(aeg)")))
    assert [entry.gate for entry in report.checks][2] == "error"
    assert report.checks[0].verdicts[0].epsilon == Fraction(3, 5)
    assert report.cost.epsilon == Fraction(17, 20)


def test_a_mechanism_that_does_not_fit_is_refused(command: Command, tmp_path: Path) -> None:
    code, out, err = command("check", str(spec(tmp_path, ('"identity"', '"ranges"'))))
    assert (code, out) == (2, "")
    assert "COUNT: " in err
    assert not (tmp_path / "ledger.sqlite").exists()


def test_a_condition_that_no_batch_knows_is_set_aside(command: Command, tmp_path: Path) -> None:
    path = spec(tmp_path, ("age > 40", "job LIKE '%oo%'"))
    # The noise is real, so that the checks hold or fail; which decider answers is public.
    _, out, err = command("check", str(path), "--output", "json=-")
    assert err == ""
    deciders = [v["decider"] for check in json.loads(out)["checks"] for v in check["verdicts"]]
    assert "inv_count" in deciders
    assert "identity_batch" in deciders


def test_a_budget_for_all_and_one_for_each_are_refused(tmp_path: Path) -> None:
    path = spec(tmp_path, ("tau = 30", "tau = 30\nepsilon = 1"))
    line = path.read_text(encoding="utf-8").splitlines().index("[shared_budget]") + 1
    with pytest.raises(SpecError, match=r"\[defaults\] gives every check an epsilon") as caught:
        read_spec(path)
    assert f"audit.toml, line {line}: " in str(caught.value)


def test_a_missing_epsilon_says_that_a_shared_budget_would_do(tmp_path: Path) -> None:
    path = spec(tmp_path, ('[shared_budget]\ntotal_epsilon = "3/5"\nsharing = "identity"\n', ""))
    with pytest.raises(SpecError, match=r"add epsilon = 0.25 .*, \[shared_budget\] or ") as caught:
        read_spec(path)
    assert str(caught.value).count("has no epsilon") == 3


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('total_epsilon = "3/5"\n', "", r"\[shared_budget\] has no total_epsilon"),
        ('"3/5"', "0", "epsilon"),
        ('"identity"', '"magic"', "sharing"),
        ("sharing =", "sharin =", "sharing"),
    ],
)
def test_a_wrong_shared_budget_is_refused_with_its_line(
    tmp_path: Path, before: str, after: str, message: str
) -> None:
    path = spec(tmp_path, (before, after))
    with pytest.raises(SpecError, match=message) as caught:
        read_spec(path)
    assert all(5 <= (problem.place.line or 0) <= 8 for problem in caught.value.problems)


def test_simulated_checks_are_stamped(tmp_path: Path) -> None:
    report = run_check(read_spec(spec(tmp_path)), SimulatedNoise(3))
    assert all(v.simulated for entry in report.checks for v in entry.verdicts)
    assert "SIMULATED" in str(report)


def test_terms_are_those_of_the_checks(tmp_path: Path) -> None:
    """A check of its own tolerance and level is judged by these, from the release of all."""
    path = spec(tmp_path, ('id = "old"\n', 'id = "old"\ntau = "500%"\nalpha = 0.2\n'))
    report = run_check(read_spec(path), SimulatedNoise(3))
    (verdict,) = report.checks[0].verdicts
    assert verdict.tau == 5 * (COPY.age > 40).sum()
    assert verdict.alpha == Fraction(1, 5)
    assert (verdict.outcome, verdict.standing) == ("yes", "trusted")
