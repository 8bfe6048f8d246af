"""Classifier: gradient boosted trees that predict a row's class from its cells.

The classifier is trained on the synthetic table alone, so it is a public function of one row.
scikit-learn is an extra (``pqd[learn]``) and is imported when it is needed.
"""

from __future__ import annotations

import hashlib
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqd.deciders.extras import needed

# Number of trees of all classes together (it determines the time of a prediction), and the fewest
# and the most rounds of boosting.
_TREES = 100
_LEAST_ROUNDS = 10
_MOST_ROUNDS = 50


def require_library(purpose: str = "a target") -> None:
    """Raise ParameterError unless scikit-learn can be imported; ``purpose`` needs it."""
    _estimator_class(purpose)


def _estimator_class(purpose: str = "a classifier") -> Any:  # noqa: ANN401 - it has no types
    with needed("learn", purpose):
        from sklearn.ensemble import (  # noqa: PLC0415 - an extra, and a heavy import
            HistGradientBoostingClassifier,
        )
    return HistGradientBoostingClassifier


def _one_thread() -> AbstractContextManager[object]:
    """Context in which one thread grows and reads the trees.

    Several threads wait for each other at every leaf.  On a busy machine this is many times slower.
    """
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - comes with scikit-learn

    limits: AbstractContextManager[object] = threadpool_limits(limits=1, user_api="openmp")
    return limits


def _version() -> str:
    from sklearn import __version__  # noqa: PLC0415 - an extra, and a heavy import

    return str(__version__)


@dataclass(frozen=True, eq=False)
class Classifier:
    """Classifier of rows by the codes of their columns; ``train`` makes it.

    The class of a row depends on the codes of this row alone, not on other rows of the same call:
    each tree adds one number to the row's score, always in the order of the trees.

    Attributes
    ----------
    classes
        The number of classes, which are numbered from 0.
    parameters
        The parameters that scikit-learn is given, and its version: JSON values.
    training
        SHA-256 of the training rows.
    rows
        The number of training rows.
    """

    classes: int
    parameters: dict[str, Any]
    training: str
    rows: int
    _model: Any = field(repr=False)

    def predict(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Class of each row, ``0 .. classes - 1``, of ``codes`` of shape (rows, columns)."""
        if not len(codes):
            return np.zeros(0, dtype=np.int64)
        with _one_thread():
            classes: NDArray[np.int64] = self._model.predict(codes.astype(np.float64))
        return classes.astype(np.int64)

    @property
    def name(self) -> str:
        """Name in reports."""
        return f"{self.parameters['model']} of scikit-learn {self.parameters['scikit-learn']}"

    def facts(self) -> Any:  # noqa: ANN401 - JSON values
        """Facts for a cache key: all facts that a row's class depends on, except its codes."""
        return [self.parameters, self.training]


def train(codes: NDArray[np.int64], labels: NDArray[np.int64], classes: int) -> Classifier:
    """Classifier of ``labels`` (rows,) by ``codes`` (rows, columns).

    Codes are taken as ordered numbers, even for a column without an order: a tree can cut the
    column several times to separate any codes.  Training uses one thread and no randomness.

    Raises
    ------
    ParameterError
        If scikit-learn is not installed.
    """
    estimator = _estimator_class()
    stated: dict[str, Any] = {
        "max_iter": rounds_of(classes),
        "learning_rate": 0.1,
        "max_leaf_nodes": 31,
        "min_samples_leaf": 20,
        "early_stopping": False,
        "random_state": 0,
    }
    model = estimator(**stated)
    with _one_thread():
        model.fit(codes.astype(np.float64), labels)
    parameters = {"model": estimator.__name__, "scikit-learn": _version(), **stated}
    content = hashlib.sha256(np.ascontiguousarray(codes, dtype="<i8").ravel().data)
    content.update(np.ascontiguousarray(labels, dtype="<i8").ravel().data)
    return Classifier(classes, parameters, content.hexdigest(), len(labels), model)


def rounds_of(classes: int) -> int:
    """Rounds of boosting; a round grows one tree per class, but one tree for two classes."""
    trees = 1 if classes == 2 else classes
    return max(_LEAST_ROUNDS, min(_MOST_ROUNDS, _TREES // trees))
