"""Selection of marginals: a profile compares sets of columns, which are chosen by name alone."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from heapq import nsmallest
from itertools import combinations
from math import comb

from pqd.deciders.exact import Number, exact
from pqd.deciders.options import option
from pqd.errors import ParameterError
from pqd.sql.schema import fold_case

# The most columns of one marginal, the most triples, and the most columns and pairs together.
MOST_WAYS, MOST_TRIPLES, MOST_MARGINALS = 3, 100, 5_000

Names = tuple[str, ...]


def check_ways(ways: Number) -> int:
    """Largest number of columns of a marginal; ParameterError unless it is 1, 2 or 3."""
    stated = exact(ways, "ways", "1, 2 or 3")
    if stated.denominator != 1 or not 1 <= stated <= MOST_WAYS:
        raise ParameterError(
            f"ways is {ways}; it must be 1 (columns), 2 (columns and pairs) or 3 (also "
            f"{MOST_TRIPLES} triples)"
        )
    return int(stated)


def select_marginals(columns: Sequence[str], ways: int) -> tuple[Names, ...]:
    """All columns, then all pairs, then at most 100 triples; each part in the order of ``columns``.

    The triples whose names have the least SHA-256 are taken.  So anybody can compute which triples
    are taken, and a new column does not change the order of the other triples.

    Raises
    ------
    ParameterError
        If there are more than 5,000 columns and pairs: the noise of a distance grows with their
        number.
    """
    number = sum(comb(len(columns), size) for size in range(1, min(ways, 2) + 1))
    if number > MOST_MARGINALS:
        raise ParameterError(
            f"{len(columns)} columns and their pairs are {number:,} distances; at most "
            f"{MOST_MARGINALS:,} are allowed in one run. Name fewer columns "
            f"({option('--columns')}), or compare columns alone ({option('--ways 1')})"
        )
    selected: list[Names] = []
    for size in range(1, min(ways, len(columns)) + 1):
        every = combinations(columns, size)
        if size < MOST_WAYS or comb(len(columns), size) <= MOST_TRIPLES:
            selected.extend(every)
            continue
        places = {name: place for place, name in enumerate(columns)}
        chosen = nsmallest(MOST_TRIPLES, every, key=_rank)
        selected.extend(sorted(chosen, key=lambda names: [places[name] for name in names]))
    return tuple(selected)


def _rank(names: Names) -> bytes:
    """SHA-256 of the names of a marginal, whatever their order and capitals."""
    # A name may hold any character, so its length stands before it to mark its end.
    text = "".join(f"{len(name)}:{name}" for name in sorted(map(fold_case, names)))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
