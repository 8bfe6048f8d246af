"""A page in a file of its own, which a browser shows where there is one."""

from __future__ import annotations

import os
import stat
import webbrowser
from pathlib import Path

import pytest

from pqd.deciders.errors import ParameterError
from tests.support.audit_reports import AUDIT


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Addresses that a browser is asked to show, on a machine with a screen."""
    addresses: list[str] = []
    monkeypatch.setattr(webbrowser, "open", addresses.append)
    monkeypatch.setattr("sys.platform", "linux")
    for name in ("WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    return addresses


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_page_is_written_for_its_owner_alone_and_shown(
    shown: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = AUDIT.open()
    assert path.read_text(encoding="utf-8") == AUDIT.to_html()
    assert (path.name, path.parent.parent) == ("audit.html", tmp_path)
    assert (mode(path), mode(path.parent)) == (0o600, 0o700)
    assert shown == [path.as_uri()]
    assert AUDIT.open() != path


def test_a_page_goes_where_it_is_wanted_and_replaces_a_page(
    shown: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert AUDIT.open("report of me.html", "pqd again") == tmp_path / "report of me.html"
    Path("report of me.html").chmod(0o644)
    path = AUDIT.open(Path("report of me.html"))
    assert path.read_text(encoding="utf-8") == AUDIT.to_html()
    assert mode(path) == 0o600
    assert shown == [f"{tmp_path.as_uri()}/report%20of%20me.html"] * 2
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_but_a_page_is_replaced(shown: list[str], tmp_path: Path) -> None:
    table = tmp_path / "private.csv"
    table.write_text("age\n1\n", encoding="utf-8")
    with pytest.raises(ParameterError, match="something is there that is no page; name"):
        AUDIT.open(table)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ParameterError, match="something is there that is no page; name"):
            AUDIT.open(tmp_path / "pipe")
    assert table.read_text(encoding="utf-8") == "age\n1\n"
    assert shown == []


@pytest.mark.parametrize(
    ("name", "words"),
    [("nowhere/page.html", "No such file"), (".", "Is a directory"), ("a\0b", "no file can have")],
)
def test_a_place_that_cannot_be_written_is_refused(
    name: str, words: str, shown: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParameterError, match=f"cannot be written to .*{words}.*; name another"):
        AUDIT.open(name)
    assert shown == []
    assert list(tmp_path.iterdir()) == []


def test_what_breaks_half_way_leaves_the_earlier_page(
    shown: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = AUDIT.open(tmp_path / "page.html")
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(ParameterError, match="No space left"):
        AUDIT.open(path)
    assert (path.read_bytes(), len(shown)) == (before, 1)
    assert list(tmp_path.iterdir()) == [path]


def test_without_a_screen_the_page_is_written_alone(
    shown: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DISPLAY")
    assert AUDIT.open(tmp_path / "page.html").exists()
    assert shown == []
    monkeypatch.setattr("sys.platform", "darwin")
    AUDIT.open(tmp_path / "page.html")
    assert len(shown) == 1


@pytest.mark.usefixtures("shown")
def test_a_browser_that_cannot_be_started_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(_: str) -> None:
        raise webbrowser.Error("could not locate runnable browser")

    monkeypatch.setattr(webbrowser, "open", none)
    assert AUDIT.open(tmp_path / "page.html").exists()
