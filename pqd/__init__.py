"""pqd tells, under differential privacy, which queries can be trusted on synthetic data."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pqd.api.audit import audit
    from pqd.api.check import check
    from pqd.api.compare import compare
    from pqd.api.plan import plan
    from pqd.api.profile import profile
    from pqd.api.release import release
    from pqd.errors import PqdError
    from pqd.sql.query import Query
    from pqd.sql.workload_files import read_queries
    from reports.models.audit import AuditReport, Verdict
    from reports.models.check import CheckReport
    from reports.models.compare import CompareReport
    from reports.models.plan import PlanReport
    from reports.models.profile import ProfileReport
    from reports.models.release import ReleaseReport

__version__ = "0.1.0"

__all__ = [
    "AuditReport",
    "CheckReport",
    "CompareReport",
    "PlanReport",
    "PqdError",
    "ProfileReport",
    "Query",
    "ReleaseReport",
    "Verdict",
    "__version__",
    "audit",
    "check",
    "compare",
    "plan",
    "profile",
    "read_queries",
    "release",
]

# Where each public name lives; nothing heavy is imported before it is used.
_HOMES = {
    "audit": "pqd.api.audit",
    "AuditReport": "reports.models.audit",
    "check": "pqd.api.check",
    "CheckReport": "reports.models.check",
    "compare": "pqd.api.compare",
    "CompareReport": "reports.models.compare",
    "plan": "pqd.api.plan",
    "PlanReport": "reports.models.plan",
    "PqdError": "pqd.errors",
    "profile": "pqd.api.profile",
    "ProfileReport": "reports.models.profile",
    "Query": "pqd.sql.query",
    "read_queries": "pqd.sql.workload_files",
    "release": "pqd.api.release",
    "ReleaseReport": "reports.models.release",
    "Verdict": "reports.models.audit",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'pqd' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)


def _check_neighbours() -> None:
    """Refuse to start when a foreign ``reports`` or ``deciders`` package hides ours."""
    home = Path(__file__).resolve().parent.parent
    for name in ("deciders", "reports"):
        spec = find_spec(name)
        found = Path(spec.origin).resolve() if spec and spec.origin else None
        if found is None or found.parent.parent != home:
            raise ImportError(
                f"pqd needs its own package {name!r} in {home}, but Python finds "
                f"{found or 'none'}; rename or move that one, or run in another directory"
            )


_check_neighbours()
