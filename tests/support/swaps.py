"""Swaps of the private table: one command on one workload, tables, one recorded noise.

Noise is a record of what it gave, so whatever still differs between two tables did not come
through it.  ``tests/support/swap_rows.py`` holds the rows: a command, a workload, a table or a
rendering more is one row more.
"""

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from pqd.accounting.accountant import Accountant
from pqd.attacks.parameters import RiskParameters
from pqd.attacks.planned_risk import RiskRequest
from pqd.commands.audit import run_audit
from pqd.commands.check import run_check
from pqd.commands.compare import run_compare
from pqd.commands.gate import gate_terms, run_table_gate
from pqd.commands.profile import run_profile
from pqd.commands.rank import run_ranking
from pqd.commands.release import run_release
from pqd.commands.risk import run_risk
from pqd.comparison.comparison_parameters import ComparisonParameters
from pqd.comparison.ranking import RankingParameters
from pqd.deciders.note import Note
from pqd.marginals.profile_parameters import ProfileParameters
from pqd.parameters import Detail, Parameters
from pqd.progress import Step
from pqd.reports.github import github_text
from pqd.reports.junit import junit_text
from pqd.reports.writers.terminal import terminal_text
from pqd.reports.writers.terminal.layout import Extent
from pqd.spec import read_spec
from pqd.sql.workload_files import as_queries
from pqd.stated.queries import with_tolerances
from tests.support.noises import Recorded
from tests.support.private_tables import CANARY, WORKERS

Progress = Callable[..., None]
Run = Callable[[Any, Any, Progress], Any]
Making = Callable[[], Any]

# A new one per run, since it goes on through what was recorded.
RECORDS: dict[str, Making] = {
    "near": lambda: Recorded([4, 2, 19, -3, 130, 7, 1, 0, 55], answer=True),
    # So far that it is a thousand scales on the finest grid of noise, too.
    "far below": lambda: Recorded([-(2**50)], answer=False),
    "far above": lambda: Recorded([2**50, 2**45 + 1], answer=True),
}

# Commands: each returns its run on a workload -----------------------------------------------------


def audit(synthetic: object, queries: Any, *, options: Any = None, **parameters: Any) -> Run:
    """Audit with ``options`` of the run and ``parameters`` as a user states them."""
    given: dict[str, Any] = {"tau": "1.5", "epsilon": "0.5", "alpha": "0.05"} | parameters
    if given.pop("detailed", False):
        given["detail"] = Detail.CURVES
    if "decider" in given:
        given["mechanism"] = given.pop("decider")

    def audited(private: Any, noise: Any, progress: Progress) -> Any:
        workload, stated = as_queries(queries), Parameters.parse(**given)
        return run_audit(private, synthetic, workload, stated, noise, progress, **(options or {}))

    return audited


def compare(
    candidates: Mapping[str, object],
    queries: Any,
    *,
    estimator: str = "auto",
    references: int | None = None,
    options: Any = None,
    **parameters: Any,
) -> Run:
    """Comparison of ``candidates``; two queries have weights and tolerances of theirs."""
    given: dict[str, Any] = {"tau": "20%", "epsilon": "0.5", "alpha": "0.05"} | parameters

    def compared(private: Any, noise: Any, progress: Progress) -> Any:
        workload, tau = with_tolerances(as_queries(queries), given["tau"], {"q2": "1.5"})
        stated = Parameters.parse(mechanism=estimator, **given | {"tau": tau})
        rules = ComparisonParameters.parse(stated, {"q1": 2}, references)
        return run_compare(private, candidates, workload, rules, noise, progress, **(options or {}))

    return compared


def release(
    queries: Any, mechanism: str = "auto", *, options: Any = None, **parameters: Any
) -> Run:
    """Release of answers on the workers."""
    given: dict[str, Any] = {"tau": 1, "epsilon": "0.5", "alpha": 0.05} | parameters

    def released(private: Any, noise: Any, progress: Progress) -> Any:
        workload, stated = as_queries(queries), Parameters.parse(mechanism=mechanism, **given)
        return run_release(private, WORKERS, workload, stated, noise, progress, **(options or {}))

    return released


def profile(synthetic: object, *, options: Any = None, **parameters: Any) -> Run:
    """Profile of a copy, with parameters as a user states them."""

    def profiled(private: Any, noise: Any, progress: Progress) -> Any:
        stated = ProfileParameters.parse(**({"anyway": True} | parameters))
        return run_profile(private, synthetic, stated, noise, progress, **(options or {}))

    return profiled


def risk(synthetic: object, held_out: object, *, options: Any = None, **parameters: Any) -> Run:
    """Risk report of a copy against held-out rows, with parameters as a user states them."""

    def attacked(private: Any, noise: Any, progress: Progress) -> Any:
        stated, more = RiskParameters.parse(**parameters), options or {}
        return run_risk(private, synthetic, stated, noise, progress, held_out=held_out, **more)

    return attacked


def held_out(private: object, synthetic: object, *, options: Any = None) -> Run:
    """Risk report against held-out rows, which are the table that is swapped."""

    def attacked(secret: Any, noise: Any, progress: Progress) -> Any:
        stated, more = RiskParameters.parse(), options or {}
        return run_risk(private, synthetic, stated, noise, progress, held_out=secret, **more)

    return attacked


def attacks(held_out: object | None = None, **options: Any) -> RiskRequest:
    """Usual attacks at epsilon 1, which a profile or a ranking tries too."""
    return RiskRequest(total_epsilon=Fraction(1), held_out=held_out, **options)


def of_held_out(private: object, inner: Callable[[object], Run]) -> Run:
    """Run on ``private`` that ``inner`` makes of held-out rows: the table that is swapped."""

    def attacked(secret: Any, noise: Any, progress: Progress) -> Any:
        return inner(secret)(private, noise, progress)

    return attacked


def rank(candidates: Mapping[str, object], *, options: Any = None, **parameters: Any) -> Run:
    """Ranking of ``candidates`` by overall quality, with parameters as a user states them."""

    def ranked(private: Any, noise: Any, progress: Progress) -> Any:
        stated = RankingParameters.parse(**({"total_epsilon": 1} | parameters))
        return run_ranking(private, candidates, stated, noise, progress, **(options or {}))

    return ranked


def check(synthetic: pd.DataFrame, text: str, held_out: pd.DataFrame | None = None) -> Run:
    """Check of a spec that names ``private.parquet`` and ``copy.parquet``.

    A spec with checks of risk names ``held.parquet`` too.
    """

    def checked(private: pd.DataFrame, noise: Any, progress: Progress) -> Any:
        return _checked(private, synthetic, held_out, text, noise, progress)

    return checked


def check_of_held_out(private: pd.DataFrame, synthetic: pd.DataFrame, text: str) -> Run:
    """Check of risk against held-out rows, which are the table that is swapped."""

    def checked(held_out: pd.DataFrame, noise: Any, progress: Progress) -> Any:
        return _checked(private, synthetic, held_out, text, noise, progress)

    return checked


def _checked(
    private: pd.DataFrame,
    synthetic: pd.DataFrame,
    held_out: pd.DataFrame | None,
    text: str,
    noise: Any,
    progress: Progress,
) -> Any:
    with TemporaryDirectory() as name:
        folder = Path(name)
        private.to_parquet(folder / "private.parquet", index=False)
        synthetic.to_parquet(folder / "copy.parquet", index=False)
        if held_out is not None:
            held_out.to_parquet(folder / "held.parquet", index=False)
        (folder / "audit.toml").write_text(text, encoding="utf-8")
        spec, ledger = read_spec(folder / "audit.toml"), folder / "ledger.sqlite"
        return run_check(spec, noise, ledger=ledger, detailed=True, progress=progress)


def gate(synthetic: object, *, options: Any = None, **parameters: Any) -> Run:
    """Gate of a whole table that names its worst condition."""

    def gated(private: Any, noise: Any, progress: Progress) -> Any:
        stated, terms = ProfileParameters.parse(**parameters), gate_terms("20", "1", "0.05", None)
        return run_table_gate(private, synthetic, stated, terms, noise, progress, **(options or {}))

    return gated


def from_file(inner: Run) -> Run:
    """``inner`` for private tables that are the bytes of a CSV file."""

    def filed(private: bytes, noise: Any, progress: Progress) -> Any:
        with TemporaryDirectory() as name:
            path = Path(name) / "private.csv"
            path.write_bytes(private)
            return inner(path, noise, progress)

    return filed


def twice(inner: Callable[[Accountant], Run]) -> Run:
    """Two runs on one ledger, of which the second replays what the first drew."""

    def both(private: Any, noise: Any, progress: Progress) -> Any:
        with TemporaryDirectory() as name:
            accountant = Accountant(Path(name) / "ledger.sqlite")
            return [inner(accountant)(private, noise, progress) for _ in range(2)]

    return both


# Renderings ---------------------------------------------------------------------------------------


def _verbose(report: Any) -> str:
    """What the terminal shows in full, 60 columns wide, and what it shows of failures alone."""
    return "".join(terminal_text(report, 60, extent) for extent in (Extent.VERBOSE, Extent.QUIET))


RENDERINGS: dict[str, Callable[[Any], str]] = {
    "text": str,
    "verbose": _verbose,
    "json": lambda report: str(report.to_json()),
    "frame": lambda report: str(report.to_frame().to_csv()),
    "html": lambda report: str(report.to_html("pqd")),
    "markdown": lambda report: str(report.to_markdown()),
    "notebook": lambda report: str(report._repr_html_()),
    "junit": lambda report: f"{junit_text(report)} {report.exit_code}",
    "github": lambda report: github_text(report, "audit.toml"),
}
PAGES = ("html", "markdown", "notebook")
# Of a check alone.
BUILD = ("junit", "github")
SCREEN = ("text", "verbose", "json", "frame")
EVERY = (*SCREEN, *PAGES)


@dataclass(frozen=True)
class Swap:
    """A run and the private tables between which not one byte may differ.

    ``records`` are the noises, each with the renderings that are compared.  ``differing`` tables
    must differ in each of them without noise: else it would be worth nothing that they do not.
    No text may hold one of the ``secrets``; the report must hold the ``words``.
    """

    run: Run
    tables: Mapping[str, Any]
    records: Mapping[str, Sequence[str]] = field(default_factory=lambda: {"near": SCREEN})
    differing: Sequence[str] = ()
    secrets: Sequence[str] = (CANARY,)
    words: str = ""

    def ran(self, table: str, noise: Any) -> "Outcome":
        """Outcome of a run on one of the tables."""
        steps: list[str] = []

        def progress(stage: Step | Note, done: int = 0, total: int = 0) -> None:
            steps.append(f"{stage} {done} {total}")

        found = self.run(self.tables[table], noise, progress)
        return Outcome(found if isinstance(found, list) else [found], steps)

    def said(self, table: str, noise: Any, renderings: Sequence[str]) -> dict[str, str]:
        """Texts of a run on one of the tables."""
        return self.ran(table, noise).said(renderings)


class Outcome:
    """Reports of a run, and the steps that it tells of."""

    def __init__(self, reports: Sequence[Any], steps: Sequence[str]) -> None:
        """Keep the reports as they are before they are rendered."""
        self._reports, self._steps = reports, steps
        self.content = pickle.dumps((reports, steps))

    def said(self, renderings: Sequence[str]) -> dict[str, str]:
        """Texts by rendering, and the steps."""
        told = {
            f"{name} {number}": RENDERINGS[name](report)
            for number, report in enumerate(self._reports)
            for name in renderings
        }
        return told | {"progress": "\n".join(self._steps)}
