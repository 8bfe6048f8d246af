"""pqd tells, under differential privacy, which queries can be trusted on synthetic data."""

# What Python has loaded at its start: Ctrl-C is a traceback until the command line listens to it.
import os
import sys

TYPE_CHECKING = False
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
    from importlib import import_module  # noqa: PLC0415 - see above

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)


def _found(name: str) -> str | None:
    """File of a package that would be imported, links resolved; None without one."""
    module = sys.modules.get(name)
    specs = (finder.find_spec(name, None) for finder in sys.meta_path)
    spec = module.__spec__ if module else next(filter(None, specs), None)
    return os.path.realpath(spec.origin) if spec and spec.origin else None


def _check_neighbours() -> None:
    """Refuse to start when a foreign ``reports`` or ``deciders`` package hides ours."""
    home = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))  # noqa: PTH120
    for name in ("deciders", "reports"):
        found = _found(name)
        if found is None or os.path.dirname(os.path.dirname(found)) != home:  # noqa: PTH120
            raise ImportError(
                f"pqd needs its own package {name!r} in {home}, but Python finds "
                f"{found or 'none'}; rename or move that one, or run in another directory"
            )


_check_neighbours()
