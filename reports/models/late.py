"""Late fields of a frozen dataclass with slots: computed when they are first read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

Figures = Mapping[str, Callable[[], Any]]


class Late:
    """Mix-in of a subclass of such a dataclass, with one slot more, ``_late``.

    Its equality, its renderings and its copies read the fields as any other code does, and so
    compute them.  What is computed must not hang on when it is.
    """

    __slots__ = ()

    @classmethod
    def made(cls, known: Mapping[str, Any], late: Figures) -> Self:
        """Instance with its ``known`` fields, and what computes the ``late`` ones."""
        found = cls.__new__(cls)
        for name, value in {**known, "_late": late}.items():
            object.__setattr__(found, name, value)
        return found

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - of the field's type
        """Value of a field that was not read before: its slot is empty."""
        late: Figures = object.__getattribute__(self, "_late")
        if name not in late:
            raise AttributeError(name)
        value = late[name]()
        object.__setattr__(self, name, value)
        return value
