"""The command line's entry: ``pqd`` and ``python -m pqd``."""

# What Python has loaded at its start; all else is loaded where Ctrl-C is listened to.
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

# New objects between two searches for circles of them.  Python's 700 suit a program that runs for
# long: what a run makes of its queries stays to its end, and would be searched again and again.
# It makes few circles, and the memory of one that is not found is free again when the run ends.
_NEW_OBJECTS = 1_000_000
# Numpy's linear algebra is asked for one thread: others would spin for a tenth of a second before
# they sleep, and what is multiplied here is small.
_ALGEBRA = "OPENBLAS_NUM_THREADS"
_BROKEN, _INTERRUPTED = 3, 130
# Shells add the number of the signal to it.
_SIGNALLED = 128
_NOTHING_SPENT = "pqd: interrupted; nothing was spent"
_TERMINATED = "pqd: terminated; nothing was spent"
# A library that is loaded, or Python, gets no memory.
_UNLOADED = ("failed to map segment", "annot allocate memory", "error return without exception set")
_NO_MEMORY = "pqd: memory ran out while the program was loaded; give the process more (ulimit -v)"


def main() -> "NoReturn":
    """Run the command line; Ctrl-C is one line even while it loads, or ends."""
    try:
        code = _run()
    except BaseException as error:
        # What is interrupted while it loads may raise another error.
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
    import signal  # noqa: PLC0415 - as above

    # Windows has no SIGHUP.
    for number in {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end_early)
    import gc  # noqa: PLC0415 - as above

    from pqd.interrupts import ignore, listen  # noqa: PLC0415 - as above

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
    """End by a signal that comes before the command line listens; what is PID 1 would ignore it."""
    _say(_TERMINATED)
    os._exit(_SIGNALLED + number)


def _of_interrupts(name: str) -> object:
    """Name of ``pqd.interrupts``, None where that was not loaded to its end."""
    return getattr(sys.modules.get("pqd.interrupts"), name, None)


def _tell() -> int:
    """Say what was spent, let no further Ctrl-C in, and give the exit code."""
    _ignore()
    message, exit_code = _of_interrupts("interruption"), _of_interrupts("exit_code")
    _say(str(message()) if callable(message) else _NOTHING_SPENT)
    return exit_code() if callable(exit_code) else _INTERRUPTED


def _say(text: str) -> None:
    try:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    except (OSError, AttributeError):
        # There is nobody to tell.
        return


def _ignore() -> None:
    """Let no further Ctrl-C in; one that comes here already is the same one."""
    ignore = _of_interrupts("ignore")
    if not callable(ignore):
        return
    try:
        ignore()
    except KeyboardInterrupt:
        ignore()


def _fill_streams() -> None:
    """Stand in for a standard stream that was closed before the start.

    Else the next file to be opened would have its number.  What is written to standard output is
    lost then, as on a full disk: the stand-in cannot be written to.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            # It takes the least number that is free: theirs, in their order.
            number = os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))


def _leave(code: int) -> "NoReturn":
    """End the process without Python's own end.

    That would take every object apart, a sixth of a short run.  And where reading broke, a thread
    of pyarrow may still ask for bytes of the file, and abort the process in place of its exit code.
    """
    _ignore()
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except (OSError, ValueError):
            # What was to be shown is lost.
            code = code or _BROKEN
    os._exit(code)


if __name__ == "__main__":
    main()
