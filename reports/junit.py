"""JUnit XML rendering of ``pqd check``, in the form that Jenkins, GitLab and pytest use."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from pqd.reports.escape import visible
from pqd.reports.models.standings import Standing
from pqd.reports.text.check import (
    alarms,
    cost_lines,
    detail_lines,
    message_text,
    remark_lines,
    stamped,
)
from pqd.reports.text.query import SIMULATED

if TYPE_CHECKING:
    from pqd.reports.models.check import CheckReport, CheckResult, GateFacts

# Signs that XML 1.0 cannot hold (section 2.2, production 2).
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NO_TIME = "1970-01-01T00:00:00"


def junit_text(report: CheckReport, timestamp: str = _NO_TIME) -> str:
    """Report as JUnit XML; ``timestamp`` is ISO 8601, to the second, without a zone.

    Each check is one test case.  A check that fails the build is a failure, whose type is the
    check's status.  A check that could not be decided is an error.  A check that is undecided but
    does not fail the build is skipped, and so is a planned check.
    """
    name = xml_text(visible(report.spec)).strip() or "pqd check"
    suite = ET.Element("testsuite", {"name": name, "package": name, "id": "0"})
    suite.attrib |= {"hostname": "localhost", "timestamp": timestamp, "time": "0"}
    properties = ET.SubElement(suite, "properties")
    for key, value in (("dry", report.dry), ("simulated", report.simulated)):
        ET.SubElement(properties, "property", {"name": key, "value": str(value).lower()})
    cases = [_case(suite, name, entry, report.gate) for entry in report.checks]
    counts = {"tests": len(cases)}
    for plural, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        counts[plural] = sum(case.find(tag) is not None for case in cases)
    suite.attrib |= {key: str(count) for key, count in counts.items()}
    seeded = [SIMULATED] if report.simulated else []
    closing = map(visible, [*cost_lines(report), *remark_lines(report)])
    ET.SubElement(suite, "system-out").text = xml_text(
        "\n".join([*map(visible, alarms(report)), *seeded, *closing])
    )
    ET.SubElement(suite, "system-err")
    suites = ET.Element("testsuites")
    suites.append(suite)
    ET.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suites, encoding="unicode")}\n'


def _case(suite: ET.Element, name: str, entry: CheckResult, gate: GateFacts | None) -> ET.Element:
    case = ET.SubElement(
        suite,
        "testcase",
        {"classname": name, "name": xml_text(visible(entry.id)), "time": "0"},
    )
    message = message_text(entry.message)
    told = stamped(entry, message)
    text = xml_text(
        "\n".join([told, visible(entry.sql, keep="\n"), *map(visible, detail_lines(entry, gate))])
    )
    tag = _tag(entry)
    if tag is None:
        if entry.gate != "pass" or told != message:
            ET.SubElement(case, "system-out").text = f"{entry.gate}: {text}"
        return case
    facts = {"message": xml_text(told)} | ({} if tag == "skipped" else {"type": entry.status})
    found = ET.SubElement(case, tag, facts)
    found.text = text
    return case


def _tag(entry: CheckResult) -> str | None:
    """JUnit's tag for the outcome of a check; None if the check passed."""
    open_ = entry.status == "undecided" and entry.standing is not Standing.KNOWN
    return entry.standing.tag or (Standing.PLANNED.tag if open_ else None)


def xml_text(text: str) -> str:
    """Text without the signs that XML 1.0 cannot hold."""
    return _FORBIDDEN.sub("", text)
