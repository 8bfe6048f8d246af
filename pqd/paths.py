"""Paths from a caller: checks that the system can follow a path, and writes of whole files."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pqd.errors import ParameterError, RunError

_NUMBER = re.compile(r"[0-9]+")
# Flag by which no link is followed.  Windows lacks it; only users with a special right can make
# links there.
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)
# Mode of a new file (before the umask), and mode of a file that only its owner may read.
_MODE, _PRIVATE = 0o666, 0o600


def usable(path: str | Path, name: str | None = None) -> Path:
    """``path``, after a check that the system can follow it.

    The system cannot follow a loop of links, a zero byte, or a folder without permission.

    ``name`` is the name of the path in the message.

    Raises
    ------
    ParameterError
        If the system cannot follow the path; nothing is read or spent.
    """
    place = Path(path)
    try:
        place.resolve()
        # From Python 3.13 on only stat() tells a loop of links from a missing file.
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
    """``path``, after a check that it can be written; callers check before the charge.

    The path must be a file, a new file, or a device such as /dev/null.  A link is refused since it
    hides which file is written, and a pipe since it may never have a reader.

    Raises
    ------
    ParameterError
        If the path cannot be written.
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
    # A whole file is written as a new file that replaces the old file, so the folder must be
    # writable.
    whole = not (append or path.is_char_device())
    needed = [*([path] if path.exists() else []), *([folder] if whole else [])]
    if not all(os.access(place, os.W_OK) for place in needed):
        raise ParameterError(
            f"{path} cannot be written: permission denied; name a file in a folder of yours"
        )
    return path


def write_text(path: Path, text: str, *, append: bool = False) -> None:
    """Write a file with ``text``, or append ``text`` to a file.

    Raises
    ------
    RunError
        If the file cannot be written; the old file is then unchanged.
    """
    content = text.encode("utf-8", errors="backslashreplace")
    with told_as_unwritten(path):
        if append or path.is_char_device():
            # If the file has become a pipe since the check, do not wait for a reader.
            _write(path, content, os.O_APPEND | _NO_LINK | _NO_WAIT, _MODE)
        else:
            with draft_of(path) as draft:
                # The draft is private until it gets the mode of the file that it replaces.
                _write(draft, content, os.O_EXCL, _PRIVATE if path.exists() else _MODE)


@contextmanager
def told_as_unwritten(path: Path) -> Iterator[None]:
    """Context that turns an error of the system, or a refusal of the path, into a RunError."""
    try:
        yield
    except ParameterError as error:
        raise RunError(f"{path} was not written: {error}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its path cannot be used"
        raise RunError(f"{path} was not written: {reason}") from None


@contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """Context with the path of a draft; at its end the draft, which is on disk, replaces ``path``.

    So a reader of ``path`` gets either the whole old file or the whole new file.  After an error
    the draft is removed.
    """
    # The draft has a short name of its own: the name of the file may already have the largest
    # length that the system allows.
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
    # The file is complete by now.  Some systems cannot sync a folder; such an error is ignored.
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
            # Remove the part that was written.  This fails for a device, which cannot be cut.
            with suppress(OSError):
                os.ftruncate(opened, before)
            raise
    finally:
        os.close(opened)
