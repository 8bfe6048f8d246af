"""The command line's entry: ``pqd`` and ``python -m pqd``."""

# Import only what Python has already loaded: the rest is imported once Ctrl-C is handled.
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

# Number of new objects after which Python searches for reference cycles.  Python's 700 suit a
# program that runs for long.  The objects of a run live to its end, so Python would search them
# again and again.  A run makes few cycles, and their memory is free again when the run ends.
_NEW_OBJECTS = 1_000_000
# Numpy's linear algebra gets one thread: the matrices are small, and other threads would spin for
# a tenth of a second before they sleep.
_ALGEBRA = "OPENBLAS_NUM_THREADS"
_BROKEN, _INTERRUPTED = 3, 130
# A shell adds the number of the signal to this exit code.
_SIGNALLED = 128
_NOTHING_SPENT = "pqd: interrupted; nothing was spent"
_TERMINATED = "pqd: terminated; nothing was spent"
# Parts of the messages of Python and of libraries that get no memory while they are loaded.
_UNLOADED = ("failed to map segment", "annot allocate memory", "error return without exception set")
_NO_MEMORY = "pqd: memory ran out while the program was loaded; give the process more (ulimit -v)"


def main() -> "NoReturn":
    """Run the command line; Ctrl-C prints one line, even while the program loads or ends."""
    try:
        code = _run()
    except BaseException as error:
        # A module that is interrupted while it loads may raise another error.
        if isinstance(error, KeyboardInterrupt) or _of_interrupts("PRESSED"):
            code = _tell()
        elif isinstance(error, MemoryError) or any(sign in str(error) for sign in _UNLOADED):
            code = _BROKEN
            _say(_NO_MEMORY)
        else:
            raise
    _leave(code)


def _run() -> int:
    """Exit code of the command line."""
    import signal  # noqa: PLC0415 - after Python's start

    # Windows has no SIGHUP.
    for number in {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end_early)
    import gc  # noqa: PLC0415 - after Python's start

    from pqd.interrupts import ignore, listen  # noqa: PLC0415 - after Python's start

    listen(_end_early)
    gc.set_threshold(_NEW_OBJECTS)
    os.environ.setdefault(_ALGEBRA, "1")
    _fill_streams()
    code = 0
    try:
        from pqd.cli import main as run  # noqa: PLC0415 - it takes long enough to be interrupted

        run()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    ignore()
    return code


def _end_early(number: int, _frame: object) -> "NoReturn":
    """End the process by a signal that comes early; without a handler, PID 1 would ignore it."""
    _say(_TERMINATED)
    os._exit(_SIGNALLED + number)


def _of_interrupts(name: str) -> object:
    """Value of a name in ``pqd.interrupts``; None if the module is not wholly loaded."""
    return getattr(sys.modules.get("pqd.interrupts"), name, None)


def _tell() -> int:
    """Say what was spent, ignore further Ctrl-C, and return the exit code."""
    _ignore()
    message, exit_code = _of_interrupts("interruption"), _of_interrupts("exit_code")
    _say(str(message()) if callable(message) else _NOTHING_SPENT)
    return exit_code() if callable(exit_code) else _INTERRUPTED


def _say(text: str) -> None:
    try:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    except (OSError, AttributeError):
        # Nobody reads standard error.
        return


def _ignore() -> None:
    """Ignore further Ctrl-C; a second one that comes meanwhile counts as the first."""
    ignore = _of_interrupts("ignore")
    if not callable(ignore):
        return
    try:
        ignore()
    except KeyboardInterrupt:
        ignore()


def _fill_streams() -> None:
    """Open a stand-in for each standard stream that was closed before the start.

    Otherwise the next file to be opened would get the number of that stream.  The stand-in for
    standard output cannot be written to, so writing fails as on a full disk.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            # The system gives the lowest free number, which is that of the closed stream.
            number = os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))


def _leave(code: int) -> "NoReturn":
    """End the process without Python's own shutdown.

    The shutdown frees every object, which takes a sixth of a short run.  And after a failed read, a
    thread of pyarrow may still ask for bytes of the file and abort the process without our exit
    code.
    """
    _ignore()
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except (OSError, ValueError):
            # The rest of the output is lost.
            code = code or _BROKEN
    os._exit(code)


if __name__ == "__main__":
    main()
