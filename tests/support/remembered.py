"""Public preparation that hundreds of runs share, computed once in each process of the tests.

Nothing is lost by that: the functions are pure, and what is remembered is found by the content of
every argument, the object included.  A run that let a private value into its preparation would
ask with other content, and get another result, as it does without this.
"""

import pickle
import sys
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import pytest

from pqd.batches.simulation import ErrorSimulation
from pqd.deciders import Histogram
from pqd.deciders.evaluation.effectiveness import (
    error_rates,
    operating_characteristic,
    searched_threshold,
)
from pqd.deciders.evaluation.needed_budget import needed_epsilon
from pqd.planning import budget_split, choose_decider, planned_comparison

# They take the functions by name, and are loaded before any is replaced.
PLANNING = budget_split, choose_decider, planned_comparison

P = ParamSpec("P")
R = TypeVar("R")


def by_content(value: object) -> object:
    """Content that tells a histogram from others; it also holds what it has computed so far."""
    if isinstance(value, Histogram):
        return Histogram, value.values.tobytes(), value.counts.tobytes()
    return value


def each(*arguments: object) -> object:
    return [by_content(value) for value in arguments]


def remembered(function: Callable[P, R], content: Callable[..., object] = each) -> Callable[P, R]:
    """``function`` with a memory of its results, by the ``content`` of its arguments.

    What cannot be pickled is not kept.
    """
    known: dict[bytes, Any] = {}

    @wraps(function)
    def found(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            key = pickle.dumps((content(*args), kwargs))
        except (pickle.PicklingError, AttributeError, TypeError):
            return function(*args, **kwargs)
        if key not in known:
            known[key] = function(*args, **kwargs)
        return deepcopy(known[key])  # type: ignore[no-any-return]

    return found


def simulated(simulation: ErrorSimulation, *rest: object) -> object:
    """Simulation without what it has read already, which follows from the counts."""
    return simulation._counts, simulation._epsilon, simulation.truth, rest


ERRORS = remembered(ErrorSimulation.errors, simulated)
EVALUATED: dict[str, Any] = {
    function.__name__: remembered(function)
    for function in (
        error_rates,
        needed_epsilon,
        operating_characteristic,
        searched_threshold,
    )
}


@pytest.fixture(scope="module", autouse=True)
def public_preparation() -> Iterator[None]:
    """Remember how deciders err on public stand-ins, and how a simulated mechanism does.

    For the folders whose conftest has this fixture: no test in them changes a decider.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] == "pqd":
                for attribute, function in EVALUATED.items():
                    if vars(module).get(attribute) is function.__wrapped__:
                        patch.setattr(module, attribute, function)
        patch.setattr(ErrorSimulation, "errors", ERRORS)
        yield
