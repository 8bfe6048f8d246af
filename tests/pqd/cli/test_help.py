"""pqd help, and the completion of shells."""

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import typer
from typer.core import TyperOption

from pqd.cli import command_line
from pqd.cli.help_panels import PANELS, USUAL

Ran = tuple[int, str, str]


@pytest.mark.parametrize("words", [[], ["audit"], ["ledger"], ["ledger", "show"]])
def test_help_is_what_the_option_shows(words: list[str], command: Callable[..., Ran]) -> None:
    shown = command("help", *words)
    assert shown[0] == 0
    assert shown[1].split() == command(*words, "--help")[1].split()


@pytest.mark.parametrize(
    "name", ["audit", "plan", "compare", "release", "risk", "profile", "check"]
)
def test_no_example_is_shown_as_a_picture(name: str, command: Callable[..., Ran]) -> None:
    """``age=0:100:10`` was: rich takes a number between colons for the name of an emoji."""
    assert not [sign for sign in command("help", name)[1] if ord(sign) > 0xFFFF]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["adit"], "has no command 'adit'; did you mean audit?"),
        (["audit", "it"], "audit has no command 'it'; leave it out"),
    ],
)
def test_help_on_what_is_no_command(
    words: list[str], message: str, command: Callable[..., Ran]
) -> None:
    code, out, err = command("help", *words)
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize(
    "name", ["audit", "plan", "compare", "release", "risk", "profile", "check"]
)
def test_the_short_help_has_the_usual_options_and_names_the_whole(
    name: str, command: Callable[..., Ran]
) -> None:
    short, whole = command(name, "--help")[1], command(name, "--help-all")[1]
    options = set(re.findall(r"^│ (--[a-z-]+)", whole, flags=re.MULTILINE))
    shown = set(re.findall(r"^│ (--[a-z-]+)", short, flags=re.MULTILINE))
    assert {"--html", "--help", "--help-all"} <= shown < options
    assert f"{len(options - shown)} more options: pqd {name} --help-all" in short
    assert "more options" not in whole
    assert "╭─ Options" not in whole


def test_every_option_of_a_long_help_has_a_panel() -> None:
    root: Any = typer.main.get_command(command_line())
    options = {
        option.name
        for name in ("profile", "audit", "plan", "check", "compare", "release", "risk", "lint")
        for option in root.commands[name].params
        if isinstance(option, TyperOption)
    }
    assert options <= {name for names in PANELS.values() for name in names}
    assert options > USUAL - {"help"}


@pytest.mark.parametrize("words", [("--help",), ("profile", "--help-all"), ("help", "audit")])
def test_whoever_reads_a_line_of_a_help_has_no_error(words: tuple[str, ...]) -> None:
    with subprocess.Popen(  # noqa: S603 - this interpreter
        [sys.executable, "-m", "pqd", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        process.stdout.close()
        assert process.wait() == 0
        assert process.stderr
        assert process.stderr.read() == b""


def test_a_shell_completes_commands(process: Callable[..., Ran]) -> None:
    code, out, err = process(
        *("-c", "import sys; sys.argv = ['pqd']; from pqd.__main__ import main; main()"),
        _PQD_COMPLETE="complete_bash",
        COMP_WORDS="pqd com",
        COMP_CWORD="1",
    )
    assert (code, err) == (0, "")
    assert out.split() == ["compare"]


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["my data.csv", "copy.csv"], "pqd profile 'my data.csv' copy.csv"),
        (["A.PARQUET", "b.tsv.gz", "--quiet"], "pqd profile A.PARQUET b.tsv.gz --quiet"),
        (["a.csv.gz", "b.csv"], "pqd profile a.csv.gz b.csv"),
        (["audit.toml"], "pqd check audit.toml"),
    ],
)
def test_files_without_a_command_are_told_which(
    words: list[str], advice: str, command: Callable[..., Ran]
) -> None:
    assert command(*words) == (2, "", f"pqd: no command is given; to begin with: {advice}\n")


def test_explain_of_a_run_that_is_not_repeated(command: Callable[..., Ran]) -> None:
    code, out, err = command("audit", "private.csv", "copy.csv", "--explain", "q1")
    assert (code, out) == (2, "")
    assert "--explain q1 needs the earlier run as it was: repeat its queries and options" in err
    assert "No table was opened and nothing was spent" in err
