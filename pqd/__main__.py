"""The command line's entry: ``pqd`` and ``python -m pqd``."""

import gc
import os
import signal
import sys
from contextlib import suppress

from pqd.interrupts import listen

# New objects between two searches for circles of them.  Python's 700 suit a program that runs for
# long: the queries of a run stay to its end, and are searched again and again.
_NEW_OBJECTS = 100_000


def main() -> None:
    """Run the command line; Ctrl-C is one line even while it loads, or ends."""
    gc.set_threshold(_NEW_OBJECTS)
    try:
        listen()
        from pqd.cli import main as run  # noqa: PLC0415 - it takes long enough to be interrupted

        run()
    except KeyboardInterrupt:
        sys.stderr.write("pqd: interrupted; nothing was spent\n")
        _leave(130)
    except SystemExit as ended:
        if isinstance(ended.code, int) and ended.code:
            _leave(ended.code)
        raise
    finally:
        # Nothing is left but Python's own end, which would show a traceback.
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _leave(code: int) -> None:
    """End a run that failed, without Python's own end.

    Where reading broke, a thread of pyarrow may still ask for bytes of the file; while Python ends
    that would abort the process in place of its exit code.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
