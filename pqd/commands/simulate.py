"""``pqd.simulate``: a command with seeded noise, for research and tests."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any, TypeVar, cast

from pqd.errors import ParameterError
from pqd.keywords import with_form
from pqd.run.means import seeded

_FORM = "pqd.simulate(pqd.audit, seed=3)(private, copy, queries, tau=..., epsilon=...)"
Command = TypeVar("Command", bound=Callable[..., Any])

# Commands that draw noise.
_COMMANDS = ("audit", "profile", "compare", "release", "risk", "gate", "check")
# Costs of a report, one for each private table.
_COSTS = ("cost", "held_out_cost")
# Arguments of an account, of a plan, and of a file that could not be marked.
_REFUSED = {
    "ledger": "it keeps no account",
    "dataset": "it keeps no account",
    "held_out_dataset": "it keeps no account",
    "fresh": "it keeps no account, so nothing is ever replayed",
    "dry_run": "a plan draws no noise",
    "baseline": "a baseline is of real runs",
    "table": "a table has no place for the mark SIMULATED",
}


@with_form(_FORM)
def simulate(command: Command, *, seed: int) -> Command:
    """Function like ``command`` whose noise has a seed: for research, **not private**.

    Whoever knows or guesses the seed computes the noise and takes it off.  So a simulated report
    protects nobody, every rendering of it says SIMULATED, and it must not be handed out if the
    private table is private.  No account is kept: nothing is charged, stored or replayed.

    ``pqd.simulate(pqd.audit, seed=3)(private, copy, queries, tau="5%", epsilon=1)`` gives an
    ``AuditReport``.  The noise has the laws of a real run.  The same seed gives the same report,
    byte for byte, and other seeds give independent noise.

    Parameters
    ----------
    command
        ``pqd.audit``, ``pqd.profile``, ``pqd.compare``, ``pqd.release``, ``pqd.risk``,
        ``pqd.gate`` or ``pqd.check``, whose spec may name a ledger and limits: these are left
        aside.
    seed
        A whole number of at least 0.

    Returns
    -------
    Callable
        A function with the arguments of ``command``, but for ``ledger``, ``dataset``, ``fresh``,
        ``dry_run`` and ``table``.  In its reports ``cost.epsilon`` is what a run would spend.

    Raises
    ------
    ParameterError
        If the command draws no noise, if the seed is no whole number of at least 0, or later if an
        argument is stated that a simulation does not have.
    """
    name = getattr(command, "__name__", "")
    if name not in _COMMANDS or getattr(import_module(f"pqd.commands.{name}"), name) != command:
        known = ", ".join(f"pqd.{each}" for each in _COMMANDS)
        raise ParameterError(f"pqd.simulate takes one of {known}; write {_FORM}")
    number = _whole(seed)

    @functools.wraps(command)
    def simulated(*arguments: Any, **keywords: Any) -> Any:  # noqa: ANN401 - those of the command
        for stated, reason in _REFUSED.items():
            value = keywords.get(stated)
            if value is not None and value is not False:
                raise ParameterError(f"a simulation has no argument {stated}: {reason}")
        with seeded(number):
            report = command(*arguments, **keywords)
        return _marked(report)

    return cast("Command", simulated)


def _marked(report: Any) -> Any:  # noqa: ANN401 - a report of any kind
    """Report whose costs are those of a simulation; so are those of the risk reports in it."""
    # Without a day one seed gives one report, on every day.
    costs = ((name, getattr(report, name, None)) for name in _COSTS)
    marked = {name: replace(cost, simulated=True, day=None) for name, cost in costs if cost}
    if (risk := getattr(report, "risk", None)) is not None:
        marked["risk"] = _marked(risk)
    if risks := getattr(report, "risks", None):
        marked["risks"] = {name: _marked(each) for name, each in risks.items()}
    return replace(report, **marked)


def _whole(seed: object) -> int:
    try:
        number = -1 if isinstance(seed, bool) else operator.index(cast("Any", seed))
    except TypeError:
        number = -1
    if number < 0:
        raise ParameterError(f"the seed must be a whole number of at least 0, not {seed!r}")
    return number
