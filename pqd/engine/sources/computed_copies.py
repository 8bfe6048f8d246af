"""Limits of a synthetic table that is computed as it is read: a view, a lazy frame, a relation.

No file tells how many rows such a table gives, or how long it takes.  A private table has no
limits, since an error at a limit would tell of its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from time import monotonic

import pyarrow as pa

from pqd.engine.reading.values import encoded
from pqd.engine.sources.source import UnreadableError

_ADVICE = "write it as a Parquet file, and name that"
# Seconds between two calls of ``stop``; a call before the work begins has no effect.
_AGAIN = 0.1


@dataclass(frozen=True)
class Limits:
    """Rows, bytes of distinct values, and seconds that a computed copy may take."""

    rows: int = 100_000_000
    size: int = 80_000_000
    seconds: float = 600


LIMITS = Limits()


def bounded(
    batches: Iterator[pa.RecordBatch],
    stop: Callable[[], None] | None = None,
    clock: Callable[[], float] = monotonic,
) -> Iterator[pa.RecordBatch]:
    """Batches of a computed copy, within ``LIMITS``; a thread calls ``stop`` to end late work.

    Raises
    ------
    UnreadableError
        If the copy gives more rows or values, or takes longer.
    """
    rows = size = 0
    seconds, limits = 0.0, LIMITS
    while True:
        began = clock()
        with _stopped(limits.seconds - seconds, stop):
            batch = next(batches, None)
        seconds += clock() - began
        if batch is None:
            return
        cells = [encoded(column) for column in batch.columns]
        rows += batch.num_rows
        size += sum(column.dictionary.nbytes for column in cells)
        if rows > limits.rows:
            raise _beyond(f"gives more than {limits.rows:,} rows")
        if size > limits.size:
            raise _beyond(f"gives more than {limits.size // 10**6:,} MB of values")
        if seconds > limits.seconds:
            raise _late(limits)
        yield pa.RecordBatch.from_arrays(cells, names=batch.schema.names)


@contextmanager
def _stopped(seconds: float, stop: Callable[[], None] | None) -> Iterator[None]:
    """Context that calls ``stop``, and raises an error, if its work takes more than ``seconds``."""
    if stop is None:
        yield
        return
    done, late = Event(), Event()

    def watch() -> None:
        if not done.wait(seconds):
            late.set()
            stop()
            while not done.wait(_AGAIN):
                stop()

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    except Exception:
        if not late.is_set():
            raise
    finally:
        done.set()
        watcher.join()
    # Raised outside the handler, since the engine's own error may quote a cell.
    if late.is_set():
        raise _late(LIMITS)


def _beyond(what: str) -> UnreadableError:
    return UnreadableError(f"it is computed as it is read, and {what}; {_ADVICE}")


def _late(limits: Limits) -> UnreadableError:
    return _beyond(f"takes longer than {limits.seconds / 60:g} minutes")
