"""Public preparation that hundreds of runs share, computed once in each process of the tests.

Nothing is lost by that: both functions are pure, and what is remembered is found by the content of
every argument, the object included.  A run that let a private value into its preparation would
ask with other content, and get another result, as it does without this.
"""

import pickle
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import pytest

import deciders.evaluation.effectiveness
from deciders.evaluation.effectiveness import decidable
from pqd.batches.simulation import ErrorSimulation

P = ParamSpec("P")
R = TypeVar("R")


def remembered(
    function: Callable[P, R], content: Callable[..., object] = lambda *args: args
) -> Callable[P, R]:
    """Return ``function`` with a memory of its results, by the ``content`` of its arguments.

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


def staged(stage: ErrorSimulation, *rest: object) -> object:
    """Return a stage without what it has read already, which follows from the cells."""
    return stage._cells, stage._epsilon, stage._truth, stage.size, rest


ONCE = remembered(decidable), remembered(ErrorSimulation.errors, staged)


@pytest.fixture(scope="module", autouse=True)
def public_preparation() -> Iterator[None]:
    """Remember whether an interval is decidable, and what a rehearsal errs by.

    For the folders whose conftest has this fixture: no test in them changes a decider.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deciders.evaluation.effectiveness, "decidable", ONCE[0])
        patch.setattr(ErrorSimulation, "errors", ONCE[1])
        yield
