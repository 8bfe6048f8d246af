"""The report model: everything that leaves an audit, and nothing else about D."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class CandidateFacts:
    """A decider that fits a query.

    ``tau_min`` is its effectiveness threshold at the report's epsilon and alpha, in the query's
    unit: None where no closed form is known, infinite where no tau suffices.  ``tau_min_exact``
    is False for a published upper bound.  ``false_no`` and ``false_yes`` are its error
    probabilities on public stand-ins, None where not computed.
    """

    decider: str
    tau_min: float | None
    tau_min_exact: bool | None
    false_no: float | None = None
    false_yes: float | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to one query, in the query's own unit.

    Only ``outcome``, ``p_value``, ``margin`` and ``conclusive`` depend on the private table, and
    only through the budgeted output of ``decider``.  ``lower`` and ``upper`` are the ends of the
    open interval.  ``p_value`` and ``margin`` are None where the decider releases neither.
    """

    id: str
    sql: str
    aggregate: str
    attribute: str | None
    where: str | None
    q_synthetic: int | float
    tau: int | float
    lower: int | float
    upper: int | float
    epsilon: Fraction
    alpha: Fraction
    decider: str
    reason: str
    outcome: str
    tau_min: float | None
    candidates: tuple[CandidateFacts, ...]
    synthetic: str
    p_value: float | None = None
    margin: int | None = None
    conclusive: bool | None = None
    replayed: bool = False
    simulated: bool = False

    @property
    def trusted(self) -> bool:
        """Whether the outcome is yes."""
        return self.outcome == "yes"


@dataclass(frozen=True, slots=True)
class AuditReport:
    """Verdicts of one audit; ``notes`` are public remarks, ``tolerance`` is tau as it was given."""

    verdicts: tuple[Verdict, ...]
    private: str
    synthetic: str
    tolerance: str
    notes: tuple[str, ...] = ()

    @property
    def spent(self) -> Fraction:
        """Total epsilon spent, exactly: the verdicts' budgets add up (sequential composition)."""
        return sum((v.epsilon for v in self.verdicts if not v.replayed), Fraction(0))

    @property
    def simulated(self) -> bool:
        """Whether any verdict comes from seeded noise."""
        return any(verdict.simulated for verdict in self.verdicts)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain JSON values."""
        from reports.json import report_dict  # noqa: PLC0415 - renderings import the model

        return report_dict(self)

    def to_json(self) -> str:
        """Return the report as JSON text (docs/report-schema.md)."""
        from reports.json import report_json  # noqa: PLC0415 - renderings import the model

        return report_json(self)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per verdict, without the candidates."""
        import pandas as pd  # noqa: PLC0415 - a heavy import that only frames need

        rows = [asdict(verdict) for verdict in self.verdicts]
        frame = pd.DataFrame(rows).drop(columns="candidates")
        return frame.astype({"epsilon": float, "alpha": float})

    def __str__(self) -> str:
        """Return the terminal report as plain text, 80 columns wide."""
        from reports.terminal import report_text  # noqa: PLC0415 - renderings import the model

        return report_text(self)
