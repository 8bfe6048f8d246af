"""Paths from a caller: whether the system can follow a path, and how a file is written."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pqd.errors import ParameterError, RunError

_NUMBER = re.compile(r"[0-9]+")
# Windows has no such flag; there, making a link takes a special right.
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)
# Mode of a new file (before the umask), and mode of a file that only its owner may read.
_MODE, _PRIVATE = 0o666, 0o600


def usable(path: str | Path, name: str | None = None) -> Path:
    """``path``, after a check that the system can follow it: no loop, no NUL, no closed folder.

    ``name`` is the name of the path in the message.

    Raises
    ------
    ParameterError
        If the system cannot follow the path; nothing is read or spent.
    """
    place = Path(path)
    try:
        place.resolve()
        # From Python 3.13 on only stat() tells a loop from a file that is not there.
        with suppress(FileNotFoundError, NotADirectoryError):
            place.stat()
        str(place).encode()
    except PermissionError:
        name = repr(str(path)[:80]) if name is None else name
        raise ParameterError(
            f"{name} leads through a folder that may not be entered: permission denied; ask its "
            "owner for the right to enter it, or run as a user who has it"
        ) from None
    except (OSError, RuntimeError, ValueError):
        name = repr(str(path)[:80]) if name is None else name
        raise ParameterError(f"{name} cannot be used as a path; rename it") from None
    return place


def numbered_alike(one: str, other: str) -> bool:
    """Whether two paths differ only in numbers, like the paths of two parts of one table."""
    first, second = ((Path(path).parent, _NUMBER.split(Path(path).name)) for path in (one, other))
    return one != other and first == second


def writable(path: Path, *, append: bool = False) -> Path:
    """``path``, after a check that it can be written, which must come before the charge.

    The path must be a file, a new file, or a device such as /dev/null.  A link would hide which
    file is written, and a pipe may never have a reader.

    Raises
    ------
    ParameterError
        If nothing can be written there.
    """
    if path.is_symlink():
        raise ParameterError(
            f"{path} is a symbolic link, and nothing is written through one; name the file itself "
            "(- is standard output)"
        )
    if path.is_dir():
        raise ParameterError(f"{path} cannot be written: it is a folder; name a file in it")
    if path.exists() and not (path.is_file() or path.is_char_device()):
        raise ParameterError(
            f"{path} cannot be written: it is a pipe, a socket or a disk; name a file (- is "
            "standard output)"
        )
    folder = path.absolute().parent
    if not folder.is_dir():
        raise ParameterError(f"{path} cannot be written: there is no such folder")
    # A whole file replaces the old one, for which the folder must be writable.
    whole = not (append or path.is_char_device())
    needed = [*([path] if path.exists() else []), *([folder] if whole else [])]
    if not all(os.access(place, os.W_OK) for place in needed):
        raise ParameterError(
            f"{path} cannot be written: permission denied; name a file in a folder of yours"
        )
    return path


def write_text(path: Path, text: str, *, append: bool = False) -> None:
    """Write a whole file, or nothing; or append ``text`` to a file.

    Raises
    ------
    RunError
        If the file cannot be written; the old file is then still there.
    """
    content = text.encode("utf-8", errors="backslashreplace")
    with told_as_unwritten(path):
        if append or path.is_char_device():
            # Do not wait for a reader if the file has meanwhile become a pipe.
            _write(path, content, os.O_APPEND | _NO_LINK | _NO_WAIT, _MODE)
        else:
            with draft_of(path) as draft:
                # A file that replaces a private file is private from the start.
                _write(draft, content, os.O_EXCL, _PRIVATE if path.exists() else _MODE)


@contextmanager
def told_as_unwritten(path: Path) -> Iterator[None]:
    """Context in which an error of the system, or a refused path, becomes a RunError."""
    try:
        yield
    except ParameterError as error:
        raise RunError(f"{path} was not written: {error}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its path cannot be used"
        raise RunError(f"{path} was not written: {reason}") from None


@contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """Path of a draft beside ``path``; the draft replaces ``path`` when it is whole and on disk.

    A reader of ``path`` gets the old file or the new one.  An unfinished draft is removed.
    """
    # The name is short: the report's own name may be as long as the system allows.
    draft = path.with_name(f".pqd-{os.urandom(8).hex()}")
    try:
        yield draft
        with draft.open("rb+") as file:
            os.fsync(file.fileno())
        _take_over(path, draft)
        draft.replace(path)
    finally:
        with suppress(OSError):
            draft.unlink()
    # The file is whole by now; some systems cannot sync a folder.
    with suppress(OSError):
        folder = os.open(path.absolute().parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _take_over(path: Path, draft: Path) -> None:
    """Give a draft the mode of the file that it replaces, and its owner if the system allows it."""
    if not path.exists():
        return
    old = path.stat()
    # Windows has no owners of this kind.
    with suppress(OSError, AttributeError):
        os.chown(draft, old.st_uid, old.st_gid)
    draft.chmod(stat.S_IMODE(old.st_mode))


def _write(path: Path, content: bytes, flags: int, mode: int) -> None:
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | flags, mode)
    try:
        before, left = os.fstat(opened).st_size, memoryview(content)
        try:
            while left:
                left = left[os.write(opened, left) :]
        except BaseException:
            # Remove the part that was written.  A device cannot be cut.
            with suppress(OSError):
                os.ftruncate(opened, before)
            raise
    finally:
        os.close(opened)
