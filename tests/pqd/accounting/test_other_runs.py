"""Runs that another run overtakes: what it has charged and recorded is seen before a price."""

from collections.abc import Callable
from contextvars import copy_context
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

from pqd.accounting.accountant import Accountant
from pqd.accounting.accounts import Budget
from pqd.accounting.ledger import Ledger
from pqd.commands.audit import run_audit
from pqd.commands.compare import run_compare
from pqd.commands.profile import run_profile
from pqd.comparison.comparison_parameters import ComparisonParameters
from pqd.deciders import SimulatedNoise
from pqd.deciders.note import Note
from pqd.errors import BudgetError, RunError
from pqd.marginals.profile_parameters import ProfileParameters
from pqd.parameters import Parameters
from pqd.progress import Progress, Step, silent
from pqd.reports.models.audit import AuditReport
from pqd.reports.models.compare import CompareReport
from pqd.reports.models.profile import ProfileReport
from pqd.sql.workload_files import as_queries

COPY = pd.DataFrame({"v": [n % 6 for n in range(490)]})
SECRET = pd.DataFrame({"v": [n % 5 for n in range(500)]})


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.sqlite"
    opened = Ledger(path)
    opened.set_limit(Budget(Fraction(3)))
    opened.close()
    return path


def spent(path: Path) -> list[Fraction]:
    opened = Ledger(path)
    try:
        return [account.epsilon for account in opened.accounts]
    finally:
        opened.close()


def parameters(epsilon: int) -> Parameters:
    return Parameters.parse(tau=20, epsilon=epsilon, alpha="0.05")


def audit(path: Path, epsilon: int, progress: Progress = silent) -> AuditReport:
    queries, noise = as_queries("SELECT COUNT(*) FROM D WHERE v > 2"), SimulatedNoise(1)
    accountant = Accountant(path, dataset="people")
    return run_audit(
        SECRET, COPY, queries, parameters(epsilon), noise, progress, accountant=accountant
    )


def comparison(path: Path, progress: Progress) -> CompareReport:
    """Compare at epsilon 2 with references at epsilon 1."""
    stated = ComparisonParameters.parse(parameters(2), None, 1)
    queries, noise = as_queries("SELECT COUNT(*) FROM D WHERE v < 2"), SimulatedNoise(1)
    accountant = Accountant(path, dataset="people")
    return run_compare(SECRET, {"a": COPY}, queries, stated, noise, progress, accountant=accountant)


def once(at: str, other: Callable[[], object], times: int = 1) -> Progress:
    """Progress that lets another run go first when a stage begins for the ``times``-th time."""
    begun: list[str] = []

    def show(stage: Step | Note, done: int = 0, total: int = 0) -> None:
        del done, total
        begun.append(str(stage))
        if stage == at and begun.count(at) == times:
            # As in a process of its own: what it charges is not this run's.
            copy_context().run(other)

    return show


def test_what_another_run_has_recorded_meanwhile_is_replayed(ledger: Path) -> None:
    """The limit leaves nothing for a second charge, and none is needed."""
    report = audit(ledger, 3, once(Step.READING_COPY, lambda: audit(ledger, 3)))
    assert report.spent == 0
    assert report.verdicts[0].replayed
    assert spent(ledger) == [3]


@pytest.mark.parametrize("stage", [Step.READING_COPIES, Step.RECOGNISING])
def test_references_are_not_paid_for_where_the_comparison_cannot_be(
    ledger: Path, stage: str
) -> None:
    with pytest.raises(BudgetError, match="Nothing was spent"):
        comparison(ledger, once(stage, lambda: audit(ledger, 1)))
    assert spent(ledger) == [1]


def test_a_refusal_after_the_references_says_that_they_were_paid_for(ledger: Path) -> None:
    overtaken = once(Step.MEASURING, lambda: audit(ledger, 1))
    with pytest.raises(RunError, match="the references were paid for, and then") as refused:
        comparison(ledger, overtaken)
    assert "Nothing was spent" not in str(refused.value)
    assert spent(ledger) == [2]


def profile(path: Path, progress: Progress = silent) -> ProfileReport:
    """Profile at epsilon 2 for the distances, and 1/2 for the cells of the worst marginal."""
    stated = ProfileParameters.parse(total_epsilon="2.5", zoom=1)
    noise, accountant = SimulatedNoise(1), Accountant(path, dataset="people")
    return run_profile(SECRET, COPY, stated, noise, progress, accountant=accountant)


def test_distances_are_not_paid_for_where_the_cells_cannot_be(ledger: Path) -> None:
    for number in (1, 2):
        with pytest.raises(BudgetError, match="Nothing was spent"):
            profile(ledger, once(Step.RECOGNISING, lambda: audit(ledger, 1), number))
        assert spent(ledger) == [1]


def test_a_refusal_after_the_distances_says_that_they_were_paid_for(ledger: Path) -> None:
    overtaken = once(Step.MEASURING, lambda: audit(ledger, 1))
    with pytest.raises(RunError, match="the distances were paid for, and then") as refused:
        profile(ledger, overtaken)
    assert "Nothing was spent" not in str(refused.value)
    assert spent(ledger) == [3]
    # They are replayed, and what was refused is refused at no cost.
    with pytest.raises(BudgetError, match="Nothing was spent"):
        profile(ledger)
    assert spent(ledger) == [3]
