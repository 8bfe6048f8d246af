"""The two sources of randomness: a secure source for verdicts, a seeded source for simulation.

Both sources draw whole numbers from three laws:

* the two-sided geometric law (discrete Laplace), ``Pr[Z = z] proportional to exp(-|z| / scale)``,
* the discrete Gaussian law, ``Pr[Z = z] proportional to exp(-z^2 / (2 sigma^2))`` (Canonne, Kamath
  and Steinke 2020),
* a law of vectors that depends on their largest coordinate (cube_noise.py).

A fourth draw gives the place of a small score among several, and nothing else of the scores.

The real Laplace noise of the papers is drawn on a fine grid: at least 2^40 grid points fit into one
noise scale.  The statistic and the noise are whole numbers of grid points, so no double is used.
If the statistic has sensitivity ``s`` (a whole number of grid points) and ``scale = s / epsilon``,
the release is epsilon-DP by the discrete argument itself (Ghosh, Roughgarden and Sundararajan,
STOC 2009).
"""

import importlib
import math
import os
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NoReturn, Protocol
from weakref import WeakSet

import numpy as np

from pqd.deciders.cube_noise import cube_radius
from pqd.deciders.distributions import Floats
from pqd.deciders.errors import UnanswerableError

_GRID_BITS = 40
_LARGEST_SCALE = 2**56
_FAIR = 2.0**400
# Number of laws whose draws are kept, and the most draws made at once for one law.  A call of
# OpenDP costs more than the draws that it makes.
_LAWS = 256
_MOST_AHEAD = 256


class Noise(Protocol):
    """Source of whole-numbered noise.  Conformers: SecureNoise, SimulatedNoise."""

    simulated: bool

    def laplace(self, statistic: int, scale: Fraction) -> int:
        """``statistic + Z``, ``Z`` two-sided geometric of ``scale`` (> 0)."""
        ...

    def gaussian(self, statistic: int, sigma: Fraction) -> int:
        """``statistic + Z``, ``Z`` discrete Gaussian of parameter ``sigma`` (> 0)."""
        ...

    def cube(self, statistics: Sequence[int], scale: Fraction) -> tuple[int, ...]:
        """``statistics + Z``, ``Pr[Z = z]`` proportional to ``exp(-max|z_j| / scale)``."""
        ...

    def choose(self, logit: float) -> bool:
        """True with probability ``1 / (1 + exp(-logit))``."""
        ...

    def least_place(self, scores: Sequence[int], scale: Fraction) -> int:
        """Place of a small score, by permute-and-flip.

        It has the law of the least of ``scores + E``, ties broken at random, where each E is
        exponential of ``scale`` and negative (McKenna and Sheldon 2020; Ding et al. 2021).  If one
        row moves each score by at most 1, in any direction, the place is ``2/scale``-DP.
        """
        ...


def fineness(scale: Fraction) -> int:
    """Grid points per unit: a power of two at which ``scale`` holds at least 2^40 grid points.

    Raises
    ------
    UnanswerableError
        If the scale is so large (2^56 units) that no answer could be told from the noise.
    """
    check_scale(scale)
    bits = scale.numerator.bit_length() - scale.denominator.bit_length()
    return 1 << max(0, _GRID_BITS + 1 - bits)


def check_scale(scale: Fraction) -> None:
    """Raise UnanswerableError if the noise scale is larger than 2^56 units."""
    if scale > _LARGEST_SCALE:
        raise UnanswerableError(
            f"the noise scale would be {float(scale):.1e} units, beyond 2^56; "
            "use a larger epsilon or narrower bounds"
        )


def check_cube(numbers: int, scale: Fraction) -> None:
    """Raise UnanswerableError if cube noise of so many numbers cannot be drawn at this scale."""
    check_scale(max(scale, cube_radius(numbers, scale).spread))


def noisy_value(statistic: Fraction | int, scale: Fraction, noise: Noise) -> Fraction:
    """``statistic`` plus Laplace noise of ``scale`` (in the same unit), on the fine grid.

    The statistic is rounded down to the grid.  The rounding costs no privacy, for two reasons.  The
    sensitivity is a whole number of grid points.  If two numbers differ by at most a whole number
    ``k`` of grid points, their floors differ by at most ``k`` too.
    """
    grid = fineness(scale)
    return Fraction(noise.laplace(math.floor(statistic * grid), scale * grid), grid)


def exponential_choice(log_weights: Floats, noise: Noise) -> int:
    """Place that is drawn with probability proportional to ``exp(log_weights)``.

    If the weights are ``exp(epsilon score / (2 s))``, with scores of sensitivity s, the draw is
    epsilon-DP (McSherry and Talwar 2007).  The draw halves the places again and again.  Each choice
    between two halves is exact, given its log-odds, which are doubles (docs/limitations.md).  Each
    half is scaled by its own largest weight, so no place has probability 0.
    """
    low, high = 0, log_weights.size
    while high - low > 1:
        middle = (low + high) // 2
        odds = log_sum(log_weights[low:middle]) - log_sum(log_weights[middle:high])
        low, high = (low, middle) if noise.choose(odds) else (middle, high)
    return low


def log_sum(weights: Floats) -> float:
    """``ln sum exp(weights)``; -inf if there are no weights."""
    highest = float(weights.max(initial=-math.inf))
    if highest == -math.inf:
        return highest
    return highest + math.log(float(np.exp(weights - highest).sum()))


class NoiseAhead:
    """Independent draws of one law that are made in advance; each draw is given out once.

    ``law`` maps a vector of zeros to as many draws.  The first call makes one draw, and each
    further call makes twice as many as the call before, up to a limit.  No two calls of ``draw``
    return the same draw.  Between threads, taking a draw out of the list is one atomic step.  After
    a fork, the child process forgets the draws that its parent also holds.
    """

    def __init__(self, law: Callable[[list[int]], list[int]]) -> None:
        """Draw nothing yet."""
        self._law, self._size = law, 1
        self._waiting: list[int] = []
        _AHEAD.add(self)

    def draw(self) -> int:
        """Draw that was not given out before."""
        try:
            return self._waiting.pop()
        except IndexError:
            first, *others = self._law([0] * self._size)
            self._size = min(2 * self._size, _MOST_AHEAD)
            self._waiting.extend(others)
            return int(first)

    def forget(self) -> None:
        """Drop the remaining draws, because after a fork two processes hold them."""
        self._waiting.clear()

    def __reduce__(self) -> NoReturn:
        """Refuse to be copied, because a copy would give out the same draws."""
        raise TypeError("draws of noise are given out once, so they cannot be copied or pickled")


_AHEAD: WeakSet[NoiseAhead] = WeakSet()


def _forget_parents_draws() -> None:
    for ahead in _AHEAD:
        ahead.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parents_draws)


class SecureNoise:
    """OpenDP's exact discrete samplers; a draw uses no seed and no floating point.

    OpenDP draws many Z around 0 at once, and the statistic is added in exact integers.  So
    ``statistic + Z`` has the law of OpenDP's mechanism at the statistic, and the time of a draw
    does not depend on the statistic.  OpenDP saturates at 64 bits.  Scales above 2^56 are refused.
    So a draw saturates only if the noise exceeds 2^7 scales, with probability below 10^-55.  The
    scale is rounded up to a double, so there is never too little noise.
    """

    simulated = False

    def __init__(self) -> None:
        """Import OpenDP in the background, because reading a small table takes less time."""
        loader = ThreadPoolExecutor(1)
        self._loading = loader.submit(_import_opendp)
        loader.shutdown(wait=False)

    @cached_property
    def _opendp(self) -> Any:  # noqa: ANN401 - OpenDP is generated and untyped
        opendp = self._loading.result()
        opendp.mod.enable_features("contrib")
        return opendp

    @cached_property
    def _law(self) -> Callable[[str, float], Callable[[list[int]], list[int]]]:
        """Function that maps the name and scale of a law to the law that ``NoiseAhead`` takes."""
        opendp = self._opendp
        vectors = opendp.domains.vector_domain(opendp.domains.atom_domain(T="i64"))
        laws = {
            "laplace": (opendp.measurements.make_laplace, opendp.metrics.l1_distance(T="i64")),
            "gaussian": (opendp.measurements.make_gaussian, opendp.metrics.l2_distance(T="f64")),
        }

        def law(name: str, scale: float) -> Callable[[list[int]], list[int]]:
            make, metric = laws[name]
            measurement: Callable[[list[int]], list[int]] = make(vectors, metric, scale=scale)
            return measurement

        return law

    @cached_property
    def _ahead(self) -> Callable[[str, float], NoiseAhead]:
        """Function that maps the name and (public) scale of a law to draws made in advance."""

        @lru_cache(_LAWS)
        def ahead(name: str, scale: float) -> NoiseAhead:
            return NoiseAhead(self._law(name, scale))

        return ahead

    def laplace(self, statistic: int, scale: Fraction) -> int:
        """``statistic + Z``; UnanswerableError if the scale is above the largest scale."""
        check_scale(scale)
        return statistic + self._draw("laplace", scale)

    def gaussian(self, statistic: int, sigma: Fraction) -> int:
        """``statistic + Z``; UnanswerableError if the scale is above the largest scale.

        Z has lighter tails than ``laplace`` noise of the same scale, so Z saturates even less
        often.
        """
        check_scale(sigma)
        return statistic + self._draw("gaussian", sigma)

    def cube(self, statistics: Sequence[int], scale: Fraction) -> tuple[int, ...]:
        """``statistics + Z``; UnanswerableError if the scale is above the largest scale.

        ``laplace`` proposes the radius.  The operating system's generator of uniform whole numbers
        decides whether the radius is accepted, and draws the place in the cube.
        """
        check_scale(scale)
        law = cube_radius(len(statistics), scale)
        while True:
            radius = self.laplace(law.mode, law.spread)
            if law.accepts(radius, secrets.randbelow):
                break
        return tuple(x + secrets.randbelow(2 * radius + 1) - radius for x in statistics)

    def _draw(self, law: str, scale: Fraction) -> int:
        """One draw of OpenDP's 64-bit discrete mechanism around 0; ``scale`` is public."""
        return self._ahead(law, rounded_up(scale)).draw()

    def choose(self, logit: float) -> bool:
        """True with probability ``1 / (1 + exp(-logit))``, by one discrete Laplace draw.

        With ``a = exp(-1/scale)`` a draw is >= 1 with probability ``a / (1 + a)``.  At the scale
        ``1/|logit|`` this is the chance of the less likely choice.  The computation cannot
        overflow or underflow, whatever the logit is.  The scale is private, because the logit is.
        So the law is made anew for every draw.  A cached law would be faster, but its time would
        reveal that two scales are equal.
        """
        if math.isinf(logit):
            return logit > 0
        scale = Fraction(1 / abs(logit)) if abs(logit) > 1 / _FAIR else Fraction(_FAIR)
        # Any scale is allowed, because saturation keeps the sign, and only the sign is used here.
        (drawn,) = self._law("laplace", rounded_up(scale))([0])
        unlikely = int(drawn) >= 1
        return unlikely != (logit > 0)

    def least_place(self, scores: Sequence[int], scale: Fraction) -> int:
        """Place of a small score, by OpenDP's permute-and-flip; ``scale`` is public."""
        check_scale(scale)
        opendp = self._opendp
        select = opendp.measurements.make_noisy_max(
            opendp.domains.vector_domain(opendp.domains.atom_domain(T="i64")),
            opendp.metrics.linf_distance(T="i64"),
            opendp.measures.max_divergence(),
            scale=rounded_up(scale),
            negate=True,
        )
        return int(select(list(scores)))


class SimulatedNoise:
    """The same laws from a seeded numpy generator, for simulation only.

    Every result that is decided with this noise is stamped SIMULATED.
    """

    simulated = True

    # The annotation is a string, because a name would import the module.
    def __init__(self, rng: "np.random.Generator | int | None" = None) -> None:
        """Take a generator, or a seed for a new one."""
        self._rng = np.random.default_rng(rng)

    def laplace(self, statistic: int, scale: Fraction) -> int:
        """``statistic + Z``, with Z as the difference of two geometric draws."""
        return statistic + self._two_sided(float(scale))

    def cube(self, statistics: Sequence[int], scale: Fraction) -> tuple[int, ...]:
        """``statistics + Z``, by the same rejection from a discrete Laplace law."""
        law = cube_radius(len(statistics), scale)
        while True:
            radius = law.mode + self._two_sided(float(law.spread))
            if self._rng.random() < law.chance(radius):
                break
        moves = self._rng.integers(-radius, radius, len(statistics), endpoint=True).tolist()
        return tuple(x + z for x, z in zip(statistics, moves, strict=True))

    def _two_sided(self, scale: float) -> int:
        first, second = self._rng.geometric(-math.expm1(-1 / scale), 2)
        return int(first) - int(second)

    def gaussian(self, statistic: int, sigma: Fraction) -> int:
        """``statistic + Z``; Algorithm 3 of Canonne et al. accepts discrete Laplace draws."""
        deviation = float(sigma)
        scale = math.floor(deviation) + 1
        while True:
            z = self._two_sided(scale)
            misses = (abs(z) - deviation**2 / scale) ** 2 / (2 * deviation**2)
            if self._rng.random() < math.exp(-misses):
                return statistic + z

    def choose(self, logit: float) -> bool:
        """True with probability ``1 / (1 + exp(-logit))``."""
        return bool(self._rng.logistic() < logit)

    def least_place(self, scores: Sequence[int], scale: Fraction) -> int:
        """Place of a small score: scores in a random order, each taken with its own chance."""
        lowest = min(scores)
        order = self._rng.permutation(len(scores)).tolist()
        while True:
            for place in order:
                if self._rng.random() < math.exp(-(scores[place] - lowest) / float(scale)):
                    return int(place)


def _import_opendp() -> Any:  # noqa: ANN401 - OpenDP is untyped
    """OpenDP, imported with its samplers only.

    OpenDP's prelude would also import scikit-learn, scipy and polars, if they are installed.
    """
    for name in ("mod", "domains", "metrics", "measures", "measurements"):
        importlib.import_module(f"opendp.{name}")
    return importlib.import_module("opendp")


def rounded_up(number: Fraction) -> float:
    """Least double that is >= ``number`` (> 0)."""
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)
