"""Lazy fields of a frozen dataclass with slots: each is computed when it is first read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, fields
from functools import cache
from typing import Any, Self, cast

Figures = Mapping[str, Callable[[], Any]]


@cache
def _names(kind: Any) -> tuple[str, ...]:  # noqa: ANN401 - a dataclass
    """Names of the fields of a dataclass."""
    return tuple(field.name for field in fields(kind))


@cache
def _defaults(kind: Any) -> tuple[tuple[str, Any], ...]:  # noqa: ANN401 - a dataclass
    """Name and default of each field of a dataclass that has a default."""
    pairs = ((field.name, field.default) for field in fields(kind))
    return tuple((name, default) for name, default in pairs if default is not MISSING)


class Lazy:
    """Mix-in of a subclass of such a dataclass, which has one slot more, ``_lazy``.

    Equality, renderings and copies read the fields as any other code does, and so compute them.
    The value of a field must not depend on the time at which it is computed.
    """

    __slots__ = ()
    _lazy: dict[str, Callable[[], Any]]

    @classmethod
    def of(cls, known: Mapping[str, Any], lazy: Figures) -> Self:
        """Instance with ``known`` values, and functions that compute the ``lazy`` fields.

        All other fields have their defaults.
        """
        instance, put = cls.__new__(cls), object.__setattr__
        for name, value in known.items():
            if name not in lazy:
                put(instance, name, value)
        for name, value in _defaults(cast("Any", cls)):
            if name not in known and name not in lazy:
                put(instance, name, value)
        put(instance, "_lazy", dict(lazy))
        return instance

    @property
    def unread(self) -> Collection[str]:
        """Names of the lazy fields that were not read yet."""
        return self._lazy.keys()

    def with_lazy(self, **more: Callable[[], Any]) -> Self:
        """The same instance with ``more`` lazy fields."""
        return self.of(self._known, {**self._lazy, **more})

    @property
    def _known(self) -> dict[str, Any]:
        """Fields that need not be computed."""
        names = _names(cast("Any", type(self)))
        return {name: getattr(self, name) for name in names if name not in self._lazy}

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - of the field's type
        """Value of a field at its first reading, when its slot is still empty."""
        if name == "_lazy" or name not in self._lazy:
            raise AttributeError(name)
        value = self._lazy[name]()
        object.__setattr__(self, name, value)
        self._lazy.pop(name, None)
        return value
