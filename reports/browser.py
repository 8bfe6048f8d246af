"""A report's page in a file of its own, shown in the browser where there is one."""

from __future__ import annotations

import os
import sys
import tempfile
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pqd.deciders.errors import ParameterError

if TYPE_CHECKING:
    from pqd.reports.models.report import Report

# What every page begins with.
_BEGINNING = b"<!doctype html>"
_OWNER = 0o600


def open_page(report: Report, path: str | Path | None = None, command: str | None = None) -> Path:
    """Write the page of a report, show it, and return its path.

    Without a ``path`` it lies in a new folder that no one else may enter.  Where no browser can
    show it, as without a screen, nothing more is done.

    Raises
    ------
    ParameterError
        If the file cannot be written, or something else is there.
    """
    text = report.to_html(command).encode()
    if path is None:
        path = Path(tempfile.mkdtemp(prefix="pqd-")) / f"{report.kind}.html"
    place = Path(path).absolute()
    failure = ""
    try:
        if _is_free(place):
            _write(place, text)
        else:
            failure = "something is there that is no page"
    except OSError as error:
        failure = error.strerror or "no reason"
    except ValueError:
        failure = "no file can have this name"
    if failure:
        raise ParameterError(f"the page cannot be written to {path}: {failure}; name another file")
    if _has_screen():
        # A browser that cannot be started is none: the page is there.
        with suppress(webbrowser.Error, OSError):
            webbrowser.open(place.as_uri())
    return place


def _is_free(place: Path) -> bool:
    """Whether nothing is at a place, or a page that may be replaced."""
    if not place.exists():
        return True
    if place.is_fifo():
        # To open one waits for who writes to it.
        return False
    with place.open("rb") as file:
        return file.read(len(_BEGINNING)).lower() == _BEGINNING


def _write(place: Path, text: bytes) -> None:
    """Write a file beside ``place`` that its owner alone may read, and put it there whole."""
    number, name = tempfile.mkstemp(dir=place.parent, prefix=".pqd-", suffix=".html")
    written = Path(name)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        written.chmod(_OWNER)
        written.replace(place)
    except (OSError, ValueError):
        written.unlink(missing_ok=True)
        raise


def _has_screen() -> bool:
    """Whether a browser would have a window; a text browser would take over the terminal."""
    if sys.platform in {"darwin", "win32"}:
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
