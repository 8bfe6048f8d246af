"""Isotonic regression: the ascending sequence nearest to noisy answers (Hay et al. 2010)."""

import numpy as np

from pqd.deciders.distributions import Floats


def isotonic(answers: Floats) -> Floats:
    """Ascending sequence with the least sum of squared distances to ``answers``.

    It is for prefix sums of values >= 0 in the order of their ranges, since their true answers
    ascend.  It is post-processing, so it costs no privacy, but it may increase the bias.  The
    algorithm pools adjacent violators (Barlow, Bartholomew, Bremner and Brunk 1972): while the mean
    of a block is below the mean of the block before it, the two blocks are merged.
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
