"""The command line's entry: ``pqd`` and ``python -m pqd``."""

import gc
import os
import sys
from contextlib import suppress
from typing import NoReturn

from pqd.interrupts import ignore, listen, told

# New objects between two searches for circles of them.  Python's 700 suit a program that runs for
# long: the queries of a run stay to its end, and are searched again and again.
_NEW_OBJECTS = 100_000
_BROKEN, _INTERRUPTED = 3, 130


def main() -> NoReturn:
    """Run the command line; Ctrl-C is one line even while it loads, or ends."""
    code = _INTERRUPTED
    try:
        listen()
        code = _run()
        ignore()
    except KeyboardInterrupt:
        ignore()
        with suppress(OSError, AttributeError):
            sys.stderr.write(f"{told()}\n")
    _leave(code)


def _run() -> int:
    """Exit code of the command line."""
    gc.set_threshold(_NEW_OBJECTS)
    _fill_streams()
    try:
        from pqd.cli import main as run  # noqa: PLC0415 - it takes long enough to be interrupted

        run()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


def _fill_streams() -> None:
    """Stand in for a standard stream that was closed before the start.

    Else nothing could be written to it, and the next file to be opened would have its number.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            # It takes the least number that is free: theirs, in their order.
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123


def _leave(code: int) -> NoReturn:
    """End the process without Python's own end.

    That would take every object apart, a sixth of a short run.  And where reading broke, a thread
    of pyarrow may still ask for bytes of the file, and abort the process in place of its exit code.
    """
    ignore()
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except (OSError, ValueError):
            # What was to be shown is lost.
            code = code or _BROKEN
    os._exit(code)


if __name__ == "__main__":
    main()
