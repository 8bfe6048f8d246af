"""Late fields of a frozen dataclass with slots: computed when they are first read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, fields
from functools import cache
from typing import Any, Self, cast

Figures = Mapping[str, Callable[[], Any]]


@cache
def _names(kind: Any) -> tuple[str, ...]:  # noqa: ANN401 - a class of this kind
    """Names of the fields of a dataclass."""
    return tuple(field.name for field in fields(kind))


@cache
def _defaults(kind: Any) -> tuple[tuple[str, Any], ...]:  # noqa: ANN401 - as above
    """Defaults of its fields, by name."""
    every = ((field.name, field.default) for field in fields(kind))
    return tuple((name, default) for name, default in every if default is not MISSING)


class Late:
    """Mix-in of a subclass of such a dataclass, with one slot more, ``_late``.

    Its equality, its renderings and its copies read the fields as any other code does, and so
    compute them.  What is computed must not hang on when it is.
    """

    __slots__ = ()
    _late: dict[str, Callable[[], Any]]

    @classmethod
    def made(cls, known: Mapping[str, Any], late: Figures) -> Self:
        """Instance with its ``known`` fields, and what computes the ``late`` ones.

        All others have their defaults.
        """
        found, put = cls.__new__(cls), object.__setattr__
        for name, value in known.items():
            if name not in late:
                put(found, name, value)
        for name, value in _defaults(cast("Any", cls)):
            if name not in known and name not in late:
                put(found, name, value)
        put(found, "_late", dict(late))
        return found

    @property
    def late(self) -> Collection[str]:
        """Names of the fields that were not read yet."""
        return self._late.keys()

    def later(self, **more: Callable[[], Any]) -> Self:
        """The same with ``more`` fields that are computed when first read."""
        return self.made(self._known, {**self._late, **more})

    @property
    def _known(self) -> dict[str, Any]:
        """Fields that need not be computed."""
        names = _names(cast("Any", type(self)))
        return {name: getattr(self, name) for name in names if name not in self._late}

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - of the field's type
        """Value of a field that was not read before: its slot is empty."""
        if name == "_late" or name not in self._late:
            raise AttributeError(name)
        value = self._late[name]()
        object.__setattr__(self, name, value)
        self._late.pop(name, None)
        return value
