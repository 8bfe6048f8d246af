"""Least damages of values that a gate finds: lost values, invented ones, and counts that are off.

    python -m benchmarks.least_damage [--csv docs/experiments]

Each row is for numbers of private rows and of rows of the copy, and for an epsilon of the gate.
A damage is found where the gate does not pass in 95 runs of 100, whatever else holds.  All of it is
exact, from public numbers: a table of 250 statements about values, no value that one row alone has.
"""

import argparse
from collections.abc import Callable
from fractions import Fraction
from itertools import count

from benchmarks.result_tables import ResultTable, add_csv_option
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


def row(rows: int, copy_rows: int, epsilon: Fraction) -> dict[str, object]:
    """Row of the table; ``low_5`` and ``high_5`` are per cent of a value of 5 % of the rows."""
    chance = Chance(normal_deviations(STATEMENTS), spare_rows(epsilon))
    most = FewLost((0,), 0, copy_rows, LOST_SHARE, chance).most(rows)

    def kept(size: int) -> CountKept:
        return CountKept((0,), size, copy_rows, RARE_TOLERANCE, chance)

    lost = least_found(lambda each: most + 1 - each, epsilon)
    invented = least_found(lambda each: kept(each).ends(rows)[0] * -1, epsilon)
    off: dict[str, object] = {}
    for share in SHARES:
        low, high = kept(round(share * copy_rows)).ends(rows)
        expected = float(share * rows)
        name = f"{float(100 * share):g}"
        off[f"low_{name}"] = -100 if low < 0 else round(100 * (low / expected - 1))
        off[f"high_{name}"] = round(100 * (high / expected - 1))
    sizes: dict[str, object] = {"private_rows": rows, "copy_rows": copy_rows}
    return sizes | {"epsilon": float(epsilon), "lost": lost, "invented": invented} | off


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add_csv_option(parser)
    with ResultTable("least-damage", parser.parse_args().csv) as table:
        for rows, copy_rows in SIZES:
            for epsilon in EPSILONS:
                table.add(**row(rows, copy_rows, epsilon))


if __name__ == "__main__":
    main()
