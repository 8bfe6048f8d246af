"""Model of ``pqd check``: what a spec asked, what came of it, and what the exit code is."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pqd.reports.models.audit import Verdict
from pqd.reports.models.report import Report, data_frame
from pqd.reports.models.standings import CHECKS, Standing

if TYPE_CHECKING:
    import pandas as pd

    from pqd.deciders.note import Note
    from pqd.reports.models.audit import Cost

Status = Literal[
    "as expected", "not as expected", "undecided", "conditional", "likely", "broken", "planned"
]
Gate = Literal["pass", "warn", "known", "fail", "error"]

# What a verdict must be where a check expects the answers to be near, or to be apart.
_EXPECTED = {"close": "yes", "far": "no"}
# Columns of a frame that are no fields of a verdict.
_COMPUTED = ("outcome", "standing", "conclusive")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One check of a spec against one synthetic table.

    ``id`` is the check's, followed by ``@name`` where there are several synthetic tables; ``line``
    is where it stands in the spec.  ``expect`` is ``close`` or ``far``.  ``verdicts`` holds one
    verdict, one per group where the query is grouped, none where the check is broken or only
    planned; ``message`` says in a sentence why the status is what it is.

    ``evidence`` is what a verdict must be to count: a ``proof``, or ``likely``.

    ``status`` is what came of it: a ``conditional`` verdict holds within bounds that nobody stated,
    a ``likely`` verdict has no proof; ``gate`` is what that means for the build, given the check's
    ``severity`` and ``on_undecided`` and the baseline: ``known`` is a failure that the baseline
    already had.  ``flip`` is, for a check that the baseline had as expected, the probability that
    noise alone turned it, at most, if the answers were as then; None elsewhere.
    """

    id: str
    line: int
    sql: str
    tolerance: str
    expect: str
    severity: str
    on_undecided: str
    status: Status
    gate: Gate
    message: str
    verdicts: tuple[Verdict, ...] = ()
    flip: float | None = None
    exit_code: int = 0
    evidence: str = "proof"

    @property
    def standing(self) -> Standing:
        """Standing of the gate; ``planned`` where nothing was to be decided."""
        if self.status == "planned" and self.gate != "error":
            return Standing.PLANNED
        if self.status == "undecided" and self.gate == "fail":
            return Standing.UNSURE
        return next(each for each in reversed(CHECKS) if each.gate == self.gate)

    def status_of(self, verdict: Verdict) -> Status:
        """Status of one of the verdicts."""
        return status_of(verdict, self.expect, self.evidence)


def status_of(verdict: Verdict, expect: str, evidence: str = "proof") -> Status:
    """Status of a verdict to a check that expects ``close`` or ``far``.

    A check asks for a proof, unless the ``evidence`` that it takes is ``likely``.  A verdict that
    holds within the copy's bounds alone is ``conditional``, unless the spec accepts these bounds.
    """
    if verdict.evidence == "none":
        return "undecided"
    if verdict.condition and not verdict.condition.accepted:
        return "conditional"
    if verdict.evidence == "likely" and evidence != "likely":
        return "likely"
    return "as expected" if verdict.leans == _EXPECTED[expect] else "not as expected"


def stopped(spec: str, line: int | None, message: str, exit_code: int) -> CheckResult:
    """Result of a check in place of what stopped a run before any was decided."""
    return CheckResult(
        id=spec,
        line=line or 1,
        sql="",
        tolerance="",
        expect="",
        severity="error",
        on_undecided="fail",
        status="broken",
        gate="error",
        message=message,
        exit_code=exit_code,
    )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CheckReport(Report):
    """Results of a spec's checks; ``dry`` if nothing was decided and nothing spent.

    ``spec`` and ``private`` are names of files.  ``baseline`` names the baseline compared with.
    """

    kind: ClassVar[str] = "check"

    spec: str
    private: str
    checks: tuple[CheckResult, ...]
    cost: Cost
    dry: bool = False
    baseline: str | None = None
    notes: tuple[Note, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 all as it should be, 1 a check failed; that of an error outranks it."""
        codes = ((entry.standing.exit_code, entry.exit_code) for entry in self.checks)
        return max(map(max, codes), default=0)

    @property
    def simulated(self) -> bool:
        """Whether any verdict comes from seeded noise."""
        return any(v.simulated for entry in self.checks for v in entry.verdicts)

    def count(self, gate: Gate) -> int:
        """Number of checks that passed, warned, failed, and so on."""
        return sum(entry.gate == gate for entry in self.checks)

    def computed(self) -> dict[str, Any]:
        """Exit code, what the run spent, and whether noise was seeded."""
        spent = 0 if self.dry else self.cost.epsilon
        return {"exit_code": self.exit_code, "spent_epsilon": spent, "simulated": self.simulated}

    def to_frame(self) -> pd.DataFrame:
        """Frame of one row per verdict, without the candidates, each with its check.

        A check that has no verdict, as it is broken or only planned, has a row without one.
        """
        rows = []
        for entry in self.checks:
            check = {"check": entry.id, "status": entry.status, "gate": entry.gate}
            check |= {"expect": entry.expect, "message": entry.message}
            verdicts = ({**each.computed(), **asdict(each)} for each in entry.verdicts)
            rows += [{**check, **verdict} for verdict in verdicts] or [check]
        names = ["check", "status", "gate", "expect", "message", *_COMPUTED]
        names += [field.name for field in fields(Verdict) if field.name != "candidates"]
        frame = data_frame(rows).reindex(columns=names)
        return frame.astype({"epsilon": float, "alpha": float})
