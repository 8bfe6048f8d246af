"""Mistakes of usage: the argument that is wrong is quoted, but no password in it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pqd.cli import command_line
from pqd.engine.sources.postgres_address import without_address

URL = "postgresql://me:hunter-2@host/db?table=people"


@pytest.mark.parametrize(
    "arguments",
    [["audit", "a.csv", "b.csv", URL], ["init", URL, "b.csv", URL], ["ledger", URL], ["help", URL]],
)
def test_an_argument_too_many_shows_no_password(arguments: list[str]) -> None:
    result = CliRunner().invoke(command_line(), arguments, env={"COLUMNS": "200"})

    assert result.exit_code != 0
    assert "hunter-2" not in result.output
    assert "hunter-2" not in without_address(str(result.exception))


def test_an_option_without_its_value_is_told(command: Callable[..., tuple[int, str, str]]) -> None:
    code, _, err = command("audit", "a.csv", "b.csv", "-q", "SELECT 1", "--sure", "--at-most", "1")
    assert code == 2
    assert "--sure lacks its value: --sure VALUE --at-most 1" in err


@pytest.mark.parametrize("name", ["audit", "lint", "check", "init", "spec"])
def test_every_command_shows_its_whole_help(name: str) -> None:
    result = CliRunner().invoke(command_line(), [name, "--help-all"])
    assert result.exit_code == 0
    assert "Usage: " in result.output


@pytest.mark.parametrize("name", ["show", "verify", "statement", "limit"])
def test_the_ledger_is_an_argument_of_its_own_commands(
    name: str, command: Callable[..., tuple[int, str, str]]
) -> None:
    code, _, err = command("ledger", name, "--ledger", "l.sqlite")
    assert code == 2
    assert f"The ledger itself is the argument: pqd ledger {name} FILE." in " ".join(err.split())


def test_the_argument_is_told_by_its_table() -> None:
    result = CliRunner().invoke(
        command_line(), ["ledger", "verify", "a.sqlite", URL], env={"COLUMNS": "200"}
    )

    assert "postgresql://?table=people" in result.output


@pytest.mark.parametrize(
    "arguments",
    [
        ["copy.csv", f"--{'9' * 10_000}"],
        ["copy.csv", "9" * 10_000],
        ["copy.csv", "--threads", "9" * 10_000],
        ["copy.csv", "-q", "SELECT COUNT(*) FROM D", "--decider", "9" * 10_000],
        ["copy.csv", "-q", f"SELECT COUNT(*) FROM D WHERE a{'9' * 10_000} = 1", "--tau", "1"],
    ],
)
def test_a_long_argument_is_cut(
    arguments: list[str], tmp_path: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    (tmp_path / "copy.csv").write_text("age\n1\n2\n")
    place = str(tmp_path / "copy.csv")
    code, _, told = command("plan", *[place if each == "copy.csv" else each for each in arguments])
    assert code == 2
    assert len(told) < 2_500
