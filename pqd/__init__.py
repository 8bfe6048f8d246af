"""pqd tells, under differential privacy, which queries can be trusted on synthetic data.

``pqd/deciders`` and ``pqd/reports`` are links to the folders ``deciders/`` and ``reports/``.
"""

# Nothing is imported here, so that the command line soon handles Ctrl-C.  An earlier interrupt
# prints a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from pqd.commands.audit import audit
    from pqd.commands.check import check
    from pqd.commands.compare import compare
    from pqd.commands.gate import gate
    from pqd.commands.lint import lint
    from pqd.commands.plan import plan
    from pqd.commands.profile import profile
    from pqd.commands.release import release
    from pqd.commands.risk import risk
    from pqd.commands.simulate import simulate
    from pqd.engine.reading.text_format import TextFormat
    from pqd.errors import PqdError
    from pqd.planning.register import register
    from pqd.reports.models.audit import AuditReport, Verdict
    from pqd.reports.models.check import CheckReport
    from pqd.reports.models.compare import CompareReport
    from pqd.reports.models.lint import LintReport
    from pqd.reports.models.plan import PlanReport
    from pqd.reports.models.profile import ProfileReport
    from pqd.reports.models.ranking import RankingReport
    from pqd.reports.models.release import ReleaseReport
    from pqd.reports.models.risk import RiskReport
    from pqd.sql.query import Query
    from pqd.sql.workload_files import read_queries

__version__ = "0.2.0"

__all__ = [
    "AuditReport",
    "CheckReport",
    "CompareReport",
    "LintReport",
    "PlanReport",
    "PqdError",
    "ProfileReport",
    "Query",
    "RankingReport",
    "ReleaseReport",
    "RiskReport",
    "TextFormat",
    "Verdict",
    "__version__",
    "audit",
    "check",
    "compare",
    "gate",
    "lint",
    "plan",
    "profile",
    "read_queries",
    "register",
    "release",
    "risk",
    "simulate",
]

# Module of each public name; the module is imported when the name is first used.
_HOMES = {
    "audit": "pqd.commands.audit",
    "AuditReport": "pqd.reports.models.audit",
    "check": "pqd.commands.check",
    "CheckReport": "pqd.reports.models.check",
    "compare": "pqd.commands.compare",
    "CompareReport": "pqd.reports.models.compare",
    "gate": "pqd.commands.gate",
    "lint": "pqd.commands.lint",
    "LintReport": "pqd.reports.models.lint",
    "plan": "pqd.commands.plan",
    "PlanReport": "pqd.reports.models.plan",
    "PqdError": "pqd.errors",
    "profile": "pqd.commands.profile",
    "ProfileReport": "pqd.reports.models.profile",
    "Query": "pqd.sql.query",
    "RankingReport": "pqd.reports.models.ranking",
    "read_queries": "pqd.sql.workload_files",
    "register": "pqd.planning.register",
    "release": "pqd.commands.release",
    "ReleaseReport": "pqd.reports.models.release",
    "risk": "pqd.commands.risk",
    "RiskReport": "pqd.reports.models.risk",
    "simulate": "pqd.commands.simulate",
    "TextFormat": "pqd.engine.reading.text_format",
    "Verdict": "pqd.reports.models.audit",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'pqd' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - nothing is imported at the start

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
