"""Model of ``pqd check``: the checks of a spec, their results, and the exit code."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pqd.deciders.exact import exceeds
from pqd.reports.models.audit import Verdict
from pqd.reports.models.profile import Alarm
from pqd.reports.models.report import IndexedReport, data_frame
from pqd.reports.models.risk import AttackFacts
from pqd.reports.models.standings import CHECKS, Standing

if TYPE_CHECKING:
    import pandas as pd

    from pqd.deciders.note import Note
    from pqd.reports.models.audit import Cost

Status = Literal[
    "as expected",
    "not as expected",
    "undecided",
    "conditional",
    "likely",
    "broken",
    "planned",
    "not told",
]
Gate = Literal["pass", "warn", "known", "fail", "error", "untold"]

# Verdict that is as expected, for each value of ``expect``.
_EXPECTED = {"close": "yes", "far": "no"}
# Columns of a frame that are not fields of a verdict.
_COMPUTED = ("outcome", "standing", "conclusive", "distance")


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackedFacts:
    """How the attacks of a check of risk were tried.

    ``epsilon`` is the budget of all ``attacks`` on the copy together, on each private table, and
    ``alpha`` the error probability of each verdict.
    """

    epsilon: Fraction
    alpha: Fraction
    attacks: int
    replayed: bool
    simulated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """Result of one check of a spec on one synthetic table.

    ``id`` is the id of the check.  If there are several synthetic tables, ``@name`` follows it.
    ``line`` is the line of the spec where the check stands.  ``expect`` is ``close`` or ``far``.
    ``verdicts`` holds one verdict, or one per group of a grouped query.  It is empty if the check
    is broken or only planned.  ``message`` gives the reason for ``status`` in a sentence.

    ``alarm`` says of a check of an alarm whether the copy is too near; it is None of other checks.
    ``attacks`` are those of a check of risk, the worst first, and ``attacked`` is how they were
    tried; without such a check there are none.

    ``evidence`` is the weakest evidence that lets a verdict count: ``proof`` or ``likely``.

    ``status`` is the result.  A ``conditional`` verdict holds within bounds that nobody stated.  A
    ``likely`` verdict has no proof.  A check that is ``not told`` is one of a gate that did not
    pass, and this run does not say whether the check holds.

    ``gate`` is what the status means for the build; of a planned check, ``warn`` says that a run
    could not decide it, or not for an honest copy.  It depends on ``severity``, on
    ``on_undecided`` and on the baseline: ``known`` is a failure that the baseline already had.
    ``flip`` is set only for a failure that is new since the baseline.  It bounds the probability
    that noise alone caused this failure, if the true answers are as expected.
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
    alarm: Alarm | None = None
    attacks: tuple[AttackFacts, ...] = ()
    attacked: AttackedFacts | None = None

    @property
    def standing(self) -> Standing:
        """Standing of the gate; planned and undecided checks have standings of their own."""
        if self.status == "planned" and self.gate != "error":
            return Standing.NARROW if self.gate == "warn" else Standing.PLANNED
        if self.status == "undecided" and self.gate == "fail":
            return Standing.UNSURE
        return next(each for each in reversed(CHECKS) if each.gate == self.gate)

    @property
    def simulated(self) -> bool:
        """Whether the noise of a verdict, or of the attacks, was seeded."""
        seeded = any(verdict.simulated for verdict in self.verdicts)
        return seeded or (self.attacked is not None and self.attacked.simulated)

    def status_of(self, verdict: Verdict) -> Status:
        """Status of ``verdict``, which is one of the verdicts of this check."""
        return status_of(verdict, self.expect, self.evidence)


def status_of_attack(attack: AttackFacts) -> Status:
    """Status of an attack in a check of risk, which expects an excess within the tolerance."""
    if attack.standing is Standing.WITHIN:
        return "as expected"
    return "not as expected" if attack.standing is Standing.BEYOND else "undecided"


def status_of(verdict: Verdict, expect: str, evidence: str = "proof") -> Status:
    """Status of a verdict in a check that expects ``close`` or ``far``.

    A verdict needs a proof, unless ``evidence`` is ``likely``.  A verdict that holds only within
    the bounds of the copy is ``conditional``, unless the spec accepts these bounds.
    """
    if verdict.evidence == "none":
        return "undecided"
    if verdict.condition and not verdict.condition.accepted:
        return "conditional"
    if verdict.evidence == "likely" and evidence != "likely":
        return "likely"
    return "as expected" if verdict.leans == _EXPECTED[expect] else "not as expected"


def stopped(spec: str, line: int | None, message: str, exit_code: int) -> CheckResult:
    """Result that reports why a run stopped before it decided any check."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CountFacts:
    """Counts of rows that a condition allows, ``least`` to ``most``, and the count of the copy.

    ``is_more`` says that a failure can only mean more rows: fewer are allowed, or below none.
    """

    copy: int
    least: int
    most: int
    is_more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstFacts:
    """The condition that a gate named as the worst, and the verdict of its own noisy margin.

    ``margin_low`` and ``margin_high`` are ends of the exact margin, each wrong with probability at
    most alpha.  The choice of the condition does not weaken the p-value, since the margin has fresh
    noise.  ``counts`` are those of a condition on the rows with a value; None of other conditions.
    """

    name: str
    holds: bool
    p_value: float
    margin: int
    margin_low: int
    margin_high: int
    epsilon: Fraction
    alpha: Fraction
    counts: CountFacts | None = None

    @property
    def conclusive(self) -> bool:
        """Whether the p-value is at most alpha."""
        return not exceeds(self.p_value, self.alpha)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedColumn:
    """Column whose values are cut to the copy's bounds, and the most rows beyond in a yes.

    A bound is None if it is stated.
    """

    column: str
    lower: int | float | None
    upper: int | float | None
    rows_beyond: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GateFacts:
    """Gate: one test of whether all ``conditions`` hold.

    ``outcome`` is ``holds``, ``fails`` (at least one condition does) or ``undecided``; None in a
    plan.  ``p_value`` is that of the outcome that ``margin`` leans to; None if columns fail in
    public.  ``rows`` is the noisy number of private rows, if the gate released it.  ``names`` is
    the epsilon that names the ``worst`` condition if the gate does not pass; ``names_refused`` is
    the reason why the budget did not hold it.  ``within`` are columns whose bounds are the copy's,
    as the spec accepts: the outcome holds within these alone.
    """

    epsilon: Fraction
    names: Fraction | None
    alpha: Fraction
    conditions: int
    outcome: Literal["holds", "fails", "undecided"] | None = None
    p_value: float | None = None
    margin: int | None = None
    rows: int | None = None
    worst: WorstFacts | None = None
    names_refused: str = ""
    within: tuple[BoundedColumn, ...] = ()
    looks: int = 1
    replayed: bool = False
    simulated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CheckReport(IndexedReport[CheckResult]):
    """Results of the checks of a spec.

    ``gate`` holds the facts of the one test of all checks, if the run made one.  The first of
    ``checks`` is then its result.

    ``spec`` and ``private`` are names of files.  ``baseline`` names the baseline with which the
    results were compared.  ``dry`` says that nothing was decided and nothing was spent.
    ``held_out`` names the held-out table of checks of risk, and ``held_out_cost`` is what was
    charged to its own account.
    """

    kind: ClassVar[str] = "check"
    _question: ClassVar[str] = "report.exit_code == 0"

    spec: str
    private: str
    checks: tuple[CheckResult, ...]
    cost: Cost
    dry: bool = False
    baseline: str | None = None
    notes: tuple[Note, ...] = ()
    gate: GateFacts | None = None
    held_out: str = ""
    held_out_cost: Cost | None = None

    @property
    def exit_code(self) -> int:
        """Exit code: 0 if no check failed, 1 if a check failed, 2 or more after an error."""
        codes = ((entry.standing.exit_code, entry.exit_code) for entry in self.checks)
        return max(map(max, codes), default=0) or int(self.is_open)

    @property
    def is_open(self) -> bool:
        """True if a check is left untold for a failure that no check has: no build passes so."""
        gates = {entry.gate for entry in self.checks}
        return "untold" in gates and gates.isdisjoint({"fail", "known", "error"})

    @property
    def own_checks(self) -> tuple[CheckResult, ...]:
        """Results of the spec's checks, without the one that stands for their gate."""
        return self.checks if self.gate is None else self.checks[1:]

    @property
    def simulated(self) -> bool:
        """Whether the noise of any verdict was seeded."""
        seeded = any(entry.simulated for entry in self.checks)
        return seeded or (self.gate is not None and self.gate.simulated)

    def count(self, gate: Gate) -> int:
        """Number of checks with this ``gate``, such as ``pass`` or ``fail``."""
        return sum(entry.gate == gate for entry in self.checks)

    def computed(self) -> dict[str, Any]:
        """Exit code, epsilon that was spent, and whether noise was seeded."""
        spent = 0 if self.dry else self.cost.spent
        return {"exit_code": self.exit_code, "spent_epsilon": spent, "simulated": self.simulated}

    def to_frame(self) -> pd.DataFrame:
        """Frame with one row per verdict and no candidates; each row names its check.

        A check that is broken or only planned has no verdict, but has one row too.
        """
        rows = []
        for entry in self.checks:
            check = {"check": entry.id, "status": entry.status, "gate": entry.gate}
            check |= {"expect": entry.expect, "message": entry.message}
            verdicts = ({**each.computed(), **asdict(each)} for each in entry.verdicts)
            attacks = (attack_row(entry, each) for each in entry.attacks)
            rows += [{**check, **each} for each in (*verdicts, *attacks)] or [check]
        names = ["check", "status", "gate", "expect", "message", *_COMPUTED]
        names += [field.name for field in fields(Verdict) if field.name != "candidates"]
        frame = data_frame(rows).reindex(columns=names)
        return frame.astype({"epsilon": float, "alpha": float})

    @property
    def _items(self) -> tuple[CheckResult, ...]:
        return self.checks

    def _name(self, item: CheckResult) -> str:
        return item.id


def attack_row(entry: CheckResult, attack: AttackFacts) -> dict[str, object]:
    """Values of an attack in the columns of a verdict, for the frame of a report."""
    facts, tried = attack.held_out, entry.attacked
    if facts is None or tried is None:
        raise TypeError("a check of risk has held-out rows")
    return {
        "id": f"{entry.id} {attack.name}",
        "query": entry.sql,
        "outcome": facts.outcome if facts.conclusive else "undecided",
        "standing": attack.standing.value,
        "conclusive": facts.conclusive,
        "p_value": facts.p_value,
        "tau": facts.tau,
        "epsilon": tried.epsilon,
        "alpha": tried.alpha,
        "replayed": tried.replayed,
        "simulated": tried.simulated,
    }
