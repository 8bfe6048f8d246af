"""A progress line on standard error; it never shows the size of the private table."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from pqd import progress as run
from pqd.deciders.note import Note
from pqd.progress import Step
from pqd.reports.escape import visible


@contextmanager
def progress() -> Iterator[run.Progress]:
    """Callback that updates the line; if stderr is no terminal, only warnings are shown."""
    console = Console(stderr=True)
    warned: set[Note] = set()
    with _line(console) as move:

        def show(stage: Step | Note, done: int = 0, total: int = 0) -> None:
            if not isinstance(stage, Note):
                move(stage, done, total)
            elif stage not in warned:
                # Each warning is printed once, above the line if there is a line.
                warned.add(stage)
                console.print(
                    f"pqd: {visible(str(stage))}", markup=False, highlight=False, soft_wrap=True
                )

        yield show


@contextmanager
def _line(console: Console) -> Iterator[run.Progress]:
    """Progress line in a terminal, which is removed at the end; without a terminal nothing."""
    if not console.is_terminal:
        yield run.silent
        return
    # Import the progress bar only for a terminal.
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)

        def move(stage: Step | Note, done: int = 0, total: int = 0) -> None:
            bar.update(task, description=str(stage), completed=done, total=total or None)

        yield move
