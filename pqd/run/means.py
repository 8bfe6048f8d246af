"""Means of a run: secure noise and an account, or in a simulation seeded noise and no account.

A public function asks here for both at once, so seeded noise is never charged or stored, and
secure noise never goes without an account.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from pqd.accounting.accountant import Accountant
from pqd.accounting.ledger_location import ledger_path
from pqd.deciders import Noise, SecureNoise, SimulatedNoise

_SEED: ContextVar[int | None] = ContextVar("pqd_seed", default=None)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Context in which the means of a run are those of a simulation with this seed."""
    token = _SEED.set(seed)
    try:
        yield
    finally:
        _SEED.reset(token)


def is_simulation() -> bool:
    """Whether the context is a simulation, which keeps no account."""
    return _SEED.get() is not None


def noise_of_run() -> Noise:
    """New source of noise: secure, or in a simulation seeded."""
    seed = _SEED.get()
    return SecureNoise() if seed is None else SimulatedNoise(seed)


@dataclass(frozen=True, slots=True)
class Means:
    """Account of a run, or the seed of a simulation; exactly one of them is None."""

    accountant: Accountant | None
    seed: int | None = None

    @classmethod
    def of(
        cls,
        private: object,
        ledger: str | Path | None,
        *,
        dataset: str | None,
        fresh: bool,
        row_is_person: bool,
    ) -> Means:
        """Means of a run on a private table; see ``Accountant`` and ``ledger_path``."""
        seed = _SEED.get()
        if seed is not None:
            return cls(None, seed)
        path = ledger_path(private, ledger)
        return cls(Accountant(path, fresh=fresh, row_is_person=row_is_person, dataset=dataset))

    def noise(self) -> Noise:
        """New source of noise."""
        return SimulatedNoise(self.seed) if self.accountant is None else SecureNoise()
