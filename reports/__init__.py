"""What a reader sees: one report model, one file per rendering."""

from reports.models.audit import AuditReport, CandidateFacts, Verdict

__all__ = ["AuditReport", "CandidateFacts", "Verdict"]
