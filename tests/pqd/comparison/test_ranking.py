"""Ranking of copies: exact without noise, and right about who is better as often as it says."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pqd.commands.profile import run_profile
from pqd.commands.rank import run_ranking
from pqd.comparison import ranking as module
from pqd.comparison.ranking import Ranking, RankingParameters, RankingPlan
from pqd.deciders.distances.relations import RelationsEstimates
from pqd.deciders.noise import SimulatedNoise
from pqd.engine.scan_plan import PrivacyUnit
from pqd.errors import ParameterError
from pqd.marginals.profile_parameters import ProfileParameters
from pqd.reports.models.ranking import RankingReport
from pqd.reports.models.relations import RelationsFacts
from tests.support.noises import Absent

ROWS = 3_000


def table(seed: int, share: float = 0.5, rows: int = ROWS) -> pd.DataFrame:
    """Sexes, jobs that depend on them, and a person for every two rows."""
    rng = np.random.default_rng(seed)
    sex = np.where(rng.random(rows) < share, "f", "m")
    job = np.where(rng.random(rows) < 0.7, np.where(sex == "f", "cook", "smith"), "nurse")
    return pd.DataFrame({"sex": sex, "job": job, "person": np.arange(rows) // 2})


PRIVATE = table(1)
COPIES = {
    name: table(seed, share).drop(columns="person")
    for seed, (name, share) in enumerate({"good": 0.5, "worse": 0.4, "worst": 0.1}.items(), start=2)
}


def ranked(
    noise: Any = None,
    unit: PrivacyUnit | None = None,
    copies: Mapping[str, Any] = COPIES,
    **stated: Any,
) -> RankingReport:
    parameters = RankingParameters.parse(**{"total_epsilon": 1, **stated})
    return run_ranking(PRIVATE, copies, parameters, noise or Absent(), unit=unit)


def distance(copy: pd.DataFrame, columns: Sequence[str]) -> Fraction:
    """Total variation of a marginal, by hand; cells that one of them lacks count too."""
    mine, others = (t.groupby(list(columns)).size() for t in (PRIVATE, copy))
    cells = set(mine.index) | set(others.index)
    gaps = (
        abs(
            Fraction(int(mine.get(c, 0)), len(PRIVATE)) - Fraction(int(others.get(c, 0)), len(copy))
        )
        for c in cells
    )
    return sum(gaps, Fraction(0)) / 2


@pytest.mark.parametrize("marginals", [False, True])
@pytest.mark.parametrize("ways", [1, 2])
def test_scores_are_the_mean_distances(ways: int, *, marginals: bool) -> None:
    report = ranked(ways=ways, marginals=marginals)
    assert report.ways == ways
    for copy in report.copies:
        own = COPIES[copy.candidate]
        of_ways = [
            [float(distance(own, names)) for names in combinations(["sex", "job"], size)]
            for size in range(1, ways + 1)
        ]
        means = [sum(each) / len(each) for each in of_ways]
        assert copy.overall.estimate is not None
        # A whole row is the finest that is released.
        assert copy.overall.estimate.value == pytest.approx(1 - np.mean(means), abs=0.51 / ROWS)
        assert copy.overall.marginals == (2 if ways == 1 else 3)
        assert 0.97 < copy.overall.reference < 1
        assert len(copy.scores) == (ways if marginals else 0)
        for score, mean in zip(copy.scores, means, strict=False):
            assert score.estimate is not None
            assert score.estimate.value == pytest.approx(1 - mean, abs=0.51 / ROWS)
    assert [copy.candidate for copy in report.copies] == list(COPIES)
    assert report.rows.value == ROWS


def test_each_marginal_of_each_copy_is_there_if_asked_for() -> None:
    assert ranked().marginals == ()
    report = ranked(marginals=True)
    worst = [each.worst for each in report.marginals]
    assert worst == sorted(worst, reverse=True)
    for each in report.marginals:
        for copy, figure in zip(report.copies, each.estimates, strict=True):
            exact = float(distance(COPIES[copy.candidate], each.columns))
            assert figure is not None
            assert figure.value == pytest.approx(exact, abs=0.51 / ROWS)


def test_the_price_is_that_of_one_number_for_each_copy() -> None:
    few, many = ranked(), ranked(marginals=True)
    for report, numbers in ((few, 3), (many, 9)):
        assert report.cost.epsilon == 1
        assert sum(part.epsilon for part in report.budget) == 1
        assert report.budget[0].numbers == numbers
    # A coordinate of cube noise has a variance of about (K + 1)(K + 2)/3 at epsilon 1.
    expected = math.sqrt(110 / 20) * (6 / 7) / (12 / 13)
    assert many.budget[0].scale / few.budget[0].scale == pytest.approx(expected, rel=0.05)


def test_a_person_of_two_rows_is_paid_for_twice() -> None:
    alone, together = ranked(), ranked(unit=PrivacyUnit("person", 2))
    assert together.cost.epsilon == alone.cost.epsilon == 1
    assert together.budget[0].scale == pytest.approx(2 * alone.budget[0].scale, rel=0.01)


def test_ranks_are_those_that_are_established() -> None:
    sure, unsure = ranked(total_epsilon=100), ranked(SimulatedNoise(5), total_epsilon="0.002")
    names = list(COPIES)
    assert set(sure.better) == set(combinations(names, 2))
    assert [(copy.best_rank, copy.worst_rank) for copy in sure.copies] == [(1, 1), (2, 2), (3, 3)]
    assert unsure.better == ()
    assert {(copy.best_rank, copy.worst_rank) for copy in unsure.copies} == {(1, 3)}


def test_one_copy_is_a_ranking_too() -> None:
    report = ranked(copies={"good": COPIES["good"]})
    assert report.better == ()
    assert [(copy.best_rank, copy.worst_rank) for copy in report.copies] == [(1, 1)]


# Relations ---------------------------------------------------------------------------------------

SHUFFLED = COPIES["good"].assign(job=COPIES["good"].job.sample(frac=1, random_state=3).to_numpy())
MIXED = {
    "shuffled": SHUFFLED,
    "worse": table(5, 0.3)[["sex", "job"]],
    "worst": table(6, 0.2)[["sex", "job"]],
}


def kept(report: RankingReport) -> dict[str, RelationsFacts]:
    return {each.candidate: each.relations for each in report.copies if each.relations}


def flat(report: RankingReport) -> str:
    return " ".join(str(report).split())


def test_relations_of_a_copy_are_those_of_its_profile() -> None:
    """The same scores, whoever else is compared; each copy in cells of its own."""
    copies = {**MIXED, "other": COPIES["good"].assign(sex=COPIES["good"].sex.replace("m", "x"))}
    facts = kept(ranked(copies=copies, total_epsilon=9))
    assert list(facts) == [each.candidate for each in ranked(copies=copies, total_epsilon=9).copies]
    for name, copy in copies.items():
        alone = profiled(copy, Absent())
        assert facts[name].independence == alone.independence
        for figure, other in (
            (facts[name].estimate, alone.estimate),
            (facts[name].relations, alone.relations),
        ):
            assert figure
            assert other
            assert figure.value == other.value
            assert figure.low <= other.low <= other.high <= figure.high


def profiled(copy: pd.DataFrame, noise: Any) -> RelationsFacts:
    parameters = ProfileParameters.parse(total_epsilon=9, anyway=True)
    facts = run_profile(PRIVATE, copy, parameters, noise).relations
    assert facts
    return facts


def test_a_profile_and_a_ranking_agree_within_their_noise() -> None:
    inside = []
    for seed in range(40):
        together = kept(ranked(SimulatedNoise(seed), copies=MIXED, total_epsilon=9))
        for name, copy in list(MIXED.items())[:2]:
            one, other = together[name].estimate, profiled(copy, SimulatedNoise(99 + seed)).estimate
            assert one
            assert other
            inside.append(one.low <= other.high and other.low <= one.high)
    assert np.mean(inside) >= 0.95


def test_a_copy_that_lost_its_relations_is_never_called_the_best() -> None:
    report = ranked(copies=MIXED, total_epsilon=9)
    assert report.copies[0].candidate == "shuffled"
    facts = kept(report)
    assert facts["shuffled"].is_lost
    assert [facts[name].is_kept for name in ("worse", "worst")] == [True, True]
    text = flat(report)
    assert text.startswith("The columns of shuffled are nearly independent")
    assert "shuffled is the best" not in text
    assert "shuffled has the highest quality of 3 copies; its relations are NOT kept" in text
    better = "shuffled is better than worse and worst, with probability 95 %"
    assert f"{better}; its relations are NOT kept." in text
    assert "worse is better than worst, with probability 95 %." in text
    assert "NOT kept, " in text
    html = " ".join(report.to_html().split())
    assert "Of the 2 copies established to keep more than 50 % of the relations, worse has" in html
    alone = ranked(copies={"shuffled": SHUFFLED})
    assert "Overall quality of shuffled: 8" in flat(alone)
    assert "; its relations are NOT kept" in flat(alone)


def test_an_undecided_best_names_those_that_lost_relations() -> None:
    report = replace(ranked(copies=MIXED, total_epsilon=9), better=())
    between = "undecided between shuffled, worse and worst; relations are NOT kept by shuffled"
    assert between in flat(report)
    unsure = ranked(total_epsilon="0.05")
    best = replace(unsure, better=tuple(combinations(COPIES, 2)))
    assert kept(best)["good"].is_undecided
    assert "good is the best of 3 copies; whether its relations are kept is undecided" in flat(best)


def test_nearly_independent_columns_are_told_where_noise_hides_what_is_lost() -> None:
    report = ranked(copies=MIXED, total_epsilon="0.05")
    best = replace(report, better=tuple(combinations(MIXED, 2)))
    assert kept(best)["shuffled"].is_undecided
    text = flat(best)
    assert "shuffled is the best" not in text
    near = "its columns are nearly independent"
    assert f"shuffled has the highest quality of 3 copies; {near}" in text
    assert f"better than worse and worst, with probability 95 %; {near}." in text
    tied = flat(replace(report, better=()))
    assert "shuffled, worse and worst; columns of shuffled are nearly independent" in tied


def test_the_bar_is_the_callers() -> None:
    report = ranked(copies={"half": pd.concat([SHUFFLED, COPIES["good"]])}, relations="10%")
    facts = kept(report)["half"]
    assert (facts.bar, facts.is_kept) == (0.1, True)
    assert kept(ranked(copies=MIXED, relations=0.9, total_epsilon=9))["shuffled"].is_lost
    with pytest.raises(ParameterError, match="relations is 2"):
        ranked(relations=2)


def test_relations_have_a_tenth_of_the_budget_in_one_release() -> None:
    report = ranked()
    parts = {part.part: part for part in report.budget}
    assert parts["relations"].epsilon == Fraction(1, 10)
    assert parts["relations"].numbers == 9
    assert parts["distances"].epsilon + parts["rows"].epsilon == Fraction(9, 10)
    assert report.cost.epsilon == 1
    frame = report.to_frame()
    assert frame["relations_standing"].tolist()[0] == "within"
    assert frame["relations_kept"].tolist()[0] > 0.9


def test_without_pairs_there_are_no_relations() -> None:
    report = ranked(ways=1)
    assert kept(report) == {}
    assert [part.part for part in report.budget] == ["distances", "rows"]
    (best,) = [text for text in flat(report).split(". ") if "is the best of 3 copies" in text]
    assert best.endswith("; relations between columns are not judged")
    assert report.to_frame()["relations_kept"].isna().all()


def numbers(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    first = rng.random(rows)
    return pd.DataFrame({"a": first, "b": first + rng.random(rows) / 4})


def test_a_copy_whose_pairs_have_too_many_cells_has_no_relations() -> None:
    """The other copies have them, and the release has no numbers for it."""
    copies = {"small": numbers(500, 1), "large": numbers(3_000, 2)}
    parameters = RankingParameters.parse(total_epsilon=1, cells={"a": 40, "b": 40})
    report = run_ranking(numbers(3_000, 3), copies, parameters, Absent())
    assert list(kept(report)) == ["large"]
    assert kept(report)["large"].is_kept
    assert report.budget[-1].numbers == 3
    assert "no pairs" in flat(report)


# Claims over many draws --------------------------------------------------------------------------

# Two copies that are equally good, one that is better by 40 rows, one that is far off.
EXACT = [Fraction(300), Fraction(300), Fraction(260), Fraction(900)]


def falsely_better(
    better: Callable[[Ranking], Sequence[tuple[int, int]]], epsilon: str, runs: int = 400
) -> float:
    """Share of runs in which a copy is called better that is not."""
    wrong = 0
    for ranking in drawn(epsilon, runs):
        wrong += any(EXACT[a] >= EXACT[b] for a, b in better(ranking))
    return wrong / runs


def drawn(epsilon: str, runs: int) -> list[Ranking]:
    """Rankings of copies at the ``EXACT`` distances, each from its own draw."""
    copies = {str(place): COPIES["good"] for place in range(len(EXACT))}
    plan = planned(copies, epsilon)
    release, budget = plan.measurement.mechanism.release, plan.measurement.budget
    return [
        Ranking(plan, release(EXACT, ROWS, budget, SimulatedNoise(seed)), Fraction(1, 20))
        for seed in range(runs)
    ]


def planned(copies: Mapping[str, pd.DataFrame], epsilon: str) -> RankingPlan:
    plans: list[RankingPlan] = []
    make = module.plan_ranking

    def kept(*stated: Any) -> RankingPlan:
        plans.append(make(*stated))
        return plans[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pqd.commands.rank.plan_ranking", kept)
        ranked(copies=copies, total_epsilon=epsilon)
    return plans[0]


def test_verdicts_and_intervals_are_of_all_copies_at_once() -> None:
    plan, released = planned(MIXED, "3"), (300, 700, 50)
    assert plan.relations
    law = plan.relations.law
    assert law.numbers == 9
    ranking = Ranking(plan, [ROWS, 500, 600, 700], Fraction(1, 20), released * 3)
    alone = RelationsEstimates(released, law, 0.05).verdict(plan.bar).p_value
    at_once = RelationsEstimates(released, law, 0.05 / 3)
    assert 0 < alone < 3 * alone < 1
    for copy in ranking.copies(dict.fromkeys(MIXED, "")):
        assert copy.relations
        assert copy.relations.p_value == pytest.approx(3 * alone)
        assert copy.relations.estimate == pytest.approx(at_once.kept)
        assert copy.relations.conclusive == (3 * alone <= 0.05)


@pytest.mark.parametrize("epsilon", ["0.1", "1"])
def test_who_is_better_is_false_no_more_often_than_stated(epsilon: str) -> None:
    assert falsely_better(lambda ranking: ranking.better, epsilon) <= 0.05


def test_a_ranking_by_estimates_alone_is_caught() -> None:
    """Broken twin: the order of the noisy scores, taken for established."""

    def by_order(ranking: Ranking) -> list[tuple[int, int]]:
        return list(combinations(ranking.order, 2))

    assert falsely_better(by_order, "1", 40) > 0.9


def test_what_is_far_apart_is_told_apart() -> None:
    found = [set(ranking.better) for ranking in drawn("1", 40)]
    assert all({(0, 3), (1, 3), (2, 3)} <= better for better in found)
    assert sum((2, 0) in better for better in found) > 30


def test_where_a_person_has_several_rows_chance_is_that_of_persons() -> None:
    """The bootstrap that is good in rows is as good in persons, and the far copy is as far."""
    copies = {name: each.assign(person=np.arange(ROWS) // 2) for name, each in COPIES.items()}
    report = ranked(unit=PrivacyUnit("person", 2), copies=copies)
    assert all(each.overall.mark is not None for each in report.copies)


# Alarms ------------------------------------------------------------------------------------------

LEAK, SAMPLE = PRIVATE.iloc[1:].drop(columns="person"), COPIES["good"]


def standings(report: RankingReport) -> dict[str, str | None]:
    return {each.candidate: each.alarm.standing if each.alarm else None for each in report.copies}


@pytest.mark.parametrize("names", [("leak", "good"), ("leak", "good", "worse", "worst")])
def test_a_copy_that_is_too_near_is_never_the_best(names: Sequence[str]) -> None:
    report = ranked(copies={"leak": LEAK, **{name: COPIES[name] for name in names[1:]}})
    assert report.copies[0].candidate == "leak"
    assert standings(report) == {"leak": "closer than drawn"} | dict.fromkeys(names[1:])
    text = " ".join(str(report).split())
    assert "leak has the highest quality, but is too near to be called the best" in text
    assert "leak is the best" not in text
    assert text.startswith("ERROR: leak is closer to the private table than rows drawn")


def test_one_copy_that_is_too_near_has_no_quality_for_a_title() -> None:
    text = " ".join(str(ranked(copies={"leak": LEAK})).split())
    assert "leak is too near to be called good" in text
    assert "Overall quality of leak" not in text


def test_a_copy_that_is_too_near_is_no_rival_either() -> None:
    """Whatever the noise makes of the order, the title names honest copies alone."""
    copies = {"twin": LEAK, "leak": LEAK.iloc[2:], "good": SAMPLE}
    report = ranked(copies=copies)
    swapped = replace(report, copies=(report.copies[2], *report.copies[:2]), better=())
    assert swapped.copies[0].candidate == "good"
    text = " ".join(str(swapped).split())
    assert "good is the only copy that is not too near" in text
    assert "Too near to be called the best: leak and twin." in " ".join(swapped.to_html().split())
    assert "undecided between" not in text


def test_the_epsilon_of_a_copy_explains_its_alarm_alone() -> None:
    copies = {"boot": LEAK, "leak": LEAK.iloc[2:], "good": SAMPLE}
    report = ranked(copies=copies, copy_epsilon={"boot": "0.5"})
    assert standings(report) == {
        "boot": "closer than independent", "leak": "closer than drawn", "good": None
    }  # fmt: skip
    (boot,) = [each.alarm for each in report.copies if each.candidate == "boot"]
    assert boot
    assert boot.copy_epsilon == Fraction(1, 2)
    text = " ".join(str(report).split())
    assert "NOTE: boot is closer to the private table than an independent real sample" in text
    assert "It is said to be made under epsilon 0.5" in text


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"bot": 1}, r"names 'bot'; did you mean boot\?"),
        ({"boot": 0}, "greater than 0"),
        (1, "of a copy is by its name"),
    ],
)
def test_an_epsilon_is_of_a_copy_that_is_there(stated: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        ranked(copies={"boot": LEAK, "good": SAMPLE}, copy_epsilon=stated)


def test_the_command_takes_the_epsilon_of_each_copy(
    tmp_path: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    tables = {"private": PRIVATE, "boot": LEAK, "good": SAMPLE}
    for name, each in tables.items():
        each.to_csv(tmp_path / f"{name}.csv", index=False)
    private, *copies = (f"{name}={tmp_path / name}.csv" for name in tables)
    run = ["compare", private.partition("=")[2], *copies]
    code, out, _ = command(*run, "--total-epsilon", "1", "--copy-epsilon", "boot=1")
    assert code == 0
    assert out.startswith("NOTE: boot")
    code, _, err = command(*run, "--total-epsilon", "1", "--copy-epsilon", "1")
    assert (code, "write it as tree=1" in err) == (2, True)
    query = ("-q", "SELECT COUNT(*) FROM D", "--tau", "5%", "--epsilon", "1")
    code, _, err = command(*run, *query, "--copy-epsilon", "boot=1")
    assert (code, "--copy-epsilon" in err) == (2, True)
