"""Keywords of the public functions: one that is not known gets the one that was probably meant."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from typing import ParamSpec, TypeVar

from pqd.deciders.options import for_call, option

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

# Keywords that callers expect, with what to write instead; the first that a function has counts.
_MEANT: Mapping[str, tuple[str, ...]] = {
    "epsilon": ("total_epsilon",),
    "total_epsilon": ("epsilon",),
    "budget": ("total_epsilon", "epsilon"),
    "tolerance": ("tau",),
    "threshold": ("tau",),
    "confidence": ("alpha",),
}
# Facts of a column as an option states them; in Python they are one argument.
_FACTS = {
    **dict.fromkeys(("bounds", "facts"), "--bounds age=0:120"),
    **dict.fromkeys(("type", "types"), "--type zip=text"),
}
_NO_SEED = (
    "noise has no seed, since whoever knew it could take the noise off; for research on tables "
    "that are not private: pqd.simulate(pqd.audit, seed=3)(...)"
)
_NEAR = 0.6


def with_keyword_advice(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Function whose TypeError for an unknown keyword says what was probably meant.

    Raises
    ------
    TypeError
        If a keyword is not known; no table has been opened and nothing was spent.
    """
    known = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def call(*arguments: Arguments.args, **keywords: Arguments.kwargs) -> Result:
        # A comparison without queries takes facts as a profile does.
        of_queries = "queries" in known and (len(arguments) > 2 or "queries" in keywords)
        facts = "columns" if of_queries or "facts" not in known else "facts"
        with for_call(facts):
            for keyword in keywords:
                if keyword not in known:
                    advice = _advice(keyword, known, facts)
                    name = f"pqd.{function.__name__}"
                    raise TypeError(f"{name} has no argument {keyword!r}; {advice}")
            return function(*arguments, **keywords)

    return call


def with_form(form: str) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Decorator: the TypeError of a call with other arguments shows how the call is written."""

    def decorated(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def call(*arguments: Arguments.args, **keywords: Arguments.kwargs) -> Result:
            try:
                signature.bind(*arguments, **keywords)
            except TypeError as error:
                raise TypeError(f"pqd.{function.__name__}: {error}; write {form}") from None
            return function(*arguments, **keywords)

        return call

    return decorated


def _advice(keyword: str, known: Collection[str], facts: str) -> str:
    """What to write in place of an unknown keyword; ``facts`` is that for facts of columns."""
    if keyword in {"seed", "random_state", "rng"}:
        return _NO_SEED
    if keyword in _FACTS and facts in known:
        return f"write {option(_FACTS[keyword])}"
    meant = [name for name in _MEANT.get(keyword, ()) if name in known]
    meant = meant or get_close_matches(keyword, known, n=1, cutoff=_NEAR)
    return f"write {meant[0]}" if meant else f"it has {', '.join(known)}"
