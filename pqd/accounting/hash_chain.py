"""Hash chain: an append-only log in one SQLite file; each entry has a hash of all entries so far.

Entries are JSON texts.  Entry ``n`` carries ``hash_n = SHA-256(hash_{n-1} || body_n)``, where
``hash_0`` commits to the secret key.  So if an entry is edited, left out or reordered, the hashes
after it no longer fit.  Somebody may rewrite all these hashes; this changes the last hash, the
*head*.  ``pqd ledger verify`` compares the head with a head that was kept elsewhere.

Somebody may replace the file, or overwrite it with older bytes, while it is open.  So a writer
first checks that the last entry that it knows is still in the file, and then appends.
``check_standing`` reads the whole file again.  Callers use it before they rely on an entry that
they wrote, and before they show an answer that this entry paid for.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pqd.deciders.options import option
from pqd.errors import NO_RECORD, LedgerError, LostLedgerError

Body = dict[str, Any]

# "pqdL": the mark by which a ledger differs from any other SQLite file.
_MARK = 0x7071644C
_FORMAT = 1
_DAMAGED = "is damaged; restore it from a copy"
_WITHOUT_KEY = "was changed by hand: it has no key; restore it from a copy"
# Errors that SQLite may report if other bytes overwrote the file, perhaps bytes of two versions.
_OTHER_CONTENT = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}
# The complete schema of a log.  Anything more is refused: a trigger, say, could delete new entries.
SCHEMA = {
    "secret": "CREATE TABLE secret (key BLOB NOT NULL)",
    "entries": "CREATE TABLE entries "
    "(number INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL)",
    "entries_stay": "CREATE TRIGGER entries_stay BEFORE UPDATE ON entries\n"
    "BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END",
    "entries_remain": "CREATE TRIGGER entries_remain BEFORE DELETE ON entries\n"
    "BEGIN SELECT RAISE(ABORT, 'entries are never removed'); END",
}
_LAID_OUT = f"""
PRAGMA application_id = {_MARK};
PRAGMA user_version = {_FORMAT};
{"; ".join(SCHEMA.values())};
INSERT INTO secret VALUES (x'{{key}}');
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """Stored entry: its number (from 1), its text, and its hash in the chain."""

    number: int
    text: str
    hash: str

    @property
    def body(self) -> Body:
        """Content of the entry."""
        return dict(json.loads(self.text))


class HashChain:
    """Hash chain in one file, which any number of processes may use at once.

    ``wait`` is the number of seconds to wait for another process that is writing.
    """

    def __init__(self, path: Path, *, wait: float = 10.0, secret: bytes | None = None) -> None:
        """Open the log, or make it with ``secret``, which must belong to no other log.

        Raises
        ------
        LedgerError
            If the file cannot be opened or made, is not a log, or has a broken chain.
        """
        self.path, self._wait = path, wait
        self._entries: list[Entry] = []
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        # ``charged``: this run has charged.  ``doubtful``: the last write failed, and yet its
        # entries may be in the file.
        self.charged = self.doubtful = False
        with self._ledger_errors("read"):
            present = path.exists()
            if present and not path.is_file():
                raise LedgerError(
                    self._message(f"is no file; name a file with {option('--ledger')}")
                )
        if not present:
            self._create(secret or new_secret())
        with self._ledger_errors("read"):
            # A log is never made empty, so an empty file was damaged later.
            if not path.stat().st_size:
                raise LedgerError(self._message("is empty: it was cut off; restore it from a copy"))
            self._file = _identity(path)
            self._connection = self._connect()
            if _marks(self._connection) != (_MARK, _FORMAT):
                raise LedgerError(
                    self._message(
                        "is a database of another program, or of another version of pqd; give the "
                        "path of the ledger, or restore it from a copy"
                    )
                )
            if self._one("PRAGMA quick_check(1)") != "ok":
                raise LedgerError(self._message(_DAMAGED))
            # With EXTRA a commit returns only when the entries, and the removal of the journal, are
            # on the disk.
            self._execute("PRAGMA synchronous = EXTRA")
            self._check_layout(self._connection)
            self.secret = self._one("SELECT key FROM secret")
            if self._file is None or self._file != _identity(path):
                raise LedgerError(self._message("was replaced while it was opened; try again"))
        if not (isinstance(self.secret, bytes) and self.secret):
            raise LedgerError(self._message(_WITHOUT_KEY))
        self.start = hashlib.sha256(self.secret).hexdigest()

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode=rw",
            uri=True,
            timeout=self._wait,
            isolation_level=None,
            # One thread uses the connection, but the garbage collector may close it in another.
            check_same_thread=False,
        )

    def __del__(self) -> None:
        """Close the file when the last reference goes."""
        with suppress(AttributeError):
            self.close()

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def entries(self) -> tuple[Entry, ...]:
        """All entries; the hashes of newly read entries are checked.

        Raises
        ------
        LostLedgerError
            If the file no longer has the last entry that was read earlier.
        LedgerError
            If the chain is broken or cannot be read.
        """
        with self._ledger_errors("read"):
            rows = self._rows(self._connection, len(self._entries))
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
    def known_entries(self) -> tuple[Entry, ...]:
        """All entries read so far; inside ``writing`` these are the whole chain."""
        return tuple(self._entries)

    def check_standing(self) -> None:
        """Raise LostLedgerError unless the log's path has a whole file with all known entries.

        While a file is open, somebody may remove it, replace it or put older bytes into it.  Writes
        to it still succeed, but the new entries are lost.  This connection may hold old pages in
        memory, so a second connection reads the file.  It reads the whole file, since bytes that
        are put back during a commit may mix pages of two versions: the page with the last entry may
        be right, and other pages wrong.
        """
        with self._second_connection() as other:
            if not self._is_whole(other):
                raise self._lost()

    @contextmanager
    def _second_connection(self) -> Iterator[sqlite3.Connection]:
        """Context of a second connection to the file, which must hold the last known entry."""
        if self._file != _identity(self.path):
            raise self._lost()
        with self._ledger_errors("read"), closing(self._connect()) as other:
            self._rows(other, len(self._entries))
            yield other

    def _is_whole(self, connection: sqlite3.Connection) -> bool:
        """Whether a file is undamaged and holds every known entry."""
        try:
            state = connection.execute("PRAGMA quick_check(1)").fetchone()
            rows = connection.execute(
                "SELECT number, body, hash FROM entries ORDER BY rowid LIMIT ?",
                (len(self._entries),),
            ).fetchall()
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF in _OTHER_CONTENT:
                return False
            raise
        return state == ("ok",) and [Entry(*row) for row in rows] == self._entries

    @contextmanager
    def writing(self) -> Iterator[HashChain]:
        """Context in which nobody else can write; at its end the appended entries are on the disk.

        Raises
        ------
        LostLedgerError
            If the last known entry is not in the file.
        LedgerError
            If the file cannot be written.  Nothing was then appended, unless ``doubtful`` is True.
        """
        known, self.doubtful = len(self._entries), False
        try:
            with self._ledger_errors("written"):
                self._execute("BEGIN IMMEDIATE")
            # Nobody else can write from here on, so this call reads the whole chain.
            self.entries()
            with self._second_connection():
                pass
            yield self
            with self._ledger_errors("written"):
                self._commit()
        except BaseException:
            with suppress(sqlite3.Error):
                self._execute("ROLLBACK")
            # Entries that were appended and rolled back must not count as stored.
            del self._entries[known:]
            raise

    def _commit(self) -> None:
        # An interrupt may come at any moment from here on: until the commit has ended, nobody knows
        # whether the file holds the entries.
        self.doubtful = True
        try:
            self._execute("COMMIT")
        except sqlite3.Error:
            with suppress(sqlite3.Error):
                self._execute("ROLLBACK")
            # A disk may write everything and then fail before the commit ends.
            self.doubtful = self._may_hold_last()
            raise

    def _may_hold_last(self) -> bool:
        """Whether the file holds the last known entry; True if it cannot be read."""
        try:
            with self._second_connection():
                return True
        except LostLedgerError:
            return False
        except LedgerError:
            return True

    def append(self, body: Body) -> Entry:
        """Add an entry; only inside ``writing``."""
        known = self._entries
        text = json.dumps(body, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        entry = Entry(
            len(known) + 1, text, entry_hash(known[-1].hash if known else self.start, text)
        )
        with self._ledger_errors("written"):
            self._execute("INSERT INTO entries VALUES (?, ?, ?)", entry.number, text, entry.hash)
        self._entries.append(entry)
        return entry

    def _create(self, secret: bytes) -> None:
        """Make a complete log first and then give it its name, so that no half-made log has it.

        If another process makes the log first, its log is used.
        """
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            connection.executescript(_LAID_OUT.format(key=secret.hex()))
            content = connection.serialize()
        try:
            with self._ledger_errors("made"), suppress(FileExistsError):
                _make(self.path, content)
        except OSError as error:
            raise LedgerError(
                self._message(
                    f"cannot be made: {error.strerror}; name another place with "
                    f"{option('--ledger')}"
                )
            ) from None

    def _rows(
        self, connection: sqlite3.Connection | None, known: int
    ) -> Sequence[tuple[int, str, str]]:
        """Rows of the entries after the first ``known`` entries.

        Raises
        ------
        LostLedgerError
            If the log has another key, or if the last of the ``known`` entries is not the same.
        """
        if connection is None:
            raise sqlite3.ProgrammingError("the ledger is closed")
        last = self._entries[known - 1 : known]
        try:
            self._check_layout(connection)
            key = connection.execute("SELECT key FROM secret").fetchone()
            rows = connection.execute(
                "SELECT number, body, hash FROM entries WHERE rowid >= ? ORDER BY rowid",
                (max(known, 1),),
            ).fetchall()
        except (sqlite3.DatabaseError, LedgerError) as error:
            # A lock or a failing disk does not show that the content of the file has changed.
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
            if not last or code not in _OTHER_CONTENT:
                raise
            raise self._lost() from None
        same = [Entry(*row) for row in rows[: len(last)]] == last
        if key != (self.secret,) or not same:
            raise self._lost()
        return rows[len(last) :]

    def _check_layout(self, connection: sqlite3.Connection) -> None:
        """Refuse a file whose schema is not that of a log, or that keeps entries in another file.

        Raises
        ------
        LedgerError
            For each of these files.
        """
        # Compare names and SQL together: a trigger may have the name of a table.
        schema = connection.execute("SELECT name, sql FROM sqlite_master").fetchall()
        (journal,) = connection.execute("PRAGMA journal_mode").fetchone()
        whole = _marks(connection) == (_MARK, _FORMAT) and journal == "delete"
        if not whole or sorted(schema) != sorted(SCHEMA.items()):
            raise LedgerError(
                self._message(
                    "was changed by hand: it holds what no ledger holds, or lacks what every one "
                    "has; restore it from a copy"
                )
            )

    def _lost(self) -> LostLedgerError:
        return LostLedgerError(
            f"the ledger {self.path} was removed or replaced during this run, so what the run may "
            f"have charged {NO_RECORD}. Nothing that it drew is shown. Put the ledger back, see "
            "who else uses it, and run again"
        )

    def _one(self, sql: str) -> Any:  # noqa: ANN401 - whatever the statement gives
        row = self._execute(sql).fetchone()
        return row[0] if row else b""

    def _execute(self, sql: str, *values: object) -> sqlite3.Cursor:
        if self._connection is None:
            raise sqlite3.ProgrammingError("the ledger is closed")
        return self._connection.execute(sql, values)

    def _message(self, what: str) -> str:
        end = "" if self.charged or self.doubtful else " Nothing was spent."
        return f"the ledger {self.path} {what}.{end}"

    @contextmanager
    def _ledger_errors(self, verb: str) -> Iterator[None]:
        """Context in which SQLite's errors become LedgerError."""
        try:
            yield
        except LedgerError:
            raise
        except UnicodeDecodeError:
            reason = f"it {_DAMAGED}"
        except (RuntimeError, ValueError):
            reason = f"its path cannot be used; name a file with {option('--ledger')}"
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            # The advice must not be to name another file: there the account would be new, and so
            # would its budget be.
            reason = {
                sqlite3.SQLITE_BUSY: f"another process held it for {self._wait:g} seconds; try "
                "again later",
                sqlite3.SQLITE_FULL: "the disk is full; make room",
                sqlite3.SQLITE_READONLY: "it or its folder is read-only; give yourself the right "
                "to write both",
                sqlite3.SQLITE_CANTOPEN: "it or its folder cannot be opened; give yourself the "
                "right to read and write both",
                sqlite3.SQLITE_CORRUPT: f"it {_DAMAGED}",
                sqlite3.SQLITE_ERROR: f"it {_DAMAGED}",
                sqlite3.SQLITE_NOTADB: "it is not a ledger, or damaged; give the path of the "
                "ledger, or restore it from a copy",
            }.get(code, f"{str(error)[:100]}; see to the disk")
        except OSError as error:
            reason = f"{error.strerror}"
        else:
            return
        # If a file is gone, SQLite reports it as read-only.
        if self._file is not None and self._file != _identity(self.path):
            raise self._lost()
        raise LedgerError(self._message(f"cannot be {verb}: {reason}"))


def _make(path: Path, content: bytes) -> None:
    """Make a file of ``content`` that only its owner may read; ``path`` never has a part of it.

    On Linux the file has no name until it is complete, so a process that dies leaves no file.

    Raises
    ------
    FileExistsError
        If there is a file at ``path``.
    OSError
        If the file cannot be made.
    """
    folder = path.absolute().parent
    draft = None
    try:
        file = os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o600)
        whole = Path(f"/proc/self/fd/{file}")
    except (AttributeError, OSError):
        # On other systems, and on file systems without unnamed files.
        whole = draft = folder / f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}"
        file = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(file, "wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(file)
            # With a folder given, the link in /proc is followed to the file.
            os.link(whole, path.absolute(), src_dir_fd=file, follow_symlinks=True)
    finally:
        if draft is not None:
            with suppress(OSError):
                draft.unlink()


def _marks(connection: sqlite3.Connection) -> tuple[int, int]:
    """Mark and version in a file's header; a log is recognised by them."""
    (mark,), (version,) = (
        connection.execute(f"PRAGMA {name}").fetchone()
        for name in ("application_id", "user_version")
    )
    return mark, version


def new_secret() -> bytes:
    """New secret key for a log that does not exist yet."""
    return os.urandom(32)


def _identity(path: Path) -> tuple[int, int] | None:
    """Device and inode, which identify a file under any name; None if there is no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def entry_hash(before: str, text: str) -> str:
    """Hash of an entry with this ``text``, given the hash of the entry ``before``."""
    return hashlib.sha256(f"{before}\n{text}".encode()).hexdigest()


def is_ledger(path: Path) -> bool:
    """Whether a file has the mark of a ledger; the ledger may be damaged."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            head = file.read(72)
    except OSError:
        return False
    return head[:15] == b"SQLite format 3" and head[68:72] == _MARK.to_bytes(4)
