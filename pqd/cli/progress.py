"""A progress line on standard error; it never shows the size of the private table."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from pqd import progress as stages
from pqd.reports.text.escape import visible
from pqd.reports.text.notes import WARNING


@contextmanager
def progress() -> Iterator[stages.Progress]:
    """Callback that drives the line; nothing is shown unless stderr is a terminal."""
    console = Console(stderr=True)
    warned: set[str] = set()
    with _line(console) as move:

        def show(stage: str, done: int = 0, total: int = 0) -> None:
            if not stage.startswith(WARNING):
                move(stage, done, total)
            elif stage not in warned:
                # Above the line, or alone where there is none; each once.
                warned.add(stage)
                console.print(
                    f"pqd: {visible(stage)}", markup=False, highlight=False, soft_wrap=True
                )

        yield show


@contextmanager
def _line(console: Console) -> Iterator[stages.Progress]:
    """Line of a terminal, which is gone at the end; elsewhere there is none."""
    if not console.is_terminal:
        yield stages.silent
        return
    # Where nobody waits for it, it is not loaded.
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)

        def move(stage: str, done: int = 0, total: int = 0) -> None:
            bar.update(task, description=stage, completed=done, total=total or None)

        yield move
