"""Tables are known as earlier versions knew them: the numbers are what those versions gave."""

from pathlib import Path

import pyarrow as pa
import pytest

from pqd.engine.duckdb import DuckDBEngine
from pqd.engine.earlier_recognition import earlier_digest
from pqd.engine.tables import open_table

KEY = b"k" * 32
PACKED = "1f8b08000000000002034bd449e232d4a9e00200f4a0010008000000"
FILES: dict[str, tuple[bytes, str]] = {
    "t.csv": (
        b"a;b\n1;x\n2;\n",
        "2e23eec3a464cdbf2277c847d8e1d4693709ad02d43233457524ba66a774ab66",
    ),
    "it's.tsv": (
        b"a\tb\n1\tx\n",
        "1e55aaccdb169d733b1f0e40cd073f31c96b6967ac0cdda13b0ddec4acd51d49",
    ),
    "t.csv.gz": (
        bytes.fromhex(PACKED),
        "128a51c816478766d4992b59e1931689e53ccd6ca4fe160e66f3504dc453656f",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_digests_of_files_are_what_they_were(name: str, tmp_path: Path) -> None:
    content, digest = FILES[name]
    path = tmp_path / name
    path.write_bytes(content)
    found = earlier_digest(open_table(path, "private"))
    assert found is not None
    assert found.hex() == digest


def test_contents_of_tables_are_what_they_were() -> None:
    tables: list[tuple[pa.Table, str]] = [
        (
            pa.table({"b": ["x", "y", None], "A": [1, 2, 2]}),
            '[["a", "b"], "3", "22328051491662634961", "44176427422480491171"]',
        ),
        (
            pa.table({"v": [1.0, 2.0, 2.0, None]}),
            '[["v"], "4", "28730531112908486370", "46957520745059798814"]',
        ),
        (pa.table({"v": pa.array([], pa.string())}), '[["v"], "0", "None", "None"]'),
    ]
    for source, content in tables:
        table = open_table(source, "private")
        assert earlier_digest(table) is None
        assert DuckDBEngine().earlier_content(table, KEY) == content
