"""Tables in parts: a folder or a pattern of files, one table in the order of their names."""

import gzip
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pqd
from pqd.accounting.ledger_location import ledger_path
from pqd.engine.counting.persons import person_codes
from pqd.engine.sources.locations import location_of
from pqd.engine.synthetic_table import SyntheticTable
from pqd.engine.tables import open_table
from pqd.errors import NotPublicError, ParameterError, PqdError, TableError
from pqd.planning.table_separation import separate_tables
from pqd.sql.schema import Kind
from tests.support.batches import read_batch

KEY = b"a key of 32 bytes for the tests."
Command = Callable[..., tuple[int, str, str]]
QUERY = "SELECT COUNT(*) FROM D WHERE a > 2"


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    content = text.encode()
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    return path


@pytest.fixture(autouse=True)
def no_ledger_is_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PQD_LEDGER")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    written(tmp_path / "lake" / "part-2.csv", "a,b\n3,z\n")
    written(tmp_path / "lake" / "part-10.csv.gz", "a;b\n1;x\n2;y\n")
    written(tmp_path / "lake" / "part-3.tsv", "a\tb\n4\tw\n")
    written(tmp_path / "lake" / "_SUCCESS", "")
    written(tmp_path / "lake" / ".part-3.tsv.crc", "?")
    written(tmp_path / "lake" / "pqd-ledger.sqlite", "?")
    written(tmp_path / "whole.csv", "a,b\n4,w\n3,z\n1,x\n2,y\n")
    return tmp_path / "lake"


def rows(given: object) -> list[tuple[object, ...]]:
    table = open_table(given, "private")
    columns = read_batch(table, table.columns).columns.values()
    cells = [[c.values[int(code)].as_py() for code in c.codes] for c in columns]  # noqa: PD011
    return list(zip(*cells, strict=True))


@pytest.mark.parametrize("pattern", ["", "/", "/*", "/part-*", "/part-[0-9]*.*"])
def test_parts_are_one_table_in_the_order_of_their_names(folder: Path, pattern: str) -> None:
    given = f"{folder}{pattern}"
    assert rows(given) == [("1", "x"), ("2", "y"), ("3", "z"), ("4", "w")]
    table, whole = open_table(given, "private"), open_table(folder.parent / "whole.csv", "private")
    assert [path.name for path in table.files] == ["part-10.csv.gz", "part-2.csv", "part-3.tsv"]
    assert table.textual
    engine = SyntheticTable()
    assert engine.content(table, KEY) == engine.content(whole, KEY)
    assert ledger_path(given) == folder / "pqd-ledger.sqlite"
    assert table.source.folder == folder


def test_labels(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    labels = {"": "lake", "/*": "lake/*", "/*.csv": "lake/*.csv", "/part-*.csv": "part-*.csv"}
    for pattern, label in labels.items():
        assert open_table(f"{folder}{pattern}", "private").label == label
    assert open_table("part-2*", "private").label == "part-2*"


def test_a_name_that_is_there_wins_over_what_its_signs_may_mean(tmp_path: Path) -> None:
    for name in ("p*.csv", "p1.csv", "a::b.csv"):
        written(tmp_path / name, f"a\n{name}\n")
    assert rows(tmp_path / "p*.csv") == [("p*.csv",)]
    assert rows(tmp_path / "a::b.csv") == [("a::b.csv",)]
    assert rows(tmp_path / "p?.csv") == [("p*.csv",), ("p1.csv",)]


def test_parts_in_folders(tmp_path: Path) -> None:
    for number in (1, 2):
        written(tmp_path / f"y={number}" / "part.csv", f"y\n{number + 5}\n")
    assert rows(tmp_path / "y=*" / "part.csv") == [("6",), ("7",)]
    assert rows(tmp_path / "**" / "*.csv") == [("6",), ("7",)]
    assert location_of(tmp_path / "**" / "*.csv").folder == tmp_path


def test_one_part_is_known_by_its_file(folder: Path) -> None:
    assert (
        open_table(f"{folder}/part-2*", "private").digest()
        == open_table(folder / "part-2.csv", "private").digest()
    )


CHANGES: dict[str, Callable[[Path], object]] = {
    "written": lambda folder: (folder / "part-2.csv").write_text("a,b\n9,z\n", "utf-8"),
    "added": lambda folder: (folder / "part-4.csv").write_text("a,b\n", "utf-8"),
    "removed": lambda folder: (folder / "part-2.csv").unlink(),
    "renamed": lambda folder: (folder / "part-2.csv").rename(folder / "part-5.csv"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_between_is_noticed(folder: Path, change: str) -> None:
    table = open_table(folder, "private")
    before, digest = table.version(), table.digest()
    assert before == table.version()
    CHANGES[change](folder)
    assert table.version() != before
    if change != "removed":
        assert open_table(folder, "private").digest() != digest or change == "renamed"


def test_types_that_hang_on_a_part_s_own_rows_are_no_error(tmp_path: Path) -> None:
    """Pandas guesses them: of a column of which all, or one, is missing, or that holds a text."""
    parts = [
        pa.table({"number": [1, 1 << 60], "nothing": [None, None], "mixed": [1, 2]}),
        pa.table({"number": [2.5, None], "nothing": ["x", None], "mixed": ["x", None]}),
        pa.table({"number": pa.nulls(2), "nothing": ["y", "x"], "mixed": [1.5, 3.0]}),
    ]
    for number, part in enumerate(parts):
        pq.write_table(part, tmp_path / f"{number}.parquet")
    assert rows(tmp_path / "*.parquet") == [
        ("1", None, "1"),
        ("1.152921504606847e+18", None, "2"),
        ("2.5", "x", "x"),
        (None, None, None),
        (None, "y", "1.5"),
        (None, "x", "3"),
    ]


SIGNS = [(1 << 64) - 1, -1]


def test_whole_numbers_of_two_signs_are_their_doubles(tmp_path: Path) -> None:
    for number, kind in zip(SIGNS, (pa.uint64(), pa.int64()), strict=True):
        pq.write_table(pa.table({"a": pa.array([number], kind)}), tmp_path / f"{kind}.parquet")
    assert sorted(rows(tmp_path)) == [("-1",), ("1.8446744073709552e+19",)]


def persons(*parts: pa.Table, folder: Path) -> list[int]:
    """Person of each row."""
    for number, part in enumerate(parts):
        pq.write_table(part, folder / f"{number}.parquet")
    columns = read_batch(open_table(folder, "private"), ["id"])
    codes = person_codes(columns.columns["id"]).codes.tolist()
    first = {code: place for place, code in reversed([*enumerate(codes)])}
    return [first[code] for code in codes]


def test_a_missing_id_in_one_part_makes_no_two_persons_of_another_one(tmp_path: Path) -> None:
    """Pandas makes doubles of whole numbers where one is missing; 1,000 persons became 3."""
    many = pa.table({"id": [1_750_000_000_000_000_000 + 100 * number for number in range(1000)]})
    few = pa.table({"id": [many["id"][0].as_py() / 1.0, 7.0, None]})
    alone = persons(many, folder=tmp_path)
    assert persons(many, few, folder=tmp_path) == [*alone, 0, 1001, 1002]
    texts = pa.table({"id": ["7", None, "x"]})
    assert persons(many, texts, folder=tmp_path) == [*alone, 1000, 1001, 1002]


def test_numbers_of_several_types_are_numbers_in_a_public_table(tmp_path: Path) -> None:
    for number, values in enumerate(([1, 2], [2.5, None])):
        pq.write_table(pa.table({"a": values, "b": ["x", "y"]}), tmp_path / f"{number}.parquet")
    table = open_table(tmp_path, "synthetic")

    assert table.source.loose(table.columns) == ["a"]
    assert SyntheticTable().schema(table, ["a", "b"], {}) == {"a": Kind.NUMBER, "b": Kind.TEXT}


REFUSED: dict[str, tuple[dict[str, str], str, str]] = {
    "other columns": ({"1.csv": "a,b\n", "2.csv": "a,zebra\n"}, "", "2.csv whose columns are not"),
    "other order": ({"1.csv": "a,b\n", "2.csv": "b,a\n"}, "/*", "the same, in the same order"),
    "an empty part": ({"1.csv": "a,b\n", "2.csv": ""}, "/*.csv", "2.csv is empty"),
    "two formats": ({"1.csv": "a\n", "2.parquet": "a\n"}, "", "2.parquet is not Parquet"),
    "other files": (
        {"1.csv": "a\n", "zebra.txt": "a\n"},
        "",
        r"holds files that are no .csv.*/\*\.csv'$",
    ),
    "a folder": ({"1.csv": "a\n", "zebra/2.csv": "a\n"}, "", r"holds folders; .*/\*\.csv'$"),
    "folders": ({"zebra/1.csv": "a\n"}, "", r"holds folders; .*/\*\*/\*\.parquet'$"),
    "none": ({"1.csv": "a\n"}, "/*.parquet", "has no part: no file is there"),
    "no pattern": ({"1.csv": "a\n"}, "/a**b*", "has no part: no file is there"),
    "no folder": ({"1.csv": "a\n"}, "/other/*.csv", "has no part: no file is there"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_parts_that_are_no_table_are_refused(kind: str, tmp_path: Path) -> None:
    files, pattern, words = REFUSED[kind]
    for name, text in files.items():
        written(tmp_path / name, text)
    with pytest.raises(TableError, match=f"^the private table .*{words}") as caught:
        open_table(f"{tmp_path}{pattern}", "private")
    assert "zebra" not in str(caught.value)


def test_csv_and_parquet_are_not_one_table(folder: Path) -> None:
    pq.write_table(pa.table({"a": ["1"], "b": ["x"]}), folder / "part-9.parquet")
    with pytest.raises(TableError, match="has parts of several formats; name its parts by a"):
        open_table(folder, "private")


@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to])
def test_a_link_does_not_count_rows_twice(folder: Path, link: Callable[[Path, Path], None]) -> None:
    link(folder / "part-5.csv", folder / "part-2.csv")
    with pytest.raises(TableError, match="one file as two parts, by a link"):
        open_table(folder, "private")


def frame(folder: Path, name: str, numbers: list[int]) -> Path:
    folder.mkdir(exist_ok=True)
    pd.DataFrame({"a": numbers, "b": 1}).to_parquet(folder / f"{name}.parquet")
    return folder / f"{name}.parquet"


@pytest.fixture
def both(tmp_path: Path) -> tuple[Path, Path]:
    """Private and synthetic folders of two parts each."""
    for number in (1, 2):
        frame(tmp_path / "private", f"{number}", [number, 2, 3] * 20)
        frame(tmp_path / "copy", f"{number}", [number, 2, 4] * 20)
    return tmp_path / "private", tmp_path / "copy"


def test_a_part_of_the_private_table_is_not_public(both: tuple[Path, Path]) -> None:
    private, copy = both

    def run(public: object) -> None:
        pqd.audit(private, public, QUERY, tau=30, epsilon=2)

    run(copy)
    with pytest.raises(NotPublicError, match="is the private table itself"):
        run(f"{private}/*.parquet")
    with pytest.raises(NotPublicError, match="shares a part with the private table"):
        run(private / "1.parquet")
    link = copy / "3.parquet"
    link.symlink_to(private / "2.parquet")
    with pytest.raises(NotPublicError, match="shares a part with the private table"):
        run(copy)
    link.unlink()
    os.link(private / "1.parquet", copy.parent / "other.parquet")
    with pytest.raises(NotPublicError, match="shares a part with the private table"):
        run(copy.parent / "other.parquet")


def test_what_a_part_of_the_private_table_holds_is_not_told(tmp_path: Path) -> None:
    """A part may be one row, and a copy may hold many guesses of it: what is refused is a bit."""
    for name in ("one", "two"):
        private = tmp_path / name
        for number in (1, 2):
            frame(private, f"{number}", [number, 2, 3] * 20)
        frame(private, "3", [5 if name == "one" else 6])
        copy = tmp_path / f"copy of {name}"
        for guess in range(9):
            frame(copy, f"{guess}", [guess])
        separate_tables(private, copy)
        separate_tables(private, copy / "5.parquet")


def test_parts_that_hold_all_that_the_private_ones_do_are_not_public(
    both: tuple[Path, Path],
) -> None:
    private, copy = both
    for number in (1, 2):
        shutil.copy(private / f"{number}.parquet", copy / f"{number}.parquet")
    with pytest.raises(NotPublicError, match="holds the same rows as the private table"):
        separate_tables(private, copy)
    pd.concat(map(pd.read_parquet, sorted(private.glob("*.parquet")))).to_csv(
        copy.parent / "whole.csv", index=False
    )
    with pytest.raises(NotPublicError, match="holds the same rows as the private table"):
        separate_tables(private, copy.parent / "whole.csv")


def test_parts_are_charged_as_the_file_that_holds_all(both: tuple[Path, Path]) -> None:
    """However the table is spelled, its ledger and its account are the same."""
    private, copy = both
    first = pqd.audit(private, copy, QUERY, tau=30, epsilon=2)
    assert (private / "pqd-ledger.sqlite").is_file()
    again = pqd.audit(f"{private}/*.parquet", copy, QUERY, tau=30, epsilon=2)
    assert [v.replayed for v in (*first.verdicts, *again.verdicts)] == [False, True]
    pd.concat(map(pd.read_parquet, sorted(private.glob("*.parquet")))).to_csv(
        private.parent / "whole.csv", index=False
    )
    whole = pqd.audit(
        private.parent / "whole.csv",
        copy,
        QUERY,
        tau=30,
        epsilon=2,
        ledger=private / "pqd-ledger.sqlite",
    )
    assert whole.verdicts[0].replayed


SPEC = """[private]
path = "private/*.parquet"
[synthetic.copy]
path = "copy"
[[check]]
id = "large"
sql = "SELECT COUNT(*) FROM D WHERE a > 2"
tau = 30
epsilon = 2
"""


def test_a_spec_and_the_command_line_name_parts(both: tuple[Path, Path], command: Command) -> None:
    private, copy = both
    (private.parent / "audit.toml").write_text(SPEC, "utf-8")
    report = pqd.check(private.parent / "audit.toml")
    assert (report.private, report.cost.ledger) == ("private/*.parquet", "pqd-ledger.sqlite")
    arguments = ["audit", f"{private}/*.parquet", str(copy), "-q", QUERY, "--tau", "30"]
    code, out, err = command(*arguments, "--epsilon", "2")
    assert code in {0, 1}, err
    assert "private/*.parquet" in out
    for place in (private, f"{private}/*.parquet", f"{private}/1.parquet"):
        assert command("ledger", "show", str(place))[0] == 0
    code, _, err = command(*arguments, "--epsilon", "2", "--json", f"{private}/1.parquet")
    assert (code, "is named like a table" in err) == (2, True)
    code, _, err = command("audit", str(private), str(copy), "--queries", f"{copy}/1.parquet")
    assert code == 2
    code, out, err = command("init", f"{private}/*.parquet", f"{private}/1.parquet", "--file", "-")
    assert (code, "shares a part with the private table" in err) == (2, True)


@pytest.mark.parametrize(
    ("given", "file"),
    [("", "3.parquet"), ("/*.parquet", "3.parquet"), ("/**/*.parquet", "new/3.parquet")],
)
def test_a_table_is_not_released_among_the_parts(
    both: tuple[Path, Path], given: str, file: str
) -> None:
    private, copy = both
    table = private / file
    if given.startswith("/**"):
        table.parent.mkdir()
    with pytest.raises(ParameterError, match=r"would be a part of .* name a file in another"):
        pqd.release(f"{private}{given}", copy, QUERY, total_epsilon=1, table=table)
    assert not table.exists()
    assert not (private / "pqd-ledger.sqlite").exists()


def test_a_table_is_not_released_among_the_parts_of_the_copy(both: tuple[Path, Path]) -> None:
    private, copy = both
    with pytest.raises(ParameterError, match="would be a part of"):
        pqd.release(private, copy, QUERY, total_epsilon=1, table=copy / "3.parquet")
    pqd.release(private, copy, QUERY, total_epsilon=1, table=copy.parent / "3.parquet")


def test_parts_as_a_file_of_queries(folder: Path, command: Command) -> None:
    arguments = ["audit", str(folder), str(folder.parent / "whole.csv"), "--tau", "3"]
    part = str(folder / "part-2.csv")
    code, _, err = command(*arguments, "--epsilon", "2", "--queries", part)
    assert (code, "is a table of this run" in err) == (2, True)


def test_a_part_that_goes_meanwhile_ends_the_run(both: tuple[Path, Path]) -> None:
    private, _ = both
    table = open_table(private, "private")
    (private / "2.parquet").unlink()
    assert table.version() == ()
    with pytest.raises(PqdError, match="could not be read to its end"):
        read_batch(table, ["a"])
