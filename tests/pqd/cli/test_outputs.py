"""Renderings beside the terminal report: every command writes them alike."""

import errno
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

import pqd
from pqd.accounting.hash_chain import is_ledger
from pqd.accounting.ledger import Ledger
from pqd.cli.outputs import Target, Targets
from pqd.deciders import SecureNoise
from pqd.errors import UnwrittenTableError
from pqd.reports.writers.html.views import MOST_ROWS

Ran = tuple[int, str, str]
Command = Callable[..., Ran]

SQL = "SELECT COUNT(*) FROM D WHERE age > 2"
SPEC = """
[private]
path = "private.csv"
[synthetic.copy]
path = "copy.csv"
[[check]]
id = "some"
sql = "SELECT COUNT(*) FROM D WHERE age > 2"
tau = 5
epsilon = 1
on_undecided = "pass"
severity = "warn"
"""
TERMS = ["-q", SQL, "--tau", "5", "--epsilon", "1"]
REPORTS: dict[str, list[str]] = {
    "audit": ["audit", "private.csv", "copy.csv", *TERMS],
    "plan": ["plan", "copy.csv", *TERMS],
    "compare": ["compare", "private.csv", "a=copy.csv", *TERMS],
    "release": ["release", "private.csv", "copy.csv", "-q", SQL, "--total-epsilon", "1"],
    "check": ["check", "audit.toml"],
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, modulus in (("private", 7), ("copy", 6)):
        frame = pd.DataFrame({"age": [float(n % modulus) for n in range(40)]})
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "audit.toml").write_text(SPEC, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return tmp_path


@pytest.mark.parametrize("name", REPORTS)
def test_each_kind_is_written_by_either_option(name: str, folder: Path, command: Command) -> None:
    named = ["--json", "1.json", "--markdown", "1.md", "--html", "1.html"]
    listed = ["json=2.json", "markdown=2.md", "html=2.html"]
    outputs = [word for text in listed for word in ("--output", text)]
    code, out, err = command(*REPORTS[name], *named, *outputs)
    assert (code, err) == (0, "")
    assert out
    for suffix in ("json", "md", "html"):
        one, other = (folder / f"{n}.{suffix}" for n in (1, 2))
        assert one.read_text(encoding="utf-8") == other.read_text(encoding="utf-8") != ""
    assert json.loads((folder / "1.json").read_text(encoding="utf-8"))["kind"] == name


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("options", [["--json", "-"], ["--output", "json=-"]])
def test_standard_output_has_one_rendering_alone(
    name: str, options: list[str], command: Command
) -> None:
    code, out, err = command(*REPORTS[name], *options)
    assert (code, err) == (0, "")
    assert json.loads(out)["kind"] == name


@pytest.mark.parametrize("name", REPORTS)
def test_github_gets_the_summary_of_the_step(
    name: str, folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = folder / "summary.md"
    summary.write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    code, out, err = command(
        *REPORTS[name], "--output", "github", "--markdown", "own.md", "--json", "-"
    )
    assert code == 0
    json.loads(out)
    told = summary.read_text(encoding="utf-8")
    assert told == "before\n" + (folder / "own.md").read_text(encoding="utf-8")
    # Only a spec has lines that an annotation can point at.
    assert err == "" or name == "check"


@pytest.mark.parametrize("name", REPORTS)
def test_github_without_a_summary_says_so(name: str, command: Command) -> None:
    code, out, err = command(*REPORTS[name], "--output", "github")
    assert code == 0
    assert out
    assert len(err.splitlines()) == 1
    assert "GITHUB_STEP_SUMMARY is not set" in err
    assert ("annotations alone" in err) == (name == "check")


@pytest.mark.parametrize("name", REPORTS)
def test_the_help_names_the_kinds_of_the_command(name: str, command: Command) -> None:
    words = command(name, "--help-all")[1]
    assert "markdown=FILE" in words
    assert ("junit=FILE" in words) == (name == "check")


@pytest.mark.parametrize("name", REPORTS)
def test_tables_go_to_a_spreadsheet_and_to_a_paper(
    name: str, folder: Path, command: Command
) -> None:
    code, out, _ = command(
        *REPORTS[name], "--output", "csv=report.csv", "--output", "latex=report.tex"
    )
    assert code == 0
    assert out
    first, *rows = (folder / "report.csv").read_text(encoding="utf-8").splitlines()
    assert first.startswith("table,")
    assert rows
    assert "\\begin{tabular}" in (folder / "report.tex").read_text(encoding="utf-8")
    # A report is written again; another table is not overwritten.
    assert command(*REPORTS[name], "--output", "csv=report.csv")[0] == 0
    (folder / "other.csv").write_text("age\n3\n", encoding="utf-8")
    code, _, err = command(*REPORTS[name], "--output", "csv=other.csv")
    assert code == 2
    assert "other.csv is named like a table" in err
    assert (folder / "other.csv").read_text(encoding="utf-8") == "age\n3\n"


REFUSED: dict[str, tuple[list[str], str]] = {
    "an unknown kind": (["--output", "pdf=x"], "output 'pdf=x' is not understood"),
    "no file": (["--output", "json="], "output 'json=' is not understood"),
    "no kind": (["--output", "x.json"], "output 'x.json' is not understood"),
    "a file for github": (["--output", "github=x"], "output 'github=x' is not understood"),
    "one place": (["--json", "x", "--output", "html=x"], "two outputs go to the same place"),
    "standard output twice": (["--html", "-", "--output", "json=-"], "to the same place"),
    "an input": (["--output", "json=audit.toml"], "is an input of this run"),
    "a table": (["--output", "json=private.csv"], "named like a table"),
    "no folder": (["--output", "json=no/x.json"], "there is no such folder"),
}


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("label", REFUSED)
def test_a_place_that_cannot_be_is_refused_before_anything_is_spent(
    label: str, name: str, folder: Path, command: Command
) -> None:
    options, message = REFUSED[label]
    if label == "an input" and name != "check":
        options, message = ["--output", "json=copy.csv"], "named like a table"
    code, out, err = command(*REPORTS[name], *options)
    assert (code, out) == (2, "")
    assert message in err
    assert not list(folder.glob("*.sqlite"))


@pytest.mark.parametrize("name", REPORTS)
def test_junit_is_for_checks(name: str, folder: Path, command: Command) -> None:
    code, _, err = command(*REPORTS[name], "--output", "junit=x.xml")
    assert (code, (folder / "x.xml").exists()) == ((0, True) if name == "check" else (2, False))
    assert ("is for the checks of a spec" in err) == (name != "check")


def test_a_page_of_very_many_queries_has_no_curves() -> None:
    page, text = Targets((Target("html", "x.html"),)), Targets((Target("json", "x.json"),))
    assert page.has_curves(MOST_ROWS)
    assert not page.has_curves(MOST_ROWS + 1)
    assert not text.has_curves(1)


# A ledger, or an input ----------------------------------------------------------------------------

CHARGING = [name for name in REPORTS if name != "plan"]
LEDGERS = {
    "the default": ("pqd-ledger.sqlite", None, None),
    "another spelling": ("../{folder}/pqd-ledger.sqlite", None, None),
    "its journal": ("pqd-ledger.sqlite-journal", None, None),
    "its draft": (".pqd-ledger.sqlite.123.0a1b2c3d", None, None),
    "the journal of its draft": (".pqd-ledger.sqlite.123.0a1b2c3d-journal", None, None),
    "that of the variable": ("book.json", "book.json", None),
    "through a linked folder": ("here/book.json", "book.json", None),
    "that of the option": ("book.json", None, "book.json"),
    "the option's journal": ("book.json-wal", "other.sqlite", "book.json"),
}


@pytest.mark.parametrize("output", ["--json", "--html", "--markdown", "--output"])
@pytest.mark.parametrize("label", LEDGERS)
def test_no_report_is_written_where_a_ledger_will_be(
    label: str, output: str, folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, variable, option = LEDGERS[label]
    monkeypatch.delenv("PQD_LEDGER")
    (folder / "here").symlink_to(folder)
    if variable:
        monkeypatch.setenv("PQD_LEDGER", variable)
    place = ("json=" if output == "--output" else "") + place.format(folder=folder.name)
    for name in CHARGING if output == "--json" else ["audit"]:
        ledger = ["--ledger", option] if option else []
        code, out, err = command(*REPORTS[name], *ledger, output, place)
        assert (code, out) == (2, ""), name
        assert "is an input of this run, or a ledger" in err
    names = ["audit.toml", "copy.csv", "here", "private.csv"]
    assert sorted(each.name for each in folder.iterdir()) == names


def test_the_other_files_of_a_run_are_no_ledgers_either(
    folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PQD_LEDGER")
    baseline = ["--update-baseline", "--baseline", "pqd-ledger.sqlite"]
    assert command("check", "audit.toml", *baseline)[0] == 2
    assert command("init", "private.csv", "copy.csv", "--file", "pqd-ledger.sqlite")[0] == 2
    release = [*REPORTS["release"], "--ledger", "book.csv", "--table", "book.csv"]
    assert command(*release)[0] == 2
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "pqd-ledger.sqlite")
    assert command(*REPORTS["audit"], "--output", "github")[0] == 2
    with pytest.raises(pqd.PqdError, match="or a ledger"):
        pqd.release(
            "private.csv", "copy.csv", SQL, total_epsilon=1, ledger="book.csv", table="book.csv"
        )
    assert sorted(each.name for each in folder.iterdir()) == [
        *("audit.toml", "copy.csv", "private.csv")
    ]


@pytest.mark.parametrize("there", [False, True])
def test_the_log_of_a_duckdb_file_is_an_input(there: bool, folder: Path, command: Command) -> None:
    place, table = folder / "base.db.wal", "base.db::t"
    (folder / "base.db").write_bytes(b"")
    if there:
        place.write_bytes(b"rows")
    command_line = ("audit", table, *REPORTS["audit"][2:], "--json", "base.db.wal")
    code, out, err = command(*command_line)
    assert (code, out) == (2, "")
    assert "base.db.wal is an input of this run" in err
    assert place.exists() == there


def during(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Let something happen when noise is first drawn, thus after the charge."""
    laplace = SecureNoise.laplace
    times: list[int] = []

    def draw(noise: SecureNoise, *given: object) -> int:
        if not times:
            happens()
        times.append(1)
        return laplace(noise, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(SecureNoise, "laplace", draw)


@pytest.mark.parametrize("name", ["audit", "compare", "check"])
def test_a_ledger_that_is_made_there_meanwhile_stays(
    name: str, folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = folder / "book.json"
    during(monkeypatch, lambda: Ledger(place).close())
    code, out, err = command(*REPORTS[name], "--json", "book.json", "--html", "page.html")
    assert code == 3
    assert out, "the verdict is shown"
    assert "book.json was not written: book.json is an input of this run, or a ledger" in err
    assert is_ledger(place)
    assert (folder / "page.html").exists()


@pytest.mark.parametrize("name", REPORTS)
def test_another_name_of_an_input_is_an_input(name: str, folder: Path, command: Command) -> None:
    (folder / "other.json").hardlink_to(folder / "copy.csv")
    before = (folder / "copy.csv").read_bytes()
    code, out, err = command(*REPORTS[name], "--json", "other.json")
    assert (code, out) == (2, "")
    assert "is an input of this run" in err
    assert (folder / "copy.csv").read_bytes() == before


def test_two_names_of_one_file_are_one_place(folder: Path, command: Command) -> None:
    (folder / "one.json").write_text("old")
    (folder / "two.md").hardlink_to(folder / "one.json")
    (folder / "here").symlink_to(folder)
    for places in (("one.json", "two.md"), ("new", "here/new"), ("new", "./new")):
        code, _, err = command(*REPORTS["plan"], "--json", places[0], "--markdown", places[1])
        assert code == 2
        assert "two outputs go to the same place" in err
    assert (folder / "one.json").read_text() == "old"


def test_the_summary_of_the_step_is_a_place_too(
    folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "here.md")
    code, _, err = command(*REPORTS["plan"], "--output", "github", "--markdown", "here.md")
    assert code == 2
    assert "two outputs go to the same place" in err
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "gone/here.md")
    code, _, err = command(*REPORTS["audit"], "--output", "github")
    assert code == 2
    assert "there is no such folder" in err
    assert not list(folder.glob("*.sqlite"))


def test_no_report_becomes_a_part_of_a_table(folder: Path, command: Command) -> None:
    (folder / "people").mkdir()
    (folder / "private.csv").rename(folder / "people" / "1.csv")
    arguments = ["audit", "people", "copy.csv", *TERMS]
    code, _, err = command(*arguments, "--json", "people/report.json")
    assert code == 2
    assert "would be a part of people" in err
    assert command(*arguments, "--json", "report.json")[0] == 0


# A file is whole, or it is not there --------------------------------------------------------------


def test_all_outputs_that_fail_are_told(
    folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        (folder / name).mkdir()

    def removed() -> None:
        (folder / "a").rmdir()
        (folder / "b").rmdir()

    during(monkeypatch, removed)
    outputs = ["--json", "a/r.json", "--markdown", "b/r.md", "--html", "r.html"]
    code, out, err = command(*REPORTS["audit"], *outputs)
    assert code == 3
    assert out
    assert "a/r.json was not written: " in err
    assert "b/r.md was not written: " in err
    assert (folder / "r.html").exists()


def fill_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every draft of a report meet a full disk; the ledger lies on another one."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("pqd.paths.os", SimpleNamespace(**{**vars(os), "fsync": full}))


@pytest.mark.parametrize("name", REPORTS)
def test_a_full_disk_leaves_the_old_file_and_no_draft(
    name: str, folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "r.json").write_text("old")
    fill_disk(monkeypatch)
    code, out, err = command(*REPORTS[name], "--json", "r.json")
    assert (code, bool(out)) == (3, True)
    assert "r.json was not written: No space left on device" in err
    assert (folder / "r.json").read_text() == "old"
    assert not list(folder.glob(".pqd-*"))


def test_a_summary_is_added_whole_or_not_at_all(
    folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "summary.md").write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    left = [100]

    def write(file: int, content: bytes) -> int:
        """Write until the disk has no room left."""
        if not left:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return os.write(file, content[: left.pop()])

    monkeypatch.setattr("pqd.paths.os", SimpleNamespace(**{**vars(os), "write": write}))
    code, out, err = command(*REPORTS["audit"], "--output", "github")
    assert (code, bool(out)) == (3, True)
    assert "summary.md was not written: No space left on device" in err
    assert (folder / "summary.md").read_text() == "before\n"


@pytest.mark.usefixtures("folder")
def test_what_was_charged_is_told_after_all_that_fails(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_disk(monkeypatch)
    code, _, err = command(*REPORTS["release"], "--table", "t.csv", "--html", "r.html")
    assert code == 3
    first, second = err.splitlines()
    assert first == "pqd: r.html was not written: No space left on device"
    assert second.startswith("t.csv was not written: No space left on device. Epsilon 1 was ")


@pytest.mark.parametrize("table", ["t.csv", "t.parquet"])
def test_a_table_is_whole_or_not_there(
    table: str, folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_disk(monkeypatch)
    code, out, err = command(*REPORTS["release"], "--table", table)
    assert (code, bool(out)) == (3, True)
    assert f"{table} was not written: No space left on device" in err
    assert not (folder / table).exists()
    assert not list(folder.glob(".pqd-*"))
    with pytest.raises(UnwrittenTableError, match="No space left") as unwritten:
        pqd.release("private.csv", "copy.csv", SQL, total_epsilon=1, table=table)
    assert unwritten.value.report.cost.epsilon == 0, "it was paid for before"


def test_a_table_that_is_made_meanwhile_stays(
    folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    during(monkeypatch, lambda: (folder / "t.csv").write_text("mine"))
    code, out, err = command(*REPORTS["release"], "--table", "t.csv", "--json", "r.json")
    assert (code, bool(out)) == (3, True)
    assert "no table is overwritten" in err
    assert (folder / "t.csv").read_text() == "mine"
    assert (folder / "r.json").exists()


def test_the_mode_of_a_file_stays(folder: Path, command: Command) -> None:
    for name, mode in (("private.md", 0o600), ("open.html", 0o666)):
        (folder / name).touch()
        (folder / name).chmod(mode)
    outputs = ["--json", "new.json", "--markdown", "private.md", "--html", "open.html"]
    before = os.umask(0o027)
    try:
        assert command(*REPORTS["plan"], *outputs)[0] == 0
    finally:
        os.umask(before)
    modes = [(folder / n).stat().st_mode & 0o777 for n in ("new.json", "private.md", "open.html")]
    assert modes == [0o640, 0o600, 0o666]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no such pipes")
def test_a_pipe_is_refused_and_a_device_is_written_to(folder: Path, command: Command) -> None:
    os.mkfifo(folder / "pipe")
    code, _, err = command(*REPORTS["audit"], "--html", "pipe")
    assert code == 2
    assert "it is a pipe" in err
    assert not list(folder.glob("*.sqlite"))
    assert command(*REPORTS["plan"], "--html", "/dev/null")[0] == 0
    assert Path("/dev/null").is_char_device()


# The screen ---------------------------------------------------------------------------------------


class Lost:
    """Standard output that nobody reads, or for which there is no room."""

    encoding = "utf-8"

    def __init__(self, number: int) -> None:
        self._error = OSError(number, os.strerror(number))

    def write(self, _: str) -> int:
        raise self._error

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False


MORE = {
    "profile": ["profile", "private.csv", "copy.csv", "--anyway"],
    "ranking": ["compare", "private.csv", "a=copy.csv", "--total-epsilon", "1"],
    "ledger": ["ledger", "show", "private.csv"],
}
COSTS = {"plan": "", "ledger": "", "audit": "1", "compare": "1", "release": "1", "check": "1"}


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EPIPE, errno.EBADF])
@pytest.mark.parametrize("name", [*REPORTS, *MORE])
def test_files_are_there_if_standard_output_is_lost(
    name: str, number: int, folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "ledger":
        monkeypatch.delenv("PQD_LEDGER")
        assert command(*REPORTS["audit"])[0] == 0
    monkeypatch.setattr(sys, "stdout", Lost(number))
    code, _, err = command(*{**REPORTS, **MORE}[name], "--json", "r.json")
    assert code == 3
    assert json.loads((folder / "r.json").read_text(encoding="utf-8"))
    if epsilon := COSTS.get(name, "1"):
        assert err.startswith(f"pqd: standard output was lost: {os.strerror(number)}; epsilon ")
        assert f"epsilon {epsilon} was charged and stays charged" in err
    else:
        quiet = number == errno.EPIPE
        assert ("nothing was spent" in err) != quiet
        assert (err == "") == quiet


def test_a_spec_is_written_if_standard_output_is_lost(
    folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", Lost(errno.ENOSPC))
    code, _, err = command("init", "private.csv", "copy.csv", "--file", "new.toml")
    assert code == 3
    assert "No space left on device; nothing was spent" in err
    assert "[private]" in (folder / "new.toml").read_text(encoding="utf-8")


def test_a_warning_that_nobody_hears_ends_no_run(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", Lost(errno.ENOSPC))
    odd = SQL.replace("age > 2", "age = 99")
    code, out, _ = command("audit", "private.csv", "copy.csv", "-q", odd, *TERMS[2:])
    assert (code, bool(out)) == (0, True)


@pytest.mark.parametrize("width", ["0", "1", "19", "", "-5", "\u00b2", "9" * 5000])
def test_a_screen_without_width_has_the_usual_one(
    width: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = command(*REPORTS["plan"])
    helped = command("plan", "--help-all")
    monkeypatch.setenv("COLUMNS", width)
    monkeypatch.setenv("LINES", width)
    for dumb in (False, True):
        if dumb:
            monkeypatch.setenv("TERM", "dumb")
        assert command(*REPORTS["plan"]) == usual
        assert command("plan", "--help-all") == helped
    assert usual[1]


# The command that a page shows --------------------------------------------------------------------


def test_a_page_names_files_without_their_folders(
    folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "q.sql").write_text("SELECT COUNT(*) FROM D WHERE age > 1")
    secret = folder / "year=2024"
    secret.mkdir()
    (folder / "private.csv").rename(secret / "private.csv")
    monkeypatch.chdir(secret)
    shown: list[str] = []

    def page(_: object, command: str | None = None) -> str:
        shown.append(str(command))
        return "page"

    monkeypatch.setattr("pqd.reports.models.report.Report.to_html", page)
    arguments = {
        "audit": ["audit", f"{secret}/private.csv", "../copy.csv", "-q", f"{SQL} /* c/d */"],
        "compare": ["compare", str(secret / "private.csv"), f"a/b={folder}/copy.csv"],
    }
    options = [f"--queries={folder}/q.sql", "--ledger", f"{folder}/book.sqlite", "--tau", "5"]
    options += ["--epsilon", "1/2", "--html", f"{folder}/r.html", "--output", f"json={folder}/r"]
    for words in arguments.values():
        code, _, err = command(*words, *options)
        assert (code, err) == (0, "")
    ends = (
        "--queries=q.sql --ledger book.sqlite --tau 5 --epsilon 1/2 --html r.html --output json=r"
    )
    assert shown == [
        f"pqd audit private.csv copy.csv -q '{SQL} /* c/d */' {ends}",
        f"pqd compare private.csv a/b=copy.csv {ends}",
    ]
