"""Claims that Qiu et al. (KDD 2022) read off their figures, such as "a errs less than b"."""

import math
from collections.abc import Callable

from benchmarks.numerical_query_problems import ZEROS, Box

# Text of a claim, and a function that gives its margin: positive if the claim is met.
Claim = tuple[str, Callable[[Callable[[str], Box]], float]]


def below(less: float, more: float) -> float:
    """Logarithm of ``more / less``; an error of 0 counts as 1e-9."""
    return math.log(max(more, 1e-9) / max(less, 1e-9))


PMW = ("normalization", "global_truncation", "numerical")
COMMON: tuple[Claim, ...] = (
    (
        "clipped_composition has the largest maximum error",
        lambda of: below(max(of(name).largest for name in PMW), of("clipped_composition").largest),
    ),
    (
        "numerical has a smaller median error than normalization and global truncation",
        lambda of: below(of("numerical").median, min(of(name).median for name in PMW[:2])),
    ),
)
SMALLEST: Claim = (
    "numerical has the smallest median error of all",
    lambda of: below(
        of("numerical").median, min(of(name).median for name in ("clipped_composition", *PMW[:2]))
    ),
)
ADULT: tuple[Claim, ...] = (
    *COMMON,
    (
        "clipped_composition has the largest median error",
        lambda of: below(max(of(name).median for name in PMW), of("clipped_composition").median),
    ),
    (
        "normalization has the narrower box (75 % over 25 %)",
        lambda of: (
            below(of("normalization").upper, of("numerical").upper)
            - below(of("normalization").lower, of("numerical").lower)
        ),
    ),
)
SLIGHTLY: Claim = (
    "numerical has a slightly larger maximum error than normalization (up to twice)",
    lambda of: min(
        below(of("normalization").largest, of("numerical").largest),
        below(of("numerical").largest, 2 * of("normalization").largest),
    ),
)
SKEWED: tuple[Claim, ...] = (
    *COMMON,
    (
        "clipped_composition has a much smaller median error than normalization (by half)",
        lambda of: below(of("clipped_composition").median, of("normalization").median / 2),
    ),
)
FREQUENT: tuple[Claim, ...] = (
    *COMMON,
    (
        "normalization has a smaller median error than global truncation",
        lambda of: below(of("normalization").median, of("global_truncation").median),
    ),
    (
        "but not a smaller maximum error",
        lambda of: below(of("global_truncation").largest, of("normalization").largest),
    ),
    SMALLEST,
)
STRUCTURED: tuple[Claim, ...] = (
    (
        "ranges has a smaller maximum error than numerical",
        lambda of: below(of("ranges").largest, of("numerical").largest),
    ),
    (
        "ranges and numerical have similar median errors (within a factor of 3)",
        lambda of: math.log(3) - abs(below(of("ranges").median, of("numerical").median)),
    ),
    (
        "ranges is much faster than numerical (by half)",
        lambda of: below(of("ranges").seconds, of("numerical").seconds / 2),
    ),
)
BENCHMARK: tuple[Claim, ...] = (
    *COMMON,
    (
        "clipped_composition has a smaller median error than normalization and global truncation",
        lambda of: below(
            of("clipped_composition").median, min(of(name).median for name in PMW[:2])
        ),
    ),
    SMALLEST,
)
BEYOND_ZEROS: Claim = (
    "(ours) numerical has a smaller median error than all zeros",
    lambda of: below(of("numerical").median, of(ZEROS).median),
)
