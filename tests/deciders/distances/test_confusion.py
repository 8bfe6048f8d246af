"""Figures of a confusion matrix."""

import numpy as np
import pytest

from pqd.deciders import ParameterError
from pqd.deciders.distances.cells import confusion_figures


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
