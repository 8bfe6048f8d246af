"""Custodian of one ledger, who charges tables without a run."""

from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from itertools import count
from pathlib import Path

import pytest

from pqd.accounting.accountant import Accountant
from pqd.accounting.accounts import Budget
from pqd.accounting.composition import Charge
from pqd.accounting.data_sets import DataSet
from pqd.accounting.ledger import Ledger
from pqd.engine.synthetic_table import SyntheticTable
from pqd.engine.tables import open_table

NUMBERS = count()


class Custodian:
    """Custodian of one ledger, who charges tables without a run."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "pqd-ledger.sqlite"

    def charge(
        self,
        source: object,
        dataset: str | None = None,
        *,
        epsilon: str | Fraction = "1",
        unit: str | None = None,
        charge: Charge | None = None,
    ) -> DataSet:
        """Charge a table, and give the data set to which it belongs afterwards."""
        accountant = Accountant(self.path, dataset=dataset)
        with closing(accountant.ledger) as ledger:
            table = accountant.recognise(SyntheticTable(), open_table(source, "private"))
            name = str(next(NUMBERS))
            paid = ledger.reserve(
                table, {name: {"id": name, "unit": unit}}, lambda _: charge or costing(epsilon)
            )
            assert paid is not None
            return ledger.data_set(table) or pytest.fail("it belongs to no data set")

    def spent_on(self, source: object) -> Fraction:
        """Epsilon that the ledger knows to be spent on a table, before a charge."""
        accountant = Accountant(self.path)
        with closing(accountant.ledger) as ledger:
            table = accountant.recognise(SyntheticTable(), open_table(source, "private"))
            data_set = ledger.data_set(table)
            return data_set.spent.epsilon if data_set else Fraction(0)

    def limit(self, epsilon: Fraction | int | None, table: int | None = None) -> None:
        with closing(Ledger(self.path)) as ledger:
            limit = Budget(None if epsilon is None else Fraction(epsilon), Fraction(1, 10))
            ledger.set_limit(limit, table, raising=True)

    def act(self, act: Callable[[Ledger], object]) -> None:
        with closing(Ledger(self.path)) as ledger:
            act(ledger)

    def data_sets(self) -> tuple[DataSet, ...]:
        with closing(Ledger(self.path)) as ledger:
            ledger.verify()
            return ledger.data_sets

    def spent(self) -> list[Fraction]:
        return [data_set.spent.epsilon for data_set in self.data_sets()]

    def sum_of_charges(self) -> Fraction:
        """Sum of all charges, from the entries alone."""
        with closing(Ledger(self.path)) as ledger:
            bodies = [entry.body for entry in ledger.entries]
        charges = [Fraction(body["epsilon"]) for body in bodies if body["kind"] == "charge"]
        return sum(charges, Fraction(0))


def costing(epsilon: str | Fraction) -> Charge:
    return Charge(Fraction(epsilon), Fraction(0), "sequential")


def written(path: Path, *ages: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in ("age", *ages)), "utf-8")
    return path
