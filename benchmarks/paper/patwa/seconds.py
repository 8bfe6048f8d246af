"""Table 3: seconds of each decider, beside a plain transcription of the paper on the same rows."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

import pqd
from benchmarks import pandas_pqd
from benchmarks.paper.patwa.cases import QUICK_ROWS, ROWS, SAMPLES, generated
from benchmarks.paper.patwa.errors import EPSILON, PUBLISHED, TAU
from benchmarks.paper.record import Setting

# Table 3 of the paper: seconds per query and run.
PRINTED = {
    "lm_count": 0.312, "em_count": 0.321, "lm_sum": 0.450, "r2t_sum": 4.022, "svt_sum": 9.131,
    "em_median": 0.533, "hist_median": 1.043,
}  # fmt: skip
BOUNDS = {"inctot": {"bounds": (0, 500_000)}, "age": {"bounds": (0, 85)}}


def seconds(setting: Setting) -> pd.DataFrame:
    """Seconds of one decision: of the transcription, and of an audit by pqd.

    The transcription is pandas and numpy on tables in memory, texts as categories.  The audit gets
    the same tables, reads them, charges a ledger on disk, and draws noise from OpenDP; its seconds
    are shared by its queries.  The least of five runs counts, since other work on the machine only
    adds to it.
    """
    rows = QUICK_ROWS if setting.quick else ROWS["census"]
    tables = generated("census", rows)
    workload = pandas_pqd.read_queries(SAMPLES / "census.sql")
    every = pqd.read_queries(SAMPLES / "census.sql")
    lines = []
    for aggregate, deciders in PUBLISHED.items():
        plain = [query for query in workload if query.aggregate == aggregate]
        asked = [query for query in every if query.aggregate == aggregate]
        problems = [
            pandas_pqd.problem_of(query, tables, float(TAU) / 100, float(EPSILON))
            for query in plain[:3]
        ]
        for name in deciders:
            decide = getattr(pandas_pqd, name)
            lines.append(
                {
                    "decider": name,
                    "rows": rows,
                    "printed": PRINTED[name],
                    "transcription": _seconds(partial(_decide, decide, problems)) / len(problems),
                    "audit": _seconds(partial(_audit, tables, asked, name)) / len(asked),
                }
            )
    return pd.DataFrame(lines)


def _seconds(run: Callable[[], object]) -> float:
    """Least seconds of five runs."""
    spent = []
    for _ in range(5):
        start = time.perf_counter()
        run()
        spent.append(time.perf_counter() - start)
    return min(spent)


def _decide(
    decide: pandas_pqd.Decider, problems: Sequence[pandas_pqd.DecisionProblem]
) -> list[bool]:
    """Verdicts of the transcription."""
    return [decide(problem) for problem in problems]


def _audit(
    tables: tuple[pd.DataFrame, pd.DataFrame], queries: list[pqd.Query], decider: str
) -> pqd.AuditReport:
    """Audit by one decider, with a ledger of its own."""
    with TemporaryDirectory() as folder:
        return pqd.audit(
            *tables,
            queries,
            tau=f"{TAU}%",
            epsilon=EPSILON,
            decider=decider,
            columns=BOUNDS,
            ledger=Path(folder) / "ledger.sqlite",
        )
