"""Entry of the command line: ``pqd`` and ``python -m pqd``."""

# Import only modules that Python has already loaded; other modules are imported once Ctrl-C is
# handled.
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

# Number of new objects after which Python searches for reference cycles.  Python's default of 700
# suits a program that runs for long.  Here most objects live until the run ends, so Python would
# search them again and again.  A run makes few cycles, and the end of the run frees their memory.
_NEW_OBJECTS = 1_000_000
# Variable that gives numpy's linear algebra one thread.  The matrices are small, and each further
# thread would be busy for a tenth of a second before it sleeps.
_ALGEBRA = "OPENBLAS_NUM_THREADS"
_BROKEN, _INTERRUPTED = 3, 130
# The exit code of a process that a signal ended is this number plus the number of the signal.
_SIGNALLED = 128
_NOTHING_SPENT = "pqd: interrupted; nothing was spent"
_TERMINATED = "pqd: terminated; nothing was spent"
# Parts of the messages of Python and of libraries if memory runs out while they are loaded.
_UNLOADED = ("failed to map segment", "annot allocate memory", "error return without exception set")
_NO_MEMORY = "pqd: memory ran out while the program was loaded; give the process more (ulimit -v)"


def main() -> "NoReturn":
    """Run the command line; after Ctrl-C it prints one line, even while it loads or ends."""
    try:
        code = _run()
    except BaseException as error:
        # If a module is interrupted while it loads, it may raise another error.
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
    """End the process after an early signal; without this handler a process 1 would ignore it."""
    _say(_TERMINATED)
    os._exit(_SIGNALLED + number)


def _of_interrupts(name: str) -> object:
    """Value of a name in ``pqd.interrupts``; None if the module is not completely loaded."""
    return getattr(sys.modules.get("pqd.interrupts"), name, None)


def _tell() -> int:
    """Exit code of an interrupted run; further Ctrl-C is ignored, and what was spent is printed."""
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
    """Ignore further Ctrl-C, even if a second Ctrl-C comes during this call."""
    ignore = _of_interrupts("ignore")
    if not callable(ignore):
        return
    try:
        ignore()
    except KeyboardInterrupt:
        ignore()


def _fill_streams() -> None:
    """Open a stand-in for each standard stream that was closed before the start.

    Without a stand-in, the next file that is opened would get the number of the closed stream.  The
    stand-in for standard output is opened for reading only, so a write fails, as on a full disk.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            # The system gives the lowest free number: the number of the closed stream.
            number = os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))


def _leave(code: int) -> "NoReturn":
    """End the process without Python's own shutdown.

    There are two reasons.  The shutdown frees every object, which takes a sixth of a short run.
    And after a failed read, a thread of pyarrow may still ask for bytes of the file; during a
    shutdown this aborts the process with a wrong exit code.
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
