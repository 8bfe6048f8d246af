"""The command line's entry: ``pqd`` and ``python -m pqd``."""

import gc
import signal
import sys

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
        sys.exit(130)
    finally:
        # Nothing is left but Python's own end, which would show a traceback.
        signal.signal(signal.SIGINT, signal.SIG_IGN)


if __name__ == "__main__":
    main()
