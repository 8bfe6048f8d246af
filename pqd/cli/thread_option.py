"""``--threads``: the option of every command that reads tables."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from pqd.threads import stated_threads

_NAME = "threads"
Threads = Annotated[
    str | None,
    typer.Option(
        metavar="N",
        help="How many threads work, 1 to 1023; else as the variable PQD_THREADS says, else one "
        "for each core. No result depends on it.",
        show_default=False,
    ),
]


def with_threads(command: Callable[..., None]) -> Callable[..., None]:
    """Command with the option ``--threads`` after its others, run by as many."""

    @functools.wraps(command)
    def run(threads: str | None = None, **values: Any) -> None:  # noqa: ANN401 - any option
        with stated_threads(threads):
            command(**values)

    signature = inspect.signature(command)
    kind = inspect.Parameter.KEYWORD_ONLY
    option = inspect.Parameter(_NAME, kind, annotation=Threads, default=None)
    parameters = [*signature.parameters.values(), option]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {**command.__annotations__, _NAME: Threads}
    return run
