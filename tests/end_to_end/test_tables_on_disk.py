"""Tables that are counted batch by batch, and of which no code is held, are answered alike."""

from collections.abc import Iterable

import pytest

from pqd.engine.kernel import tally
from pqd.engine.kernel.tally import Counts
from pqd.engine.reading import columns, row_codes
from pqd.engine.reading.row_codes import RowCodes
from tests.support.noises import Absent
from tests.support.swap_rows import SWAPS
from tests.support.swaps import Outcome


def ran(name: str) -> Outcome:
    """Outcome on the first private table, which no noise hides."""
    swap = SWAPS[name]
    return swap.ran(next(iter(swap.tables)), Absent())


def small(patch: pytest.MonkeyPatch) -> None:
    """Parts of two rows, all of them in the file, and batches of three."""
    patch.setattr(row_codes, "PART", 2)
    patch.setattr(row_codes, "_HELD", 0)
    patch.setattr(columns, "BATCH", 3)


@pytest.mark.parametrize("name", SWAPS)
def test_every_command_says_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ran(name)
    small(monkeypatch)
    batches, read = [], []
    between = RowCodes.between

    def folded(parts: Iterable[Counts]) -> Counts:
        counts = list(parts)
        batches.append(len(counts))
        return tally.folded(counts)

    def looked_up(self: RowCodes, first: int, last: int) -> object:
        read.append(self.in_memory)
        return between(self, first, last)

    monkeypatch.setattr("pqd.engine.duckdb.folded", folded)
    monkeypatch.setattr(RowCodes, "between", looked_up)
    assert ran(name).content == whole.content
    # It did happen; all rows of a person are in one batch.
    assert not all(read)
    assert "person" in name or "people" in name or max(batches) > 1
