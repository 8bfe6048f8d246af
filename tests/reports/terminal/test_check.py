"""A check on the terminal and as JSON: every status, width and alphabet."""

import io
import json
import re
import unicodedata
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from rich.cells import cell_len
from rich.console import Console

from pqd.deciders.errors import ParameterError
from pqd.reports.escape import caret_lines
from pqd.reports.models.audit import Cost
from pqd.reports.models.check import CheckReport, CheckResult
from pqd.reports.models.report import document_of
from pqd.reports.models.standings import Standing
from pqd.reports.text.check import message_text, result
from pqd.reports.writers.terminal import TerminalReport, terminal_text
from pqd.reports.writers.terminal.layout import Extent
from tests.support.check_reports import (
    ALL,
    BASED,
    BROKEN,
    COST,
    DRY,
    FAIL,
    FAR,
    FLIPPED,
    GROUPED,
    KNOWN,
    LENIENT,
    PASS,
    PLAN,
    REPORTS,
    SIMULATED,
    UNDECIDED,
    UNSURE,
    WARN,
    hostile,
    quoting,
    report_of,
)
from tests.support.drawing import examples


def shown(*entries: CheckResult, width: int = 200, extent: Extent = Extent.BRIEF) -> str:
    return terminal_text(report_of(*entries), width, extent)


def explained(name: str, *entries: CheckResult) -> str:
    stream = io.StringIO()
    report = TerminalReport(report_of(*entries), explained=name)
    Console(file=stream, width=200).print(report)
    return stream.getvalue()


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("entry", "word"),
    [(PASS, "PASS"), (FAIL, "FAIL"), (UNDECIDED, "UNDECIDED"), (LENIENT, "PASS"), (UNSURE, "WARN"),
     (WARN, "WARN"), (KNOWN, "KNOWN"), (GROUPED, "FAIL"), (BROKEN, "ERROR"), (PLAN, "PLAN")],
)  # fmt: skip
def test_the_badge_stands_before_the_id_and_the_message(entry: CheckResult, word: str) -> None:
    assert entry.standing.badge.text == word
    message = entry.message.partition("\n")[0]
    assert f"{word + ' ':<6}{entry.id}   {message}" in shown(entry, extent=Extent.VERBOSE)
    assert re.search(rf"^  {word} +{entry.id} ", shown(entry), re.MULTILINE)


def test_what_could_not_be_planned_is_no_plan() -> None:
    assert replace(PLAN, gate="error").standing is Standing.BROKEN


def test_a_pass_is_short_and_a_failure_says_what_to_do() -> None:
    _, row = shown(PASS).split("\n\n")[1].splitlines()
    assert " ".join(row.split()) == "PASS rows 1,122 ±56.1 ±10 about 34 p = 0.004"
    assert "Next: pqd check audit.toml --explain pay" in shown(FAIL)
    assert "Failed: pay." in shown(FAIL)
    failed = explained("pay", FAIL).split("\n\n")[0].splitlines()
    assert failed[0] == "FAIL  pay   outside tolerance, expected close; p = 0.010"
    assert failed[-1].startswith("      next: do not rely on this query on copy.csv")
    assert failed[-1].endswith('severity = "warn" (line 18)')
    assert "between 1,065.9 and 1,178.1?" in failed[2]
    assert "effectiveness thresholds" in shown(PASS, extent=Extent.VERBOSE)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (FAR, 'set expect = "close"'),
        (UNDECIDED, 'a larger epsilon or tau, or set on_undecided = "warn" (line 24)'),
        (UNSURE, "a larger epsilon or tau (line 24)"),
        (WARN, "accept the gap with a larger tau (line 18)"),
        (BROKEN, "see line 36 of the spec"),
    ],
)
def test_what_to_do_next(entry: CheckResult, words: str) -> None:
    assert words in flat(shown(entry, extent=Extent.VERBOSE))
    assert words in flat(explained(entry.id, entry))


def test_a_check_that_is_not_there_is_refused() -> None:
    with pytest.raises(ParameterError, match="nothing"):
        explained("nothing", PASS)


def test_of_many_broken_checks_the_first_say_why() -> None:
    broken = [replace(BROKEN, id=f"c{number}") for number in range(8)]
    assert shown(*broken).count("see line 36") == 5
    assert "3 more could not be decided (--all tells why)" in shown(*broken)
    assert shown(*broken, extent=Extent.ALL).count("see line 36") == 8


def test_a_p_value_is_said_once() -> None:
    told = replace(FAIL, message="outside tolerance (p = 0.010), but close was expected")
    for entry in (FAIL, told):
        for text in (shown(entry), explained(entry.id, entry)):
            assert text.count("p = 0.010") == 1


def test_what_is_known_or_passes_asks_for_nothing() -> None:
    assert "next:" not in shown(KNOWN, PASS, LENIENT, PLAN, extent=Extent.VERBOSE)
    assert "Next:" not in shown(PASS, LENIENT, PLAN)


def test_groups_have_a_line_each() -> None:
    _, check, group = shown(GROUPED).split("\n\n")[1].splitlines()
    assert check.split() == [
        "FAIL",
        "by-sex",
        "2",
        "groups",
        "5",
        "%",
        "1",
        "not",
        "as",
        "expected",
    ]
    assert group.startswith("  NO         sex = Male  ")
    lines = explained("by-sex", GROUPED).splitlines()
    assert lines[1] == f"      2 groups of {GROUPED.sql}"
    worst, fine = lines[3:5]
    assert worst.split() == [
        "NO",
        "sex",
        "=",
        "Male",
        "1,122",
        "±56.1",
        "±10",
        "about",
        "35",
        "p",
        "=",
        "0.004",
    ]
    assert fine.split() == [
        "yes",
        "sex",
        "=",
        "Female",
        "1,122",
        "±56.1",
        "±10",
        "about",
        "34",
        "p",
        "=",
        "0.004",
    ]
    assert "2 groups   by-sex" not in shown(GROUPED)
    assert shown(GROUPED, extent=Extent.VERBOSE).count("is the private answer between") == 2


@pytest.mark.parametrize("width", [30, 40, 80, 200])
def test_carets_stay_below_what_they_mark(width: int) -> None:
    lines = shown(BROKEN, width=width).partition("ERROR capital   no")[2].splitlines()
    (at,) = (n for n, line in enumerate(lines) if "^" in line)
    start, end = lines[at].index("^"), lines[at].rindex("^") + 1
    assert lines[at - 1][start:end] == "capital"


@pytest.mark.parametrize(
    ("line", "carets", "pieces"),
    [
        ("abcd", " ^^", ["abcd", " ^^"]),
        ("中文x", "  ^", ["中文x", "    ^"]),
        ("\x1bx", " ^", ["\\x1bx", "    ^"]),
        ("ab", "  ^^^", ["ab", "  ^"]),
    ],
)
def test_carets_count_cells(line: str, carets: str, pieces: list[str]) -> None:
    assert list(caret_lines(line, carets)) == pieces


@pytest.mark.parametrize(
    ("line", "carets", "pieces"),
    [
        ("ab cd", "   ^^", ["ab", "cd", "^^"]),
        ("  ab cd", "      ^", ["  ab", "  cd", "   ^"]),
        ("中 cd e", "  ^^", ["中", "cd e", "^^"]),
        ("abcdef", "    ^", ["abcd", "ef", "^"]),
    ],
)
def test_a_line_with_carets_is_broken_between_its_words(
    line: str, carets: str, pieces: list[str]
) -> None:
    assert list(caret_lines(line, carets, 5 if line.startswith(" ") else 4)) == pieces


def test_carets_alone_are_text() -> None:
    assert message_text("^^\nx\n ^\n  ^") == "^^\nx\n ^\n  ^"


@pytest.mark.parametrize(
    ("report", "word", "counts"),
    [
        (
            report_of(PASS, LENIENT, UNSURE, KNOWN),
            "PASSED",
            "2 passed (1 undecided), 1 warned (1 undecided), 1 known.",
        ),
        (report_of(PASS, FAIL), "FAILED", "1 passed, 1 failed."),
        (report_of(FAIL, BROKEN), "BROKEN", "1 failed, 1 broken."),
        (report_of(PLAN), "PLANNED", "1 check, nothing decided."),
        (DRY, "BROKEN", "1 broken, 1 not decidable, 1 planned."),
        (report_of(), "NOTHING CHECKED", "no checks."),
    ],
)
def test_the_summary_counts(report: CheckReport, word: str, counts: str) -> None:
    assert result(report).text == word
    assert f"{word}: {counts}" in str(report)
    assert (report.exit_code == 0) == (word in {"PASSED", "PLANNED", "NOTHING CHECKED"})


def test_cost_baseline_and_notes_close_the_report() -> None:
    assert str(BASED).splitlines()[0].endswith("  epsilon 1/3 (0.333) spent")
    text = flat(terminal_text(BASED, extent=Extent.VERBOSE))
    assert "Spent epsilon 1/3 (0.333) for 4 queries in 2 disjoint groups" in text
    assert "on private.csv, compared with copy.csv, taken as public." in text
    assert "Compared with the baseline old.json: 1 failed there too, 5 did not." in text
    assert "Bounds of x from there." in text
    assert "charged once" not in text


def test_a_dry_run_says_what_it_would_spend_and_spends_nothing() -> None:
    brief = str(DRY)
    assert brief.splitlines()[0].endswith("  nothing spent; a run costs epsilon 1/3 (0.333)")
    assert "inv_count would do" in brief
    text = flat(terminal_text(DRY, extent=Extent.VERBOSE))
    assert "Would spend epsilon 1/3 (0.333) for 4 queries" in text
    assert "compared with the copies of audit.toml, taken as public" in text
    assert "Nothing was decided, nothing was spent." in text
    assert "charged once (epsilon 0.25), as no row can match two of: a, b, c no row can" in text
    assert "Spent" not in text
    assert "charged once (epsilon 1/12" not in text
    assert DRY.to_dict()["spent_epsilon"] == 0
    assert DRY.to_dict()["cost"]["epsilon"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("extent", Extent)
@pytest.mark.parametrize("number", range(len(REPORTS)))
def test_no_line_is_wider_than_the_terminal(number: int, extent: Extent, width: int) -> None:
    text = terminal_text(REPORTS[number], width, extent)
    charts = [line for line in text.splitlines() if "Pr[yes]" in line or "_count   " in line]
    for line in set(text.splitlines()) - set(charts):
        assert cell_len(line) <= width
        assert line == line.rstrip()


def test_a_pipe_of_plain_letters_gets_plain_letters() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    Console(file=stream, width=80).print(TerminalReport(BASED, Extent.VERBOSE))
    stream.flush()
    assert "tolerance +-56.1 (5 %)" in raw.getvalue().decode("ascii")


def test_colour_is_only_a_second_channel() -> None:
    stream = io.StringIO()
    console = Console(file=stream, width=80, force_terminal=True, color_system="standard")
    with console.capture() as captured:
        console.print(TerminalReport(BASED))
    assert "\x1b[1;31mFAIL" in captured.get()
    assert "\x1b[1;32mPASS" in captured.get()
    assert "\x1b" not in str(BASED)


def test_simulation_is_stamped() -> None:
    assert str(SIMULATED).startswith("SIMULATED")
    # Beside the banner every line of a verdict, and of a check that has some.
    text = shown(*SIMULATED.checks)
    rows = text.split("\n\n")[2].splitlines()[1:]
    without = {"capital", "later"}
    assert {row.split()[1] for row in rows if "SIMULATED" not in row} == without
    full = terminal_text(SIMULATED, extent=Extent.VERBOSE)
    assert full.count("SIMULATED") == 1 + sum(len(check.verdicts) for check in ALL)
    assert SIMULATED.to_dict()["simulated"] is True
    assert "SIMULATED" not in str(BASED)


def test_a_held_out_table_has_its_own_sentence_of_what_was_spent() -> None:
    stated = replace(COST, unit="id", max_rows=1, ledger="l", limit=Fraction(10))
    report = replace(report_of(PASS, cost=stated), held_out="others.csv", held_out_cost=stated)
    closing = document_of(report).closing
    assert closing
    budget = str(closing.budget)
    assert budget.endswith(" spent on others.csv so far.")
    assert ".." not in budget


def test_json_has_every_field_and_plain_numbers() -> None:
    values = json.loads(BASED.to_json())
    assert list(values) == [
        "schema_version", "kind", "exit_code", "spent_epsilon", "simulated", "spec", "private",
        "checks", "cost", "dry", "baseline", "notes", "gate", "held_out", "held_out_cost",
    ]  # fmt: skip
    assert values["kind"] == "check"
    assert values["exit_code"] == 2
    assert values["spent_epsilon"] == pytest.approx(1 / 3)
    assert [check["id"] for check in values["checks"]] == [entry.id for entry in ALL]
    check = values["checks"][ALL.index(FLIPPED)]
    assert check["flip"] == 0.02131
    assert check["verdicts"][0]["epsilon"] == 0.25
    assert check["line"] == 18
    assert json.loads(report_of(PASS, cost=Cost(Fraction(2))).to_json())["spent_epsilon"] == 2
    assert COST.epsilon == Fraction(1, 3)


@examples(60)
@given(hostile)
def test_no_text_reaches_the_terminal_as_a_command(text: str) -> None:
    report = quoting(text)
    for width in (40, 80):
        drawn = terminal_text(report, width, Extent.VERBOSE)
        kinds = {unicodedata.category(sign) for sign in drawn if sign != "\n"}
        assert not kinds & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert json.loads(report.to_json())["checks"][0]["id"] == text
