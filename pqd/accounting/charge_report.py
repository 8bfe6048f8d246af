"""Charges of the current run, kept in memory so that a run that breaks can report its charges.

``Ledger.reserve`` (ledger.py) writes a charge to the disk.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from fractions import Fraction

from pqd.accounting.composition import Charge
from pqd.deciders.numbers import epsilon_text
from pqd.errors import NO_RECORD, PqdError

# Words by which a message says that the run charged nothing.
_DENIED = re.compile(r"(?:(?<=\.) N|; n)othing was spent\b\.?")


@dataclass(slots=True)
class RunCharges:
    """Charges of one run: ``spent`` charges, and ``unused`` charges, for which nothing was drawn.

    ``tables`` has the label of the table of each charge, in the order of the charges.
    ``check_standing`` raises LostLedgerError if the ledger has lost the run's charges or replayed
    answers.
    """

    spent: list[Charge] = field(default_factory=list)
    unused: list[Charge] = field(default_factory=list)
    tables: list[tuple[str, Charge]] = field(default_factory=list)
    check_standing: Callable[[], object] = bool

    @property
    def epsilon(self) -> Fraction:
        """Epsilon of all charges."""
        return sum((charge.epsilon for charge in (*self.spent, *self.unused)), Fraction(0))

    @property
    def delta(self) -> Fraction:
        """Delta of all charges."""
        return sum((charge.delta for charge in (*self.spent, *self.unused)), Fraction(0))

    def add(self, charge: Charge, table: str) -> None:
        """Count a charge of the table with this label."""
        self.spent.append(charge)
        self.tables.append((table, charge))

    def take_back(self) -> None:
        """Forget the last charge, which was not written."""
        self.spent.pop()
        self.tables.pop()

    def leave_unused(self, charge: Charge) -> None:
        """Move a charge from the spent charges to the unused charges."""
        self.spent.remove(charge)
        self.unused.append(charge)

    @property
    def amount(self) -> str:
        """Sum of all charges in words, of each table by itself if there are several."""
        if len({label for label, _ in self.tables}) < 2:
            return _amount(self.epsilon, self.delta)
        sums: dict[str, tuple[Fraction, Fraction]] = {}
        for label, charge in self.tables:
            epsilon, delta = sums.get(label, (Fraction(0), Fraction(0)))
            sums[label] = epsilon + charge.epsilon, delta + charge.delta
        return " and ".join(f"{_amount(*each)} on {label}" for label, each in sums.items())

    @property
    def text(self) -> str:
        """Sentence about the run's charges, without a full stop; empty if nothing was charged."""
        if not (self.spent or self.unused):
            return ""
        amount = f"{self.amount} was charged and stays charged (pqd ledger show)"
        if self.spent:
            return f"{amount}; a repeated run pays nothing for what this run has answered"
        return (
            f"{amount}, but nothing was drawn for it: a repeated run on the table as it was uses "
            "this charge and pays nothing more"
        )


def _amount(epsilon: Fraction, delta: Fraction) -> str:
    more = f" and delta {float(delta):.3g}" if delta else ""
    return f"epsilon {epsilon_text(epsilon)}{more}"


_CURRENT: ContextVar[RunCharges] = ContextVar("pqd_run_charges")


def run_charges() -> RunCharges:
    """Charges of the current run."""
    try:
        return _CURRENT.get()
    except LookupError:
        return begin_charges()


def begin_charges() -> RunCharges:
    """Empty charges of a new run."""
    charges = RunCharges()
    _CURRENT.set(charges)
    return charges


@contextmanager
def reporting_charges() -> Iterator[None]:
    """Context in which every error of pqd reports what the run has charged."""
    try:
        yield
    except PqdError as error:
        error.args = (with_charges(str(error)),)
        raise


def reports_charges(message: str) -> bool:
    """Whether a message reports what the run has charged."""
    charges = run_charges().text
    return bool(charges) and charges[1:] in message


def with_charges(message: str) -> str:
    """Message that ends with the run's charges, unless it reports them already."""
    charges = run_charges().text
    if not charges:
        return message
    # The code that wrote "nothing was spent" may not know of earlier charges of the same run.
    message = _DENIED.sub("", message)
    if NO_RECORD in message:
        charges = f"{run_charges().amount} was charged"
    if charges[1:] in message:
        return message
    return f"{message.rstrip('.')}. {charges[0].upper()}{charges[1:]}."
