"""Time and memory of whole processes that take turns, and a table of their ratios.  Unix only."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple


class Usage(NamedTuple):
    """Time and memory of one process."""

    seconds: float
    cpu_seconds: float
    peak_mb: float


@dataclass(frozen=True)
class Program:
    """Command that is measured.

    ``fresh`` is a folder that is emptied before each run.  ``once``: the command runs once, since
    it takes minutes.
    """

    name: str
    command: tuple[str, ...]
    fresh: Path | None = None
    once: bool = False


def measured(command: Sequence[str]) -> Usage:
    """Usage of a command that runs to its end; its output is shown only if it fails.

    The memory of this process counts as memory of its children, so this process must stay small.
    """
    with tempfile.TemporaryFile() as output:
        begin = time.perf_counter()
        process = subprocess.Popen(command, stdout=output, stderr=output)  # noqa: S603
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            raise SystemExit(f"{' '.join(command)} failed:\n{output.read().decode()}")
    # Linux counts kilobytes, macOS bytes.
    peak = used.ru_maxrss * 1024 if sys.platform == "linux" else used.ru_maxrss
    return Usage(seconds, used.ru_utime + used.ru_stime, peak / 1e6)


def in_turn(programs: Sequence[Program], repeat: int) -> dict[str, Usage]:
    """Fastest run of each program, by the program's name; all programs take turns."""
    runs: dict[str, list[Usage]] = {program.name: [] for program in programs}
    for turn in range(repeat):
        for program in programs:
            if turn and program.once:
                continue
            if program.fresh:
                shutil.rmtree(program.fresh, ignore_errors=True)
                program.fresh.mkdir()
            runs[program.name].append(measured(program.command))
    return {name: min(usages) for name, usages in runs.items()}


def imports(python: str, *modules: str) -> bool:
    """Whether a Python interpreter can import all of these modules."""
    found = subprocess.run(  # noqa: S603 - the caller's interpreter
        [python, "-c", f"import {', '.join(modules)}"], capture_output=True, check=False
    )
    return not found.returncode


def table_text(
    title: str, best: Mapping[str, Usage], slower_than: Sequence[str], larger_than: Sequence[str]
) -> str:
    """Table of the programs, with ratios of their seconds and of their memory.

    The seconds of all programs are divided by those of the programs ``slower_than``, the memory by
    that of the programs ``larger_than``.  Programs that are not in ``best`` are left out.
    """
    columns = [
        ("seconds", [f"{usage.seconds:.2f}" for usage in best.values()]),
        *((f"/ {name}", _ratios(best, name, "seconds")) for name in slower_than if name in best),
        ("CPU s", [f"{usage.cpu_seconds:.2f}" for usage in best.values()]),
        ("peak MB", [f"{usage.peak_mb:.0f}" for usage in best.values()]),
        *((f"MB / {name}", _ratios(best, name, "peak_mb")) for name in larger_than if name in best),
    ]
    lines = [f"| {' | '.join([title, *(head for head, _ in columns)])} |"]
    lines.append(f"| --- |{' ---: |' * len(columns)}")
    for place, name in enumerate(best):
        lines.append(f"| {' | '.join([name, *(cells[place] for _, cells in columns)])} |")
    return "\n".join(lines)


def _ratios(best: Mapping[str, Usage], name: str, figure: str) -> list[str]:
    base = getattr(best[name], figure)
    return [f"{getattr(usage, figure) / base:.2f}" for usage in best.values()]
