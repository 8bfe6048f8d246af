"""``pqd.register``: a decider of one's own, on an installed pqd."""

from __future__ import annotations

from typing import Any

from pqd.deciders import DECIDERS
from pqd.deciders.single.registered import register as register_decider
from pqd.planning.choose_decider import PAPER
from pqd.stated.budgets import AUTO


def register(name: str, decider: type[Any], *, package: str, version: str) -> None:
    """Register a decider of one's own for this process (docs/extending.md).

    ``pqd.audit(..., decider=name)`` then takes it.  It gets the private histogram and the run's
    noise, and the run is charged the epsilon that the caller states.  **Whether it keeps this
    epsilon is for its author to prove**: pqd does not check it, so its verdicts *lean* yes or no
    and are never decided, ``auto`` never takes it, and each report names its package and version.
    Its code runs with your rights, as any package does.

    An installed package needs no call: its entry points in the group ``pqd.deciders`` are found
    when they are named, also by the command line.

    Parameters
    ----------
    name
        The name that callers state; no name of pqd's own.
    decider
        A frozen dataclass with ``aggregate``, ``bounds``, ``on``, ``accept`` and ``decide``.
    package, version
        Whose decider it is, and which version: a changed decider needs another version, or stored
        verdicts of the former are replayed as its own.

    Raises
    ------
    ParameterError
        If a name is not allowed or taken, or if the class lacks something.
    """
    taken = {**DECIDERS, AUTO: None, PAPER: None}
    register_decider(name, decider, package=package, version=version, taken=taken)
