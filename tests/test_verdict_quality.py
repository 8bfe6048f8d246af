"""The benchmark of verdict quality: its problems, its entrants' chances, and its scores."""

import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.quality.entrants import (
    Chances,
    Constant,
    Entrant,
    chances_of,
    noise_of,
    tried,
)
from benchmarks.quality.entries import generated_pairs, tables_of
from benchmarks.quality.noisy_answers import BY_HAND, candidates, reach, scores
from benchmarks.quality.pqd_entrants import DISPATCHERS, SINGLE, Dispatcher, histogram_on
from benchmarks.quality.problems import (
    AGGREGATES,
    ALPHA,
    DrawnQuery,
    Problem,
    Tables,
    drawn_queries,
    outwards,
    problems_of,
)
from benchmarks.quality.results import results_of
from benchmarks.quality.scores import Mean, scores_of, with_errors
from benchmarks.quality.similarity import TunedScore, best_threshold
from pqd.deciders.distributions import noise_tail
from pqd.engine.scan_plan import ScanPlan
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
TENTH, ONE = Fraction(1, 10), Fraction(1)
EPSILONS = TENTH, ONE


@pytest.fixture(scope="module")
def tables() -> Tables:
    _, pair, *_ = generated_pairs()
    return tables_of(pair, 0)


@pytest.fixture(scope="module")
def queries(tables: Tables) -> list[DrawnQuery]:
    return drawn_queries(tables, 2 * len(AGGREGATES))


@pytest.fixture(scope="module")
def problems(queries: list[DrawnQuery]) -> list[Problem]:
    return [problem for query in queries for problem in problems_of(query, [TENTH])]


def fitting(
    problems: list[Problem], entrants: tuple[Entrant, ...]
) -> Iterator[tuple[Entrant, Problem]]:
    yield from ((e, problem) for problem in problems for e in entrants if e.fits(problem))


# Problems -----------------------------------------------------------------------------------------


def test_queries_are_drawn_of_the_copy_alone(tables: Tables, queries: list[DrawnQuery]) -> None:
    half = tables.private.iloc[: len(tables.private) // 2]
    other = drawn_queries(Tables(tables.name, tables.seed, half, tables.copy), len(queries))
    assert [each.sql for each in other] == [each.sql for each in queries]
    assert [each.answers[1] for each in other] == [each.answers[1] for each in queries]
    assert [each.answers[0] for each in other] != [each.answers[0] for each in queries]
    assert [each.aggregate for each in queries] == 2 * list(AGGREGATES)


def test_another_seed_draws_other_queries(tables: Tables, queries: list[DrawnQuery]) -> None:
    other = drawn_queries(Tables(tables.name, 1, tables.private, tables.copy), 6)
    assert [each.sql for each in other] != [each.sql for each in queries[:6]]


def test_answers_are_those_of_the_query_in_sql(queries: list[DrawnQuery]) -> None:
    duckdb = pytest.importorskip("duckdb")
    for query in queries:
        sql = query.sql.replace("QUANTILE(", "quantile_disc(").replace("MEDIAN(", "quantile_disc(")
        if query.aggregate == "MEDIAN":
            sql = sql.replace('") FROM', '", 0.5) FROM')
        D = query.tables.private  # noqa: N806, F841 - the name of the table in the SQL
        ((found,),) = duckdb.sql(sql).fetchall()
        assert float(query.answers[0] or 0) == pytest.approx(float(found))


def test_hard_problems_have_one_no_and_one_yes(problems: list[Problem]) -> None:
    hard = {stratum: set[bool]() for stratum in ("half the gap", "twice the gap")}
    for problem in problems:
        if problem.is_hard:
            hard[problem.stratum].add(problem.truth)
    assert hard == {"half the gap": {False}, "twice the gap": {True}}


@pytest.mark.parametrize(
    ("ends", "rounded"), [((17, 90), (17, 90)), ((-8019, 102_127), (-8100, 110_000))]
)
def test_a_domain_is_rounded_outwards(ends: tuple[int, int], rounded: tuple[int, int]) -> None:
    assert outwards(*ends) == rounded


# Chances ------------------------------------------------------------------------------------------


def test_chances_are_chances_and_valid_p_values_keep_alpha(problems: list[Problem]) -> None:
    plain = [problem for problem in problems if not problem.is_hard]
    for entrant, problem in fitting(plain[: len(AGGREGATES)], (*DISPATCHERS, *SINGLE, *BY_HAND)):
        chances = chances_of(entrant, problem, TENTH)
        assert min(chances.yes, chances.no, chances.says_yes) >= 0
        assert chances.yes + chances.no <= 1 + 1e-9
        if chances.exact and not isinstance(entrant, type(BY_HAND[0])):
            assert (chances.no if problem.truth else chances.yes) <= float(ALPHA) + 1e-9


def shares(entrant: Entrant, problem: Problem, trials: int) -> tuple[float, float, float]:
    noise = noise_of(entrant.name, problem, ONE)
    answers = [entrant.verdict(problem, ONE, noise) for _ in range(trials)]
    return (
        float(np.mean([each.says_yes is True for each in answers])),
        float(np.mean([each.says_yes is True and each.conclusive for each in answers])),
        float(np.mean([each.says_yes is False and each.conclusive for each in answers])),
    )


@pytest.mark.thorough
def test_exact_chances_are_those_of_trials(problems: list[Problem]) -> None:
    """The largest of some 500 differences stays below five standard errors of 200 trials."""
    trials = 200
    for entrant, problem in fitting(problems, (*DISPATCHERS, *SINGLE, *BY_HAND)):
        chances = chances_of(entrant, problem, ONE)
        if not chances.exact or problem.stratum == "twice the gap":
            continue
        found = shares(entrant, problem, trials)
        for share, chance in zip(found, chances[:3], strict=True):
            error = math.sqrt(max(chance * (1 - chance), 1 / trials) / trials)
            assert abs(share - chance) < 5 * error, (entrant.name, problem.key)


def cut_tables(rows: int) -> Tables:
    """Six private rows lie far beyond the copy's values, so that these are cut to the copy's."""
    rng = np.random.default_rng(3)
    private = pd.DataFrame({"kind": "a", "income": rng.integers(0, 900, rows)})
    private.loc[:5, "income"] = 1_000_000
    return Tables(
        "cut", 0, private, pd.DataFrame({"kind": "a", "income": rng.integers(0, 900, 400)})
    )


def cut_problems(rows: int) -> list[Problem]:
    """Plain problems on a SUM and an AVG."""
    queries = [q for q in drawn_queries(cut_tables(rows), 3) if q.aggregate != "COUNT"]
    return [p for query in queries for p in problems_of(query, [TENTH]) if not p.is_hard]


def test_values_cut_at_the_copy_are_counted_as_the_engine_counts_them() -> None:
    for problem in cut_problems(400):
        plan = Dispatcher("auto").plan(problem, ONE)
        assert plan.condition is not None
        found, tables = histogram_on(plan, problem), problem.query.tables
        private = open_table(tables.private, "private")
        read = SyntheticTables([open_table(tables.copy, "synthetic")], private)
        schema = read.schema(["income", "kind"], {})
        (counted,) = read.engine.histograms(private, schema, ScanPlan((plan.statistic,)))
        for name in ("values", "counts"):
            assert np.array_equal(getattr(found, name), getattr(counted, name))
        assert found.rows_beyond == counted.rows_beyond >= 6


def test_a_verdict_on_cut_values_is_undecided_but_for_the_side_of_the_stated_bound() -> None:
    """A SUM of many more rows is too large, wherever the values beyond the copy's lie."""
    auto = Dispatcher("auto")
    for rows, proven in ((400, 0.04), (1500, 1.0)):
        total, mean = cut_problems(rows)
        assert chances_of(auto, total, ONE).no == pytest.approx(proven, abs=0.005)
        assert tried(auto, total, ONE).no == pytest.approx(proven, abs=0.15)
        assert chances_of(auto, total, ONE).yes == chances_of(auto, mean, ONE).yes == 0
        assert chances_of(auto, mean, ONE).no == tried(auto, mean, ONE).no == 0


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(10), Fraction(10**6, 7)])
def test_the_reach_of_noise_is_the_least_one(scale: Fraction) -> None:
    w = reach(scale, ALPHA)
    assert 2 * noise_tail(w + 1, scale) <= ALPHA
    assert w == 0 or 2 * noise_tail(w, scale) > ALPHA


@pytest.mark.thorough
def test_a_quantile_by_hand_is_opendp_s(queries: list[DrawnQuery]) -> None:
    """Its scores and its scale are those at which OpenDP states epsilon."""
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64")), dp.symmetric_distance()
    seen = set()
    for query in queries:
        if query.aggregate not in {"MEDIAN", "QUANTILE"}:
            continue
        seen.add(query.p)
        points, share = candidates(query), float(query.p)
        rows = np.repeat(query.private.values, query.private.counts).tolist()
        score = dp.t.make_quantile_score_candidates(*domain, points.tolist(), share)
        largest = max(query.p.numerator, query.p.denominator - query.p.numerator)
        ours, theirs = np.array(scores(query, points)), np.array(score(rows))
        assert (ours * score.map(1) == theirs * largest).all()
        scale = float(2 * max(query.p, 1 - query.p) / TENTH)
        released = dp.m.make_private_quantile(
            *domain, dp.max_divergence(), points.tolist(), alpha=share, scale=scale
        )
        assert released.map(1) == pytest.approx(0.1)
    assert len(seen) > 1


def test_trials_do_not_depend_on_other_entrants(problems: list[Problem]) -> None:
    problem = problems[2]
    by_hand = BY_HAND[0]
    alone = tried(by_hand, problem, TENTH)
    tried(BY_HAND[1], problem, TENTH)
    assert tried(by_hand, problem, TENTH) == alone
    assert not alone.exact


# Scores -------------------------------------------------------------------------------------------


def test_a_score_is_judged_on_queries_that_it_was_not_tuned_on(problems: list[Problem]) -> None:
    """Scores of chance: tuned on the same queries they would err less than half of the time."""
    rng = np.random.default_rng(5)
    drawn: dict[DrawnQuery, float] = {}
    chance = TunedScore("chance", lambda query: drawn.setdefault(query, rng.random()))
    tuned = chance.tuned(problems)
    one = next(each for each in problems if each.query.turn == 0 and not each.is_hard)
    same = [
        each
        for each in problems
        if each.query.turn == 1
        and each.query.aggregate == one.query.aggregate
        and each.stratum == one.stratum
    ]
    threshold = best_threshold([(drawn[each.query], each.truth) for each in same])
    assert tuned.chances(one, ONE).yes == float(drawn[one.query] >= threshold)


def test_the_best_threshold_has_the_least_balanced_error() -> None:
    pairs = [(0.1, False), (0.2, False), (0.3, True), (0.4, False), (0.9, True)]
    assert best_threshold(pairs) == 0.3
    assert best_threshold([(0.5, False)]) == math.inf


def test_problems_of_one_query_count_once_in_a_standard_error() -> None:
    values, seeds = np.array([0.0, 1.0, 0.0, 1.0]), np.array([0, 0, 1, 1])
    kinds = np.zeros(4, np.int64)
    once = Mean.of(values, np.arange(4), seeds, kinds)
    twice = Mean.of(*(np.repeat(x, 9) for x in (values, np.arange(4), seeds, kinds)))
    assert once.by_query == pytest.approx(np.std(values, ddof=1) / 2)
    assert twice.by_query == pytest.approx(once.by_query)
    assert once.over_seeds == 0


def test_a_balanced_error_gives_both_truths_the_same_weight() -> None:
    wrong, within = np.array([0.0, 0.0, 0.0, 1.0]), np.array([1, 1, 1, 0])
    codes = np.arange(4)
    assert Mean.of(wrong, codes, codes, within).value == pytest.approx(0.5)
    assert math.isnan(Mean.of(wrong, codes, 0 * codes, within).over_seeds)


def test_constants_err_in_half_and_no_leaning_counts_half(problems: list[Problem]) -> None:
    class Silent(Constant):
        def chances(self, problem: Problem, epsilon: Fraction) -> Chances:
            del problem, epsilon
            return Chances(0.5, 0.0, 0.0)

    silent = Silent(says_yes=True)
    silent.name = "silent"
    entrants: list[Entrant] = [Dispatcher("auto"), Constant(says_yes=True), silent]
    found = scores_of(results_of(problems, entrants, [ONE]))
    cells = {name: found[found["entrant"] == name] for name in ("auto", "always yes", "silent")}
    for always in cells["always yes"].itertuples():
        within, number = int(str(always.within)), int(str(always.problems))
        assert always.error == (0.5 if 0 < within < number else 1 if not within else 0)
        assert always.above_alpha == number - within
    assert cells["silent"]["error"].tolist() == [0.5] * len(cells["silent"])
    assert not cells["silent"]["decided"].any()
    assert not cells["auto"]["error_above_auto"].any()


def test_errors_are_false_yes_and_false_no() -> None:
    rows = {"within": [1, 0], "says_yes": [0.9, 0.9], "yes": [0.7, 0.7], "no": [0.1, 0.1]}
    judged = with_errors(pd.DataFrame(rows))
    assert judged["error"].tolist() == pytest.approx([0.1, 0.9])
    assert judged["false"].tolist() == pytest.approx([0.1, 0.7])
    assert judged["error_undecided_half"].tolist() == pytest.approx([0.2, 0.8])
