"""``--threads``: every command that reads tables has it, and no result depends on it."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from pqd.cli import command_line
from pqd.threads import VARIABLE, thread_count

SAMPLES = Path(__file__).parents[3] / "samples"
PRIVATE, COPY = (str(SAMPLES / f"census_{kind}.parquet") for kind in ("private", "synthetic"))
QUERIES = ("SELECT COUNT(*) FROM D WHERE age > 40", "SELECT MEDIAN(inctot) FROM D GROUP BY sex")
ASKED = [word for query in QUERIES for word in ("-q", query)]


@pytest.mark.parametrize("name", ["audit", "check", "compare", "plan", "profile", "release"])
def test_every_command_that_reads_tables_has_the_option(name: str) -> None:
    shown = CliRunner().invoke(command_line(), [name, "--help-all"], env={"COLUMNS": "80"})
    assert "--threads " in shown.output


@pytest.mark.parametrize("stated", ["0", "1024", "all"])
def test_what_is_no_number_of_threads_is_refused_before_anything_is_read(stated: str) -> None:
    result = CliRunner().invoke(
        command_line(), ["plan", "no.csv", *ASKED, "--tau", "5%", "--threads", stated]
    )
    assert str(result.exception) == "--threads is a number of threads from 1 to 1023"


@pytest.mark.usefixtures("noiseless")
def test_the_option_wins_and_changes_no_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setenv(VARIABLE, "2")

    def noted() -> int:
        asked.append(thread_count())
        return asked[-1]

    monkeypatch.setattr("pqd.engine.counting.arrow_sql.thread_count", noted)
    terms = [*ASKED, "--tau", "5%", "--epsilon", "1000000", "--json", "-"]
    texts = []
    for number in ("1", "3"):
        # Ledgers of one name: a report names its ledger.
        folder = tmp_path / number
        folder.mkdir()
        ledger = ["--ledger", str(folder / "ledger.sqlite")]
        arguments = ["audit", PRIVATE, COPY, *terms, *ledger, "--threads", number]
        result = CliRunner().invoke(command_line(), arguments)
        assert result.exit_code == 0, result.output
        texts.append(result.output)
    assert asked == [1, 3]
    assert texts[0] == texts[1]
    assert '"verdicts"' in texts[0]
