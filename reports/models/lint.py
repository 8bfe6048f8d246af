"""Model of ``pqd lint``: what can be said of a copy alone, without a private table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from pqd.reports.models.report import IndexedReport, data_frame
from pqd.reports.models.standings import Standing

if TYPE_CHECKING:
    import pandas as pd

    from pqd.deciders.note import Note


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Finding in some ``columns`` of a copy, or in whole rows if there are none.

    ``fault`` says that the finding contradicts a stated fact, or that hardly any real table is so.
    Any other finding is only worth a look.
    """

    note: Note
    columns: tuple[str, ...] = ()
    fault: bool = False

    @property
    def standing(self) -> Standing:
        """Standing of the finding: a fault, or worth a look."""
        return Standing.FAULT if self.fault else Standing.LOOK

    def computed(self) -> dict[str, Any]:
        """Code of the note, and the standing."""
        return {"code": self.note.code, "standing": self.standing.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class LintedColumn:
    """Public facts of one column of a copy.

    ``filled`` is the number of cells with a value, ``distinct`` the number of different values.
    ``low`` and ``high`` are the least and the largest value, as text; empty for texts and truths.
    ``frequent`` is the most frequent value, which ``most`` rows have.
    """

    name: str
    kind: str
    filled: int
    distinct: int
    low: str = ""
    high: str = ""
    frequent: str = ""
    most: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LintReport(IndexedReport[Finding]):
    """Findings in a copy, faults first; no private table was read and nothing was spent."""

    kind: ClassVar[str] = "lint"
    _question: ClassVar[str] = "[finding for finding in report if finding.fault]"

    synthetic: str
    rows: int
    columns: tuple[LintedColumn, ...]
    findings: tuple[Finding, ...] = ()
    notes: tuple[Note, ...] = ()
    day: str | None = None

    @property
    def faults(self) -> tuple[Finding, ...]:
        """Findings that are faults."""
        return tuple(each for each in self.findings if each.fault)

    @property
    def exit_code(self) -> int:
        """Exit code of ``pqd lint --strict``: 1 if there is a fault, else 0."""
        return 1 if self.faults else 0

    def computed(self) -> dict[str, Any]:
        """Number of faults."""
        return {"faults": len(self.faults)}

    def to_frame(self) -> pd.DataFrame:
        """Frame with one row per finding."""
        rows = [
            {
                "standing": each.standing.value,
                "code": each.note.code,
                "columns": ", ".join(each.columns),
                "finding": each.note.sentence,
            }
            for each in self.findings
        ]
        return data_frame(rows, ["standing", "code", "columns", "finding"])

    @property
    def _items(self) -> tuple[Finding, ...]:
        return self.findings

    def _name(self, item: Finding) -> str:
        return ", ".join(item.columns) or item.note.code
