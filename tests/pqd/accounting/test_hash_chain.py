"""The hash chain: what was appended stays, and whatever was done to the file is refused."""

import hashlib
import os
import random
import shutil
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pqd.accounting.hash_chain import SCHEMA, Entry, HashChain, entry_hash, is_ledger
from pqd.errors import LedgerError, LostLedgerError, PqdError

ENTRIES = 30
TRIGGERS = ("entries_stay", "entries_remain")
FREE = "".join(f"DROP TRIGGER {name};" for name in TRIGGERS)
GUARDED = "".join(f"; {SCHEMA[name]};" for name in TRIGGERS)
NEXT_STEPS = ("restore it from a copy", "name a file", "try again later", "make room", "see to")
ROOT = not hasattr(os, "geteuid") or os.geteuid() == 0
NEEDS = "needs a user other than root, who may write anywhere"
unless_root = pytest.mark.skipif(ROOT, reason=NEEDS)


def seeded(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - no secret comes of it


def filled(path: Path, entries: int = ENTRIES) -> HashChain:
    """Make a log; the paddings differ, so that entries straddle pages."""
    chain, sizes = HashChain(path), seeded(1)
    for number in range(1, entries + 1):
        with chain.writing():
            chain.append({"n": number, "pad": "x" * sizes.randrange(400)})
    return chain


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, tuple[Entry, ...], bytes]:
    """A whole log: its bytes, its entries and its secret."""
    path = tmp_path_factory.mktemp("whole") / "log.sqlite"
    with closing(filled(path)) as chain:
        return path.read_bytes(), chain.entries(), chain.secret


@pytest.fixture
def log(tmp_path: Path, made: tuple[bytes, tuple[Entry, ...], bytes]) -> Path:
    path = tmp_path / "log.sqlite"
    path.write_bytes(made[0])
    return path


@pytest.fixture
def other(log: Path) -> Iterator[sqlite3.Connection]:
    """Another process's hold of the same file."""
    with closing(sqlite3.connect(log, isolation_level=None)) as connection:
        yield connection


def read(path: Path, wait: float = 0.01) -> tuple[tuple[Entry, ...], bytes]:
    with closing(HashChain(path, wait=wait)) as chain:
        return chain.entries(), chain.secret


def refused(path: Path) -> str:
    """Read a file that must be refused, twice alike; return the message, which must help."""
    messages = set()
    for _ in range(2):
        with pytest.raises(LedgerError) as caught:
            read(path)
        messages.add(str(caught.value))
        assert caught.value.exit_code == 3
    # Else its frames, and their connection, wait for the collector, which may run in another
    # thread: there SQLite refuses to close it.
    del caught
    (message,) = messages
    assert str(path) in message
    assert message.endswith("Nothing was spent.")
    # Another file would be a fresh account.
    assert "--ledger" not in message.replace("name a file with --ledger", "")
    assert any(step in message for step in NEXT_STEPS), message
    return message


def test_what_was_appended_is_read_again(
    log: Path, made: tuple[bytes, tuple[Entry, ...], bytes]
) -> None:
    entries, secret = read(log)
    assert (entries, secret) == made[1:]
    assert [entry.body["n"] for entry in entries] == [*range(1, ENTRIES + 1)]
    before = hashlib.sha256(secret).hexdigest()
    for entry in entries:
        assert entry.hash == entry_hash(before, entry.text)
        before = entry.hash
    assert len({entry.hash for entry in entries}) == ENTRIES


def test_two_entries_of_one_text_have_two_hashes(tmp_path: Path) -> None:
    with closing(HashChain(tmp_path / "log.sqlite")) as chain:
        with chain.writing():
            first, second = chain.append({"n": 1}), chain.append({"n": 1})
        assert first.text == second.text
        assert first.hash != second.hash


def test_an_entry_holds_any_text(tmp_path: Path) -> None:
    body = {"label": "Zoë 🦓\0\n'\"\ud800", "amount": "1/3", "much": 10**40}
    with closing(HashChain(tmp_path / "log.sqlite")) as chain, chain.writing():
        chain.append(body)
    assert read(tmp_path / "log.sqlite")[0][0].body == body


# Durable -----------------------------------------------------------------------------------------


def test_an_entry_is_seen_by_others_from_the_end_of_writing_on(
    log: Path, other: sqlite3.Connection
) -> None:
    count = "SELECT count(*) FROM entries"
    with closing(HashChain(log)) as chain:
        with chain.writing():
            chain.append({"n": 0})
            assert other.execute(count).fetchone() == (ENTRIES,)
        assert other.execute(count).fetchone() == (ENTRIES + 1,)


def test_a_commit_waits_for_the_disk(log: Path) -> None:
    with closing(HashChain(log)) as chain:
        # EXTRA, and a journal that is removed: a crash of the machine cannot undo a commit.
        assert chain._one("PRAGMA synchronous") == 3
        assert chain._one("PRAGMA journal_mode") == "delete"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interrupted_writing_leaves_nothing(log: Path, error: type[BaseException]) -> None:
    with closing(HashChain(log)) as chain:
        before = chain.entries()

        def interrupted() -> None:
            with chain.writing():
                chain.append({"n": 0})
                chain.append({"n": 0})
                raise error

        with pytest.raises(error):
            interrupted()
        assert chain.entries() == before == read(log)[0]
        with chain.writing():
            chain.append({"n": "after"})
        assert chain.entries() == read(log)[0]


def test_an_interrupt_as_writing_begins_lets_go_of_the_lock(
    log: Path, other: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes while another process is waited for, and is raised once the lock is there."""
    execute = HashChain._execute

    def interrupted(chain: HashChain, sql: str, *values: object) -> sqlite3.Cursor:
        done = execute(chain, sql, *values)
        if sql.startswith("BEGIN"):
            raise KeyboardInterrupt
        return done

    with closing(HashChain(log)) as chain:
        with monkeypatch.context() as patch:
            patch.setattr(HashChain, "_execute", interrupted)
            with pytest.raises(KeyboardInterrupt), chain.writing():
                chain.append({"n": 0})
        other.execute("BEGIN IMMEDIATE")
        other.execute("ROLLBACK")
        with chain.writing():
            chain.append({"n": "after"})


def test_entries_of_others_are_continued(log: Path) -> None:
    with closing(HashChain(log)) as first, closing(HashChain(log)) as second:
        for number in range(6):
            writer = (first, second)[number % 2]
            with writer.writing():
                writer.append({"n": number})
        assert first.entries() == second.entries() == read(log)[0]
        assert len(first.entries()) == ENTRIES + 6


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE entries SET body = '{}' WHERE number = 2",
        "UPDATE entries SET number = number + 1",
        "DELETE FROM entries",
        "DELETE FROM entries WHERE number = 30",
    ],
)
def test_the_file_itself_refuses_change(log: Path, other: sqlite3.Connection, sql: str) -> None:
    before = read(log)
    with pytest.raises(sqlite3.IntegrityError, match=r"entries are never (changed|removed)"):
        other.execute(sql)
    assert read(log) == before


# Tampering ---------------------------------------------------------------------------------------

TAMPERING = {
    "edited body": "UPDATE entries SET body = replace(body, 'n', 'm') WHERE number = 7",
    "edited last body": "UPDATE entries SET body = replace(body, 'n', 'm') WHERE number = 30",
    "a blank more": "UPDATE entries SET body = body || ' ' WHERE number = 7",
    "edited hash": "UPDATE entries SET hash = substr(hash, 2) || '0' WHERE number = 7",
    "edited last hash": "UPDATE entries SET hash = '' WHERE number = 30",
    "hash in capitals": "UPDATE entries SET hash = upper(hash) WHERE number = 7",
    "removed first": "DELETE FROM entries WHERE number = 1",
    "removed middle": "DELETE FROM entries WHERE number = 7",
    "removed and closed up": "DELETE FROM entries WHERE number = 7;"
    "UPDATE entries SET number = -number; UPDATE entries SET number = -number - (number < -7)",
    "reordered": "UPDATE entries SET number = -number WHERE number IN (7, 8);"
    "UPDATE entries SET number = 15 + number WHERE number < 0",
    "doubled": "INSERT INTO entries SELECT 31, body, hash FROM entries WHERE number = 30",
    "added": "INSERT INTO entries VALUES (31, '{}', '')",
    "added far away": "INSERT INTO entries SELECT 99, body, hash FROM entries WHERE number = 30",
    "replaced": "INSERT OR REPLACE INTO entries SELECT number, '{}', hash FROM entries "
    "WHERE number = 7",
    "body as bytes": "UPDATE entries SET body = x'ff' WHERE number = 7",
    "body as a number": "UPDATE entries SET body = 5 WHERE number = 7",
    "body that is no text": "UPDATE entries SET body = CAST(x'80ff' AS TEXT) WHERE number = 7",
    "no table": "DROP TABLE entries",
    "another table": "DROP TABLE entries; CREATE TABLE entries (number, body)",
    "no secret table": "DROP TABLE secret",
    "another version": "PRAGMA user_version = 2",
    "another mark": "PRAGMA application_id = 0",
}


@pytest.mark.parametrize("what", TAMPERING)
def test_tampering_is_refused(log: Path, other: sqlite3.Connection, what: str) -> None:
    other.executescript(FREE + TAMPERING[what] + (GUARDED if what != "no table" else ""))
    message = refused(log)
    assert {"another version", "another mark"} & {what} or "changed" in message or "read" in message


def test_a_body_with_its_own_new_hash_does_not_fit_what_follows(
    log: Path, other: sqlite3.Connection
) -> None:
    text, before = '{"n":7}', read(log)[0][5].hash
    change = "UPDATE entries SET body = ?, hash = ? WHERE number = 7"
    other.executescript(FREE)
    other.execute(change, (text, entry_hash(before, text)))
    other.executescript(GUARDED)
    assert "entry 8 does not fit" in refused(log)


SECRETS = {
    "another": "UPDATE secret SET key = randomblob(32)",
    "shorter": "UPDATE secret SET key = substr(key, 1, 31)",
    "none": "DELETE FROM secret",
    "a number": "UPDATE secret SET key = 5",
    "a large number": "UPDATE secret SET key = 9223372036854775807",
    "a text": "UPDATE secret SET key = 'abc'",
}


@pytest.mark.parametrize("what", SECRETS)
def test_a_swapped_secret_is_refused(log: Path, other: sqlite3.Connection, what: str) -> None:
    # With another key every table is a new one, and all that was spent on it is forgotten.
    other.executescript(SECRETS[what])
    refused(log)


def outcome(path: Path) -> object:
    """Outcome of reading: its refusal, or the content."""
    try:
        return read(path)
    except PqdError as error:
        return type(error)


def overwritten(
    log: Path, pick: Callable[[random.Random], int], trials: int
) -> Iterator[tuple[int, object]]:
    rng, whole = seeded(5), log.read_bytes()
    for _ in range(trials):
        place, junk = pick(rng), rng.randbytes(rng.choice([1, 1, 8, 64, 512]))
        log.write_bytes((whole[:place] + junk + whole[place + len(junk) :])[: len(whole)])
        yield place, outcome(log)


def page_size(whole: bytes) -> int:
    return int.from_bytes(whole[16:18])


def test_overwritten_entries_are_refused_or_without_effect(
    log: Path, made: tuple[bytes, tuple[Entry, ...], bytes]
) -> None:
    whole, entries, secret = made
    first = 2 * page_size(whole)
    found = list(overwritten(log, lambda rng: rng.randrange(first, len(whole)), 300))
    assert {place for place, x in found if x not in (LedgerError, (entries, secret))} == set()
    # Most bytes are entries: nearly every hit must be told.
    assert sum(x is LedgerError for _, x in found) > 150


def test_an_overwritten_schema_is_refused_or_without_effect(
    log: Path, made: tuple[bytes, tuple[Entry, ...], bytes]
) -> None:
    whole, entries, secret = made
    # The texts of the tables and triggers fill the end of the first page.
    size = page_size(whole)
    found = list(overwritten(log, lambda rng: rng.randrange(size - 600, size), 300))
    assert {place for place, x in found if x not in (LedgerError, (entries, secret))} == set()


def test_every_overwritten_byte_of_the_secret_is_refused(
    log: Path, made: tuple[bytes, tuple[Entry, ...], bytes]
) -> None:
    whole, _, secret = made
    start = whole.index(secret)
    for place in range(start, start + len(secret)):
        log.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        refused(log)


def test_a_truncated_file_is_refused(
    log: Path, made: tuple[bytes, tuple[Entry, ...], bytes]
) -> None:
    whole, rng = made[0], seeded(6)
    lengths = {0, 1, 15, 16, 17, 31, 32, 72, 99, 100, 511, 512, 4095, 4096, 4097, len(whole) - 1}
    for length in lengths | {rng.randrange(len(whole)) for _ in range(60)}:
        log.write_bytes(whole[:length])
        refused(log)
        # It stands as it was: nothing began a new log there.
        assert log.read_bytes() == whole[:length]


def test_a_file_that_is_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    text, database, noise = (tmp_path / name for name in ("a.csv", "b.sqlite", "c.bin"))
    text.write_text("age,sex\n" + "1,m\n" * 500, encoding="utf-8")
    with closing(sqlite3.connect(database)) as connection:
        connection.executescript("CREATE TABLE entries (number, body, hash)")
    noise.write_bytes(seeded(7).randbytes(5000))
    for path in (text, database, noise):
        before = path.read_bytes()
        refused(path)
        assert path.read_bytes() == before
    folder = tmp_path / "folder"
    folder.mkdir()
    refused(folder)
    assert not list(folder.iterdir())


def test_the_mark_tells_a_ledger(log: Path, tmp_path: Path) -> None:
    assert is_ledger(log)
    log.write_bytes(log.read_bytes()[:72])
    assert is_ledger(log)
    with closing(sqlite3.connect(tmp_path / "b.sqlite")) as connection:
        connection.executescript("CREATE TABLE entries (number)")
    (tmp_path / "a.csv").write_text("age\n", encoding="utf-8")
    for name in ("b.sqlite", "a.csv", "missing", "."):
        assert not is_ledger(tmp_path / name)


def test_removed_last_entries_are_a_whole_log(log: Path, other: sqlite3.Connection) -> None:
    # The chain alone cannot tell: see test_ledger for what does.
    before = read(log)[0]
    other.executescript(f"{FREE} DELETE FROM entries WHERE number > 20 {GUARDED}")
    assert read(log)[0] == before[:20]


# Older bytes in its place -------------------------------------------------------------------------


@pytest.fixture
def older(log: Path) -> bytes:
    """Bytes of the log as it was, before an entry was appended."""
    before = log.read_bytes()
    with closing(HashChain(log)) as chain, chain.writing():
        chain.append({"n": "newer"})
    return before


def put(path: Path, content: bytes) -> None:
    """Put bytes into a file that stays the same file."""
    with path.open("r+b") as file:
        file.write(content)
        file.truncate()


def test_older_bytes_before_an_append_are_found_out(log: Path, older: bytes) -> None:
    with closing(HashChain(log)) as chain:
        assert len(chain.entries()) == ENTRIES + 1
        put(log, older)
        with pytest.raises(LostLedgerError, match="removed or replaced"), chain.writing():
            chain.append({"n": 0})
        with pytest.raises(LostLedgerError):
            chain.check_standing()
    # Nothing was appended to what was put there.
    assert len(read(log)[0]) == ENTRIES


def test_older_bytes_after_an_append_are_found_out(log: Path) -> None:
    before = log.read_bytes()
    with closing(HashChain(log)) as chain:
        with chain.writing():
            chain.append({"n": 0})
        chain.check_standing()
        put(log, before)
        with pytest.raises(LostLedgerError):
            chain.check_standing()


def test_the_older_of_two_logs_without_entries_is_found_out(tmp_path: Path) -> None:
    path, other = tmp_path / "log.sqlite", tmp_path / "other.sqlite"
    HashChain(other).close()
    with closing(HashChain(path)) as chain:
        put(path, other.read_bytes())
        with pytest.raises(LostLedgerError), chain.writing():
            chain.append({"n": 0})


def test_bytes_of_two_versions_are_found_out(log: Path, older: bytes) -> None:
    newer, size = log.read_bytes(), page_size(older)
    with closing(HashChain(log)) as chain:
        chain.entries()
        for pages in range(1, len(older) // size):
            put(log, older[: pages * size] + newer[pages * size :])
            try:
                chain.check_standing()
            except LostLedgerError:
                continue
            assert chain.entries()[-1] in read(log)[0]
        put(log, newer)
        chain.check_standing()


def test_older_bytes_in_the_middle_of_a_commit_are_found_out(tmp_path: Path) -> None:
    found = 0
    for seed in range(20):
        path, rng = tmp_path / f"{seed}.sqlite", seeded(seed)
        with closing(HashChain(path)) as chain:
            for number in range(rng.randrange(3, 30)):
                older = path.read_bytes()
                with chain.writing():
                    chain.append({"n": number, "pad": "x" * rng.randrange(1200)})
            with chain.writing():
                chain.append({"n": "last", "pad": "x" * rng.randrange(1200)})
                put(path, older)
            try:
                chain.check_standing()
            except LostLedgerError:
                found += 1
            else:
                # What the commit wrote has mended the file.
                assert read(path)[0] == chain.known_entries
    assert 0 < found < 20


def test_a_log_that_only_remembers_would_not_find_out(
    log: Path, older: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wrong program: it never looks for the entries that it knows."""
    monkeypatch.setattr(HashChain, "check_standing", lambda _: None)
    rows = HashChain._rows
    monkeypatch.setattr(HashChain, "_rows", lambda self, other, known: rows(self, other, 0)[known:])
    with closing(HashChain(log)) as chain:
        assert len(chain.entries()) == ENTRIES + 1
        put(log, older)
        with chain.writing():
            chain.append({"n": 0})


# More than a log holds ----------------------------------------------------------------------------

ODDITIES = {
    "a trigger that swallows": "CREATE TRIGGER x BEFORE INSERT ON entries "
    "BEGIN SELECT RAISE(IGNORE); END",
    "a trigger that waits": "CREATE TRIGGER x AFTER INSERT ON entries BEGIN SELECT 1; END",
    # The table is made anew after it, so that it comes last of the two of that name.
    "a trigger with the name of a table": "CREATE TABLE x AS SELECT key FROM secret;"
    "DROP TABLE secret; CREATE TRIGGER secret BEFORE INSERT ON entries "
    f"BEGIN SELECT RAISE(IGNORE); END; {SCHEMA['secret']};"
    "INSERT INTO secret SELECT key FROM x; DROP TABLE x",
    "a view": "CREATE VIEW x AS SELECT * FROM entries",
    "a view in place of the entries": FREE + "ALTER TABLE entries RENAME TO y;"
    "CREATE VIEW entries AS SELECT * FROM y WHERE number < 9",
    "a table": "CREATE TABLE x (y)",
    "an index": "CREATE INDEX x ON entries (hash)",
    "statistics": "ANALYZE",
    "without a guard": "DROP TRIGGER entries_stay",
    "another guard": "DROP TRIGGER entries_stay; CREATE TRIGGER entries_stay "
    "BEFORE UPDATE ON entries BEGIN SELECT 1; END",
    "entries in another file": "PRAGMA journal_mode = WAL",
}


@pytest.mark.parametrize("what", ODDITIES)
def test_a_log_with_anything_else_is_refused(
    log: Path, other: sqlite3.Connection, what: str
) -> None:
    other.executescript(ODDITIES[what])
    other.close()
    assert "was changed by hand" in refused(log)


@pytest.mark.parametrize(
    "what", ["a trigger that swallows", "a view", "without a guard", "another mark"]
)
def test_what_is_added_while_it_is_open_is_found_out(
    log: Path, other: sqlite3.Connection, what: str
) -> None:
    with closing(HashChain(log)) as chain:
        chain.entries()
        other.executescript({**ODDITIES, "another mark": "PRAGMA user_version = 9"}[what])
        with pytest.raises(LostLedgerError), chain.writing():
            chain.append({"n": 0})


# Making ------------------------------------------------------------------------------------------


def test_a_new_log_is_its_owners_and_alone(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    with closing(HashChain(path)) as chain:
        assert chain.entries() == ()
        assert len(chain.secret) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [*tmp_path.iterdir()] == [path]


def test_every_log_has_a_secret_of_its_own(tmp_path: Path) -> None:
    assert len({read(tmp_path / str(number))[1] for number in range(5)}) == 5


def test_a_faster_process_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, rival, link = tmp_path / "log.sqlite", tmp_path / "rival.sqlite", os.link
    filled(rival, 3).close()

    def late(source: Path, target: Path, **how: Any) -> None:
        shutil.move(rival, path)
        link(source, target, **how)

    monkeypatch.setattr(os, "link", late)
    assert len(read(path)[0]) == 3
    assert [*tmp_path.iterdir()] == [path]


def test_a_log_that_is_being_made_has_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that dies before the link leaves nothing that holds a key."""
    seen = list[Path]()

    def killed(*_: object, **__: object) -> None:
        seen.extend(tmp_path.iterdir())
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "link", killed)
    with pytest.raises(KeyboardInterrupt):
        HashChain(tmp_path / "log.sqlite")
    assert not seen
    assert not [*tmp_path.iterdir()]


def test_a_log_is_made_where_files_have_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "O_TMPFILE")
    path = tmp_path / "log.sqlite"
    filled(path, 2).close()
    assert [*tmp_path.iterdir()] == [path]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(read(path)[0]) == 2


@pytest.mark.parametrize(
    "place",
    [
        "missing/log.sqlite",
        "file/log.sqlite",
        "/proc/log.sqlite",
        "dangling",
        pytest.param("x" * 300, id="too long"),
    ],
)
def test_a_place_where_no_log_can_be_made(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("text", encoding="utf-8")
    (tmp_path / "dangling").symlink_to(tmp_path / "missing" / "log.sqlite")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(LedgerError, match=r"Nothing was spent\.$") as caught:
        HashChain(tmp_path / place)
    assert caught.value.exit_code == 3
    assert sorted(tmp_path.iterdir()) == before


@unless_root
def test_a_folder_that_is_read_only(tmp_path: Path, log: Path) -> None:
    with closing(HashChain(log)) as chain:
        tmp_path.chmod(0o500)
        try:
            with (
                pytest.raises(LedgerError, match="give yourself the right to write both"),
                chain.writing(),
            ):
                chain.append({"n": 0})
            with pytest.raises(LedgerError, match="Permission denied; name another place"):
                HashChain(tmp_path / "new.sqlite")
        finally:
            tmp_path.chmod(0o700)


# Hindered ----------------------------------------------------------------------------------------


def test_a_log_that_another_process_writes(log: Path, other: sqlite3.Connection) -> None:
    other.execute("BEGIN IMMEDIATE")
    with closing(HashChain(log, wait=0.01)) as chain:
        assert len(chain.entries()) == ENTRIES
        with (
            pytest.raises(LedgerError, match=r"held it for 0\.01 seconds; try again later"),
            chain.writing(),
        ):
            chain.append({"n": 0})
        other.execute("ROLLBACK")
        with chain.writing():
            chain.append({"n": 0})
        assert chain.entries() == read(log)[0]


def test_a_log_that_another_process_holds_alone(log: Path, other: sqlite3.Connection) -> None:
    other.execute("BEGIN EXCLUSIVE")
    assert "cannot be read: another process held it for 0.01 seconds" in refused(log)
    other.execute("ROLLBACK")
    assert len(read(log)[0]) == ENTRIES


def test_a_reader_who_stays_hinders_the_commit(log: Path, other: sqlite3.Connection) -> None:
    other.execute("BEGIN")
    other.execute("SELECT count(*) FROM entries").fetchall()
    with closing(HashChain(log, wait=0.01)) as chain:
        before = chain.entries()
        with pytest.raises(LedgerError, match="try again later"), chain.writing():
            chain.append({"n": 0})
        other.execute("ROLLBACK")
        assert chain.entries() == before == read(log)[0]


def test_a_full_disk(log: Path) -> None:
    with closing(HashChain(log)) as chain:
        before = chain.entries()
        chain._execute("PRAGMA max_page_count = 1")
        with pytest.raises(LedgerError, match="the disk is full; make room"), chain.writing():
            chain.append({"n": 0, "pad": "x" * 5000})
        assert chain.entries() == before == read(log)[0]
        chain._execute("PRAGMA max_page_count = 1000")
        with chain.writing():
            chain.append({"n": 0, "pad": "x" * 5000})
        assert len(read(log)[0]) == ENTRIES + 1


def test_another_thread_may_let_go_of_it(log: Path) -> None:
    """The garbage collector runs in whatever thread it likes."""
    chain, raised = HashChain(log), list[Exception]()

    def let_go() -> None:
        try:
            chain.close()
        except sqlite3.Error as error:
            raised.append(error)

    thread = threading.Thread(target=let_go)
    thread.start()
    thread.join()
    assert not raised
