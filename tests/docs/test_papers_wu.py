"""Experiments of Wu et al. 2019: shared noise, the example of Figure 1, and verdicts from files."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from benchmarks.paper.record import Setting
from benchmarks.paper.wu import claims, claims_exact, exact
from benchmarks.paper.wu.algorithm_9 import (
    LENGTH,
    Prepared,
    Runs,
    Table,
    all_runs,
    batches,
    independent,
    single,
)
from benchmarks.paper.wu.by_seed import statistics
from benchmarks.paper.wu.mechanisms import (
    BATCHES,
    EPSILON,
    MECHANISMS,
    SQM,
    SQM_PRINTED,
    TAMM,
    TIMM,
    WORKLOADS,
    Configuration,
)
from benchmarks.paper.wu.tables import BySeed, combined, counted, judged_by_seed, verdict
from pqd.deciders.batch.range_sums.mechanisms import TreeStrategy
from tests.deciders.batch.range_sums.dense import cells_matrix, tree_matrix, workload_matrix
from tests.support.errata import section

RNG = np.random.default_rng(5)
TABLE = Table.of(RNG.lognormal(10.5, 0.9, 5000).astype(np.int64))
THRESHOLD = 120_000


@pytest.mark.parametrize("name", BATCHES)
def test_algorithm_9_answers_from_a_prefix_of_one_vector(name: str) -> None:
    """Table 1's formulas, with dense matrices: the answers follow from the vector alone."""
    workload = WORKLOADS["Q3"]
    weights = workload.weights(THRESHOLD)
    mechanism = BATCHES[name](workload=workload)
    strategy = mechanism.strategy(weights)
    noise = np.random.default_rng(1).laplace(size=LENGTH)
    found = Prepared.of(strategy, TABLE.counts, EPSILON).answers(noise)

    dense, diagonal = workload_matrix(workload), np.diag(weights.astype(np.float64))
    scale = 1 / float(EPSILON)
    if name == "identity":
        moved = dense @ diagonal @ noise[:1000] * scale
    elif name == "workload":
        norm = (dense @ diagonal).sum(axis=0).max()
        moved = norm * scale * noise[:10]
    else:
        assert isinstance(strategy, TreeStrategy)
        cells, tree = cells_matrix(strategy.edges), tree_matrix(strategy.hierarchy)
        over = np.linalg.lstsq(cells.T, dense.T, rcond=None)[0].T * strategy.coefficients
        norm = (tree @ cells * strategy.scaled).sum(axis=0).max()
        moved = over @ np.linalg.pinv(tree) @ noise[: len(tree)] * norm * scale
    truth = dense @ diagonal @ TABLE.counts
    assert np.allclose(found, truth + moved, rtol=1e-6)


def test_a_trial_has_one_threshold_and_one_vector() -> None:
    """Differences of two mechanisms follow from the vector that IDENTITY's answers tell."""
    together = batches(TABLE, "Q1", "none", 3, 4)
    alone = batches(TABLE, "Q1", "none", 3, 4, ["identity"])
    assert together["identity"].answers.tolist() == alone["identity"].answers.tolist()
    weights = WORKLOADS["Q1"].weights(800_000)
    steps = np.diff(together["identity"].answers, prepend=0, axis=1) / weights - TABLE.counts
    vectors = steps * float(EPSILON)
    norm = int((weights * WORKLOADS["Q1"].containing).max())
    moved = (together["workload"].answers - TABLE.truth("Q1")) * float(EPSILON) / norm
    assert np.allclose(vectors, moved, atol=1e-6)
    # A release of its own has other noise.
    apart = independent(TABLE, Configuration("Q1", "workload", "none"), 3, 1, 9)
    assert not np.allclose(apart.answers[0], together["workload"].answers[0], rtol=1e-3)


def test_sqm_by_the_law_of_thresholds_has_its_expected_errors() -> None:
    configuration = Configuration("Q3", SQM, "svt")
    runs = single(TABLE, configuration, 1, 2000, 1)
    ratios = ((runs.answers - runs.truth) ** 2).mean(axis=0) / configuration.expected(
        TABLE.histogram
    )
    # One query scatters by a tenth.
    assert ratios.mean() == pytest.approx(1, abs=0.1)
    assert np.abs(ratios - 1).max() < 0.4
    one = single(TABLE, Configuration("Q3", SQM_PRINTED, "svt"), 1, 2000, 2)
    assert one.root_mean_square < runs.root_mean_square / 2


def test_the_sums_of_figure_1_are_the_printed_ones() -> None:
    frame = exact.figure_1(Setting())
    assert frame["sum"].tolist() == [0, 35_000, 124_000, 1_474_000]
    assert frame["truncated"].tolist() == [0, 1, 3, 5]
    found = list(claims_exact.example(frame))
    assert [each.verdict for each in found] == ["reproduces", "reproduces", "does not"]
    assert found[1].ours == "1,000,000"


def test_linear_rungs_end_below_the_top() -> None:
    rungs = exact.LinearRungs(start=50, growth="1.2", kept="0.9", step=20)
    assert rungs.rungs(100) == [50, 70, 90]


def test_verdicts() -> None:
    assert verdict([1.0, 2.0, 3.0, 2.0]) == "reproduces"
    assert verdict([-1.0, -2.0, -3.0, -2.0]) == "does not"
    assert verdict([1.0, -2.0, 3.0, 2.0]) == "undecided"
    assert combined(["reproduces", "reproduces"]) == "reproduces"
    assert combined(["reproduces", "does not"]) == "in part"
    assert combined(["reproduces", "undecided"]) == "undecided"
    assert counted(["reproduces", "does not", "undecided"]) == "1 of 3 hold, 1 not, 1 undecided"
    near = judged_by_seed("4", "a claim", "1", [1.0, -2.0, 3.0, 2.0])
    assert near.why.startswith("the margin 1 (se 1.1e+02 %) is within Student's t")


def numbers(tamm: float) -> pd.DataFrame:
    """Rows of the claims about Figure 3, where TAMM wins ``tamm`` queries or one more."""
    values = {
        ("wins of identity", TIMM): 100.0, ("wins", TIMM): 900 - tamm, ("wins", TAMM): tamm,
        ("to tamm, small", TIMM): 9.0, ("to tamm, middle", TIMM): 3.0,
        ("to tamm, large", TIMM): 1.5, ("to tamm, last", TIMM): 1.2,
        ("to identity, small", TIMM): 11.0,
        **{(f"to tamm, query {query}", TIMM): 5.0 for query in (1, 10, 50, 100)},
    }  # fmt: skip
    pairs = {**values, **{(s, f"{name} (pqd)"): value for (s, name), value in values.items()}}
    return pd.DataFrame(
        {
            "statistic": statistic, "mechanism": mechanism, "truncation": "svt", "workload": "Q1",
            "isotonic": 1, "seed": seed, "value": value + seed / 100,
        }
        for (statistic, mechanism), value in pairs.items()
        for seed in (2, 1, 3)
    )  # fmt: skip


@pytest.mark.parametrize(("wins", "expected"), [(700, "reproduces"), (300, "does not")])
def test_claims_are_judged_from_the_rows_of_a_file(wins: int, expected: str) -> None:
    best, competitive, small, last, *_ = claims.errors(BySeed(numbers(wins)))
    assert best.verdict == expected
    assert f"{wins} (se 0.0" in best.ours
    assert competitive.verdict == small.verdict == "reproduces"
    assert last.verdict == "does not"
    assert BySeed(numbers(wins)).of("wins", TAMM).tolist() == [wins + s / 100 for s in (1, 2, 3)]


@pytest.mark.thorough
def test_a_small_run_has_every_number_that_the_claims_need() -> None:
    rows = [
        {**row, "seed": seed}
        for seed, workload, truncation in product((1, 2), WORKLOADS, ("none", "svt", "recursive"))
        for row in statistics(workload, truncation, all_runs(TABLE, workload, truncation, seed, 2))
    ]
    found = claims.all_by_seed(pd.DataFrame(rows))
    assert len(found) > 30
    assert all(each.why for each in found if each.verdict == "undecided")
    assert {row["mechanism"] for row in rows} == set(MECHANISMS)


def test_isotonic_regression_and_errors_of_runs() -> None:
    runs = Runs(np.array([[3.0, 1.0, 5.0], [0.0, 0.0, 400.0]]), np.array([0.0, 0.0, 200.0]))
    assert runs.smooth.answers.tolist() == [[2.0, 2.0, 5.0], [0.0, 0.0, 400.0]]
    assert runs.relative.tolist() == [[0.03, 0.01, 0.975], [0.0, 0.0, 1.0]]
    assert runs.deviation == pytest.approx((1.5 + 0.5 + 2.5) / 3)


def test_trees_measure_more_numbers_than_there_are_buckets() -> None:
    sizes = {Configuration("Q1", name, "none").measured for name in (TIMM, TAMM)}
    assert sizes == {1008}
    assert "With the published GreedyH it is 1,008" in section("11.10")
    assert Configuration("Q2", "workload", "none").measured == 100
    assert max(Configuration("Q2", name, "none").measured for name in BATCHES) <= LENGTH
