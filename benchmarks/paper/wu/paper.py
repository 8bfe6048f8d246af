"""The paper of Wu et al.: its experiments and its items, in the order of the paper."""

from functools import partial

import pandas as pd

from benchmarks.paper.record import Claim, Experiment, Item, Paper
from benchmarks.paper.wu import claims, claims_exact, exact, experiments, pictures
from benchmarks.paper.wu.experiments import CPS, census, cps
from benchmarks.paper.wu.tables import BySeed

EXAMPLE, THRESHOLDS, EXPECTED, DEVIATIONS, THEOREM = (
    f"wu-{name}" for name in ("figure-1", "thresholds", "expected", "deviations", "theorem-1")
)
FIGURE_2, FIGURE_3, FIGURE_4, SEEDS, NOISE = (
    f"wu-{name}" for name in ("figure-2", "figure-3", "figure-4", "seeds", "noise")
)
GENERATED, GENERATED_SEEDS = "wu-generated", "wu-generated-seeds"
_REAL = (CPS,)


def _table_1(expected: pd.DataFrame, seeds: pd.DataFrame) -> list[Claim]:
    by_seed = claims.truncation(BySeed(seeds))
    return [*claims_exact.table_1(expected), *by_seed]


def _figure_2(_: pd.DataFrame, seeds: pd.DataFrame, deviations: pd.DataFrame) -> list[Claim]:
    numbers = BySeed(seeds)
    return [
        *claims.identity(numbers),
        *claims_exact.saved_noise(deviations),
        *claims.answers(numbers),
    ]


def _figure_3(_: pd.DataFrame, seeds: pd.DataFrame, deviations: pd.DataFrame) -> list[Claim]:
    numbers = BySeed(seeds)
    return [
        *claims.errors(numbers),
        *claims_exact.tree_noise(deviations),
        *claims.baselines(numbers),
    ]


def _figure_4(_: pd.DataFrame, seeds: pd.DataFrame, deviations: pd.DataFrame) -> list[Claim]:
    return [*claims.isotonic(BySeed(seeds)), *claims_exact.biases(deviations)]


WU = Paper(
    key="wu",
    title="Sums of ranges (Wu et al. 2019)",
    about=(
        "Prefix sums of the income of 49,427 heads of household (CPS) up to 800 i dollars: Q1 has "
        "1,000 queries, Q2 100, Q3 10.\n"
        "Epsilon is 0.01, and the parameters are the paper's (s = theta = 50,000, c = 1.2, "
        "r = 0.998, mu = 0.5, rho = 0.1).\n"
        "There are ten seeds of 100 trials, so each seed repeats the paper's experiment.\n"
        "A claim reproduces or does not where the mean over the seeds lies on one side by more "
        "than Student's t at 95 %, else it is undecided; *se* is the standard error.\n"
        "With some seventy verdicts two or three may be chance.\n"
        "The truth is the sum over buckets, which exceeds the rows' own by 0.71 % in the last "
        "query; errors are after isotonic regression unless said otherwise.\n"
        "TIMM and TAMM have the GreedyH of its authors (Li, Hay and Miklau 2014), as in the "
        "paper; TIMM (pqd) and TAMM (pqd) have ours, which `ranges` uses.\n"
        "SQM splits epsilon among the queries (Table 1, Algorithm 1); SQM (epsilon each) "
        "spends it on each, as Algorithms 2 and 3 are printed (errata, 11.4).\n"
        "Both select rows as section 3.1 does (errata, 11.3).\n"
        "As in Algorithm 9, one threshold and one noise vector serve IDENTITY, WORKLOAD, TIMM and "
        "TAMM in a trial.\n"
        "That is for comparisons only: the answers together would tell the noise."
    ),
    experiments=(
        Experiment(SEEDS, partial(experiments.by_seed, cps, 100), _REAL),
        Experiment(GENERATED_SEEDS, partial(experiments.by_seed, census, 25)),
        Experiment(NOISE, partial(experiments.noise, cps), _REAL),
        Experiment(FIGURE_2, partial(experiments.figure_2, cps), _REAL),
        Experiment(FIGURE_3, partial(experiments.figure_3, cps), _REAL),
        Experiment(FIGURE_4, partial(experiments.figure_4, cps), _REAL),
        Experiment(GENERATED, partial(experiments.figure_3, census)),
        Experiment(EXPECTED, exact.expected, _REAL),
        Experiment(DEVIATIONS, exact.deviations, _REAL),
        Experiment(THRESHOLDS, exact.thresholds, _REAL),
        Experiment(THEOREM, exact.theorem_1, _REAL),
        Experiment(EXAMPLE, exact.figure_1),
    ),
    items=(
        Item(
            "Figure 1",
            "five incomes, and the sums of Example 1",
            (EXAMPLE,),
            None,
            claims_exact.example,
        ),
        Item(
            "Section 3.1",
            "rungs of the sparse vector technique",
            (THRESHOLDS,),
            None,
            claims_exact.thresholds,
            "Budget 0.001 (rho epsilon); rungs from 50,000.",
        ),
        Item("Section 4", "the data", (THEOREM,), None, claims_exact.data),
        Item(
            "Table 1",
            "errors of all algorithms with all truncations",
            (EXPECTED, SEEDS),
            lambda expected, _: pictures.table_1(expected),
            _table_1,
        ),
        Item(
            "Figure 2",
            "noisy answers for Q1",
            (FIGURE_2, SEEDS, DEVIATIONS),
            lambda answers, *_: pictures.figure_2(answers),
            _figure_2,
            "Lines are means of 1,000 trials, bands reach from the 5 to the 95 percentile.",
        ),
        Item(
            "Figure 3",
            "relative errors for Q1 with SVT",
            (FIGURE_3, SEEDS, DEVIATIONS),
            lambda errors, *_: pictures.figure_3(errors),
            _figure_3,
        ),
        Item(
            "Figure 4",
            "relative errors of WORKLOAD and SQM for Q2 with SVT",
            (FIGURE_4, SEEDS, DEVIATIONS),
            lambda errors, *_: pictures.figure_4(errors),
            _figure_4,
        ),
        Item(
            "Appendix A.2",
            "Algorithm 9, whose four answers share their noise",
            (NOISE, EXPECTED),
            None,
            lambda noise, expected: [
                *claims_exact.lengths(expected),
                *claims_exact.noise(noise),
            ],
            "Algorithm 9 gives the noise vector length n; WORKLOAD needs p numbers, and a tree "
            "needs one for each node that it measures (errata, 11.10).\n"
            "Here a mechanism takes as many from the beginning of one vector as it measures "
            "numbers, so that each answer has the law of its own release.\n"
            "The published trees measure 8 sums and then the 1,000 buckets, so nearly the same "
            "noise falls on each bucket as in IDENTITY.\n"
            "Ten seeds of 40 trials, Q1, SVT.",
        ),
        Item(
            "Appendix A.3 to A.5",
            "expected errors, and Theorem 1",
            (EXPECTED, SEEDS, THEOREM),
            None,
            lambda expected, seeds, theorem: [
                *claims_exact.closed_forms(expected, seeds),
                *claims_exact.theorem_1(theorem),
            ],
        ),
        Item(
            "Beyond the paper",
            "the same on a generated census",
            (GENERATED,),
            pictures.figure_3,
            None,
            "Figure 3 for incomes above 0 of 49,427 heads of household in the generated census "
            "(`samples/census.py`), for those who have no real table.",
        ),
        Item(
            "Beyond the paper, verdicts",
            "the claims on the generated census",
            (GENERATED_SEEDS, SEEDS),
            None,
            claims_exact.generated,
            "Ten seeds of 25 trials.",
        ),
    ),
)
