"""What follows from closed forms alone: Figure 4's errors and Table 4's thresholds."""

import math
from fractions import Fraction

import pandas as pd

from benchmarks.paper.record import Setting
from pqd.deciders import DECIDERS, Histogram, Interval

# Setting of Figure 4.
CENTRE, RATE, TAUS_OF_FIGURE = 749, Fraction(1, 10), (10, 30)
# Examples 5.3 and 5.6.
GS, DS, EXAMPLE_EPSILON, DELTA = 2_000_000, 9_000, 0.1, 0.05


def figure_4(_: Setting) -> pd.DataFrame:
    """Exact errors of LM, EM and the margin for every ``q(D)`` around the interval."""
    lines = []
    for tau in TAUS_OF_FIGURE:
        interval = Interval.around(CENTRE, tau)
        for private in range(CENTRE - 3 * tau, CENTRE + 3 * tau + 1):
            for name in ("lm_count", "em_count", "inv_count"):
                accept = float(DECIDERS[name]().accept(Histogram.of_mass(private), interval, RATE))
                inside = interval.contains(private)
                lines.append(
                    {"tau": tau, "private": private, "decider": name, "inside": int(inside),
                     "error": 1 - accept if inside else accept, "bound": bound(private, tau)}
                )  # fmt: skip
    return pd.DataFrame(lines)


def bound(private: int, tau: int) -> float:
    """LM's error as Proposition 4.2 gives it: exact inside the interval, a bound outside."""
    below, above = private - (CENTRE - tau), CENTRE + tau - private
    rate = float(RATE)
    if below <= 0:
        return math.exp(rate * below) / 2
    if above <= 0:
        return math.exp(rate * above) / 2
    return (math.exp(-rate * below) + math.exp(-rate * above)) / 2


def thresholds(_: Setting) -> pd.DataFrame:
    """Effectiveness thresholds of COUNT: as printed, and exact; epsilon is 1, so they scale."""
    return pd.DataFrame(
        {
            "delta": delta,
            "lm_printed": math.log(1 / (2 * delta)),
            "lm_exact": math.log(1 / delta),
            "em_exact": math.log((1 - delta) / delta),
        }
        for delta in (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4)
    )


def examples(_: Setting) -> pd.DataFrame:
    """Thresholds of Examples 5.3 and 5.6: as printed, and exact."""
    rungs = math.log2(GS)
    numbers = {
        "lm_sum printed": GS / EXAMPLE_EPSILON * math.log(1 / (2 * DELTA)),
        "lm_sum exact": GS / EXAMPLE_EPSILON * math.log(1 / DELTA),
        "r2t_sum printed": 4 * rungs * math.log(rungs / DELTA) * DS / EXAMPLE_EPSILON,
        "lm_sum printed at GS = 2": 2 / EXAMPLE_EPSILON * math.log(1 / (2 * DELTA)),
    }
    return pd.DataFrame({"threshold": list(numbers), "value": list(numbers.values())})
