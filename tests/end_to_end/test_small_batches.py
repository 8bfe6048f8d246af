"""Tables that are counted batch by batch, kept or read again, are answered alike."""

from collections.abc import Iterable

import pytest

from pqd.engine import scan
from pqd.engine.counting import batch, tally
from pqd.engine.counting.tally import Counts
from tests.support.noises import Absent
from tests.support.swap_rows import SWAPS
from tests.support.swaps import Outcome


def ran(name: str) -> Outcome:
    """Outcome on the first private table, which no noise hides."""
    swap = SWAPS[name]
    return swap.ran(next(iter(swap.tables)), Absent())


@pytest.mark.parametrize("name", SWAPS)
def test_every_command_says_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are read two rows at a time, counted three at a time, and kept or read again."""
    whole = ran(name)
    monkeypatch.setattr(batch, "ROWS", 2)
    monkeypatch.setattr(batch, "JOINED", 3)
    monkeypatch.setattr(scan, "JOINED", 3)
    batches = []

    def folded(parts: Iterable[Counts]) -> Counts:
        counts = list(parts)
        batches.append(len(counts))
        return tally.folded(counts)

    monkeypatch.setattr(scan, "folded", folded)
    for kept in (0, 1 << 30):
        monkeypatch.setattr(scan, "_KEPT", kept)
        assert ran(name).content == whole.content
    # All rows of a person are in one batch.
    assert max(batches) > 1 or "person" in name or "people" in name
