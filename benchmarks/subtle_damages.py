"""Damages that the twelve do not name, planted into a good copy of the generated table.

Some of them leave every column and every pair as they were, or change a few rows alone: they show
what a report of columns and pairs cannot see.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from benchmarks.damaged_tables import SEED, Damage, Generator


def subtle_damages(copy: pd.DataFrame, private: pd.DataFrame, seed: int = SEED) -> list[Damage]:
    """The good copy with each damage, in the order of the table; columns are named by each."""
    rng = np.random.default_rng(seed)
    found = [*_values(copy), *_rows(copy, private, rng), *_relations(copy, rng)]
    return [Damage(name, frozenset(names), changed) for name, names, changed in found]


def _values(copy: pd.DataFrame) -> Iterator[tuple[str, set[str], pd.DataFrame]]:
    income, login, amount = copy["income"], copy["last_login"], copy["fraud_amount"]
    yield (
        "two columns swapped",
        {"income", "loan_amount"},
        copy.assign(income=copy["loan_amount"], loan_amount=income),
    )
    yield (
        "a value renamed",
        {"segment"},
        copy.assign(segment=copy["segment"].replace("senior", "Senior")),
    )
    yield "texts in lower case", {"city"}, copy.assign(city=copy["city"].str.lower())
    yield "a blank after each text", {"city"}, copy.assign(city=copy["city"] + " ")
    yield "a rare flag constant", {"fraud"}, copy.assign(fraud="no")
    yield (
        "moments at midnight",
        {"last_login"},
        copy.assign(last_login=login.str[:10] + " 00:00:00"),
    )
    yield "another unit", {"income"}, copy.assign(income=income / 1000)
    few = income.where(copy.index % 50 > 0, income / 1000)
    yield "another unit in 2 % of rows", {"income"}, copy.assign(income=few)
    yield (
        "outliers cut at 99.5 %",
        {"income"},
        copy.assign(income=income.clip(upper=_at(income, 0.995))),
    )
    tail = income.where(income < _at(income, 0.99), income * 10)
    yield "the highest 1 % x 10", {"income"}, copy.assign(income=tail)
    yield "rounded to thousands", {"income"}, copy.assign(income=income.round(-3))
    bins = pd.qcut(income, 20)
    flat = income.groupby(bins, observed=True).transform("median")
    yield "numbers replaced by 20 medians", {"income"}, copy.assign(income=flat)
    steps = pd.Series(np.where(copy.index < 30, 250, copy["age"]))
    yield "30 impossible values", {"age"}, copy.assign(age=steps)
    yield "leading zeros lost", {"zip"}, copy.assign(zip=copy["zip"].astype(int))
    half = amount.where(amount.isna() | (copy.index % 2 == 0), _at(amount, 0.5))
    yield "half of rare amounts the same", {"fraud_amount"}, copy.assign(fraud_amount=half)
    note = copy["note"].where(copy["note"].isna(), "lorem ipsum " + copy.index.astype(str))
    yield "another free text", {"note"}, copy.assign(note=note)
    yield (
        "identifiers repeated",
        {"iban"},
        copy.assign(iban=copy["iban"].iloc[copy.index // 2].array),
    )


def _rows(
    copy: pd.DataFrame, private: pd.DataFrame, rng: Generator
) -> Iterator[tuple[str, set[str], pd.DataFrame]]:
    others = copy[copy["segment"] != "student"]
    lost = others.iloc[rng.integers(0, len(others), len(copy))].reset_index(drop=True)
    yield "rows of a segment lost", {"segment"}, lost
    tenth = len(copy) // 10
    leaked = pd.concat([private.iloc[:tenth], copy.iloc[tenth:]], ignore_index=True)
    yield "a tenth of the rows leaked", {"near", "alarm"}, leaked
    twice = pd.concat([copy.iloc[:tenth], copy.iloc[: len(copy) - tenth]], ignore_index=True)
    yield "a tenth of the rows twice", {"rows", "twice"}, twice
    yield "rows sorted by a column", {"rows"}, copy.sort_values("income", ignore_index=True)


def _relations(copy: pd.DataFrame, rng: Generator) -> Iterator[tuple[str, set[str], pd.DataFrame]]:
    score, income = copy["credit_score"], copy["income"]
    order = copy.index[copy["segment"].ne("single").to_numpy().argsort(kind="stable")]
    values = pd.Series(score.dropna().sample(frac=1, random_state=SEED).array)
    gaps = score.isna().sum()
    moved = pd.Series([np.nan] * gaps + values.tolist(), index=order).sort_index()
    yield "NULLs moved to one segment", {"credit_score"}, copy.assign(credit_score=moved)
    rare = copy["fraud"].eq("yes").to_numpy()
    mixed = income.to_numpy().copy()
    mixed[rare] = rng.permutation(mixed[rare])
    yield "a pair broken in 4 % of rows", {"income"}, copy.assign(income=mixed)
    deciles = income.groupby(pd.qcut(income, 10), observed=True)
    within = deciles.transform(rng.permutation)
    yield "a pair broken within deciles", {"income"}, copy.assign(income=within)
    yield "a triple broken", {"diagnosis"}, copy.assign(diagnosis=_without_a_triple(copy, rng))


def _without_a_triple(copy: pd.DataFrame, rng: Generator) -> pd.Series:
    """Diagnoses changed so that each pair of loan, city and diagnosis keeps its counts.

    Where a loan and the city are both there or both missing, J11 becomes I10; elsewhere I10 becomes
    J11, in as many rows.  Diagnoses depend on no other column.
    """
    values = copy["diagnosis"].to_numpy().copy()
    loan, city = copy["has_loan"].to_numpy(), copy["city"].isin(["Zürich", "Basel"]).to_numpy()
    cells = [
        np.flatnonzero((loan == a) & (city == b) & (values == ("J11" if a == b else "I10")))
        for a in (False, True)
        for b in (False, True)
    ]
    least = min(map(len, cells))
    for cell in cells:
        chosen = rng.choice(cell, least, replace=False)
        values[chosen] = np.where(values[chosen] == "J11", "I10", "J11")
    return pd.Series(values)


def _at(column: pd.Series, share: float) -> float:
    return float(column.quantile(share))
