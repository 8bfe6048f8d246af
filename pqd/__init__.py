"""pqd tells, under differential privacy, which queries can be trusted on synthetic data."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pqd.auditor import audit
    from pqd.checker import check
    from pqd.comparer import compare
    from pqd.errors import PqdError
    from pqd.planner import plan
    from pqd.queries import read_queries
    from pqd.query import Query
    from pqd.releaser import release
    from reports.check import CheckReport
    from reports.comparison import CompareReport
    from reports.model import AuditReport, Verdict
    from reports.plan import PlanReport
    from reports.release import ReleaseReport

__version__ = "0.1.0"

__all__ = [
    "AuditReport",
    "CheckReport",
    "CompareReport",
    "PlanReport",
    "PqdError",
    "Query",
    "ReleaseReport",
    "Verdict",
    "__version__",
    "audit",
    "check",
    "compare",
    "plan",
    "read_queries",
    "release",
]

# Where each public name lives; nothing heavy is imported before it is used.
_HOMES = {
    "audit": "pqd.auditor",
    "AuditReport": "reports.model",
    "check": "pqd.checker",
    "CheckReport": "reports.check",
    "compare": "pqd.comparer",
    "CompareReport": "reports.comparison",
    "plan": "pqd.planner",
    "PlanReport": "reports.plan",
    "PqdError": "pqd.errors",
    "Query": "pqd.query",
    "read_queries": "pqd.queries",
    "release": "pqd.releaser",
    "ReleaseReport": "reports.release",
    "Verdict": "reports.model",
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
