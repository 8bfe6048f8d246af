"""Deciders of one's own: registered in a program, or by a package that is installed.

A registered decider gets the private histogram and the run's noise, and pqd has not checked its
proof.  So its verdict is a bit that *leans* yes or no: its p-value and all that it releases beside
the bit are dropped, and ``auto`` never takes it.  Its id names the package and version, so that
every report and every ledger says whose promise it is.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from importlib.metadata import EntryPoint, entry_points
from typing import Any, ClassVar, Protocol, Self

from pqd.deciders.errors import DeciderError, ParameterError, PqdError
from pqd.deciders.exact import Number
from pqd.deciders.histogram import Histogram
from pqd.deciders.interval import Interval
from pqd.deciders.lattice import Lattice
from pqd.deciders.noise import Noise
from pqd.deciders.single.base import DeciderDefaults, Decision

GROUP = "pqd.deciders"
AGGREGATES = ("COUNT", "COUNT DISTINCT", "SUM", "AVG", "MEDIAN", "QUANTILE")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+!-]{0,59}")
_METHODS = ("on", "accept", "decide")


class OwnDecider(Protocol):
    """Decider of one's own: a frozen dataclass; everything is in lattice units.

    Its class method ``on(lattice)`` makes it for a column, with ``p=`` for a quantile.  Its fields
    are part of the key under which a ledger stores its verdicts.
    """

    aggregate: ClassVar[str]

    @property
    def bounds(self) -> tuple[int | None, int | None, int]:
        """Lower bound, upper bound and step of the values; None where it needs no bound."""
        ...

    def accept(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """Exact chance of a yes on a public histogram."""
        ...

    def decide(
        self, histogram: Histogram, interval: Interval, epsilon: Number, noise: Noise
    ) -> Decision:
        """One epsilon-DP verdict on the private histogram."""
        ...


class BrokenDeciderError(PqdError):
    """A registered decider that broke on the private table; nothing of its error is shown."""

    exit_code = 3


@dataclass(frozen=True, slots=True)
class RegisteredDecider(DeciderDefaults):
    """Decider of one's own, of which a run uses the bit of its verdict alone.

    Each registration makes a subclass, which has its id, its aggregate and its maker.
    """

    own: OwnDecider

    id: ClassVar[str]
    aggregate: ClassVar[str]
    package: ClassVar[str]
    version: ClassVar[str]
    maker: ClassVar[Any]
    key_fields: ClassVar[tuple[str, ...]] = ("package", "version", "settings")

    @classmethod
    def on(cls, lattice: Lattice, **parameters: Any) -> Self:  # noqa: ANN401 - of the aggregate
        """Decider for ``lattice``; DeciderError with its own words if it does not fit."""
        try:
            made = cls(cls.maker.on(lattice, **parameters))
            hash(made)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is of public work
            raise DeciderError(f"{cls.id} does not fit: {_said(error)}") from None
        return made

    @property
    def bounds(self) -> tuple[int | None, int | None, int]:
        """Bounds, as it states them."""
        return self.own.bounds

    @property
    def settings(self) -> Mapping[str, Any]:
        """Fields of the decider, by name."""
        own: Any = self.own
        return {each.name: getattr(own, each.name) for each in fields(own)}

    def largest_scale(self, epsilon: Number) -> Fraction:
        """Largest noise scale, as it states it, or the usual bound."""
        stated: Callable[[Number], Fraction] | None = getattr(self.own, "largest_scale", None)
        if stated is None:
            return DeciderDefaults.largest_scale(self, epsilon)
        return Fraction(stated(epsilon))

    def accept(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """Chance of a yes, as it states it, on a public histogram; DeciderError if it has none."""
        try:
            chance = float(self.own.accept(histogram, interval, epsilon))
        except Exception as error:  # noqa: BLE001 - as in ``on``
            raise DeciderError(f"{self.id}: accept broke: {_said(error)}") from None
        if not 0 <= chance <= 1:
            raise DeciderError(f"{self.id}: accept gave {chance}, which is no probability")
        return chance

    def decide(
        self, histogram: Histogram, interval: Interval, epsilon: Number, noise: Noise
    ) -> Decision:
        """Bit of its verdict; its promise of epsilon is its own.

        Raises
        ------
        BrokenDeciderError
            It raised an error, or gave something else than a ``Decision``.  What it raised or gave
            may hold a private value, so nothing of it is shown.
        KeyboardInterrupt
            Somebody pressed Ctrl-C, or the decider raised an error of this kind, whose words are
            not shown either.
        """
        given, how, interrupted = None, "raised an error", False
        # A warning, such as numpy's of a division by zero, would tell of the private rows.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                given = self.own.decide(histogram, interval, epsilon, noise)
                how = "gave no pqd.deciders.Decision with True or False"
            except KeyboardInterrupt:
                interrupted = True
            except BaseException:  # noqa: BLE001, S110 - errors of its own kinds have words, too
                pass
        # Raised outside the handlers, so that the error of the decider is no context of this one.
        if interrupted:
            raise KeyboardInterrupt
        if type(given) is Decision and isinstance(given.outcome, bool):
            return Decision(given.outcome)
        raise BrokenDeciderError(
            f"{self.id} {how} on the private table; nothing of it is shown, since it may hold a "
            "private value. Try its decide on histograms of your own"
        )


# Deciders that this program has registered, by name.
_REGISTERED: dict[str, type[RegisteredDecider]] = {}


def register(
    name: str, decider: type[Any], *, package: str, version: str, taken: Mapping[str, Any]
) -> type[RegisteredDecider]:
    """Register ``decider`` for this process; ``taken`` are the names that it must not have.

    Raises
    ------
    ParameterError
        If a name is not allowed or taken, or if the class lacks something.
    """
    made = _class(name, decider, package, version)
    if name in taken:
        raise ParameterError(f"{name!r} is a name of pqd's own; choose another one")
    known = _REGISTERED.get(name)
    if known and known.package != package:
        raise ParameterError(
            f"{name!r} is registered already, by {known.package} {known.version}; choose another "
            "name"
        )
    # The same package may register again: a cell of a notebook runs many times.
    _REGISTERED[name] = made
    return made


def registered(name: str) -> type[RegisteredDecider] | None:
    """Class of a registered decider; an installed package is imported when it is named.

    Raises
    ------
    DeciderError
        If several packages have the name, or if the package cannot be loaded.
    """
    if name in _REGISTERED or not _NAME.fullmatch(name):
        return _REGISTERED.get(name)
    points = tuple(entry_points(group=GROUP, name=name))
    if not points:
        return None
    owners = sorted({_owner(point) for point in points})
    if len(owners) > 1:
        raise DeciderError(
            f"several installed packages have a decider {name!r}: {', '.join(owners)}; uninstall "
            "all but one"
        )
    point = points[0]
    try:
        package, _, version = owners[0].partition(" ")
        _REGISTERED[name] = _class(name, point.load(), package, version)
    except Exception as error:  # noqa: BLE001 - as in ``on``
        raise DeciderError(
            f"the decider {name!r} of the package {owners[0]} ({point.value}) cannot be loaded: "
            f"{_said(error)}; mend or uninstall it"
        ) from None
    return _REGISTERED[name]


def _owner(point: EntryPoint) -> str:
    """Package and version of an entry point."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else "unknown 0"


def _said(error: Exception) -> str:
    """Error of public work, in its own words."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _class(name: object, decider: Any, package: object, version: object) -> type[RegisteredDecider]:  # noqa: ANN401 - foreign
    """Class of a registered decider, once its parts are there."""
    if not (isinstance(name, str) and _NAME.fullmatch(name)):
        raise ParameterError(
            f"{name!r} is no name of a decider; take small letters, digits and _, such as my_count"
        )
    for what, text in (("package", package), ("version", version)):
        if not (isinstance(text, str) and _LABEL.fullmatch(text)):
            raise ParameterError(
                f"the {what} of {name} is {text!r}; take letters, digits and . _ + ! -, such as "
                f"{'my-study' if what == 'package' else '1.0'}"
            )
    aggregate = getattr(decider, "aggregate", None)
    if aggregate not in AGGREGATES:
        raise ParameterError(
            f"{name} decides {aggregate!r}; its aggregate must be one of {', '.join(AGGREGATES)}"
        )
    lacking = [each for each in _METHODS if not callable(getattr(decider, each, None))]
    lacking += [] if hasattr(decider, "bounds") else ["bounds"]
    if lacking:
        raise ParameterError(f"{name} lacks {', '.join(lacking)} (docs/extending.md)")
    if not getattr(getattr(decider, "__dataclass_params__", None), "frozen", False):
        raise ParameterError(
            f"{name} must be a frozen dataclass, since its fields tell its verdicts apart in the "
            "ledger: @dataclass(frozen=True)"
        )
    members = {
        "__slots__": (),
        "id": f"{name} ({package} {version})",
        "aggregate": aggregate,
        "package": package,
        "version": version,
        "maker": decider,
    }
    return type(name, (RegisteredDecider,), members)
