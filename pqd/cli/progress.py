"""A progress line on standard error; it never shows the size of the private table."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from pqd import progress as stages
from reports.text.escape import visible
from reports.text.notes import WARNING


@contextmanager
def progress() -> Iterator[stages.Progress]:
    """Callback that drives the line; nothing is shown unless stderr is a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=None)
        warned: set[str] = set()

        def show(stage: str, done: int = 0, total: int = 0) -> None:
            if stage.startswith(WARNING):
                # Above the line, or alone where there is none; each once.
                if stage in warned:
                    return
                warned.add(stage)
                console.print(
                    f"pqd: {visible(stage)}", markup=False, highlight=False, soft_wrap=True
                )
                return
            bar.update(task, description=stage, completed=done, total=total or None)

        yield show
