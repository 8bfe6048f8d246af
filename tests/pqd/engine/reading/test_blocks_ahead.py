"""Blocks that a thread of its own makes ahead are the same ones, in their order."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

from pqd.engine.reading.blocks_ahead import _WAITING, blocks_ahead
from pqd.engine.synthetic_table import SyntheticTable
from pqd.engine.tables import open_table
from pqd.errors import RunError


def counted(number: int, made: list[int], broken: int = -1) -> Iterator[int]:
    for each in range(1, number + 1):
        if each == broken:
            raise pa.ArrowInvalid("cell")
        made.append(threading.get_ident())
        yield each


@pytest.mark.parametrize("number", [0, 1, _WAITING, _WAITING + 1, 50])
def test_they_come_in_their_order_from_one_other_thread(number: int) -> None:
    made: list[int] = []
    assert list(blocks_ahead(counted(number, made))) == list(range(1, number + 1))
    assert len(made) == number
    assert threading.get_ident() not in made
    assert len(set(made)) <= 1


@pytest.mark.parametrize("broken", [1, 3, 20])
def test_what_breaks_is_raised_where_its_block_would_be(broken: int) -> None:
    blocks = blocks_ahead(counted(20, [], broken))
    assert [next(blocks) for _ in range(broken - 1)] == list(range(1, broken))
    with pytest.raises(pa.ArrowInvalid):
        next(blocks)


def test_few_are_made_that_nobody_asks_for() -> None:
    made: list[int] = []
    with closing(blocks_ahead(counted(1000, made))) as blocks:
        assert next(blocks) == 1
    assert 1 <= len(made) <= _WAITING + 1


@pytest.mark.parametrize("longest", [3, 2 << 20])
def test_a_table_is_read_alike(longest: int, tmp_path: Path) -> None:
    """Also where a row is longer than a block, so that one grows."""
    path = tmp_path / "t.csv"
    cells = [[str(n % 91) for n in range(300_000)], [f"v{n % 7}" for n in range(300_000)]]
    cells[1][200_000] = "x" * longest
    pa.csv.write_csv(pa.table(dict(zip("ab", cells, strict=True))), path)
    found = []
    for ahead in (False, True):
        opened, engine = open_table(path, "private"), SyntheticTable()
        engine.read(opened, ["a", "b"], [b"key"], ahead=ahead)
        columns = opened.memory.columns
        values = [columns[name].values.take(pa.array(columns[name].codes)) for name in "ab"]
        found.append((engine.content(opened, b"key"), [each.to_pylist() for each in values]))
    assert found[0] == found[1]
    assert found[1][1] == cells


def test_a_broken_file_is_refused_alike(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    whole = gzip.compress(b"a,b\n" + b"1,2\n" * 1_000_000)
    path.write_bytes(whole[: len(whole) // 2])
    told = set()
    for ahead in (False, True):
        with pytest.raises(RunError) as caught:
            SyntheticTable().read(open_table(path, "private"), ["a"], ahead=ahead)
        told.add(str(caught.value))
    assert len(told) == 1
