"""Locations of tables: what is an address, and what a table is called for short."""

from pathlib import Path

import pytest

from pqd.engine.sources.locations import location_of, short_name
from pqd.errors import TableError


@pytest.mark.parametrize("text", ["host=h password=hunter-2", "dbname = hr user=me"])
def test_a_connection_string_is_no_path_and_is_not_quoted(text: str) -> None:
    with pytest.raises(TableError, match="connection string of libpq; write postgresql") as caught:
        location_of(text)
    assert "=" not in str(caught.value).replace("?table=schema.name", "")


@pytest.mark.parametrize(
    "address",
    ["postgresq://me:zebra@host/db?table=a", "postgresql:/zebra", "s3://zebra/*.parquet"],
)
def test_of_an_address_that_is_not_known_only_the_beginning_is_told(address: str) -> None:
    scheme = address.partition("/")[0]
    with pytest.raises(TableError, match=f"at an address that begins with '{scheme}';") as caught:
        location_of(address)
    assert "zebra" not in str(caught.value)


@pytest.mark.parametrize("given", ["people.csv", "C:/people.csv", "a:b/people.csv"])
def test_a_path_is_no_address(given: str) -> None:
    assert location_of(given).path == Path(given)


def test_a_file_wins_over_what_its_name_looks_like(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd:").mkdir()
    (tmp_path / "odd:" / "people.csv").write_text("age\n1\n", "utf-8")
    assert location_of("odd:/people.csv").path == Path("odd:/people.csv")


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("data/people.csv.gz", "people"),
        ("data/people/", "people"),
        ("data/people/*.csv", "people"),
        ("data/people/*/part-?.csv", "people"),
        ("*.csv", "copy"),
        ("store.duckdb::hr.people", "people"),
        ('postgresql://me@host/db?table=hr."People"', "People"),
        ("spark://hr.people", "people"),
    ],
)
def test_a_table_has_a_short_name(given: str, name: str) -> None:
    assert short_name(given) == name
