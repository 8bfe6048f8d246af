"""Data sets: one account for all versions of a table, wherever and however they are given."""

import json
import os
import shutil
from collections.abc import Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pytest

from pqd.accounting.accountant import Accountant
from pqd.accounting.accounts import Budget
from pqd.accounting.composition import Charge
from pqd.accounting.data_sets import RecognisedTable, data_set_name
from pqd.accounting.ledger import Ledger
from pqd.accounting.places import KeptPlace, KeyedPlaces
from pqd.engine.synthetic_table import SyntheticTable
from pqd.engine.tables import open_table
from pqd.errors import BudgetError, LedgerError, ParameterError
from tests.support.custodian import Custodian, costing, written


@pytest.fixture
def custodian(tmp_path: Path) -> Custodian:
    return Custodian(tmp_path)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()


# What finds a data set ---------------------------------------------------------------------------


def test_what_is_at_one_place_or_of_one_content_is_one_data_set(
    tmp_path: Path, custodian: Custodian
) -> None:
    first = written(tmp_path / "a" / "people.csv", 1, 2, 3)
    custodian.charge(first)
    renamed = tmp_path / "b" / "persons.csv"
    renamed.parent.mkdir()
    shutil.move(first, renamed)
    custodian.charge(renamed)
    # The new place is known from now on, with other rows as well.
    written(renamed, 1, 2, 3, 4)
    custodian.charge(renamed)
    # And so is the old place.
    written(first, 5)
    custodian.charge(first)
    custodian.charge(pd.DataFrame({"age": ["5"]}))
    custodian.charge(pl.DataFrame({"age": ["5"]}).lazy())
    (data_set,) = custodian.data_sets()
    assert data_set.spent.epsilon == 6
    assert [len(account.runs) for account in data_set.versions] == [2, 1, 3]


def test_other_spellings_and_links_are_one_place(
    tmp_path: Path, custodian: Custodian, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "data" / "people.csv"
    monkeypatch.chdir(tmp_path / "data")
    (tmp_path / "linked").symlink_to(tmp_path / "data")
    spellings = ["people.csv", "./people.csv", "../data/people.csv", str(path), path]
    spellings += [str(tmp_path / "linked" / "people.csv"), "../linked/../data/people.csv"]
    for number, spelling in enumerate(spellings):
        written(path, *range(number + 1))
        custodian.charge(spelling)
    assert custodian.spent() == [len(spellings)]


def test_a_hard_link_is_known_by_its_content(tmp_path: Path, custodian: Custodian) -> None:
    path = written(tmp_path / "data" / "people.csv", 1)
    custodian.charge(path)
    other = tmp_path / "other.csv"
    os.link(path, other)
    custodian.charge(other)
    written(other, 1, 2)
    custodian.charge(other)
    assert custodian.spent() == [3]


def test_tables_beside_each_other_are_apart(tmp_path: Path, custodian: Custodian) -> None:
    custodian.charge(written(tmp_path / "data" / "a-1.csv", 1))
    custodian.charge(written(tmp_path / "data" / "b-1.csv", 2))
    custodian.charge(f"{tmp_path}/data/a-*.csv")
    custodian.charge(f"{tmp_path}/data/b-*.csv")
    with duckdb.connect(str(tmp_path / "s.duckdb")) as connection:
        connection.execute("CREATE TABLE a AS SELECT 7 AS age")
        connection.execute("CREATE TABLE b AS SELECT 8 AS age")
    custodian.charge(f"{tmp_path}/s.duckdb::a")
    custodian.charge(f"{tmp_path}/s.duckdb::b")
    assert custodian.spent() == [2, 2, 1, 1]


def test_a_folder_that_holds_known_tables_unites_them(tmp_path: Path, custodian: Custodian) -> None:
    custodian.charge(written(tmp_path / "data" / "a.csv", 1))
    custodian.charge(written(tmp_path / "data" / "b.csv", 2), epsilon="2")
    assert custodian.spent() == [1, 2]
    data_set = custodian.charge(tmp_path / "data", epsilon="4")
    assert custodian.spent() == [7]
    assert [account.number for account in data_set.versions] == [1, 2, 3]
    # A number from before still names it.
    assert custodian.charge(pd.DataFrame({"age": [9]}), "2").spent.epsilon == 8
    # A new file in the folder belongs to it.
    custodian.charge(written(tmp_path / "data" / "c.csv", 3))
    assert custodian.spent() == [9]


def test_a_part_that_is_a_link_is_known_where_it_lies(tmp_path: Path, custodian: Custodian) -> None:
    stored = written(tmp_path / "stored" / "x.csv", 1)
    (tmp_path / "data" / "x.csv").symlink_to(stored)
    custodian.charge(tmp_path / "data")
    written(stored, 1, 2)
    custodian.charge(stored)
    assert custodian.spent() == [2]


def test_content_and_place_that_disagree_unite_two_data_sets(
    tmp_path: Path, custodian: Custodian
) -> None:
    one, other = (written(tmp_path / "data" / f"{n}.csv", n) for n in (1, 2))
    custodian.charge(one, "ones")
    custodian.charge(other, "twos", epsilon="2")
    custodian.limit(4, table=1)
    custodian.limit(9, table=2)
    shutil.copy(other, one)
    with pytest.raises(ParameterError, match=r'data set "(ones|twos)"'):
        custodian.charge(one, "threes")
    with pytest.raises(BudgetError, match="of 4 for this data set 3 are spent and 1 left"):
        custodian.charge(one, epsilon="2")
    assert custodian.spent() == [1, 2], "what is refused unites nothing"
    data_set = custodian.charge(one, epsilon="1")
    assert data_set.names == ("ones", "twos")
    assert custodian.spent() == [4]
    for name in data_set.names:
        with pytest.raises(BudgetError):
            custodian.charge(pd.DataFrame({"age": [name]}), name, epsilon="1e-9")


# Names -------------------------------------------------------------------------------------------


def test_a_name_ties_versions_together(tmp_path: Path, custodian: Custodian) -> None:
    for number, name in enumerate(["Patients", "patients", " patients "]):
        custodian.charge(written(tmp_path / f"{number}" / "p.csv", number), name)
    custodian.charge(pd.DataFrame({"age": [77]}), "PATIENTS")
    # By its place, without the name.
    custodian.charge(written(tmp_path / "1" / "p.csv", 55))
    (data_set,) = custodian.data_sets()
    assert data_set.names == ("Patients",)
    assert data_set.spent.epsilon == 5


def test_a_name_never_splits(tmp_path: Path, custodian: Custodian) -> None:
    path = written(tmp_path / "data" / "people.csv", 1)
    custodian.limit(2)
    custodian.charge(path)
    # The first name becomes the name of the data set, and a second name is refused.
    written(path, 1, 2)
    custodian.charge(path, "people")
    with pytest.raises(BudgetError):
        custodian.charge(path, "people")
    written(path, 1, 2, 3)
    for name in ("others", "people2"):
        with pytest.raises(ParameterError, match=f'data set "people" .* and "{name}" is stated'):
            custodian.charge(path, name)
    with pytest.raises(ParameterError, match="people"):
        custodian.charge(pd.DataFrame({"age": ["1", "2"]}), "others")
    assert custodian.spent() == [2]


def test_two_names_are_not_united_by_a_slip(tmp_path: Path, custodian: Custodian) -> None:
    path = written(tmp_path / "data" / "people.csv", 1)
    custodian.charge(path, "people")
    custodian.charge(written(tmp_path / "data" / "visits.csv", 2), "visits")
    for name in ("visits", "2"):
        with pytest.raises(ParameterError, match="State the same name again"):
            custodian.charge(path, name)
    assert custodian.spent() == [1, 1]


def test_a_name_joins_a_data_set_without_a_name(tmp_path: Path, custodian: Custodian) -> None:
    path = written(tmp_path / "data" / "people.csv", 1)
    custodian.charge(path)
    custodian.charge(written(tmp_path / "data" / "old.csv", 2), "people")
    custodian.charge(path, "people")
    assert custodian.spent() == [3]


def test_a_data_set_without_a_name_goes_by_the_file_that_messages_name(
    tmp_path: Path, custodian: Custodian
) -> None:
    custodian.limit(3)
    custodian.charge(written(tmp_path / "data" / "people.csv", 1))
    moved = written(tmp_path / "other" / "people.csv", 1, 2)
    with pytest.raises(ParameterError, match=r"1 is people\.csv"):
        custodian.charge(moved)
    custodian.charge(moved, "people.csv")
    (data_set,) = custodian.data_sets()
    assert data_set.names == ("people.csv",)
    assert data_set.spent.epsilon == 2


def test_a_file_name_that_two_data_sets_share_names_neither(
    tmp_path: Path, custodian: Custodian
) -> None:
    for number in (1, 2):
        custodian.charge(written(tmp_path / str(number) / "people.csv", number))
    third = written(tmp_path / "3" / "people.csv", 3)
    with pytest.raises(ParameterError, match=r"data sets 1 and 2 .* are people\.csv; state the"):
        custodian.charge(third, "people.csv")
    custodian.charge(third, "2")
    assert custodian.spent() == [1, 2]


@pytest.mark.parametrize("name", ["", "  ", "a\0b", "x" * 101, "a\x1bb"])
def test_a_name_that_cannot_be(name: str) -> None:
    with pytest.raises(ParameterError, match=r"\(dataset\).*1 to 100 characters"):
        data_set_name(name)


@pytest.mark.parametrize("number", ["2", "0", "007"])
def test_a_number_that_is_none(number: str, tmp_path: Path, custodian: Custodian) -> None:
    path = written(tmp_path / "data" / "people.csv", 1)
    custodian.charge(path)
    with pytest.raises(ParameterError, match="no data set"):
        custodian.charge(pd.DataFrame({"age": [3]}), number)


# What cannot be known ----------------------------------------------------------------------------


def test_what_cannot_be_known_is_refused_where_a_limit_exists(
    tmp_path: Path, custodian: Custodian
) -> None:
    path = written(tmp_path / "data" / "people.csv", 1)
    custodian.limit(3)
    # Nothing was charged before, so it is a version of nothing.
    custodian.charge(path)
    copied = written(tmp_path / "data" / "copied.csv", 1, 2)
    with pytest.raises(ParameterError, match=r"1 is people\.csv") as caught:
        custodian.charge(copied)
    assert caught.value.exit_code == 2
    assert "Nothing was spent. Name the data set (dataset=NAME" in str(caught.value)
    custodian.charge(copied, "1")
    assert custodian.spent() == [2]
    # From here on it is known.
    custodian.charge(written(copied, 1, 2, 3))
    with pytest.raises(BudgetError):
        custodian.charge(copied)
    # A new name says, on the record, that it holds others.
    custodian.charge(written(tmp_path / "data" / "others.csv", 9), "others")
    assert custodian.spent() == [3, 1]


@pytest.mark.parametrize("period", [None, "month"])
def test_any_limit_counts(period: str | None, tmp_path: Path, custodian: Custodian) -> None:
    custodian.charge(written(tmp_path / "data" / "people.csv", 1))
    budget = Budget(Fraction(3))
    if period is None:
        custodian.act(lambda ledger: ledger.set_limit(budget, 1))
    else:
        custodian.act(lambda ledger: ledger.set_limit(budget, period="month"))
    with pytest.raises(ParameterError, match="has a limit, and cannot know"):
        custodian.charge(written(tmp_path / "data" / "other.csv", 2))


def test_a_frame_needs_a_name_where_a_limit_exists(custodian: Custodian) -> None:
    custodian.charge(pd.DataFrame({"age": [1]}))
    custodian.limit(3)
    # Its content is known.
    custodian.charge(pd.DataFrame({"age": [1]}))
    for frame in (pd.DataFrame({"age": [2]}), pl.DataFrame({"age": [2]}).lazy()):
        with pytest.raises(ParameterError, match=r"its rows were not charged .* \(1 is private"):
            custodian.charge(frame)
    custodian.charge(pd.DataFrame({"age": [2]}), "1")
    assert custodian.spent() == [3]


def test_even_the_first_frame_needs_a_name_where_a_limit_exists(custodian: Custodian) -> None:
    """Else nothing would tie the second version to the first."""
    custodian.limit(3)
    with pytest.raises(ParameterError, match="rows in memory have no place"):
        custodian.charge(pd.DataFrame({"age": [1]}))
    for number in range(3):
        custodian.charge(pd.DataFrame({"age": [number]}), "people")
    with pytest.raises(BudgetError):
        custodian.charge(pd.DataFrame({"age": [4]}), "people")


def test_without_a_limit_what_cannot_be_known_is_a_data_set_of_its_own(
    tmp_path: Path, custodian: Custodian
) -> None:
    custodian.charge(written(tmp_path / "data" / "people.csv", 1))
    custodian.charge(written(tmp_path / "data" / "copied.csv", 1, 2))
    assert custodian.spent() == [1, 1]


def test_nothing_that_costs_nothing_needs_a_name(tmp_path: Path, custodian: Custodian) -> None:
    custodian.charge(written(tmp_path / "data" / "people.csv", 1))
    custodian.limit(3)
    custodian.charge(written(tmp_path / "data" / "other.csv", 2), epsilon="0")


# Acts of the custodian ---------------------------------------------------------------------------


def test_an_end_gives_the_next_version_a_budget_of_its_own(
    tmp_path: Path, custodian: Custodian
) -> None:
    path = written(tmp_path / "data" / "people.csv", 1)
    old = path.read_text()
    custodian.limit(2)
    custodian.charge(path, "people", epsilon="2")
    custodian.act(lambda ledger: ledger.end(1, "these are the people of 2027"))
    # The rows of the old data set stay in it, wherever they are.
    for dataset in (None, "people"):
        with pytest.raises(BudgetError):
            custodian.charge(path, dataset)
    written(path, 2)
    custodian.charge(path, "people")
    custodian.charge(path)
    first, second = custodian.data_sets()
    assert (first.ended, second.ended) == ("these are the people of 2027", None)
    assert (first.names, second.names) == (("people",), ("people",))
    assert custodian.spent() == [2, 2]
    path.write_text(old)
    with pytest.raises(BudgetError):
        custodian.charge(path)
    with pytest.raises(ParameterError, match="no data set 1 that goes on"):
        custodian.charge(pd.DataFrame({"age": [3]}), "1")


def test_an_end_must_be_explained_and_is_final(tmp_path: Path, custodian: Custodian) -> None:
    custodian.charge(written(tmp_path / "data" / "people.csv", 1))
    for reason in ("", " \n", "x" * 501, "a\0"):
        with pytest.raises(ParameterError, match="say why in 1 to 500 characters"):
            custodian.act(lambda ledger, why=reason: ledger.end(1, why))  # type: ignore[misc]
    with pytest.raises(LedgerError, match="has no table 2"):
        custodian.act(lambda ledger: ledger.end(2, "others"))
    custodian.act(lambda ledger: ledger.end(1, "others"))
    with pytest.raises(ParameterError, match="was ended before"):
        custodian.act(lambda ledger: ledger.end(1, "others"))


def test_what_is_declared_public_gives_no_budget_back(tmp_path: Path, custodian: Custodian) -> None:
    path = written(tmp_path / "data" / "people.csv", 1)
    custodian.limit(2)
    custodian.charge(path, epsilon="2")
    custodian.act(lambda ledger: ledger.declare(1, "a copy by mistake", public=True))
    with pytest.raises(ParameterError, match=r"declared public \(a copy by mistake\)"):
        custodian.charge(path)
    with pytest.raises(ParameterError, match="declared public"):
        custodian.charge(pd.DataFrame({"age": ["1"]}), "other")
    # A later version at the place still finds what was charged.
    written(path, 1, 2)
    with pytest.raises(BudgetError, match="2 are spent and 0 left"):
        custodian.charge(path)
    custodian.act(lambda ledger: ledger.declare(1, "it was private", public=False))
    written(path, 1)
    with pytest.raises(BudgetError, match="2 are spent and 0 left"):
        custodian.charge(path)


def test_a_table_that_was_charged_by_mistake_stands_in_no_way(
    tmp_path: Path, custodian: Custodian
) -> None:
    """After it was declared public, the true private table needs no name."""
    custodian.limit(2)
    custodian.charge(written(tmp_path / "data" / "copy.csv", 1))
    private = written(tmp_path / "data" / "people.csv", 2)
    with pytest.raises(ParameterError, match="cannot know"):
        custodian.charge(private)
    custodian.act(lambda ledger: ledger.declare(1, "swapped", public=True))
    custodian.charge(private, epsilon="2")
    assert custodian.spent() == [1, 2]
    with pytest.raises(ParameterError, match="is public already"):
        custodian.act(lambda ledger: ledger.declare(1, "again", public=True))
    with pytest.raises(ParameterError, match="is private already"):
        custodian.act(lambda ledger: ledger.declare(2, "again", public=False))


# Persons -----------------------------------------------------------------------------------------

MILLIONTH = Fraction(1, 10**6)


def test_charges_per_row_count_per_person_once_the_most_rows_are_stated(
    tmp_path: Path, custodian: Custodian
) -> None:
    path = written(tmp_path / "data" / "people.csv", 1)
    custodian.charge(path)
    with pytest.raises(BudgetError) as caught:
        custodian.charge(path, unit="Person")
    message = str(caught.value)
    assert 'protects per row, and this run would protect per "Person"' in message
    assert f"pqd ledger rows-per-person {custodian.path} K --table 1" in message
    custodian.act(lambda ledger: ledger.state_rows_per_person(1, 5))
    assert custodian.spent() == [5]
    custodian.charge(written(path, 1, 2), unit="Person", epsilon="1/2")
    custodian.charge(path, unit="person", epsilon="1/2")
    # Later charges per row count so, too, and so does a limit.
    custodian.limit(13)
    with pytest.raises(
        BudgetError, match=r"needs epsilon 10 per person \(2 per row\); of 13 .* 6 are spent"
    ):
        custodian.charge(path, epsilon="2")
    custodian.charge(path, epsilon="7/5")
    assert custodian.spent() == [13]
    with pytest.raises(BudgetError, match='Ask per "person"'):
        custodian.charge(path, unit="household")
    (data_set,) = custodian.data_sets()
    counted = [run.counted for account in data_set.facts(Budget()).versions for run in account.runs]
    assert counted == [5, None, None, 7]


def test_a_table_of_persons_that_is_asked_per_row_is_told_the_way_out(
    tmp_path: Path, custodian: Custodian
) -> None:
    path = written(tmp_path / "data" / "people.csv", 1)
    custodian.charge(path, unit="person")
    with pytest.raises(BudgetError, match=r'protects per "person".*rows-per-person') as caught:
        custodian.charge(path)
    assert "another ledger" not in str(caught.value)
    custodian.act(lambda ledger: ledger.state_rows_per_person(1, 3))
    custodian.charge(path)
    assert custodian.spent() == [4]


def test_no_delta_is_offered_to_a_run_whose_delta_would_count_many_times(
    tmp_path: Path, custodian: Custodian
) -> None:
    path = written(tmp_path / "data" / "people.csv", 1)
    custodian.charge(path)
    custodian.limit(10)
    custodian.act(lambda ledger: ledger.state_rows_per_person(1, 2))
    accountant = Accountant(custodian.path)
    offered: list[Fraction] = []

    def price(left: Fraction) -> Charge:
        offered.append(left)
        return Charge(Fraction(1), left, "optimal")

    with closing(accountant.ledger) as ledger:
        table = accountant.recognise(SyntheticTable(), open_table(path, "private"))
        ledger.check_budget(table, price)
        ledger.check_budget(table, price, unit="person")
    assert offered == [0, Fraction(1, 10)]


@pytest.mark.parametrize("rows", [0, -1, 1_000_001])
def test_a_number_of_rows_that_cannot_be(rows: int, tmp_path: Path, custodian: Custodian) -> None:
    custodian.charge(written(tmp_path / "data" / "people.csv", 1))
    with pytest.raises(ParameterError, match="a whole number from 1 to 1,000,000"):
        custodian.act(lambda ledger: ledger.state_rows_per_person(1, rows))


@pytest.mark.parametrize(
    ("stated", "units", "rows"),
    [
        ((2, 3), ("person", "person"), 3),
        ((2, 3), (None, None), 3),
        ((2, None), (None, "person"), 2),
        # Nobody has said how many rows a person has in the other one.
        ((2, None), ("person", None), None),
        ((None, None), (None, None), None),
    ],
)
def test_the_most_rows_of_a_union(
    stated: Sequence[int | None],
    units: Sequence[str | None],
    rows: int | None,
    tmp_path: Path,
    custodian: Custodian,
) -> None:
    for number, (most, unit) in enumerate(zip(stated, units, strict=True), 1):
        custodian.charge(written(tmp_path / "data" / f"{number}.csv", number), unit=unit)
        if most:
            custodian.act(lambda ledger, n=number, k=most: ledger.state_rows_per_person(n, k))  # type: ignore[misc]
    one, other = custodian.data_sets()
    assert one.united(other).rows_per_person == other.united(one).rows_per_person == rows


# What the ledger tells ---------------------------------------------------------------------------


def test_neither_ledger_nor_export_tells_a_path(tmp_path: Path, custodian: Custodian) -> None:
    folder = tmp_path / "data" / "ward-of-jane-doe"
    custodian.charge(written(folder / "people.csv", 1))
    custodian.charge(folder)
    with closing(Ledger(custodian.path)) as ledger:
        export = ledger.export()
        bodies = [json.loads(entry.text) for entry in ledger.entries]
    assert "jane" not in export
    # The label of a table is its name, which every report shows.
    assert export.count("people.csv") == 1
    places = [place for body in bodies if body["kind"] == "dataset" for place in body["places"]]
    assert all(len(name) == 32 for name, _ in places)
    # Another ledger has other hashes for the same places.
    other = Custodian(tmp_path / "data")
    other.charge(folder)
    with closing(Ledger(other.path)) as ledger:
        theirs = {tuple(p) for e in ledger.entries for p in e.body.get("places", [])}
    assert theirs.isdisjoint(map(tuple, places))


def test_places_that_overlap() -> None:
    folder, file = KeptPlace("folder", "*.csv"), KeptPlace("file")
    below = {"folder": frozenset({("a.csv",), ("deep", "b.csv")})}
    table = KeyedPlaces(frozenset({file}), frozenset({"file"}), below)
    assert table.overlap({file})
    assert table.overlap({folder})
    assert table.overlap({KeptPlace("folder", "**/b.*")})
    assert not table.overlap({KeptPlace("folder", "*.parquet")})
    assert not table.overlap({KeptPlace("folder")})
    assert not table.overlap(set())
    assert KeyedPlaces(frozenset({folder})).overlap({folder})


def test_a_walk_of_unions_keeps_every_charge(custodian: Custodian) -> None:
    """Whatever is united, the sums are those of the entries."""
    tables = [
        RecognisedTable(f"t{n}", f"f{n}", name=f"n{n % 4}" if n % 3 else None) for n in range(9)
    ]
    places = [KeyedPlaces(frozenset({KeptPlace(f"p{n % 5}")})) for n in range(9)]
    with closing(Ledger(custodian.path)) as ledger:
        for number in range(40):
            table = tables[number * 7 % 9]._replace(places=places[number * 5 % 9])
            name = str(number)
            facts = {name: {"id": name}}
            try:
                ledger.reserve(table, facts, lambda _: costing("1"))
            except ParameterError:
                # A second name.
                ledger.reserve(table._replace(name=None), facts, lambda _: costing("1"))
        sums = sum((each.spent.epsilon for each in ledger.data_sets), Fraction(0))
        versions = [a.number for each in ledger.data_sets for a in each.versions]
        assert sums == custodian.sum_of_charges() == 40
        assert sorted(versions) == [account.number for account in ledger.accounts]
        with closing(Ledger(custodian.path)) as again:
            assert again.data_sets == ledger.data_sets


def test_a_damaged_union_is_not_passed_over(tmp_path: Path, custodian: Custodian) -> None:
    custodian.charge(written(tmp_path / "data" / "people.csv", 1))
    with closing(Ledger(custodian.path)) as ledger, ledger._chain.writing() as chain:
        chain.append({"kind": "union", "time": "t", "dataset": 1, "other": 1})
    with pytest.raises(LedgerError, match="does not understand"):
        Ledger(custodian.path)
