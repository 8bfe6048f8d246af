"""Option groups: one parameter of a command that stands for several options."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any, TypeVar, dataclass_transform, get_type_hints

Group = TypeVar("Group")


@dataclass_transform(frozen_default=True)
def option_group(group: type[Group]) -> type[Group]:
    """Frozen dataclass whose fields are options; a ``typer.Option`` annotates each field."""
    return dataclass(frozen=True, slots=True)(group)


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Command with one option for each field of the groups among its parameters.

    Example: ``def plan(unit: UnitOptions, verbose: bool = False)`` gets the options ``--unit``,
    ``--max-rows`` and ``--verbose``.  It is called with a ``UnitOptions`` made from the first two.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, type] = {
        name: hint for name, hint in hints.items() if isinstance(hint, type) and is_dataclass(hint)
    }
    options = [
        option
        for name, parameter in inspect.signature(command).parameters.items()
        for option in (
            _options_of(groups[name])
            if name in groups
            else [_option(name, hints[name], parameter.default)]
        )
    ]

    @functools.wraps(command)
    def run(**values: Any) -> None:  # noqa: ANN401 - what each option is read as
        read = {
            name: group(**{field.name: values.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**values, **read)

    signature = inspect.Signature(options)
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {option.name: option.annotation for option in options}
    return run


def _options_of(group: type[Any]) -> Iterator[inspect.Parameter]:
    """Options of a group, in the order of its fields."""
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        yield _option(field.name, hints[field.name], default)


def _option(name: str, annotation: Any, default: Any) -> inspect.Parameter:  # noqa: ANN401 - any
    # Keyword-only, since a parameter with a default may then come before one without a default.
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, annotation=annotation, default=default)
