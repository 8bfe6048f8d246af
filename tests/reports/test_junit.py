"""A check as JUnit XML: valid, counted right, and the same text when read back."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import xmlschema
from hypothesis import given

import pqd.reports.junit
from pqd.reports.escape import visible
from pqd.reports.junit import junit_text, xml_text
from pqd.reports.models.check import CheckResult
from pqd.reports.text.check import message_text
from tests.support.check_reports import (
    ALL,
    BASED,
    BROKEN,
    DRY,
    FAIL,
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

# What pqd writes, stated narrowly; and what Jenkins reads (its xUnit plugin, MIT), as pytest's own
# tests have it.
SCHEMA, JENKINS = (
    xmlschema.XMLSchema(Path(__file__).with_name(name)) for name in ("junit.xsd", "junit-10.xsd")
)


def suite_of(text: str) -> ET.Element:
    suite = ET.fromstring(text).find("testsuite")  # noqa: S314 - our own output
    assert suite is not None
    return suite


def case_of(entry: CheckResult) -> ET.Element:
    case = suite_of(junit_text(report_of(entry))).find("testcase")
    assert case is not None
    return case


@pytest.mark.parametrize("number", range(len(REPORTS)))
def test_every_report_is_valid(number: int) -> None:
    text = junit_text(REPORTS[number])
    SCHEMA.validate(text)
    JENKINS.validate(text)
    suite = suite_of(text)
    for plural, tag in (
        ("tests", "testcase"),
        ("failures", "testcase/failure"),
        ("errors", "testcase/error"),
        ("skipped", "testcase/skipped"),
    ):
        assert int(suite.attrib[plural]) == len(suite.findall(tag))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (' failures="', ' failed="'),
        (' type="broken"', ""),
        ("<failure ", "<fault "),
        ("T00:00:00", " 00:00"),
        ("<system-err />", ""),
        (' time="0"', ' time="soon"'),
    ],
)
def test_the_schema_rejects_what_readers_would(before: str, after: str) -> None:
    text = junit_text(BASED)
    broken = text.replace(before, after)
    if "fault" in after:
        broken = broken.replace("</failure>", "</fault>")
    assert broken != text
    assert not SCHEMA.is_valid(broken)


@pytest.mark.parametrize(
    ("entry", "tag", "kind"),
    [
        (PASS, None, None),
        (FAIL, "failure", "not as expected"),
        (UNDECIDED, "failure", "undecided"),
        (GROUPED, "failure", "not as expected"),
        (BROKEN, "error", "broken"),
        (LENIENT, "skipped", None),
        (UNSURE, "skipped", None),
        (PLAN, "skipped", None),
        (WARN, "system-out", None),
        (KNOWN, "system-out", None),
    ],
)
def test_what_became_of_a_check(entry: CheckResult, tag: str | None, kind: str | None) -> None:
    children = list(case_of(entry))
    assert [child.tag for child in children] == ([tag] if tag else [])
    for child in children:
        assert child.get("type") == kind
        message = child.text if tag == "system-out" else child.get("message")
        assert entry.message in (message or "")
        if tag == "system-out":
            assert (child.text or "").startswith(f"{entry.gate}: ")


def test_time_and_place_are_constants_or_given() -> None:
    suite = suite_of(junit_text(BASED))
    assert suite.get("hostname") == "localhost"
    assert suite.get("timestamp") == "1970-01-01T00:00:00"
    text = junit_text(BASED, "2026-01-02T03:04:05")
    SCHEMA.validate(text)
    JENKINS.validate(text)
    assert suite_of(text).get("timestamp") == "2026-01-02T03:04:05"


def test_simulated_and_dry_runs_say_so() -> None:
    suite = suite_of(junit_text(SIMULATED))
    marked = [c for c in suite.iter("testcase") if "SIMULATED" in ET.tostring(c, "unicode")]
    assert len(marked) == sum(bool(entry.verdicts) for entry in ALL)
    assert (suite.findtext("system-out") or "").startswith("SIMULATED")
    assert suite.find("properties/property[@name='simulated'][@value='true']") is not None
    assert "SIMULATED" not in junit_text(BASED)
    dry = suite_of(junit_text(DRY)).find("properties/property[@name='dry'][@value='true']")
    assert dry is not None
    assert "Would spend" in junit_text(DRY)


def reads_back(text: str) -> None:
    drawn = junit_text(quoting(text))
    SCHEMA.validate(drawn)
    JENKINS.validate(drawn)
    drawn.encode("utf-8")
    cases = list(suite_of(drawn).iter("testcase"))
    assert [case.get("name") for case in cases] == [xml_text(visible(text))] * 4
    failure = cases[0].find("failure")
    assert failure is not None
    assert failure.get("message") == xml_text(message_text(text.replace("\n", " ")))


@examples(60)
@given(hostile)
def test_any_text_reads_back(text: str) -> None:
    reads_back(text)


def test_a_twin_that_strips_nothing_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    reads_back("\ufffe")
    monkeypatch.setattr(pqd.reports.junit, "xml_text", str)
    with pytest.raises((ET.ParseError, xmlschema.XMLSchemaException)):
        reads_back("\ufffe")
