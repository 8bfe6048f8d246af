"""The command line's entry: ``pqd`` and ``python -m pqd``."""

import signal
import sys

from pqd.interrupts import listen


def main() -> None:
    """Run the command line; Ctrl-C is one line even while it loads, or ends."""
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
