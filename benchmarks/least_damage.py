"""Least damages of values that a gate finds: lost values, invented ones, and counts that are off.

    python -m benchmarks.least_damage

Each row is for numbers of private rows and of rows of the copy, and for an epsilon of the gate.
A damage is found where the gate does not pass in 95 runs of 100, whatever else holds.  All of it is
exact, from public numbers: a table of 250 statements about values, no value that one row alone has.
"""

from collections.abc import Callable
from fractions import Fraction
from itertools import count

from pqd.deciders.distances.value_claims import (
    LOST_SHARE,
    RARE_TOLERANCE,
    Chance,
    CountKept,
    FewLost,
    normal_deviations,
    spare_rows,
)
from pqd.deciders.distributions import noise_tail
from pqd.deciders.single.inverse_sensitivity import least_margin

SIZES = ((24_421, 24_421), (3_000, 3_000), (24_421, 2_442))
EPSILONS = (Fraction(1, 4), Fraction(1))
STATEMENTS = 250
SHARES = (Fraction(1, 100), Fraction(1, 20), Fraction(1, 4))
ALPHA, MISSED = Fraction(1, 20), Fraction(1, 20)


def least_found(margin: Callable[[int], int], epsilon: Fraction) -> int:
    """Least damage whose ``margin`` lets a gate pass with probability 0.05 at most."""
    needed = least_margin(epsilon, ALPHA)
    return next(
        each for each in count(1) if noise_tail(needed - margin(each), 1 / epsilon) <= MISSED
    )


def row(rows: int, copy_rows: int, epsilon: Fraction) -> str:
    """Row of the table."""
    chance = Chance(normal_deviations(STATEMENTS), spare_rows(epsilon))
    most = FewLost((0,), 0, copy_rows, LOST_SHARE, chance).most(rows)

    def kept(size: int) -> CountKept:
        return CountKept((0,), size, copy_rows, RARE_TOLERANCE, chance)

    lost = least_found(lambda each: most + 1 - each, epsilon)
    invented = least_found(lambda each: kept(each).ends(rows)[0] * -1, epsilon)
    off = []
    for share in SHARES:
        low, high = kept(round(share * copy_rows)).ends(rows)
        expected = float(share * rows)
        least = "-100" if low < 0 else f"{100 * (low / expected - 1):.0f}"
        off.append(f"{least} to +{100 * (high / expected - 1):.0f}")
    cells = [f"{rows:,}", f"{copy_rows:,}", f"{float(epsilon):g}", str(lost), str(invented), *off]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print a table in Markdown."""
    shares = " | ".join(f"{float(100 * each):g} % of the rows, off by %" for each in SHARES)
    print(f"| private rows | copy | epsilon | lost rows | invented rows of the copy | {shares} |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for rows, copy_rows in SIZES:
        for epsilon in EPSILONS:
            print(row(rows, copy_rows, epsilon))


if __name__ == "__main__":
    main()
