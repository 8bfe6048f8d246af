"""DP-PQD on real tables: Adult with a PrivBayes copy, CPS and taxi with copies made here."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

import pqd
from benchmarks.paper.patwa.cases import (
    COPY_EPSILON,
    DOMAINS,
    SAMPLES,
    SEED,
    Case,
    answer_of,
    importable_samples,
    matching,
)
from benchmarks.paper.patwa.errors import EPSILON, OURS, PUBLISHED, TAU, rows
from benchmarks.paper.record import Setting
from pqd.deciders import Histogram
from pqd.deciders.histogram import Integers

if TYPE_CHECKING:
    from treecopy import Attribute

ADULT, CPS, TAXI = (f"{name}_private.parquet" for name in ("adult", "cps", "taxi"))
ADULT_COPY, ADULT_QUERIES = "adult_privbayes_eps1.parquet", "adult_queries.csv"
NEEDS = (ADULT, ADULT_COPY, ADULT_QUERIES, CPS, TAXI)
# Public domains: what a census or a meter can record, not what these tables hold.
ADULT_DOMAINS = {
    "age": (0, 100), "hours-per-week": (0, 100), "education-num": (0, 16),
    "capital-gain": (0, 99_999), "capital-loss": (0, 5_000), "fnlwgt": (0, 1_500_000),
}  # fmt: skip


def tree_copy(
    frame: pd.DataFrame, tree: "Sequence[Attribute]", labels: dict[str, list[str]]
) -> pd.DataFrame:
    """Copy of a table of codes by the noisy Bayesian network of ``samples/treecopy.py``."""
    with importable_samples():
        from treecopy import synthetic_copy  # noqa: PLC0415 - the folder is no package
    coded = {str(name): frame[name].to_numpy(np.int64) for name in frame}
    drawn = synthetic_copy(coded, tree, COPY_EPSILON, np.random.default_rng(SEED))
    return labelled(pd.DataFrame(drawn), labels)


def labelled(frame: pd.DataFrame, labels: dict[str, list[str]]) -> pd.DataFrame:
    """Table whose coded texts are texts again."""
    return frame.assign(**{name: np.array(texts)[frame[name]] for name, texts in labels.items()})


def taxi(setting: Setting) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Real trips, cleaned as in appendix D, and their copy."""
    with importable_samples():
        import taxi as generated  # noqa: PLC0415 - the folder is no package
    frame = setting.table(TAXI).rename(columns={"VendorID": "vendorID", "RatecodeID": "rateCodeID"})
    frame = frame[[attribute.name for attribute in generated.TREE]].dropna()
    flags = (frame["store_and_fwd_flag"] == "Y").astype(int)
    frame = frame.assign(store_and_fwd_flag=flags).round().astype("int64")
    for attribute in generated.TREE:
        low, high = attribute.bins[0][0], attribute.bins[-1][1]
        frame[attribute.name] = frame[attribute.name].clip(low, high)
    frame = frame.reset_index(drop=True)
    labels = {"store_and_fwd_flag": list(generated.FLAGS)}
    return labelled(frame, labels), tree_copy(frame, generated.TREE, labels)


def cps(setting: Setting) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Real heads of household, and their copy."""
    with importable_samples():
        from treecopy import Attribute, steps, units  # noqa: PLC0415 - the folder is no package
    frame = setting.table(CPS)
    frame = frame.assign(income=frame["income"].clip(0, 500_000), age=frame["age"].clip(0, 90))
    edges = (1, *range(5_000, 60_000, 5_000), 60_000, 75_000, 100_000, 150_000, 300_000, 500_001)
    tree = (
        Attribute("age", (*steps(*range(0, 91, 5)), (90, 90))),
        Attribute("marital", units(1, 7), "age"),
        Attribute("sex", units(1, 2), "marital"),
        Attribute("race", units(1, int(frame["race"].max())), "age"),
        Attribute("income", ((0, 0), *steps(*edges)), "marital"),
    )
    return frame, tree_copy(frame, tree, {})


def cps_queries() -> list[pqd.Query]:
    """COUNT, SUM(income) and MEDIAN(age) of each sex and marital status."""
    return [
        pqd.Query(
            f"SELECT {what} FROM D WHERE sex = {sex} AND marital = {status}", id=f"{sex}{status}"
        )
        for what in ("COUNT(*)", "SUM(income)", "MEDIAN(age)")
        for sex in (1, 2)
        for status in range(1, 8)
    ]


def adult_queries(folder: Path) -> list[pqd.Query]:
    """The 22 queries of ``adult_queries.csv``."""
    return [
        pqd.Query(
            f"SELECT {row['aggregate']}({_operand(row['attribute'])}) FROM D "
            f"WHERE {row['where_sql']}",
            id=row["id"].removeprefix("adult-"),
        )
        for row in csv.DictReader((folder / ADULT_QUERIES).read_text(encoding="utf-8").splitlines())
    ]


def _operand(column: str) -> str:
    """Operand of an aggregate as SQL."""
    return column if column == "*" else f'"{column}"'


def real_cases(setting: Setting) -> Iterator[Case]:
    """Cases on the three real tables."""
    folder = setting.data or Path()
    workloads: dict[str, tuple[pd.DataFrame, pd.DataFrame, list[pqd.Query]]] = {
        "adult": (setting.table(ADULT), setting.table(ADULT_COPY), adult_queries(folder)),
        "cps": (*cps(setting), cps_queries()),
        "taxi": (*taxi(setting), list(pqd.read_queries(SAMPLES / "taxi.sql"))),
    }
    domains = {name: ends for (_, name), ends in DOMAINS.items()}
    domains |= {**ADULT_DOMAINS, "income": (0, 500_000)}
    for name, (private, synthetic, queries) in workloads.items():
        pairs = zip(queries, matching(private, queries), matching(synthetic, queries), strict=True)
        for query, values, copied in pairs:
            lower, upper = domains.get((query.attribute or "").strip('"'), (0, 1))
            centre = answer_of(query.aggregate, _within(copied, lower, upper))
            if centre == 0 or values.size == 0:
                # No percentage of 0 is a tolerance, and a median of no row is no number.
                continue
            found = _within(values, lower, upper)
            yield Case(name, query.id or "", query.aggregate, found, centre, lower, upper)


def _within(values: Integers, lower: int, upper: int) -> Histogram:
    return Histogram.from_values(np.clip(values, lower, upper))


def real_errors(setting: Setting) -> pd.DataFrame:
    """Exact errors on the real tables, where tau or epsilon has its default."""
    lines = []
    for case in real_cases(setting):
        deciders = (*PUBLISHED[case.aggregate], *OURS[case.aggregate])
        for line in rows(case, deciders, 0, 0):
            if line["tau"] == TAU or line["epsilon"] == EPSILON:
                del line["trials"]
                lines.append({"aggregate": case.aggregate, **line})
    return pd.DataFrame(lines)


def figure_1(setting: Setting) -> pd.DataFrame:
    """Numbers of people by capital gain, in Adult and in its copy (Figure 1)."""
    tables = {"D": setting.table(ADULT), "Ds": setting.table(ADULT_COPY)}
    lines = []
    for name, table in tables.items():
        for start in range(0, 1000, 200):
            rows = int(table["capital-gain"].between(start, start + 199).sum())
            lines.append({"table": name, "from": start, "to": start + 200, "rows": rows})
    return pd.DataFrame(lines)
