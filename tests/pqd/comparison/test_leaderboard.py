"""Shares, bands and pairs: exact small cases, and how often they miss the truth."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from pqd.commands.compare import run_compare
from pqd.comparison.comparison_parameters import ComparisonParameters
from pqd.comparison.comparison_results import outcome_of
from pqd.comparison.leaderboard import Evidence, band, better, leaderboard
from pqd.deciders import SimulatedNoise, answer
from pqd.deciders.histogram import HALF
from pqd.engine.scan_plan import ScanPlan
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.parameters import Parameters
from pqd.planning.binding import bind
from pqd.planning.planned_comparison import PlannedComparison, select_estimators
from pqd.reports.models.audit import Cost
from pqd.reports.models.compare import (
    CandidateKind,
    Cell,
    ComparedQuery,
    CompareReport,
    LeaderboardRow,
    ranking_queries,
)
from pqd.reports.models.standings import Outcome
from pqd.run.execution import Outputs, quote_sets
from pqd.sql.query import Query
from pqd.sql.workload_files import as_queries

ALPHA = Fraction(1, 20)
LEVEL = 0.05
Values = Sequence[float]
Floats = NDArray[np.float64]
Truth = NDArray[np.bool_]


def certain(_a: int, _b: int) -> float:
    return 0.0


def unknown(_a: int, _b: int) -> float:
    return 1.0


def of(
    within: Values,
    outside: Values | None = None,
    weight: int = 1,
    never: Callable[[int, int], float] = unknown,
) -> Evidence:
    """Evidence of one query; without ``outside``, where "within" is sure the other is not."""
    against = [1.0 if p < 0.5 else 0.0 for p in within] if outside is None else outside
    return Evidence(Fraction(weight), tuple(within), tuple(against), never)


# Bands --------------------------------------------------------------------------------------------


def test_what_is_sure_leaves_no_room() -> None:
    sure = [of([0.0]), of([0.0]), of([1.0]), of([0.0])]
    assert band(sure, 0, LEVEL) == (0.75, 0.75)


def test_what_is_unknown_leaves_all_room() -> None:
    assert band([of([1.0], [1.0])] * 5, 0, LEVEL) == (0.0, 1.0)
    assert band([of([0.3], [0.4])] * 5, 0, LEVEL) == (0.0, 1.0)


def test_the_two_ends_have_their_own_claims() -> None:
    found = [of([0.01], [1.0]), of([1.0], [0.01]), of([1.0], [1.0])]
    # Each end: one claim of three, worth 0.01 <= 0.05 / 3.
    assert band(found, 0, LEVEL) == (float(Fraction(1, 3)), float(Fraction(2, 3)))
    # At a smaller level neither holds.
    assert band(found, 0, 0.029) == (0.0, 1.0)


def test_each_candidate_has_its_own_band() -> None:
    found = [of([0.0, 1.0]), of([0.0, 0.0])]
    assert [band(found, number, LEVEL) for number in range(2)] == [(1.0, 1.0), (0.5, 0.5)]


def test_weights_count() -> None:
    found = [of([0.0], weight=2), of([1.0]), of([0.0])]
    assert band(found, 0, LEVEL) == (0.75, 0.75)
    # Two queries of weight 1 make up for one of weight 2.
    assert band([of([1.0], weight=2), of([0.0]), of([0.0])], 0, LEVEL) == (0.5, 0.5)


def test_a_weight_is_counted_for_the_claims_that_carry_it() -> None:
    # Of two claims at 0.04 one holds by itself only if the other is refuted or true.
    heavy = [of([0.04], [1.0], weight=2), of([0.9], [1.0], weight=1)]
    assert band(heavy, 0, LEVEL) == (0.0, 1.0)
    heavy = [of([0.02], [1.0], weight=2), of([0.9], [1.0], weight=1)]
    assert band(heavy, 0, LEVEL) == (float(Fraction(2, 3)), 1.0)
    light = [of([0.9], [1.0], weight=2), of([0.02], [1.0], weight=1)]
    assert band(light, 0, LEVEL) == (float(Fraction(1, 3)), 1.0)
    # Together, but of which of them it is not known: no weight class is sure of one.
    both = [of([0.04], [1.0], weight=2), of([0.04], [1.0], weight=1), of([0.9], [1.0])]
    assert band(both, 0, LEVEL)[0] == 0


def random_evidence(seed: int, weights: Sequence[int]) -> list[Evidence]:
    rng = np.random.default_rng(seed)
    return [
        of(
            rng.choice([0.0, 0.001, 0.02, 0.4, 1.0], 4).tolist(),
            rng.choice([0.0, 0.001, 0.02, 0.4, 1.0], 4).tolist(),
            weight,
            certain if rng.random() < 0.7 else unknown,
        )
        for weight in weights
    ]


@pytest.mark.parametrize("seed", range(10))
def test_doubled_weights_change_nothing(seed: int) -> None:
    weights = np.random.default_rng(seed).integers(1, 4, 12).tolist()
    once = random_evidence(seed, weights)
    twice = random_evidence(seed, [2 * weight for weight in weights])
    assert better(once, 4, 0.5) == better(twice, 4, 0.5)
    for number in range(4):
        low, high = band(once, number, LEVEL)
        assert band(twice, number, LEVEL) == (low, high)
        assert 0 <= low <= 1
        assert 0 <= high <= 1


# Pairs --------------------------------------------------------------------------------------------


def test_who_is_sure_to_be_ahead_is_better() -> None:
    ahead = of([0.0, 1.0], never=certain)
    assert better([ahead], 2, LEVEL) == {(0, 1)}
    even = of([0.0, 0.0], never=certain)
    assert better([ahead, even, even], 2, LEVEL) == {(0, 1)}
    # What is unknown may count for the other.
    assert better([ahead, of([1.0, 1.0], [1.0, 1.0])], 2, LEVEL) == set()
    assert better([ahead, ahead, of([1.0, 1.0], [1.0, 1.0])], 2, LEVEL) == {(0, 1)}


def test_who_is_ahead_by_as_much_as_behind_is_not_better() -> None:
    one = of([0.0, 1.0], never=lambda a, _: 0.0 if a == 0 else 1.0)
    other = of([1.0, 0.0], never=lambda a, _: 0.0 if a == 1 else 1.0)
    assert better([one, other], 2, LEVEL) == set()
    assert better([one, one, other], 2, LEVEL) == {(0, 1)}
    heavy = Evidence(Fraction(3), other.within, other.outside, other.never)
    assert better([one, one, heavy], 2, LEVEL) == {(1, 0)}


def test_one_candidate_has_no_pair() -> None:
    assert better([of([0.0])], 1, LEVEL) == set()


def test_alpha_is_shared_by_pairs_and_counts() -> None:
    def of_two(p: float) -> list[Evidence]:
        return [of([p, 1.0], [1.0, p], never=certain)]

    # Two ordered pairs, two counts each.
    assert better(of_two(LEVEL / 4), 2, LEVEL) == {(0, 1)}
    assert better(of_two(LEVEL / 4 + 1e-9), 2, LEVEL) == set()

    def of_three(p: float) -> list[Evidence]:
        return [of([p, 1.0, 0.0], [1.0, p, 1.0], never=certain)]

    assert (0, 1) in better(of_three(LEVEL / 12), 3, LEVEL)
    assert (0, 1) not in better(of_three(LEVEL / 12 + 1e-9), 3, LEVEL)


@pytest.mark.parametrize("seed", range(20))
def test_pairs_are_an_order(seed: int) -> None:
    """Whatever the p-values, as long as no claim and its opposite both seem to hold."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(15):
        small, yes = rng.choice([0.0, 0.001, 0.02], 4), rng.random(4) < rng.random()
        within, outside = np.where(yes, small, 1.0), np.where(yes, 1.0, small)

        def never(a: int, b: int, within: Floats = within, outside: Floats = outside) -> float:
            return float(min(1.0, 2 * min(within[a], outside[b])))

        made.append(of(within.tolist(), outside.tolist(), never=never))
    found = better(made, 4, 0.5)
    assert not any((b, a) in found for a, b in found)


@pytest.mark.parametrize("seed", range(20))
def test_identical_candidates_are_never_told_apart(seed: int) -> None:
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(30):
        p = float(rng.choice([0.0, 1e-9, 0.5, 1.0]))
        within, outside = (p, 1.0) if rng.random() < 0.5 else (1.0, p)
        made.append(of([within] * 2, [outside] * 2, never=certain))
    assert better(made, 2, 0.9) == set()


# The board ----------------------------------------------------------------------------------------


def cell(name: str, outcome: Outcome, p: float | None = 0.0, gap: float | None = None) -> Cell:
    return Cell(
        candidate=name,
        q_synthetic=10,
        tau=2,
        lower=8,
        upper=12,
        outcome=outcome,
        error=0.2,
        alpha=ALPHA,
        p_value=p,
        gap=gap,
    )


def query(name: str, *cells: Cell, weight: int = 1, closest: tuple[str, ...] = ()) -> ComparedQuery:
    return ComparedQuery(
        id=name,
        sql="SELECT COUNT(*) FROM D",
        aggregate="COUNT",
        attribute=None,
        p=None,
        where=None,
        weight=weight,
        tolerance="2",
        estimator="laplace",
        reason="",
        estimators=(),
        epsilon=Fraction(1),
        tau_min=None,
        cells=cells,
        closest=closest,
    )


def board_of(
    queries: Sequence[ComparedQuery], names: str, alpha: Fraction = ALPHA
) -> tuple[dict[str, LeaderboardRow], tuple[tuple[str, str], ...]]:
    """The board, as sure as the outcomes of the cells."""
    found = [
        of([0.0 if c.outcome == "yes" else 1.0 for c in q.cells], None, int(q.weight), certain)
        for q in queries
    ]
    kinds: dict[str, CandidateKind] = dict.fromkeys(names, "candidate")
    made, pairs = leaderboard(queries, found, kinds, alpha)
    return {standing.candidate: standing for standing in made}, pairs


def test_the_best_stands_first() -> None:
    queries = [
        query("q1", cell("a", "no", gap=5), cell("b", "yes", gap=1), closest=("b",)),
        query("q2", cell("a", "yes", 0.3), cell("b", "yes", None), closest=("a", "b")),
        query("q3", cell("a", "no", gap=-9), cell("b", "no", gap=3), weight=2, closest=("b",)),
    ]
    board, pairs = board_of(queries, "ab")
    assert list(board) == ["b", "a"]
    a, b = board["a"], board["b"]
    assert (a.share, b.share) == (0.25, 0.5)
    assert (a.trusted, a.not_trusted, a.undecided) == (0, 2, 1)
    # Without a p-value the error on public data decides, which is above alpha here.
    assert (b.trusted, b.not_trusted, b.undecided) == (1, 1, 1)
    assert (a.wins, b.wins) == ((), ("q1", "q3"))
    assert (a.worst, b.worst) == (("q3", "q1"), ("q3",))
    assert pairs == (("b", "a"),)
    assert [(s.best_rank, s.worst_rank) for s in (b, a)] == [(1, 1), (2, 2)]


def test_ranks_are_those_that_are_possible() -> None:
    outcomes = {"q1": "yyyn", "q2": "yynn", "q3": "yyyn"}
    queries = [
        query(
            name,
            *(
                cell(one, "yes" if sign == "y" else "no")
                for one, sign in zip("abcd", signs, strict=True)
            ),
        )
        for name, signs in outcomes.items()
    ]
    board, pairs = board_of(queries, "abcd")
    ranks = {name: (s.best_rank, s.worst_rank) for name, s in board.items()}
    assert ranks == {"a": (1, 2), "b": (1, 2), "c": (3, 3), "d": (4, 4)}
    assert set(pairs) == {("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")}


def test_what_cannot_be_measured_is_not_the_worst() -> None:
    queries = [query("q1", cell("a", "no")), query("q2", cell("a", "no", gap=1))]
    board, _ = board_of([*queries, query("q3", cell("a", "yes", gap=1))], "a")
    assert board["a"].worst == ("q2", "q1")


def test_three_of_the_worst_are_named() -> None:
    queries = [query(f"q{n}", cell("a", "no", gap=n)) for n in range(3, 9)]
    assert board_of(queries, "a")[0]["a"].worst == ("q8", "q7", "q6")


def test_neighbours_that_are_not_told_apart() -> None:
    def standing(name: str) -> LeaderboardRow:
        return LeaderboardRow(
            candidate=name,
            kind="candidate",
            share=0.5,
            low=0,
            high=1,
            trusted=0,
            not_trusted=0,
            undecided=0,
            best_rank=1,
            worst_rank=4,
        )

    report = CompareReport(
        queries=(),
        leaderboard=tuple(map(standing, "abcd")),
        better=(("a", "c"), ("a", "d")),
        candidates={},
        private="",
        tolerance="",
        alpha=ALPHA,
        cost=Cost(),
    )
    assert report.tied == (("a", "b"), ("b", "c", "d"))


# How often they miss ------------------------------------------------------------------------------

RUNS = 500
HALVES = 0.2
# Every run of the tests draws the same, so that two standard errors are no chance.
SLACK = 2 * (HALVES * (1 - HALVES) / RUNS) ** 0.5


def least_favourable(rng: np.random.Generator, truth: Truth) -> list[Evidence]:
    """Evidence that is sure of what is true, and of what is false as misleading as is allowed."""
    made = []
    for row in truth:
        uniform = rng.random(row.size)
        # True claims are all but certain; false ones have a uniform p-value.
        within = np.where(row, 1e-9, uniform).tolist()
        outside = np.where(row, uniform, 1e-9).tolist()

        def never(a: int, b: int, row: Truth = row, uniform: Floats = uniform) -> float:
            return float(uniform[b]) if row[b] and not row[a] else 1e-9

        made.append(of(within, outside, never=never))
    return made


TRUTHS = {
    "all within": np.ones((10, 4), bool),
    "none within": np.zeros((10, 4), bool),
    "as many, not the same": np.array([[1, 0, 1, 0], [0, 1, 0, 1]] * 5, bool),
    "some ahead": np.array([[1, 0, 0, 0]] * 4 + [[1, 1, 1, 0]] * 6, bool),
}


class Missed(NamedTuple):
    """How often something was claimed that is not so."""

    bands: float
    pairs: float


def missed(truth: Truth, level: float, alpha: float) -> Missed:
    rng = np.random.default_rng(17)
    shares = truth.mean(0)
    bands = pairs = 0
    for _ in range(RUNS):
        found = least_favourable(rng, truth)
        ends = [band(found, number, level) for number in range(shares.size)]
        bands += any(
            not low - 1e-9 <= share <= high + 1e-9
            for (low, high), share in zip(ends, shares, strict=True)
        )
        pairs += any(shares[a] <= shares[b] for a, b in better(found, shares.size, alpha))
    return Missed(bands / RUNS, pairs / RUNS)


@pytest.mark.parametrize("name", TRUTHS)
def test_bands_and_pairs_miss_as_rarely_as_alpha_says(name: str) -> None:
    truth = TRUTHS[name]
    found = missed(truth, HALVES / (2 * truth.shape[1]), HALVES)
    assert found.bands <= HALVES + SLACK
    assert found.pairs <= HALVES + SLACK


def test_without_sharing_alpha_they_miss_too_often() -> None:
    truth = TRUTHS["all within"]
    candidates = truth.shape[1]
    pairs = candidates * (candidates - 1)
    # The wrong program: the whole level for each end, and for each count of each pair.
    found = missed(truth, HALVES, 2 * pairs * HALVES)
    assert found.bands > HALVES + SLACK
    assert found.pairs > HALVES + SLACK


# From tables to the board -------------------------------------------------------------------------

WORKLOAD = [
    *(f"SELECT COUNT(*) FROM D WHERE x > {x}" for x in (10, 30, 50, 70, 90)),
    *(f"SELECT SUM(y) FROM D WHERE x > {x}" for x in (20, 40, 60)),
    *(f"SELECT AVG(y) FROM D WHERE x < {x}" for x in (30, 60, 90)),
    *(f"SELECT MEDIAN(x) FROM D WHERE y > {y}" for y in (1, 3)),
    "SELECT QUANTILE(x, 0.9) FROM D",
    "SELECT COUNT(DISTINCT x) FROM D WHERE y > 8",
]


def table(seed: int, shift: float, rows: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = np.clip(rng.normal(50 + shift, 20, rows).round(), 0, 100).astype(int)
    return pd.DataFrame({"x": x, "y": np.clip((x / 10 + rng.normal(0, 1, rows)).round(), 0, 10)})


class Simulation:
    """One comparison, prepared once, whose releases are drawn again and again."""

    def __init__(self, frames: dict[str, pd.DataFrame], epsilon: str, tau: str) -> None:
        rules = ComparisonParameters.parse(Parameters.parse(tau=tau, epsilon=epsilon, alpha=HALVES))
        tables = SyntheticTables(
            [open_table(frame, "synthetic") for frame in frames.values()],
            open_table(table(0, 0), "private"),
        )
        requests = [rules.request(query) for query in as_queries(WORKLOAD)]
        plan = select_estimators(bind(tables, requests, {}))
        plan.bound.check()
        self.names = list(frames)
        self.comparisons = plan.comparisons
        scan = ScanPlan(tuple(each.measurement.statistic for each in self.comparisons))
        self.histograms = tables.engine.histograms(plan.bound.private, plan.bound.schema, scan)
        self._quote = quote_sets([plan.measurements], None)
        truths = [
            answer(c.query.aggregate, h, c.query.p or HALF)
            for c, h in zip(self.comparisons, self.histograms, strict=True)
        ]
        self.truth = np.array(
            [
                [i is not None and true is not None and i.contains(true) for i in c.intervals]
                for c, true in zip(self.comparisons, truths, strict=True)
            ]
        )

        # Public, so that it is the same in every draw.
        self.ranked = np.array([each.decidable for each in self.comparisons])
        self.shares = dict(zip(frames, self.truth[self.ranked].mean(0), strict=True))

    def run(self, noise: SimulatedNoise) -> tuple[Truth, dict[str, LeaderboardRow], list[str]]:
        """The false verdicts, the board, and the pairs, one draw of each release."""
        drawn = {
            comparison.measurement.cache_key: comparison.measurement.run(histogram, noise)
            for comparison, histogram in zip(self.comparisons, self.histograms, strict=True)
        }
        answers = Outputs(drawn, self._quote)
        outcomes = [
            outcome_of(c, answers, self.names, Fraction(1), noise) for c in self.comparisons
        ]
        queries = [query for query, _ in outcomes]
        ranked = ranking_queries(queries)
        assert [query in ranked for query in queries] == self.ranked.tolist()
        evidence = [
            e for (_, e), takes_part in zip(outcomes, self.ranked, strict=True) if takes_part
        ]
        kinds: dict[str, CandidateKind] = dict.fromkeys(self.names, "candidate")
        board, pairs = leaderboard(ranked, evidence, kinds, Fraction(HALVES))
        false = [
            [
                c.standing.answer != "" and (c.standing.answer == "yes") != true
                for c, true in zip(query.cells, row, strict=True)
            ]
            for query, row in zip(queries, self.truth, strict=True)
        ]
        standings = {standing.candidate: standing for standing in board}
        return np.array(false), standings, [f"{a}>{b}" for a, b in pairs]


SHIFTS = {"same": 0.0, "twin": 0.0, "near": 4.0, "far": 15.0}


@pytest.mark.parametrize(("epsilon", "tau"), [("0.2", "10%"), ("2", "4%")])
def test_simulated_comparisons_say_what_is_true(epsilon: str, tau: str) -> None:
    frames = {name: table(1, shift) for name, shift in SHIFTS.items()}
    simulation, runs = Simulation(frames, epsilon, tau), 60
    shares = simulation.shares
    assert len({comparison.taken for comparison in simulation.comparisons}) >= 3
    noise = SimulatedNoise(23)
    false = np.zeros(simulation.truth.shape)
    bands = wrong = 0
    for _ in range(runs):
        mistaken, board, pairs = simulation.run(noise)
        false += mistaken
        bands += any(not s.low - 1e-9 <= shares[name] <= s.high + 1e-9 for name, s in board.items())
        wrong += any(shares[a] <= shares[b] for a, b in (pair.split(">") for pair in pairs))
        assert not {"same>twin", "twin>same"} & set(pairs)
    slack = 2 * (HALVES * (1 - HALVES) / runs) ** 0.5
    assert false.max() / runs <= HALVES + slack
    assert max(bands, wrong) / runs <= HALVES + slack


@pytest.mark.usefixtures("noiseless")
def test_shares_and_bands_meet_the_truth_where_noise_is_small() -> None:
    frames = {name: table(1, shift) for name, shift in SHIFTS.items()}
    simulation = Simulation(frames, "100000", "4%")
    shares = simulation.shares
    assert simulation.ranked.all()
    assert len(set(shares.values())) >= 3
    false, board, pairs = simulation.run(SimulatedNoise(1))
    assert not false.any()
    for name, standing in board.items():
        assert (standing.low, standing.share, standing.high) == pytest.approx([shares[name]] * 3)
    assert set(pairs) == {f"{a}>{b}" for a in shares for b in shares if shares[a] > shares[b]}


# Queries that can be decided on no candidate ------------------------------------------------------


def small_table(kind: str) -> pd.DataFrame:
    """Rows of the private table, of a copy near to it, or of one that is off at two cuts."""
    rows = np.arange(4000)
    x = rows % 100
    if kind == "bad":
        x = np.where(x < 14, 0, x)
    elif kind == "good":
        x = np.where(rows < 3, 99, x)
    return pd.DataFrame({"x": x, "rare": (rows % (320 if kind == "bad" else 400) == 0).astype(int)})


SURE = {f"above-{x}": f"SELECT COUNT(*) FROM D WHERE x > {x}" for x in range(2, 62, 4)}
RARE = {f"rare-{x}": f"SELECT COUNT(*) FROM D WHERE rare = 1 AND x < {x}" for x in (60, 80, 101)}


def compared(statements: dict[str, str], seed: int) -> CompareReport:
    rules = ComparisonParameters.parse(Parameters.parse(tau="4%", epsilon="0.25", alpha="0.05"))
    return run_compare(
        small_table("private"),
        {"good": small_table("good"), "bad": small_table("bad")},
        tuple(Query(sql, id=name) for name, sql in statements.items()),
        rules,
        SimulatedNoise(seed),
    )


@pytest.mark.parametrize("seed", range(3))
def test_queries_that_noise_decides_on_no_candidate_do_not_blur_the_ranking(seed: int) -> None:
    report = compared(SURE | RARE, seed)
    assert [query.id for query in report.queries if not query.decidable] == list(RARE)
    assert [query.id for query in report.ranked] == list(SURE)
    assert report.better == (("good", "bad"),)
    for row in report.leaderboard:
        assert row.trusted + row.not_trusted + row.undecided == len(SURE)
    # They are paid for and listed all the same.
    assert report.cost.epsilon == Fraction(len(SURE | RARE), 4)
    assert "rare-60, rare-80 and rare-101 take no part in the ranking" in str(report)


def test_queries_that_noise_decides_would_blur_the_ranking(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken twin: all queries take part."""
    monkeypatch.setattr(PlannedComparison, "decidable", property(lambda _: True))
    assert all(not compared(SURE | RARE, seed).better for seed in range(3))


def test_where_no_query_can_be_decided_all_take_part_and_nothing_is_established() -> None:
    report = compared(RARE, 1)
    assert report.ranked == report.queries
    assert report.better == ()
    assert "No query can be decided, so nothing can be ranked" in str(report)


def test_which_queries_take_part_does_not_depend_on_the_private_table() -> None:
    """Whatever the private rows are, and whatever is drawn."""
    for kind in ("private", "other"):
        rows = small_table(kind)
        rows["x"] = rows["x"] if kind == "private" else 99 - rows["x"] // 2
        rules = ComparisonParameters.parse(Parameters.parse(tau="4%", epsilon="0.25", alpha="0.05"))
        report = run_compare(
            rows,
            {"good": small_table("good"), "bad": small_table("bad")},
            tuple(Query(sql, id=name) for name, sql in (SURE | RARE).items()),
            rules,
            SimulatedNoise(5),
        )
        assert [query.id for query in report.ranked] == list(SURE)
