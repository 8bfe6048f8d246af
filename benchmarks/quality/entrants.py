"""Entrants of the benchmark: what an entrant is, and the chances of its answers.

A paper adds an entrant of its own in one file: a class with the members of ``Entrant``, named by
``--entrant module:Class``.
"""

from collections.abc import Sequence
from fractions import Fraction
from importlib import import_module
from typing import NamedTuple, Protocol, cast, runtime_checkable
from zlib import crc32

import numpy as np

from benchmarks.quality.problems import Problem
from pqd.deciders import Noise, SimulatedNoise

# Answers that are drawn where an entrant gives no exact chances.
TRIALS = 20


class Answer(NamedTuple):
    """Answer of an entrant: whether it is conclusive, and what the entrant says if it must.

    An answer that is not conclusive is *undecided*.  ``says_yes`` is None if the entrant has no
    leaning; it then counts as half a yes.
    """

    says_yes: bool | None
    conclusive: bool


YES = Answer(says_yes=True, conclusive=True)
NO = Answer(says_yes=False, conclusive=True)


class Chances(NamedTuple):
    """Chances of an entrant's answers to one problem, over its noise.

    ``says_yes`` counts every answer, ``yes`` and ``no`` only conclusive ones.  ``exact`` is False
    if they are shares of trials.
    """

    says_yes: float
    yes: float
    no: float
    exact: bool = True


class Entrant(Protocol):
    """Program that answers problems; it needs no other base class.

    ``private`` says whether its answers are epsilon-DP in the rows of the private table.
    """

    name: str
    private: bool

    def fits(self, problem: Problem) -> bool:
        """Whether the entrant answers a query of this aggregate."""
        ...

    def verdict(self, problem: Problem, epsilon: Fraction, noise: Noise) -> Answer:
        """One answer, whose noise is that of ``noise`` alone."""
        ...


@runtime_checkable
class ExactEntrant(Protocol):
    """Entrant that knows the chances of its answers, so that no trial is needed."""

    def chances(self, problem: Problem, epsilon: Fraction) -> Chances:
        """Exact chances, or shares of trials where no closed form is known."""
        ...


@runtime_checkable
class TunedEntrant(Protocol):
    """Entrant that learns from the truth of other problems; it cannot be private."""

    def tuned(self, problems: Sequence[Problem]) -> Entrant:
        """Entrant that answers each problem as it learnt from the other half of the queries."""
        ...


def chances_of(entrant: Entrant, problem: Problem, epsilon: Fraction) -> Chances:
    """Chances of the answers of ``entrant``: its own, or else shares of seeded trials."""
    if isinstance(entrant, ExactEntrant):
        return entrant.chances(problem, epsilon)
    return tried(entrant, problem, epsilon)


def tried(entrant: Entrant, problem: Problem, epsilon: Fraction) -> Chances:
    """Shares of the answers in seeded trials."""
    noise = noise_of(entrant.name, problem, epsilon)
    answers = [entrant.verdict(problem, epsilon, noise) for _ in range(TRIALS)]
    return Chances(
        float(np.mean([0.5 if a.says_yes is None else a.says_yes for a in answers])),
        float(np.mean([a.conclusive and a.says_yes is True for a in answers])),
        float(np.mean([a.conclusive and a.says_yes is False for a in answers])),
        exact=False,
    )


def noise_of(name: str, problem: Problem, epsilon: Fraction) -> SimulatedNoise:
    """Noise of one entrant on one problem; it does not depend on the other entrants."""
    return SimulatedNoise(crc32(f"{name}, {problem.key}, {epsilon}".encode()))


class Constant:
    """Entrant that always gives the same answer; it reads nothing."""

    private = True

    def __init__(self, *, says_yes: bool) -> None:
        """Name the entrant by its answer."""
        self.name = f"always {'yes' if says_yes else 'no'}"
        self._answer = YES if says_yes else NO

    def fits(self, problem: Problem) -> bool:
        """Whether there is an answer: always."""
        del problem
        return True

    def verdict(self, problem: Problem, epsilon: Fraction, noise: Noise) -> Answer:
        """Answer, whatever the problem is."""
        del problem, epsilon, noise
        return self._answer

    def chances(self, problem: Problem, epsilon: Fraction) -> Chances:
        """Chances 0 and 1."""
        del problem, epsilon
        yes = float(self._answer is YES)
        return Chances(yes, yes, 1 - yes)


def named_entrant(text: str) -> Entrant:
    """Entrant that is named as ``module:Class``, made without arguments.

    Raises
    ------
    SystemExit
        There is no such class, or it lacks a member of an entrant.
    """
    module, _, name = text.partition(":")
    try:
        made = getattr(import_module(module), name)()
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise SystemExit(
            f"--entrant {text}: {error}; write module:Class, for a class that is made without "
            "arguments and can be imported"
        ) from None
    missing = [each for each in ("name", "private", "fits", "verdict") if not hasattr(made, each)]
    if missing:
        raise SystemExit(f"--entrant {text} has no {', no '.join(missing)}; see {__name__}.Entrant")
    return cast("Entrant", made)
