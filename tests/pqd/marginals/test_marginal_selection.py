"""Selection of marginals: all columns and pairs, and triples that a fixed rule chooses."""

from itertools import combinations

import pytest

from pqd.errors import ParameterError
from pqd.marginals.marginal_selection import MOST_TRIPLES, check_ways, select_marginals

NAMES = tuple(f"column {n}" for n in range(12))


def test_all_columns_and_pairs_in_their_order() -> None:
    assert select_marginals(NAMES, 1) == tuple((name,) for name in NAMES)
    assert select_marginals(NAMES, 2)[len(NAMES) :] == tuple(combinations(NAMES, 2))
    assert select_marginals(NAMES[:1], 3) == ((NAMES[0],),)
    few = select_marginals(NAMES[:5], 3)
    assert len(few) == 5 + 10 + 10
    assert len(set(few)) == len(few)


def test_triples_are_chosen_by_their_names_alone() -> None:
    triples = set(select_marginals(NAMES, 3)[12 + 66 :])
    assert len(triples) == MOST_TRIPLES < 220
    # Whatever the order of the columns, and their capitals.
    other = select_marginals([name.upper() for name in reversed(NAMES)], 3)[12 + 66 :]
    assert {frozenset(map(str.lower, each)) for each in other} == set(map(frozenset, triples))
    # A column less takes away its own triples, and no other.
    kept = {each for each in triples if NAMES[3] not in each}
    fewer = set(select_marginals([name for name in NAMES if name != NAMES[3]], 3)[11 + 55 :])
    assert kept <= fewer
    # The rule is written down: a change of it would change what is measured.
    assert ("column 0", "column 1", "column 2") in triples
    assert ("column 0", "column 1", "column 6") not in triples


@pytest.mark.parametrize("ways", [0, 4, "1.5", "pairs", True])
def test_ways_are_1_2_or_3(ways: object) -> None:
    with pytest.raises(ParameterError, match="ways"):
        check_ways(ways)  # type: ignore[arg-type]


def test_more_marginals_than_can_be_told_are_refused() -> None:
    names = [f"column {n}" for n in range(100)]
    with pytest.raises(ParameterError, match="100 columns and their pairs are 5,050 distances"):
        select_marginals(names, 2)
    assert len(select_marginals(names, 1)) == 100
    assert len(select_marginals(names[:99], 3)) == 99 + 99 * 98 // 2 + MOST_TRIPLES
