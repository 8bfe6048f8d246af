"""Hash chain: an append-only log in one SQLite file, each entry bound to those before by a hash.

Entries are JSON texts.  Entry ``n`` carries ``hash_n = SHA-256(hash_{n-1} || body_n)``, where
``hash_0`` commits to the secret key, so an entry that was edited, left out or reordered
breaks every hash after it; whoever rewrites them all changes the last one, the *head*, which
``pqd ledger verify`` compares with one kept elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pqd.errors import LedgerError, LostLedgerError

Body = dict[str, Any]

# "pqdL": how a ledger is told from any other SQLite file.
_MARK = 0x7071644C
_FORMAT = 1
_DAMAGED = "is damaged; restore it from a copy"
# In one transaction: each waits for the disk.
_TABLES = f"""
BEGIN;
PRAGMA application_id = {_MARK};
PRAGMA user_version = {_FORMAT};
CREATE TABLE secret (key BLOB NOT NULL);
CREATE TABLE entries (number INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL);
CREATE TRIGGER entries_stay BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END;
CREATE TRIGGER entries_remain BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are never removed'); END;
INSERT INTO secret VALUES (x'{{key}}');
COMMIT;
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """Entry as it is stored: its number from 1, its text, and the hash up to it."""

    number: int
    text: str
    hash: str

    @property
    def body(self) -> Body:
        """The content."""
        return dict(json.loads(self.text))


class HashChain:
    """Hash chain in one file; safe for any number of processes at once.

    ``wait`` is how many seconds to wait for another process that is writing.
    """

    def __init__(self, path: Path, *, wait: float = 10.0, secret: bytes | None = None) -> None:
        """Open the log, or make it if there is none, with ``secret``, which no other log has.

        Raises
        ------
        LedgerError
            If it can be neither opened nor made, is no log of this kind, or its chain is broken.
        """
        self.path, self._wait = path, wait
        self._entries: list[Entry] = []
        self._connection: sqlite3.Connection | None = None
        # Of the file that was opened; and whether what is written was charged before.
        self._file: tuple[int, int] | None = None
        self.charged = False
        with self._translated("read"):
            present = path.exists()
            if present and not path.is_file():
                raise LedgerError(self._message("is no file; name another place with --ledger"))
        if not present:
            self._create(secret or new_secret())
        with self._translated("read"):
            # A file that is empty is one that was cut off: a log is never made that way.
            if not path.stat().st_size:
                raise LedgerError(self._message("is empty: it was cut off; restore it from a copy"))
            self._file = _identity(path)
            self._connection = self._connect()
            mark = self._one("PRAGMA application_id"), self._one("PRAGMA user_version")
            if mark != (_MARK, _FORMAT):
                raise LedgerError(
                    self._message("is no ledger of this version of pqd; name another file")
                )
            if self._one("PRAGMA quick_check(1)") != "ok":
                raise LedgerError(self._message(_DAMAGED))
            # Durable means on the disk, the removal of the journal included.
            self._execute("PRAGMA synchronous = EXTRA")
            self.secret = self._one("SELECT key FROM secret")
            if self._file is None or self._file != _identity(path):
                raise LedgerError(self._message("was replaced while it was opened; try again"))
        if not isinstance(self.secret, bytes):
            raise LedgerError(
                self._message("was changed by hand: it has no key; restore it from a copy")
            )
        self.start = hashlib.sha256(self.secret).hexdigest()

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode=rw",
            uri=True,
            timeout=self._wait,
            isolation_level=None,
            # One thread uses it, but the garbage collector may let go of it in another.
            check_same_thread=False,
        )

    def __del__(self) -> None:
        """Let go of the file with the last reference."""
        with suppress(AttributeError):
            self.close()

    def close(self) -> None:
        """Let go of the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def entries(self) -> tuple[Entry, ...]:
        """Every entry, after a check of the chain of those that were not read before."""
        with self._translated("read"):
            rows = self._execute(
                "SELECT number, body, hash FROM entries WHERE rowid > ? ORDER BY rowid",
                len(self._entries),
            ).fetchall()
        for number, text, stored in rows:
            before = self._entries[-1].hash if self._entries else self.start
            if number != len(self._entries) + 1 or stored != entry_hash(before, text):
                raise LedgerError(
                    self._message(
                        f"was changed by hand: entry {len(self._entries) + 1} does not fit the "
                        "ones before it; restore it from a copy"
                    )
                )
            self._entries.append(Entry(number, text, stored))
        return tuple(self._entries)

    @property
    def known(self) -> tuple[Entry, ...]:
        """Every entry that was read; in ``writing`` that is the whole chain."""
        return tuple(self._entries)

    def check_in_place(self) -> None:
        """Raise LostLedgerError unless the open file is still the one at its place.

        A file that was removed or replaced can be written to until it is closed; then what was
        written is gone.
        """
        if self._file != _identity(self.path):
            raise LostLedgerError(
                f"the ledger {self.path} was removed or replaced during this run, so what the run "
                "may have charged is on no record. Nothing that it drew is shown. Put the ledger "
                "back, see who else uses it, and run again"
            )

    @contextmanager
    def writing(self) -> Iterator[HashChain]:
        """Context that locks out other writers; when it ends, what was appended is on the disk."""
        with self._translated("written"):
            self._execute("BEGIN IMMEDIATE")
        try:
            # Nobody else writes from here on, so that this is the whole chain.
            self.entries()
            yield self
            with self._translated("written"):
                self._execute("COMMIT")
            self.check_in_place()
        except BaseException:
            with suppress(sqlite3.Error):
                self._execute("ROLLBACK")
            # What was appended and rolled back must not be taken for stored.
            self._entries.clear()
            raise

    def append(self, body: Body) -> Entry:
        """Add one entry; only inside ``writing``."""
        known = self._entries
        text = json.dumps(body, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        entry = Entry(
            len(known) + 1, text, entry_hash(known[-1].hash if known else self.start, text)
        )
        with self._translated("written"):
            self._execute("INSERT INTO entries VALUES (?, ?, ?)", entry.number, text, entry.hash)
        self._entries.append(entry)
        return entry

    def _create(self, secret: bytes) -> None:
        """Make a whole log under another name and link it to its own, so that none is half made."""
        draft = self.path.with_name(f".{self.path.name}.{os.getpid()}.{os.urandom(4).hex()}")
        try:
            os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            with self._translated("made"):
                connection = sqlite3.connect(draft, isolation_level=None)
                try:
                    connection.executescript(_TABLES.format(key=secret.hex()))
                finally:
                    connection.close()
            # Another process may have been faster: then its log is the one.
            with suppress(FileExistsError):
                os.link(draft, self.path)
        except OSError as error:
            raise LedgerError(
                self._message(f"cannot be made: {error.strerror}; name another place with --ledger")
            ) from None
        finally:
            with suppress(OSError):
                draft.unlink()

    def _one(self, sql: str) -> Any:  # noqa: ANN401 - whatever the statement gives
        row = self._execute(sql).fetchone()
        return row[0] if row else b""

    def _execute(self, sql: str, *values: object) -> sqlite3.Cursor:
        if self._connection is None:
            raise sqlite3.ProgrammingError("the ledger is closed")
        return self._connection.execute(sql, values)

    def _message(self, what: str) -> str:
        end = "What this run charged stays so" if self.charged else "Nothing was spent"
        return f"the ledger {self.path} {what}. {end}."

    @contextmanager
    def _translated(self, verb: str) -> Iterator[None]:
        """Context in which SQLite's errors become LedgerError."""
        try:
            yield
        except UnicodeDecodeError:
            reason = f"it {_DAMAGED}"
        except (RuntimeError, ValueError):
            reason = "its path cannot be used; name another place with --ledger"
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            reason = {
                sqlite3.SQLITE_BUSY: f"another process held it for {self._wait:g} seconds; try "
                "again later",
                sqlite3.SQLITE_FULL: "the disk is full; make room",
                sqlite3.SQLITE_READONLY: "it or its folder is read-only; name another place with "
                "--ledger",
                sqlite3.SQLITE_CANTOPEN: "it or its folder cannot be opened; name another place "
                "with --ledger",
                sqlite3.SQLITE_CORRUPT: f"it {_DAMAGED}",
                sqlite3.SQLITE_ERROR: f"it {_DAMAGED}",
                sqlite3.SQLITE_NOTADB: "it is not a ledger, or damaged; restore it from a copy, or "
                "name another file",
            }.get(code, f"{str(error)[:100]}; see to the disk")
        except OSError as error:
            reason = f"{error.strerror}"
        else:
            return
        # A file that is gone is read-only to SQLite.
        if self._file is not None:
            self.check_in_place()
        raise LedgerError(self._message(f"cannot be {verb}: {reason}"))


def new_secret() -> bytes:
    """Secret key of a log that is not made yet."""
    return os.urandom(32)


def _identity(path: Path) -> tuple[int, int] | None:
    """Device and inode, which tell a file from another one of its name; None without a file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def entry_hash(before: str, text: str) -> str:
    """Hash of an entry's ``text`` after one whose hash is ``before``."""
    return hashlib.sha256(f"{before}\n{text}".encode()).hexdigest()


def is_ledger(path: Path) -> bool:
    """Whether a file bears the mark of a ledger, whole or not."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            head = file.read(72)
    except OSError:
        return False
    return head[:15] == b"SQLite format 3" and head[68:72] == _MARK.to_bytes(4)
