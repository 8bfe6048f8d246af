"""Header of delimited text: its first line and nothing else."""

from pathlib import Path

import pytest

from pqd.engine.tables import open_table
from pqd.errors import TableError


def columns_of(path: Path, content: str | bytes) -> tuple[str, ...]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return open_table(path, "private").columns


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_only_the_first_line_is_the_header(end: str, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    assert columns_of(path, f"a,b{end}1;2;3;4,5{end}") == ("a", "b")
    # What follows is neither decoded nor looked into for quotes.
    assert columns_of(path, f'a,b{end}"'.encode() + b"\xff\0") == ("a", "b")
    for follows in ('1,2"', "1,2"):
        with pytest.raises(TableError, match="not a CSV header"):
            columns_of(path, f'"a,b{end}{follows}{end}')


def test_a_line_without_end_is_no_header(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="does not begin with a line of column names"):
        columns_of(tmp_path / "p.csv", "x" * (1 << 21))
