"""Laws of whole-numbered noise, and of weighted sums of them, against their chances added up."""

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

from pqd.deciders import SecureNoise, SimulatedNoise
from pqd.deciders.distances.combinations import Combination, Term
from pqd.deciders.distances.noise_laws import GaussianLaw, LaplaceLaw, NoiseLaw
from pqd.deciders.distances.vector import IndependentNoise, VectorLaw
from pqd.deciders.distributions import Floats
from tests.support.odds import RARE, WRONG, odds_of_hits

LAWS: list[NoiseLaw] = [
    *(LaplaceLaw(Fraction(scale)) for scale in ("0.02", "0.5", "3", "17.3")),
    *(GaussianLaw(Fraction(sigma)) for sigma in ("0.1", "0.7", "1", "1.5", "40.2")),
]
# What the inversion may lose, and what doubles may add.
LOST = 3e-8


def chances(law: NoiseLaw) -> Floats:
    """``Pr[Z = z]`` for z in ``-reach .. reach``, straight from the definition."""
    reach = 40 * math.ceil(law.deviation) + 40
    z = np.arange(-reach, reach + 1, dtype=np.float64)
    if isinstance(law, LaplaceLaw):
        weights = np.exp(-np.abs(z) / float(law.scale))
    else:
        assert isinstance(law, GaussianLaw)
        weights = np.exp(-((z / float(law.sigma)) ** 2) / 2)
    summed: Floats = weights / weights.sum()
    return summed


def summed(terms: tuple[Term, ...]) -> tuple[NDArray[np.int64], Floats]:
    """Values and chances of a sum with whole weights, by convolution."""
    total = np.ones(1)
    for weight, draws, law in terms:
        single = chances(law)
        spread = np.zeros(int(weight) * (single.size - 1) + 1)
        spread[:: int(weight)] = single
        for _ in range(draws):
            total = np.convolve(total, spread)
    return np.arange(total.size, dtype=np.int64) - total.size // 2, total


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_a_law_is_that_of_its_chances(law: NoiseLaw) -> None:
    own = chances(law)
    z = np.arange(own.size) - own.size // 2
    for k in (-3, 0, 1, 2, 7, 30):
        assert law.tail(k) == pytest.approx(own[z >= k].sum(), rel=1e-9, abs=1e-15)
    angles = np.array([0.0, 1e-4, 0.3, 2.0, math.pi, 5.0, 2 * math.pi, 40.0])
    assert law.transform(angles) == pytest.approx(np.cos(np.outer(angles, z)) @ own, abs=1e-9)
    tilts = np.array([0.01, 0.3, 0.9]) * min(law.largest_tilt, 5 / law.deviation, 8.0)
    moments = np.log(np.exp(np.outer(tilts, z)) @ own)
    assert np.all(law.log_moment(tilts) >= moments - 1e-9)
    assert law.deviation >= math.sqrt(z**2 @ own) * (1 - 1e-9)
    for level in (0.4, 0.025, 1e-6):
        k = law.quantile(level)
        assert law.tail(k + 1) <= level
        assert k == 0 or law.tail(k) > level


@pytest.mark.parametrize("sigma", [100, 1234, 10**7])
def test_tails_of_wide_gaussians_are_bounded_from_above(sigma: int) -> None:
    law = GaussianLaw(Fraction(sigma))
    for z in (0.01, 0.5, 2, 6):
        k = round(z * sigma)
        # By the midpoint rule, which is accurate to a part in sigma squared.
        truth = norm.sf((k - 0.5) / sigma)
        assert 1 - 1e-9 <= law.tail(k) / truth <= 1 + (1 + z * z) / sigma


SUMS: list[tuple[Term, ...]] = [
    (Term(1.0, 1, LAWS[2]),),
    (Term(1.0, 3, LAWS[2]),),
    (Term(1.0, 40, LAWS[1]),),
    (Term(2.0, 1, LAWS[2]), Term(3.0, 2, LAWS[1])),
    (Term(1.0, 5, LAWS[3]), Term(7.0, 2, LAWS[2]), Term(5.0, 1, LAWS[1])),
    (Term(1.0, 2, LAWS[6]), Term(3.0, 1, LAWS[8])),
    (Term(1.0, 1, LAWS[8]), Term(2.0, 1, LAWS[3])),
    (Term(1.0, 2, LAWS[0]),),
]


@pytest.mark.parametrize("terms", SUMS, ids=range(len(SUMS)))
def test_tails_of_a_sum_are_bounds_and_close(terms: tuple[Term, ...]) -> None:
    values, own = summed(terms)
    law = Combination(terms)
    tails = np.cumsum(own[::-1])[::-1]
    inner = (values > 0) & (values < 12 * law.deviation + 3)
    x, truth = values[inner].astype(float), tails[inner]
    bounds = law.at_least(x)
    assert np.all(bounds >= truth)
    # Not more than the chance of coming within the kernel's width, twice: it blurs both ways.
    near = np.array([own[values >= place - 2.01 * law.width].sum() for place in x])
    assert np.all(bounds <= near + LOST)
    assert np.all(np.diff(law.at_least(np.sort(np.append(x, x + 0.37)))) <= 0)
    assert law.at_least(-1.0) == 1
    for level in (0.4, 0.025, 1e-4, 1e-11):
        q = law.quantile(level)
        assert own[values >= q].sum() <= level
        assert own[values >= q - 2.01 * law.width - 1].sum() > level / (5 if level > 1e-9 else 200)


@pytest.mark.parametrize("terms", SUMS[:4], ids=range(4))
def test_smoothing_is_undone_by_what_it_added(terms: tuple[Term, ...]) -> None:
    values, own = summed(terms)
    law = Combination(terms, smoothed=True)
    assert law.added == sum(term.weight for term in terms) / 2
    q = law.quantile(0.025) + law.added
    assert own[values >= q].sum() <= 0.025
    assert own[values >= q - 2 * law.added - 2.01 * law.width - 1].sum() > 0.005


@pytest.mark.parametrize("law", [LAWS[1], LAWS[3], LAWS[7]], ids=str)
def test_quantiles_of_smoothed_sums_grow_with_a_weight(law: NoiseLaw) -> None:
    """Without smoothing they do not: the sum of two whole numbers meets x sooner than that of one
    and a little more (Theorem D7)."""
    weights = np.linspace(0.01, 1, 25)
    sums = [Combination((Term(1.0, 1, law), Term(w, 1, LAWS[2])), smoothed=True) for w in weights]
    quantiles = [each.quantile(0.025) for each in sums]
    # By no more than the grid's own steps.
    assert np.all(np.diff(quantiles) > -1e-3 * quantiles[0])
    assert quantiles[-1] > quantiles[0]


def test_weights_are_grouped_whatever_their_signs() -> None:
    law = LAWS[2]
    noise = VectorLaw(law, law).weighted([0.5, -0.5, 0.0, 0.25])
    assert noise == IndependentNoise((Term(0.25, 1, law), Term(0.5, 2, law)))
    assert Combination(()).at_least([0.0, 1e-9]).tolist() == [1, 0]
    assert Combination(()).quantile(0.05) == 0


@pytest.mark.secure_noise
# Secure draws take time: of one deviation they are enough.
@pytest.mark.parametrize(
    ("secure", "sigma"),
    [(True, Fraction(3, 2)), *((False, sigma) for sigma in (Fraction(1, 2), Fraction(20)))],
)
def test_gaussian_noise_is_drawn_from_its_law(secure: bool, sigma: Fraction) -> None:
    """How many values are small; a deviation that is 30 % off is rejected, but for 1e-12."""
    noise = SecureNoise() if secure else SimulatedNoise(3)
    draws, statistic, most = 8000, 2**70 + 7, math.floor(sigma / 2)
    z = [noise.gaussian(statistic, sigma) - statistic for _ in range(draws)]
    small = sum(abs(one) <= most for one in z)

    def odds(law: GaussianLaw) -> float:
        return odds_of_hits(small, draws, 1 - 2 * law.tail(most + 1))

    assert odds(GaussianLaw(sigma)) > RARE
    assert odds(GaussianLaw(sigma * 13 / 10)) < WRONG
    assert odds(GaussianLaw(sigma * 7 / 10)) < WRONG
