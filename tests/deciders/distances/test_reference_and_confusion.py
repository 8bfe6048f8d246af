"""A fresh sample's distance by enumeration, and the figures of a confusion matrix."""

import itertools
import math

import numpy as np
import pytest

from pqd.deciders import ParameterError
from pqd.deciders.distances.cells import confusion_figures
from pqd.deciders.distances.statistics import fresh_sample_distance


@pytest.mark.parametrize("copy", [(1, 2, 3), (5, 0, 5), (1, 1, 1), (4, 0, 0)])
@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_a_fresh_sample_by_every_table_it_can_be(copy: tuple[int, ...], n: int) -> None:
    p = np.array(copy) / sum(copy)
    mean = 0.0
    for counts in itertools.product(range(n + 1), repeat=3):
        if sum(counts) == n:
            ways = math.factorial(n) / math.prod(map(math.factorial, counts))
            distance = np.abs(np.array(counts) / n - p).sum() / 2
            mean += ways * math.prod(p ** np.array(counts)) * distance
    assert fresh_sample_distance(copy, n) == pytest.approx(mean, abs=1e-12)


def test_a_fresh_sample_of_many_rows() -> None:
    """By the normal law: each cell deviates by ``sqrt(2 n p (1 - p) / pi)`` on average."""
    copy, n = np.arange(1, 400), 10**9
    p = copy / copy.sum()
    expected = np.sqrt(2 * p * (1 - p) / (math.pi * n)).sum() / 2
    assert fresh_sample_distance(copy, n) == pytest.approx(expected, rel=1e-4)


def test_a_fresh_sample_needs_rows() -> None:
    for copy, n in (((1, 2), 0), ((0, 0), 5), ((-1, 2), 5)):
        with pytest.raises(ParameterError, match="fresh sample"):
            fresh_sample_distance(copy, n)


def test_figures_without_noise() -> None:
    figures = confusion_figures([[600, 100, 0], [50, 150, 0], [10, 10, 80]], 10**6, 0.05)
    assert figures.accuracy.value == pytest.approx(0.83)
    recalls = [recall.value for recall in figures.recalls if recall]
    assert recalls == pytest.approx([6 / 7, 3 / 4, 4 / 5])
    assert figures.balanced is not None
    assert figures.balanced.value == pytest.approx(np.mean(recalls))
    assert [share.value for share in figures.shares] == pytest.approx([0.7, 0.2, 0.1])
    every = [figures.accuracy, figures.balanced, *figures.recalls, *figures.shares]
    for one in every:
        assert one is not None
        assert one.low <= one.value <= one.high <= one.low + 0.06


def test_of_a_class_without_rows_nothing_is_said() -> None:
    figures = confusion_figures([[600, 100, 3], [50, 150, -2], [1, -3, 1]], "0.2", 0.05)
    assert figures.recalls[0] is not None
    assert figures.recalls[2] is None
    assert figures.balanced is None
    assert figures.shares[2].value == 0


def test_a_matrix_that_is_not_square_is_refused() -> None:
    for shape in ((2, 3), (1, 1), (4,)):
        with pytest.raises(ParameterError, match="must be square"):
            confusion_figures(np.ones(shape), 1, 0.05)
