"""Values of either sign."""

import numpy as np
import pytest

from pqd.deciders.batch.linear.clipped_composition import ClippedComposition
from pqd.deciders.batch.linear.signed import SignedMechanism
from pqd.deciders.batch.linear.universe import Rows
from tests.support.linear_mechanisms import LINE, REDUCED, TABLE, Silent


def test_signs() -> None:
    signed = Rows(TABLE.classes, np.where(TABLE.classes % 2, -TABLE.levels, TABLE.levels))
    side = ClippedComposition(queries=REDUCED)
    mechanism = SignedMechanism(positive=side, negative=side)
    released = mechanism.release(signed, 10**6, Silent())
    one = [
        sum(signed.levels[(signed.classes >= low) & (signed.classes <= high)])
        for low, high in zip(LINE.axes[0].first, LINE.axes[0].last, strict=True)
    ]
    assert released.answers == pytest.approx(one)
    assert released.thresholds is not None
    assert len(released.thresholds) == 2 * REDUCED.size
