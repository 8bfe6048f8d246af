"""Prints, after a run, which check caught which deliberately broken decider."""

from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    found = [dict(report.user_properties) for report in terminalreporter.stats.get("passed", [])]
    caught = sorted({(p["mutant"], p["caught_by"]) for p in found if "mutant" in p})
    if caught:
        terminalreporter.section("mutant: caught by")
        for mutant, check in caught:
            terminalreporter.write_line(f"{mutant:<52} {check}")
