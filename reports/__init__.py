"""Reports: a grid of kind x format, the same file name in every folder."""

from reports.models.audit import AuditReport, Verdict
from reports.models.query import CandidateFacts

__all__ = ["AuditReport", "CandidateFacts", "Verdict"]
