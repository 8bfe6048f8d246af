"""Reports: each kind of report has a document, and each format has a writer.

``pqd/reports`` is a link to this folder, so the package is imported as ``pqd.reports``.
"""

if __name__ != "pqd.reports":
    raise ImportError("the package is pqd.reports: write `from pqd.reports import ...`")

from pqd.reports.models.audit import AuditReport, Verdict
from pqd.reports.models.query import CandidateFacts

__all__ = ["AuditReport", "CandidateFacts", "Verdict"]
