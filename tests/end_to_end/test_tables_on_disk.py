"""Tables that are counted batch by batch, and of which no code is held, are answered alike."""

import pytest

from pqd.engine.reading import columns, row_codes
from pqd.engine.reading.columns import Columns
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
    made, between = Columns.batches, RowCodes.between

    def counted(self: Columns, names: set[str]) -> list[Columns]:
        batches.append(list(made(self, names)))
        return batches[-1]

    def looked_up(self: RowCodes, first: int, last: int) -> object:
        read.append(self.in_memory)
        return between(self, first, last)

    monkeypatch.setattr(Columns, "batches", counted)
    monkeypatch.setattr(RowCodes, "between", looked_up)
    assert ran(name).content == whole.content
    # It did happen; persons are told apart in all rows at once.
    assert not all(read)
    assert "people" in name or max(map(len, batches)) > 1
