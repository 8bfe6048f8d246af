"""Groups of options: a command is read option by option, and called with the groups."""

from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from pqd.cli import command_line
from pqd.cli.option_groups import option_group, with_groups


@option_group
class Place:
    """A required option, and one that may be left out."""

    city: Annotated[str, typer.Option()]
    street: Annotated[list[str] | None, typer.Option("--street", "-s")] = None


@option_group
class Time:
    """A flag of another name than its field."""

    early_: Annotated[bool, typer.Option("--early")] = False


def read(*words: str) -> tuple[int, str]:
    toy = typer.Typer()

    @toy.command()
    @with_groups
    def show(
        name: Annotated[str, typer.Argument()],
        time: Time,
        place: Place,
        last: Annotated[str | None, typer.Argument()] = None,
        loud: Annotated[bool, typer.Option("--loud")] = False,
    ) -> None:
        """Show what was read."""
        typer.echo([name, time, place, last, loud])

    result = CliRunner().invoke(toy, list(words))
    return result.exit_code, result.output


def test_fields_are_options_of_the_command() -> None:
    words = ["ada", "x", "--city", "Oslo", "-s", "A", "--street", "B", "--early", "--loud"]
    assert read(*words) == (
        0,
        f"{['ada', Time(True), Place('Oslo', ['A', 'B']), 'x', True]}\n",
    )
    assert read("ada", "--city", "Oslo") == (
        0,
        f"{['ada', Time(False), Place('Oslo', None), None, False]}\n",
    )


def test_a_field_without_a_default_is_required() -> None:
    code, out = read("ada")
    assert code == 2
    assert "--city" in out


def test_the_help_has_each_option_once() -> None:
    code, out = read("--help")
    assert code == 0
    for option in ("--city", "--street", "--early", "--loud"):
        assert out.count(option) == 1
    assert "Show what was read." in out


def test_groups_are_frozen() -> None:
    with pytest.raises(AttributeError):
        Place("Oslo").city = "Rome"  # type: ignore[misc]


COMMANDS = ["audit", "check", "compare", "plan", "release", "spec", "ledger"]


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS), ["ledger", "show"]])
def test_helps_are_well_formed_at_any_width(
    command: list[str], width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    result = CliRunner().invoke(command_line(), [*command, "--help"])
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert max(map(len, lines)) <= width
    for line in lines:
        for open_, close in ("╭╮", "╰╯", "││"):
            assert line.startswith(open_) == line.endswith(close)
    # No option or placeholder is cut in two.
    options = {word for line in lines for word in line.split() if word.startswith("--")}
    for name in ("--total-epsilon", "--with-references", "--update-baseline"):
        cut = {option for option in options if name.startswith(option) and option != name}
        assert not cut
    assert "COLUMN=RANGE" in result.output or command not in (["audit"], ["plan"], ["compare"])
