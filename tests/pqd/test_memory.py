"""Where memory runs out, one message says so, of whatever library's error it is."""

import errno
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

from pqd.engine.scan_plan import ScanPlan
from pqd.engine.sources.frame import Frame
from pqd.engine.synthetic_table import SyntheticTable
from pqd.engine.tables import open_table
from pqd.errors import RunError
from pqd.exception_barrier import INTERNAL, NO_MEMORY, sealed, withheld
from tests.support.batches import read_batch

Ran = tuple[int, str, str]
NONE_LEFT: list[Exception] = [
    MemoryError("malloc of size 9 failed"),
    pa.ArrowMemoryError("malloc of size 9 failed"),
    OSError(errno.ENOMEM, "Cannot allocate memory"),
    duckdb.OutOfMemoryException("Out of Memory Error: failed to allocate"),
    ImportError("libarrow.so: failed to map segment from shared object"),
    RuntimeError("can't start new thread"),
    SystemError("error return without exception set"),
]


def raising(error: Exception) -> Callable[..., NoReturn]:
    def work(*_: object) -> NoReturn:
        raise error

    return work


@pytest.mark.parametrize("error", NONE_LEFT, ids=repr)
def test_it_is_told_that_memory_ran_out(error: Exception) -> None:
    with pytest.raises(RunError, match=f"^{NO_MEMORY}; give the process more"):
        sealed(raising(error))
    arisen = ImportError("PLEASE READ THIS")
    arisen.__cause__ = error
    assert withheld(arisen).startswith(NO_MEMORY)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("failed to map segment"),
        RuntimeError("no number: 'can't start new thread'"),
        ImportError("no module named mapped"),
        OSError(errno.EIO, "Cannot allocate memory"),
        duckdb.ConversionException("'out of memory' is no number"),
    ],
    ids=repr,
)
def test_what_a_cell_says_chooses_no_message(error: Exception) -> None:
    with pytest.raises(RunError, match=f"^{INTERNAL}"):
        sealed(raising(error))


@pytest.mark.parametrize("error", NONE_LEFT[:3], ids=repr)
def test_it_is_no_fault_of_the_copy(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def batches(*_: object) -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"a": [1]})
        raise error

    monkeypatch.setattr(Frame, "batches", batches)
    table = open_table(pd.DataFrame({"a": [1]}), "synthetic")
    with pytest.raises((RunError, MemoryError)) as raised:
        read_batch(table, ["a"])
    assert "check the file" not in str(raised.value)


def test_nor_of_the_query(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SyntheticTable, "_scanner", raising(NONE_LEFT[3]))
    table = open_table(pd.DataFrame({"a": [1]}), "synthetic")
    with pytest.raises(RunError, match=NO_MEMORY):
        SyntheticTable().histograms(table, {}, ScanPlan(()))


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (60 << 20,) * 2)
from pqd.__main__ import main
main()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux, which heeds a limit of addresses")
def test_a_limit_of_addresses_ends_in_one_line(tmp_path: Path, process: Callable[..., Ran]) -> None:
    """So few that Arrow cannot be loaded; with more, a library may end the process itself."""
    pd.DataFrame({"a": [1, 2]}).to_csv(tmp_path / "copy.csv", index=False)
    asked: list[Any] = ["plan", "copy.csv", "-q", "SELECT COUNT(*) FROM D", "--tau", "5%"]
    code, shown, told = process("-c", LIMITED, *asked, cwd=tmp_path)
    assert (code, shown) == (3, "")
    assert told.startswith("pqd: memory ran out")
    assert told.count("\n") == 1


def test_while_the_program_is_loaded(process: Callable[..., Ran]) -> None:
    lacking = (
        "import sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'pqd.interrupts':\n"
        "            raise MemoryError\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from pqd.__main__ import main\n"
        "main()\n"
    )
    code, shown, told = process("-c", lacking)
    assert (code, shown) == (3, "")
    assert told == (
        "pqd: memory ran out while the program was loaded; give the process more (ulimit -v)\n"
    )
