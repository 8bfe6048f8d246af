"""The two biases that no budget removes, on the Adult tables (docs/errata.md, 4 and 6)."""

from pathlib import Path

import pytest

import pqd
from tests.support.skipped import NO_TABLES

pytestmark = pytest.mark.usefixtures("noiseless")

SHARED = Path(__file__).parents[3] / "shared" / "data"
BOUNDS = {"age": {"bounds": (17, 90)}, "capital-gain": {"bounds": (0, 99_999)}}


def outcome(query: str, tau: str, decider: str) -> str:
    if not SHARED.exists():
        pytest.skip(NO_TABLES)
    private, synthetic = (
        SHARED / name for name in ("adult_private.parquet", "adult_privbayes_eps1.parquet")
    )
    report = pqd.audit(
        private, synthetic, query, tau=tau, epsilon=100_000, decider=decider, columns=BOUNDS
    )
    return report.verdicts[0].leans


@pytest.mark.parametrize(
    ("decider", "expected"),
    [("em_median", "yes"), ("hist_median", "no"), ("inv_median", "no")],
)
def test_em_median_takes_the_value_after_a_tie(decider: str, expected: str) -> None:
    query = "SELECT MEDIAN(age) FROM D WHERE relationship = 'Own-child'"
    assert outcome(query, "0.5", decider) == expected


@pytest.mark.parametrize("epsilon", [0.1, 1, 10])
def test_auto_is_not_taken_in_by_the_tie(epsilon: float) -> None:
    """On the copy ``em_median`` errs with less than 0.1 %, on Adult it says yes and is wrong."""
    if not SHARED.exists():
        pytest.skip(NO_TABLES)
    tables = SHARED / "adult_private.parquet", SHARED / "adult_privbayes_eps1.parquet"
    query = "SELECT MEDIAN(age) FROM D WHERE relationship = 'Own-child'"
    report = pqd.audit(*tables, query, tau="0.5", epsilon=epsilon, columns=BOUNDS)
    (verdict,) = report.verdicts
    assert verdict.decider == "inv_median"
    assert verdict.standing != "trusted"


@pytest.mark.parametrize(
    ("decider", "expected"),
    [("svt_sum", "no"), ("svt_sum_plain", "yes"), ("r2t_sum", "yes"), ("inv_sum", "yes")],
)
def test_svt_sum_loses_what_a_few_rows_carry(decider: str, expected: str) -> None:
    query = "SELECT SUM(\"capital-gain\") FROM D WHERE education = '12th'"
    assert outcome(query, "4180000", decider) == expected
