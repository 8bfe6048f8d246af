"""Reports of very many queries, each made once in a process and only read from then on."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from tests.support import compare_reports, release_reports
from tests.support.audit_reports import audit_of, many_groups, many_queries, plan_of
from tests.support.check_reports import many_checks

if TYPE_CHECKING:
    from collections.abc import Callable

    from pqd.reports.models.report import Report

LARGE: dict[str, Callable[[int], Report]] = {
    "audit": cache(lambda number: audit_of(*many_queries(number))),
    "audit-groups": cache(many_groups),
    "plan": cache(lambda number: plan_of(*many_queries(number))),
    "plan-without-budget": cache(lambda number: plan_of(*many_queries(number), epsilon=None)),
    "check": cache(many_checks),
    "compare": cache(compare_reports.many_compared),
    "release": cache(
        lambda number: release_reports.report_of(*map(release_reports.count, range(number)))
    ),
}
