"""Isotonic regression: the ascending sequence nearest to noisy answers (Hay et al. 2010)."""

import numpy as np

from pqd.deciders.distributions import Floats


def isotonic(answers: Floats) -> Floats:
    """Ascending sequence with the least sum of squared distances to ``answers``.

    For prefix sums of values >= 0 in the order of their ranges, whose true answers ascend.  Post-
    processing, so it costs no privacy; it may add to the bias.  Pool adjacent violators (Barlow,
    Bartholomew, Bremner and Brunk 1972): while a block's mean is below that of the block before
    it, the two are merged.
    """
    sums: list[float] = []
    sizes: list[int] = []
    for answer in answers.tolist():
        total, size = answer, 1
        while sizes and sums[-1] * size > total * sizes[-1]:
            total, size = total + sums.pop(), size + sizes.pop()
        sums.append(total)
        sizes.append(size)
    return np.repeat(np.array(sums) / np.array(sizes), sizes)
