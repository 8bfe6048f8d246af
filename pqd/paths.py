"""Paths that a caller gives: whether the system can follow them, and how a file is written."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from pqd.errors import ParameterError, RunError

_NUMBER = re.compile(r"[0-9]+")
# No such flag on Windows, whose links take rights of their own to make.
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


def usable(path: str | Path, name: str | None = None) -> Path:
    """``path``, which the system must be able to follow: no loop, no NUL, no folder that is closed.

    ``name`` is what the message calls it instead.

    Raises
    ------
    ParameterError
        Before anything is read or spent.
    """
    place = Path(path)
    try:
        place.resolve()
        # From Python 3.13 on nothing else tells a loop from a file that is not there.
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
    """Whether two paths differ in numbers alone, as those of parts of one table do."""
    first, second = ((Path(path).parent, _NUMBER.split(Path(path).name)) for path in (one, other))
    return one != other and first == second


def unlinked(path: Path) -> Path:
    """``path``, which must be no symbolic link: what is written must be where it is named."""
    if path.is_symlink():
        raise ParameterError(
            f"{path} is a symbolic link, and nothing is written through one; name the file itself "
            "(- is standard output)"
        )
    return path


def writable(path: Path) -> Path:
    """``path``, which must be writable: after the charge it would be too late to find out.

    Its folder must be there.
    """
    place = path if path.exists() else path.absolute().parent
    if not os.access(place, os.W_OK):
        raise ParameterError(
            f"{path} cannot be written: permission denied; name a file in a folder of yours"
        )
    return path


def write_text(path: Path, text: str, *, append: bool = False) -> None:
    """Write a file, which is no link even if it was made one meanwhile.

    Raises
    ------
    RunError
        If it cannot be written.
    """
    flags = os.O_WRONLY | os.O_CREAT | _NO_LINK | (os.O_APPEND if append else os.O_TRUNC)
    try:
        opened = os.open(path, flags, 0o666)
        with os.fdopen(opened, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its path cannot be used"
        raise RunError(f"{path} was not written: {reason}") from None
