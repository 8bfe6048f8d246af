"""Baselines: earlier results of checks, with which a build fails only on new failures."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pqd.accounting.free_places import check_free
from pqd.errors import BaselineError
from pqd.paths import told_as_unwritten, usable, writable, write_text
from pqd.reports.models.check import CheckReport, CheckResult, status_of_attack
from pqd.reports.text.numbers import share_text

_KIND, _VERSION = "pqd-baseline", 1
_LEAST_SHOWN = 0.001
_BADNESS = {
    "as expected": 0,
    "undecided": 1,
    "likely": 1,
    "conditional": 1,
    "not as expected": 2,
}
_FAILING = {"fail", "known"}


@dataclass(frozen=True, slots=True)
class EarlierResult:
    """Earlier result of a check: its identity, its gate, and how bad the verdict of each group is.

    Two checks with the same ``identity`` have the same SQL, tolerance and expectation.
    """

    identity: str
    gate: str
    badness: Mapping[str, int]

    @classmethod
    def read(cls, check: Mapping[str, Any]) -> EarlierResult:
        """Result from an entry of a baseline file; KeyError, ValueError or the like if wrong."""
        badness = {str(group): int(bad) for group, bad in check["badness"].items()}
        return cls(str(check["asked"]), str(check["gate"]), badness)

    @classmethod
    def of(cls, result: CheckResult) -> EarlierResult:
        """Result in the form in which later runs are compared with it."""
        identity = f"{result.sql} | {result.tolerance} | {result.expect}"
        badness = {v.group or "": _BADNESS[result.status_of(v)] for v in result.verdicts}
        badness |= {each.name: _BADNESS[status_of_attack(each)] for each in result.attacks}
        return cls(identity, result.gate, badness)

    def written(self) -> dict[str, Any]:
        """Result as an entry of a baseline file."""
        return {"asked": self.identity, "gate": self.gate, "badness": self.badness}


Baseline = dict[str, EarlierResult]


def read_baseline(path: str | Path) -> Baseline:
    """Earlier results by the ids of their checks.

    Raises
    ------
    BaselineError
        If the file is missing or is not a baseline.
    """
    path = usable(path)
    if path.exists() and not path.is_file():
        raise BaselineError(f"the baseline {path} is no file")
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BaselineError(
            f"the baseline {path} does not exist; make it with pqd check SPEC --update-baseline"
        ) from None
    except (OSError, ValueError, RecursionError):
        raise BaselineError(f"the baseline {path} cannot be read as JSON") from None
    try:
        valid = (content["kind"], content["schema_version"]) == (_KIND, _VERSION)
        results = {str(name): EarlierResult.read(c) for name, c in content["checks"].items()}
    except (AttributeError, KeyError, TypeError, ValueError):
        valid, results = False, {}
    if not valid:
        raise BaselineError(
            f"{path} is no baseline of this version of pqd; make it again with pqd "
            "check SPEC --update-baseline"
        )
    return results


def write_baseline(path: str | Path, report: CheckReport, before: Baseline | None = None) -> None:
    """Write the results of ``report``, and those of ``before`` for checks that were not run.

    Raises
    ------
    RunError
        If the file cannot be written.
    """
    decided = {
        result.id: EarlierResult.of(result)
        for result in report.checks
        if result.verdicts or result.attacks
    }
    results = sorted({**(before or {}), **decided}.items())
    checks = {name: result.written() for name, result in results}
    text = json.dumps({"kind": _KIND, "schema_version": _VERSION, "checks": checks}, indent=2)
    place = usable(path)
    with told_as_unwritten(place):
        check_free(writable(place))
    write_text(place, text + "\n")


def against(report: CheckReport, before: Baseline, name: str) -> CheckReport:
    """``report`` in which the failures that ``before`` has too are marked as known.

    A failure is known if the same check failed before and no verdict is worse now.  A new failure
    gets a bound on the probability that noise alone caused it.
    """
    checks = tuple(_compared(result, before) for result in report.checks)
    return replace(report, checks=checks, baseline=name)


def _compared(result: CheckResult, before: Baseline) -> CheckResult:
    if result.gate != "fail":
        return result
    now, earlier = EarlierResult.of(result), before.get(result.id)
    if earlier is None or earlier.identity != now.identity:
        return replace(result, message=f"{result.message}; not asked like this in the baseline")
    worse = [group for group, bad in now.badness.items() if bad > earlier.badness.get(group, 0)]
    if earlier.gate in _FAILING and not worse:
        return replace(result, gate="known", message=f"{result.message}; as in the baseline")
    odds = flip_probability(result)
    noise = "noise alone may have done that"
    if odds is not None:
        # The figure is an upper bound, so it is rounded up.
        bound = share_text(math.ceil(odds * 1000) / 1000) if odds > _LEAST_SHOWN else "0.1 %"
        noise = f"noise alone does that with probability {bound} at most"
    return replace(result, flip=odds, message=f"{result.message}; new since the baseline: {noise}")


def flip_probability(result: CheckResult) -> float | None:
    """Bound on the probability that noise alone caused a failure; None if unknown.

    If the truth is as expected, noise gives a verdict against the expectation with a probability of
    at most its p-value.  For n groups, or n attacks, the bound is n times the smallest p-value
    (union bound).  Without any p-value nothing is known.
    """
    odds = []
    for verdict in result.verdicts:
        against_expectation = (verdict.leans == "yes") != (result.expect == "close")
        if result.status_of(verdict) == "as expected" or not against_expectation:
            continue
        odds.append(verdict.p_value)
    odds += [
        each.held_out.p_value
        for each in result.attacks
        if each.held_out and each.held_out.outcome == "no"
    ]
    number = len(result.verdicts) + len(result.attacks)
    known = [each for each in odds if each is not None]
    return min(1.0, number * min(known)) if known else None
