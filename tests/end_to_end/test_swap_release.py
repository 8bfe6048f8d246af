"""Two private tables, one noisy outcome: not one byte of a release's page or summary may differ."""

import pytest

from reports.html.document import html_text
from reports.markdown.check import markdown_text
from reports.models.release import ReleaseReport
from reports.notebook import notebook_html
from tests.end_to_end.test_release import OTHERS, RECORDS, SECRET, simulated
from tests.support.noises import Absent


def said(report: ReleaseReport) -> tuple[str, ...]:
    return html_text(report, "pqd release"), markdown_text(report), notebook_html(report)


@pytest.mark.parametrize("record", RECORDS)
@pytest.mark.parametrize("mechanism", ["auto", "workload", "numerical", "clipped_composition"])
def test_pages_do_not_depend_on_the_private_table(mechanism: str, record: str) -> None:
    expected = said(simulated(SECRET, RECORDS[record](), mechanism))
    for name, other in OTHERS.items():
        assert said(simulated(other, RECORDS[record](), mechanism)) == expected, name


@pytest.mark.parametrize("rendering", range(3))
def test_without_noise_each_of_them_does_differ(rendering: int) -> None:
    tables = (SECRET, OTHERS["many other rows"], OTHERS["no rows"])
    told = {said(simulated(table, Absent(), "workload"))[rendering] for table in tables}
    assert len(told) == 3
