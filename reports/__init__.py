"""Reports: a document for each kind, a writer for each format.

``pqd/reports`` is a link to this folder: its name is ``pqd.reports``.
"""

if __name__ != "pqd.reports":
    raise ImportError("the package is pqd.reports: write `from pqd.reports import ...`")

from pqd.reports.models.audit import AuditReport, Verdict
from pqd.reports.models.query import CandidateFacts

__all__ = ["AuditReport", "CandidateFacts", "Verdict"]
