"""Late fields of a frozen dataclass with slots: computed when they are first read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, fields
from functools import cache
from typing import Any, Self, cast

Figures = Mapping[str, Callable[[], Any]]


@cache
def _defaults(kind: Any) -> Mapping[str, Any]:  # noqa: ANN401 - a class of this kind
    """Defaults of the fields of a dataclass."""
    return {field.name: field.default for field in fields(kind) if field.default is not MISSING}


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
        found, kind = cls.__new__(cls), cast("Any", cls)
        for name, value in {**_defaults(kind), **known, "_late": dict(late)}.items():
            if name not in late:
                object.__setattr__(found, name, value)
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
        names = (each.name for each in fields(cast("Any", self)))
        return {name: getattr(self, name) for name in names if name not in self._late}

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - of the field's type
        """Value of a field that was not read before: its slot is empty."""
        if name == "_late" or name not in self._late:
            raise AttributeError(name)
        value = self._late[name]()
        object.__setattr__(self, name, value)
        self._late.pop(name, None)
        return value
