"""Page of a report, written to a file and shown in a browser if there is one."""

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

# Text at the start of every page.
_BEGINNING = b"<!doctype html>"
_OWNER = 0o600


def open_page(report: Report, path: str | Path | None = None, command: str | None = None) -> Path:
    """Write the page of a report, show it, and return its path.

    Without a ``path``, the page is in a new folder that only the user may open.  If there is no
    screen, the page is written but not shown.

    Raises
    ------
    ParameterError
        The file cannot be written, or ``path`` is something other than a page.
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
        # If the browser cannot be started, the page is still written.
        with suppress(webbrowser.Error, OSError):
            webbrowser.open(place.as_uri())
    return place


def _is_free(place: Path) -> bool:
    """Whether a page may be written to a place: nothing is there, or a page to be replaced."""
    if not place.exists():
        return True
    if place.is_fifo():
        # Opening a FIFO would wait until another process writes to it.
        return False
    with place.open("rb") as file:
        return file.read(len(_BEGINNING)).lower() == _BEGINNING


def _write(place: Path, text: bytes) -> None:
    """Write a file that only its owner may read, beside ``place``, then move it to ``place``."""
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
    """Whether a browser can open a window; if not, a text browser would take over the terminal."""
    if sys.platform in {"darwin", "win32"}:
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
