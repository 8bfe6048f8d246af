"""Tables, good copies of them, and copies that are damaged on purpose.

A good copy is an independent half of the rows: the private table is the other half.  Each damage is
planted into the good copy, and names the columns that it spoils.  Everything is seeded.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

SEED = 41
LARGEST_HALF = 24_421
LOST_ROWS = 200
CITIES: tuple[str, ...] = (
    "Basel",
    "Bern",
    "Biel",
    "Chur",
    "Genf",
    "Köln",
    "Lausanne",
    "Lugano",
    "Luzern",
)
CITIES += ("Winterthur", "Zug", "Zürich")
SEGMENTS = ("student", "family", "single", "senior", "business")
DIAGNOSES = ("J11", "K35", "I10", "E11", "M54", "J45", "F32", "N39", "F20", "C50", "I21", "G35")
WORDS: tuple[str, ...] = (
    "called",
    "asked",
    "wants",
    "offer",
    "letter",
    "card",
    "lost",
    "moved",
    "address",
    "back",
)
WORDS += ("office", "fee", "complaint", "visit", "mortgage", "pension", "waiting", "signed", "open")
Generator = np.random.Generator
Plant = Callable[[pd.DataFrame, Generator], pd.DataFrame]


@dataclass(frozen=True)
class Roles:
    """Columns of a table that a damage is planted into; an empty name where a table has none.

    ``rare`` is a column, a value that few rows have, and a column of numbers of these rows.
    """

    pair: tuple[str, str]
    lost: Sequence[str]
    rare: tuple[str, object, str]
    emptied: str
    missing: str
    identifiers: str
    shifted: tuple[str, float]
    heaped: tuple[str, float]
    filled: Sequence[str] = ()


@dataclass(frozen=True)
class Damage:
    """A copy that is damaged on purpose, and names of which a report should tell at least one.

    These are the damaged columns, or properties of the whole table; none where a copy should pass.
    """

    name: str
    names: frozenset[str]
    copy: pd.DataFrame = field(repr=False)


REAL = {
    "adult": Roles(
        ("marital-status", "relationship"),
        ("native-country", "education", "workclass", "occupation"),
        ("capital-loss", None, "capital-loss"),
        "workclass",
        "sex",
        "native-country",
        ("age", 3),
        ("hours-per-week", 2),
    ),
    "bank": Roles(
        ("age", "marital"),
        ("job", "education", "default", "month"),
        ("default", "yes", "balance"),
        "job",
        "housing",
        "month",
        ("duration", 60),
        ("", 0),
    ),
    "cps": Roles(
        ("marital", "sex"),
        ("marital", "race"),
        ("race", 3, "income"),
        "race",
        "sex",
        "marital",
        ("age", 3),
        ("income", 400),
    ),
    "taxi": Roles(
        ("fare_amount", "trip_distance"),
        ("payment_type", "RatecodeID", "extra"),
        ("payment_type", 3, "total_amount"),
        "RatecodeID",
        "store_and_fwd_flag",
        "extra",
        ("fare_amount", 1.5),
        ("fare_amount", 0.24),
        ("passenger_count", "RatecodeID"),
    ),
    "blood": Roles(
        ("Recency", "Donated"),
        ("Donated",),
        ("Frequency", None, "Monetary"),
        "Donated",
        "Time",
        "Recency",
        ("Time", 12),
        ("Monetary", 120),
    ),
}
GENERATED = Roles(
    ("segment", "income"),
    ("diagnosis", "city", "segment"),
    ("fraud", "yes", "fraud_amount"),
    "credit_score",
    "segment",
    "city",
    ("opened_on", 90),
    ("loan_amount", 450),
    ("loan_amount", "credit_score", "last_login"),
)
TABLES = (*REAL, "generated")


def table_of(name: str, data: Path) -> pd.DataFrame:
    """Rows of a table, shuffled: a real one of the folder ``data``, or the generated one."""
    if name == "generated":
        return generated_table(2 * LARGEST_HALF)
    table = pd.read_parquet(data / f"{name}_private.parquet")
    return table.sample(frac=1, random_state=SEED).reset_index(drop=True)


def roles_of(name: str) -> Roles:
    """Columns of a table that damages are planted into."""
    return REAL.get(name, GENERATED)


def halves(
    table: pd.DataFrame, private_rows: int, copy_rows: int, rng: Generator
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two disjoint random parts of a table: private rows, and a good copy."""
    order = rng.permutation(len(table))[: private_rows + copy_rows]
    return (
        table.iloc[order[:private_rows]].reset_index(drop=True),
        table.iloc[order[private_rows:]].reset_index(drop=True),
    )


def generated_table(rows: int, seed: int = SEED) -> pd.DataFrame:
    """Table of bank customers, with all that real tables have and the public ones here lack.

    Dates, moments, money, missing values, booleans, zip codes with leading zeros, free text that is
    empty in 55 % of the rows, identifiers, and 4 % of fraud rows that have amounts of their own.
    """
    rng = np.random.default_rng(seed)
    age = np.clip(rng.gamma(9, 5.2, rows), 18, 96).astype(int)
    young, old = age < 27, age > 64
    usual = rng.choice(5, rows, p=(0.04, 0.38, 0.36, 0.06, 0.16))
    segment = np.where(young & (rng.random(rows) < 0.6), 0, usual)
    segment = np.where(old & (rng.random(rows) < 0.8), 3, segment)
    city = rng.choice(12, rows, p=np.array([14, 12, 5, 4, 13, 8, 9, 4, 6, 7, 3, 15]) / 100)
    income = np.exp(rng.normal(np.array([9.6, 11.1, 10.9, 10.4, 11.7])[segment], 0.4))
    income = np.where(rng.random(rows) < 0.4, income.round(-3), income.round(2))
    loan = rng.random(rows) < np.array([0.06, 0.42, 0.3, 0.08, 0.5])[segment]
    amount = np.maximum(income * rng.gamma(2, 0.4, rows), 500)
    amount = np.where(rng.random(rows) < 0.85, amount.round(-3) + 500, amount.round(0))
    fraud = rng.random(rows) < 0.04
    days = rng.integers(0, 3_650, rows) - 365 * (age > 40)
    opened = pd.Timestamp("2016-01-04") + pd.to_timedelta(days, unit="D")
    seconds = rng.integers(0, 86_400 * 300, rows) + 86_400 * 60 * young
    login = pd.Timestamp("2025-01-01") + pd.to_timedelta(seconds, unit="s")
    score = np.clip(rng.normal(600 + 40 * (segment == 4) - 60 * loan, 80), 300, 850).round()
    likely = np.array([22, 9, 19, 14, 13, 10, 7, 2.5, 0.8, 0.8, 0.8, 0.6]) / 100
    words = [" ".join(rng.choice(WORDS, rng.integers(2, 9))) for _ in range(rows)]
    return pd.DataFrame(
        {
            "iban": [f"CH{n:019d}" for n in rng.integers(0, 10**18, rows)],
            "opened_on": pd.Series(opened).dt.date.astype(str),
            "last_login": pd.Series(login).where(rng.random(rows) > 0.12).astype("string"),
            "age": age,
            "city": np.array(CITIES)[city],
            "zip": [
                f"0{6000 + 250 * c + z}"[-5:]
                for c, z in zip(city, rng.integers(0, 9, rows), strict=True)
            ],
            "segment": np.array(SEGMENTS)[segment],
            "income": income,
            "has_loan": loan,
            "loan_amount": pd.Series(amount).where(loan),
            "credit_score": pd.Series(score).where(rng.random(rows) > 0.08),
            "fraud": np.where(fraud, "yes", "no"),
            "fraud_amount": pd.Series(np.exp(rng.normal(5.5, 1, rows)).round(2)).where(fraud),
            "diagnosis": rng.choice(DIAGNOSES, rows, p=likely / likely.sum()),
            "note": pd.Series(words).where(rng.random(rows) > 0.55),
        }
    )


def damages(copy: pd.DataFrame, roles: Roles, seed: int = SEED) -> list[Damage]:
    """The good copy with each of the twelve damages, in the order of the table.

    A damage is left out where the table has no such column.
    """
    rng = np.random.default_rng(seed)
    every, (_, second) = list(map(str, copy)), roles.pair
    found = [
        Damage(
            "columns shuffled",
            frozenset([*every, "columns", "relations"]),
            shuffled(copy, every, rng),
        ),
        Damage("one pair broken", frozenset(roles.pair), shuffled(copy, [second], rng)),
    ]
    column, value = rarest(copy, roles.lost)
    lost = copy.assign(**{column: copy[column].where(copy[column] != value, _mode(copy[column]))})
    found.append(Damage("a value lost", frozenset([column]), lost))
    found.append(_rare_amounts(copy, roles))
    emptied = copy.assign(**{roles.emptied: pd.Series([None] * len(copy), dtype="object")})
    found.append(Damage("a column emptied", frozenset([roles.emptied]), emptied))
    found.append(
        Damage("a column missing", frozenset([roles.missing]), copy.drop(columns=roles.missing))
    )
    names = [f"{roles.identifiers}-{n:07d}" for n in rng.permutation(len(copy))]
    found.append(
        Damage(
            "identifiers in a column",
            frozenset([roles.identifiers]),
            copy.assign(**{roles.identifiers: names}),
        )
    )
    column, by = roles.shifted
    found.append(
        Damage(
            "dates or a number shifted",
            frozenset([column]),
            copy.assign(**{column: _shifted(copy[column], by)}),
        )
    )
    column, by = roles.heaped
    if by:
        found.append(
            Damage(
                "heaping removed",
                frozenset([column]),
                copy.assign(**{column: _spread(copy[column], by, rng)}),
            )
        )
    kept = copy.iloc[: len(copy) // 2]
    twice = pd.concat([kept, kept, copy.iloc[: len(copy) % 2]], ignore_index=True)
    found.append(Damage("rows duplicated", frozenset(["rows", "twice"]), twice))
    found.append(Damage("a tenth of the rows", frozenset(), copy.iloc[: len(copy) // 10]))
    if roles.filled:
        filled = copy.assign(
            **{name: copy[name].fillna(copy[name].mode().iloc[0]) for name in roles.filled}
        )
        found.append(Damage("NULLs filled", frozenset(roles.filled), filled))
    return found


def rarest(copy: pd.DataFrame, columns: Sequence[str]) -> tuple[str, object]:
    """Column and value whose number of rows is next to 200."""
    counts = {
        (name, value): count
        for name in columns
        for value, count in copy[name].value_counts().items()
    }
    return min(counts, key=lambda each: abs(counts[each] - LOST_ROWS))


def shuffled(copy: pd.DataFrame, columns: Sequence[str], rng: Generator) -> pd.DataFrame:
    """Table whose columns are shuffled, each by itself."""
    return copy.assign(
        **{name: copy[name].iloc[rng.permutation(len(copy))].array for name in columns}
    )


def _mode(column: pd.Series) -> object:
    return column.mode().iloc[0]


def _rare_amounts(copy: pd.DataFrame, roles: Roles) -> Damage:
    column, value, amount = roles.rare
    chosen = copy[column] == value
    if value is None:
        chosen = copy[column] > copy[column].quantile(0.95)
    number = copy[amount]
    times = number.where(~chosen, number * 1000)
    return Damage("rare amounts x 1,000", frozenset([amount]), copy.assign(**{amount: times}))


def _shifted(column: pd.Series, by: float) -> pd.Series:
    if pd.api.types.is_numeric_dtype(column):
        return column + by
    moved = pd.to_datetime(column) + pd.Timedelta(days=by)
    return moved.dt.date.astype(str)


def _spread(column: pd.Series, by: float, rng: Generator) -> pd.Series:
    """Column whose numbers are moved by up to ``by``, on their own lattice of integers or cents."""
    if isinstance(by, int):
        return column + rng.integers(-by, by + 1, len(column))
    return (column + rng.uniform(-by, by, len(column))).round(2)
