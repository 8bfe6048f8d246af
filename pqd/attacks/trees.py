"""Boosted trees that guess secrets from what an attacker knows; they learn from the copy alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from pqd.deciders.options import option
from pqd.errors import ParameterError
from pqd.marginals.classifier import Classifier, train

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

LearnerId = Literal["nearest", "trees"]
LEARNERS: tuple[LearnerId, ...] = get_args(LearnerId)
# Trees that try the copy's own rows are trained without a third of all rows at most.
_PARTS = 3


class Guesser(NamedTuple):
    """Classifier of one secret.

    ``known`` are the places of the columns that it reads, and ``cells`` the cells of the secret
    that the copy has, by class.
    """

    known: tuple[int, ...]
    cells: NDArray[np.int64]
    classifier: Classifier

    def guesses(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Guessed cell of each row; it depends on the codes of this row alone."""
        return self.cells[self.classifier.predict(codes[:, self.known])]


@dataclass(frozen=True, eq=False)
class Trees:
    """Boosted trees for each secret.

    Training has no randomness and uses one thread, and a guess depends on one row alone.
    """

    guessers: tuple[Guesser, ...]

    @classmethod
    def grown(
        cls,
        codes: NDArray[np.int64],
        guessed: NDArray[np.int64],
        secrets: Sequence[int],
        known: Sequence[int] | None,
    ) -> Trees:
        """Trees that learn the cells ``guessed`` of the secrets from the ``codes`` of rows.

        ``known`` are the places of the columns that an attacker knows; None for all but the secret.
        """
        every = range(codes.shape[1]) if known is None else known
        guessers = []
        for secret, own in zip(secrets, guessed.T, strict=True):
            columns = tuple(place for place in every if place != secret)
            cells, classes = np.unique(own, return_inverse=True)
            classifier = train(codes[:, columns], classes, len(cells))
            guessers.append(Guesser(columns, cells, classifier))
        return cls(tuple(guessers))

    @property
    def name(self) -> str:
        """Name of the model in reports; empty without a secret."""
        return self.guessers[0].classifier.name if self.guessers else ""

    def guesses(self, codes: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Guessed cell of each secret in each row."""
        return [each.guesses(codes) for each in self.guessers]

    def facts(self) -> Any:  # noqa: ANN401 - JSON values
        """Facts for a cache key: all that a guess depends on, except the row."""
        return [
            [list(each.known), each.cells.tolist(), each.classifier.facts()]
            for each in self.guessers
        ]


def unseen_guesses(
    codes: NDArray[np.int64],
    guessed: NDArray[np.int64],
    secrets: Sequence[int],
    known: Sequence[int] | None,
    own: NDArray[np.int64],
) -> list[NDArray[np.int64]]:
    """Guesses for the rows ``own`` of the copy, each by trees that never saw the row.

    Raises
    ------
    ParameterError
        If the copy has one row, so that no other row is left to learn from.
    """
    if len(codes) < 2:
        raise ParameterError(
            f"the copy has {len(codes)} row, and trees ({option('--learner trees')}) learn from "
            "other rows than they are tried on; give a copy of at least 2 rows"
        )
    parts = min(len(own), -(-_PARTS * len(own) // len(codes)))
    guesses = np.zeros((len(secrets), len(own)), np.int64)
    for part in np.array_split(np.arange(len(own)), parts):
        others = np.delete(np.arange(len(codes)), own[part])
        trees = Trees.grown(codes[others], guessed[others], secrets, known)
        guesses[:, part] = trees.guesses(codes[own[part]])
    return list(guesses)
