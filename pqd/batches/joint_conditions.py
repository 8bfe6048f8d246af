"""Joint conditions: all combinations of conditions on one column, from the SQL alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pqd.sql.regions import exactly

if TYPE_CHECKING:
    from pqd.sql.predicate import Atom

Booleans = NDArray[np.bool_]


def joint_truths(atoms: Sequence[Atom]) -> Booleans | None:
    """Truth of each of ``atoms``, for every value of their one column and for NULL.

    Returns
    -------
    array of shape (combinations, atoms), or None
        Whatever a row holds, its combination is among these (a few that no row can have may be,
        too): between two neighbours of all constants mentioned no condition changes.  They are
        in the order of the column's values, each where it comes first, NULL last.  None where
        the atoms are not comparisons of one and the same column with constants of one type.
    """
    read = [exactly(atom) for atom in atoms]
    known = [pair for pair in read if pair]
    admitted = [values for _, values in known]
    types = {type(value) for values in admitted for value, _ in values.cuts}
    if len(known) < len(read) or len({column for column, _ in known}) > 1 or len(types) > 1:
        return None
    cuts = sorted({cut for values in admitted for cut in values.cuts})
    order = {cut: place for place, cut in enumerate(cuts, start=1)}
    # A row for what lies below every cut, one for what follows each cut, and one for NULL.
    truths = np.zeros((len(cuts) + 2, len(atoms)), np.bool_)
    for place, values in enumerate(admitted):
        turns = np.zeros(len(cuts) + 1, np.int64)
        turns[[order[cut] for cut in values.cuts]] = 1
        truths[:-1, place] = (np.cumsum(turns) + values.start) % 2 == 1
        truths[-1, place] = values.null
    first = np.unique(truths, axis=0, return_index=True)[1]
    return truths[np.sort(first)]
