"""Tables of persons: whether intervals hold, and how often a good copy is called a bad copy.

    python -m benchmarks.persons run coverage --out persons.jsonl [--runs 200] [--persons 150]
    python -m benchmarks.persons run marks --out persons.jsonl [--runs 60] [--persons 300]
    python -m benchmarks.persons run halves --out persons.jsonl [--runs 5] [--persons 2000]
    python -m benchmarks.persons run specs --out persons.jsonl [--runs 40] [--persons 300]
    python -m benchmarks.persons show persons.jsonl [--csv docs/experiments]

Persons are drawn from one law, and have from 1 to 50 rows each.  Their numbers of rows are even, or
skewed: most persons have few rows and some have many.  The rows of a person are independent, or
alike.  A copy has the rows of as many other persons of the same law.

``coverage`` asks how many 95 % intervals contain the exact figure.  The figure is computed here, by
weights min(1, k/j), from the rows alone.  ``marks`` asks how often the exact distances of two such
samples are beyond the marks of chance.  ``halves`` asks how many gates such a copy passes.
``specs`` asks the same of the spec that ``pqd init`` writes for orders of customers and visits of
members: of an honest copy, which has the rows of about as many other persons, and of copies that
are damaged.  Each run appends lines to the file.  Noise is seeded, which protects nobody.
"""

import argparse
import json
import math
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import chain, combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.alarm_level import WORDS
from benchmarks.damages import gate_failures
from benchmarks.honest_halves import passed
from benchmarks.result_tables import ResultTable, add_csv_option
from pqd.commands.audit import run_audit
from pqd.commands.check import run_check
from pqd.commands.compare import run_compare
from pqd.commands.gate import gate_terms, run_table_gate
from pqd.commands.profile import run_profile
from pqd.comparison.comparison_parameters import ComparisonParameters
from pqd.deciders import Noise, SimulatedNoise
from pqd.deciders.distributions import Floats
from pqd.engine.scan_plan import PrivacyUnit
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.errors import PqdError
from pqd.marginals.bound_profile import bind_profile, mean_weights
from pqd.marginals.chance import CopyChance
from pqd.marginals.profile_parameters import ProfileParameters
from pqd.parameters import Parameters
from pqd.spec import read_spec
from pqd.spec.template import spec_template
from pqd.sql.workload_files import as_queries

SEED, LEVEL = 42, 0.05
GATE, NAMES = Fraction(1, 4), Fraction(1, 2)
LAWS = tuple(product(("even", "skewed"), ("independent", "alike")))
SETTINGS = tuple(product(LAWS, (1, 3)))
VALUES: dict[str, list[str]] = {
    "area": list("abcdefgh"),
    "job": list("pqrst"),
    "level": list("xyz"),
    "flag": ["no", "yes"],
}
COLUMNS = tuple(VALUES)
FACTS = {"pay": {"bounds": (0, 10), "step": 1}}
Found = Iterator[tuple[str, bool]]
Line = dict[str, Any]
Lines = Iterator[Line]
# Value, low and high.
Interval = tuple[float, float, float]


def people(
    persons: int, numbers: str, rows: str, rng: np.random.Generator, most: int = 50
) -> pd.DataFrame:
    """Rows of so many persons of a law, in the order of persons."""
    if numbers == "even":
        number = rng.integers(1, most + 1, persons)
    else:
        number = np.minimum(1 + rng.pareto(1, persons).astype(int), most)
    person = np.repeat(np.arange(persons), number)
    taste = rng.random(persons)[person]
    own = rng.random((len(COLUMNS), person.size))
    if rows == "alike":
        # Nine rows of ten have the cells of their person.
        each = rng.random((len(COLUMNS), persons))[:, person]
        own = np.where(rng.random(person.size) < 0.9, each, own)
    cells = {
        "area": np.array(VALUES["area"])[(8 * own[0] ** 2).astype(int)],
        "job": np.array(VALUES["job"])[(5 * (own[1] + own[0]) / 2).astype(int)],
        "level": np.array(VALUES["level"])[(3 * np.sqrt(own[2])).astype(int)],
        "flag": np.where(own[3] < 0.3, "yes", "no"),
    }
    pay = np.clip(10 * (0.6 * own[0] + 0.3 * own[2] + 0.1 * taste), 0, 10).round()
    return pd.DataFrame({"pid": [f"p{each}" for each in person], **cells, "pay": pay})


def weights_of(table: pd.DataFrame, most: int) -> Floats:
    """Weight min(1, k/j) of each row, with k = ``most``; the rows of a person follow each other."""
    _, place, rows = np.unique(table["pid"].to_numpy(str), return_inverse=True, return_counts=True)
    weights: Floats = np.minimum(1.0, most / rows)[place]
    return weights


class Weighed:
    """Rows with weights, and the shares of the cells of several columns."""

    def __init__(self, table: pd.DataFrame, most: int) -> None:
        """Number the values of each column in their public order."""
        self.table, self.weights = table, weights_of(table, most)
        self._codes = {
            name: pd.Categorical(table[name], categories=VALUES[name]).codes for name in COLUMNS
        }

    def shares(self, columns: Sequence[str]) -> Floats:
        """Share of each combination of values, with an axis for each column."""
        shape = [len(VALUES[name]) for name in columns]
        cells = np.ravel_multi_index([self._codes[name].astype(int) for name in columns], shape)
        sums = np.bincount(cells, self.weights, minlength=math.prod(shape))
        found: Floats = (sums / self.weights.sum()).reshape(shape)
        return found

    def share(self, columns: Sequence[str], labels: Sequence[str]) -> float:
        """Share of one combination of values; 0 if no row can have it."""
        try:
            place = tuple(VALUES[n].index(v) for n, v in zip(columns, labels, strict=True))
        except ValueError:
            return 0.0
        return float(self.shares(columns)[place])


def apart(one: Floats, other: Floats) -> float:
    """Total variation of two shares."""
    return float(np.abs(one - other).sum() / 2)


class Exact:
    """Exact figures of a private table and a copy."""

    def __init__(self, private: pd.DataFrame, copy: pd.DataFrame, most: int) -> None:
        """Compute the distances of all columns and pairs."""
        self.private, self.copy, self.most = private, copy, most
        self.own, self.others = Weighed(private, most), Weighed(copy, most)
        maps = [*((name,) for name in COLUMNS), *combinations(COLUMNS, 2)]
        self.distances = {
            frozenset(names): apart(self.own.shares(names), self.others.shares(names))
            for names in maps
        }

    def mean(self, ways: int) -> float:
        """Mean distance of the marginals of so many columns."""
        own = [found for names, found in self.distances.items() if len(names) == ways]
        return float(np.mean(own))


def profiled(exact: Exact, unit: PrivacyUnit, noise: SimulatedNoise) -> Found:
    """Whether the intervals of a profile hold, by kind."""
    stated = ProfileParameters.parse(
        total_epsilon=2, columns=list(COLUMNS), anyway=True, zoom=2, distances=["tv"]
    )
    report = run_profile(exact.private, exact.copy, stated, noise, unit=unit)
    weights = exact.own.weights
    yield "number of rows", holds(report.rows, weights.sum(), 0.5)
    for each in report.marginals:
        yield "distance", holds(each.estimate, exact.distances[frozenset(each.columns)])
    means = {ways: exact.mean(ways) for ways in (1, 2)}
    yield "score", holds(report.overall.estimate, 1 - (means[1] + means[2]) / 2)
    for score in report.scores:
        yield "score", holds(score.estimate, 1 - means[score.ways or 1])
    for zoomed in report.zoomed:
        for cell in zoomed.cells:
            if not cell.unseen:
                known = exact.own.share(zoomed.columns, cell.labels)
                yield "share of a cell", holds(cell.private, known)
    for column in report.values:  # noqa: PD011 - no frame
        for count in column.kept:
            value, rows = count.name.removeprefix("value "), 0.0
            if value in VALUES[column.column]:
                rows = exact.own.share([column.column], [value]) * weights.sum()
            elif value != "empty rows":
                raise ValueError(value)
            yield "rows of a value", holds(count.rows, rows, 0.5)


def holds(figure: Interval | None, exact: float, rounding: float = 0.0) -> bool:
    """Whether an interval contains the exact figure, which may be rounded to a whole row."""
    if figure is None:
        raise ValueError("nothing was measured")
    _, low, high = figure
    slack = rounding + 1e-9
    return bool(low - slack <= exact <= high + slack)


QUERIES = (
    "SELECT COUNT(*) FROM D WHERE job = 'p'",
    "SELECT SUM(pay) FROM D",
    "SELECT AVG(pay) FROM D WHERE flag = 'no'",
)
DECIDERS = ("noisy_count", "noisy_sum", "lm_mean")


def answers(exact: Exact) -> list[float]:
    """Persons who match, the sum of persons' totals within the bounds, the mean of weighed rows."""
    table = exact.private
    matching = table[table.flag == "no"]
    own = exact.own.weights[matching.index]
    totals = table.groupby("pid")["pay"].sum().clip(0, 10)
    mean = float((own * matching.pay).sum() / own.sum())
    return [float(table[table.job == "p"].pid.nunique()), float(totals.sum()), mean]


def audited(exact: Exact, unit: PrivacyUnit, noise: SimulatedNoise, run: int) -> Found:
    """Whether the interval of the answer to one of the queries holds."""
    asked = [*zip(QUERIES, DECIDERS, answers(exact), strict=True)]
    sql, decider, answer = asked[run // len(SETTINGS) % len(asked)]
    stated = Parameters.parse(
        tau="10%", epsilon="0.5", alpha=LEVEL / 2, columns=FACTS, mechanism=decider
    )
    report = run_audit(exact.private, exact.copy, as_queries(sql), stated, noise, unit=unit)
    verdict = report.verdicts[0]
    if verdict.low is not None and verdict.high is not None:
        yield f"answer of {decider}", holds((0, verdict.low, verdict.high), answer)


def compared(exact: Exact, unit: PrivacyUnit, noise: SimulatedNoise) -> Found:
    """Whether the intervals of gaps hold in a comparison."""
    terms = Parameters.parse(tau="10%", epsilon="0.5", alpha=LEVEL / 2, columns=FACTS)
    stated = ComparisonParameters.parse(terms)
    copies = {"a": exact.copy, "b": exact.copy.iloc[::2].reset_index(drop=True)}
    report = run_compare(exact.private, copies, as_queries(QUERIES), stated, noise, unit=unit)
    for query, answer in zip(report.queries, answers(exact), strict=True):
        for cell in query.cells:
            if cell.gap_low is not None and cell.gap_high is not None:
                gap = answer - float(cell.q_synthetic or 0)
                yield "gap of a comparison", holds((0, cell.gap_low, cell.gap_high), gap)


def coverage(run: int, persons: int) -> Lines:
    """Numbers of intervals that hold and do not; each ledger has its own tables and noise."""
    law, most = SETTINGS[run % len(SETTINGS)]
    rng = np.random.default_rng([SEED, run])
    exact = Exact(people(persons, *law, rng), people(persons, *law, rng), most)
    noise, unit = SimulatedNoise(rng), PrivacyUnit("pid", most)
    found: dict[str, list[int]] = {}
    kinds = profiled, compared
    every = [*(kind(exact, unit, noise) for kind in kinds), audited(exact, unit, noise, run)]
    for name, held in chain(*every):
        found.setdefault(name, [0, 0])[held] += 1
    yield {"law": law, "k": most, "found": found}


def show_coverage(results: ResultTable, lines: Sequence[Line]) -> None:
    """Add the share of intervals that hold, in per cent, by kind."""
    for name in dict.fromkeys(name for line in lines for name in line["found"]):
        own = [line["found"][name] for line in lines if name in line["found"]]
        missed, held = (int(each) for each in np.sum(own, axis=0))
        number = missed + held
        part = held / number
        error = math.sqrt(max(part, 1 / number) * (1 - part) / number)
        shares = {"held": 100 * part, "held_se": 100 * error}
        results.add(figure=name, ledgers=len(own), intervals=number, **shares)


def beyond(exact: Exact, unit: PrivacyUnit) -> Iterator[str]:
    """Words that a release without noise would tell of two samples."""
    stated = ProfileParameters.parse(columns=list(COLUMNS), anyway=True)
    bound = bind_profile(
        SyntheticTables([open_table(exact.copy, "synthetic")]), stated.request, unit
    )
    rows = round(exact.own.weights.sum())
    chance, number = CopyChance(bound, rows), len(bound.marginals)
    distances = np.array([exact.distances[frozenset(each.columns)] for each in bound.marginals])
    scores = np.array([[*map(float, mean_weights(bound.marginals, ways))] for ways in (None, 1, 2)])
    both = np.concatenate([np.eye(number), scores.T], axis=1)
    above = distances @ both > chance.independent.at_once(LEVEL / 2, both)
    overall = distances @ scores[0]
    told = {
        "note": overall < chance.independent.quantile(LEVEL, scores[0]),
        "error": overall < chance.drawn.quantile(LEVEL, scores[0]),
        "overall beyond": above[number],
        "a marginal beyond": above[:number].any(),
        "anything beyond": above.any(),
    }
    yield from (word for word, is_told in told.items() if is_told)


def marks(run: int, persons: int) -> Lines:
    """Words of two samples of each law."""
    for law, most in product(LAWS, (1, 3, 10)):
        rng = np.random.default_rng([SEED, persons, run])
        pair = [people(persons, *law, rng) for _ in "ab"]
        words = [*beyond(Exact(pair[0], pair[1], most), PrivacyUnit("pid", most))]
        yield {"law": law, "k": most, "persons": persons, "words": words}


def show_marks(results: ResultTable, lines: Sequence[Line]) -> None:
    """Add in how many runs two samples are beyond the marks of chance, or too near."""
    for group in sorted({(line["persons"], *line["law"], line["k"]) for line in lines}):
        own = [
            line["words"] for line in lines if (line["persons"], *line["law"], line["k"]) == group
        ]
        told = Counter(word for words in own for word in words)
        law = dict(zip(("persons", "numbers", "rows", "k"), group, strict=True))
        results.add(**law, runs=len(own), **{word: told[word] for word in WORDS})


def judged(judge: Callable[[], Any]) -> list[str]:
    """Conditions that a gate fails; nothing if it passes."""
    try:
        report = judge()
    except PqdError as error:
        return [f"refused: {str(error)[:60]}"]
    return gate_failures(json.loads(report.to_json()))


def halves(run: int, persons: int) -> Lines:
    """Failures of the gate of a table, and of the spec that ``pqd init`` writes, for each law."""
    for law in LAWS:
        rng = np.random.default_rng([SEED, 7, run])
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            paths = folder / "private.parquet", folder / "copy.parquet"
            for path in paths:
                people(persons, *law, rng).to_parquet(path)
            found = gates(folder, *paths, SimulatedNoise(rng))
        yield {"law": law, "persons": persons, "failures": found}


def gates(folder: Path, private: Path, copy: Path, noise: Noise) -> dict[str, list[str]]:
    """Failures by gate."""
    terms = gate_terms(GATE, NAMES, LEVEL, None)
    parameters = ProfileParameters.parse(total_epsilon=GATE)
    unit, spec = PrivacyUnit("pid"), folder / "audit.toml"
    table = judged(lambda: run_table_gate(private, copy, parameters, terms, noise, unit=unit))
    text = spec_template(private, copy, folder, GATE, NAMES, None).text
    spec.write_text(text, encoding="utf-8")
    checked = judged(lambda: run_check(read_spec(spec), noise, fresh=True))
    return {"profile --gate": table, "init + check": checked}


def show_halves(results: ResultTable, lines: Sequence[Line]) -> None:
    """Add how many gates a copy of other persons passes."""
    for law in LAWS:
        own = [line for line in lines if tuple(line["law"]) == law]
        for gate in own[0]["failures"] if own else ():
            counts = passed([line["failures"][gate] for line in own])
            names = {"persons": own[0]["persons"], "numbers": law[0], "rows": law[1]}
            results.add(**names, gate=gate, **counts)


def orders(customers: int, rng: np.random.Generator) -> pd.DataFrame:
    """Orders, from 1 to 20 of each customer, whose taste they share."""
    number = rng.integers(1, 21, customers)
    who = np.repeat(np.arange(customers), number)
    taste, rows = rng.random(customers)[who], who.size
    product = (6 * np.minimum(1.6 * rng.random(rows) * taste, 0.99)).astype(int)
    return pd.DataFrame(
        {
            "order_id": rng.permutation(10 * rows)[:rows],
            "customer": [f"C{each:05d}" for each in who],
            "date": (np.datetime64("2025-01-01") + rng.integers(0, 365, rows)).astype(str),
            "product": np.array(["book", "toy", "tool", "food", "garden", "music"])[product],
            "price": np.round(np.exp(2 + 1.2 * taste + rng.normal(0, 0.6, rows)), 2),
            "quantity": 1 + rng.poisson(1.2, rows),
            "country": rng.choice(["DE", "FR", "ES", "IT"], customers, p=[0.5, 0.25, 0.15, 0.1])[
                who
            ],
            "channel": np.where(rng.random(rows) < 0.3 + 0.4 * taste, "web", "shop"),
        }
    )


def visits(members: int, rng: np.random.Generator) -> pd.DataFrame:
    """Visits of a gym: most members come a few times, some very often; plan and age are theirs."""
    number = np.minimum(1 + rng.pareto(1, members).astype(int), 60)
    who = np.repeat(np.arange(members), number)
    age, rows = np.clip(rng.normal(38, 13, members), 16, 80).round().astype(int), who.size
    plan = np.where(rng.random(members) < age / 80, "year", "month")
    hour = np.where(plan[who] == "year", rng.normal(12, 3, rows), rng.normal(18, 2, rows))
    return pd.DataFrame(
        {
            "member_id": who + 1000,
            "plan": plan[who],
            "age": age[who],
            "branch": rng.choice(["north", "south", "river"], members, p=[0.5, 0.3, 0.2])[who],
            "hour": np.clip(hour, 6, 22).round().astype(int),
            "minutes": np.round(rng.gamma(6, 10, rows)),
        }
    )


TABLES_OF_PERSONS = {"orders": (orders, "customer"), "visits": (visits, "member_id")}


def copies(table: pd.DataFrame, person: str, rng: np.random.Generator) -> dict[str, pd.DataFrame]:
    """Damaged copies of a table."""
    texts = {"customer": "product", "member_id": "branch"}
    column, numbers = texts[person], table.select_dtypes("number").columns.difference([person])
    common = table[column].mode()[0]
    others = [name for name in table.columns if name != person]
    shuffled = {name: rng.permutation(table[name].to_numpy()) for name in others}
    return {
        "columns shuffled": table.assign(**shuffled),
        "a common value lost": table[table[column] != common].reset_index(drop=True),
        "numbers times 1.5": table.assign(**{name: table[name] * 1.5 for name in numbers}),
        "one person in three": table[table[person].isin(table[person].unique()[::3])],
    }


def specs(run: int, persons: int) -> Lines:
    """What the spec that ``pqd init`` writes finds in copies, damaged ones in each fourth run."""
    for number, (name, (draw, person)) in enumerate(TABLES_OF_PERSONS.items()):
        rng = np.random.default_rng([SEED, persons, run, number])
        every = draw(2 * persons, rng)
        known = every[person].unique()
        chosen = every[person].isin(known[rng.random(known.size) < 0.5])
        private, other = every[chosen], every[~chosen].reset_index(drop=True)
        damaged = copies(other, person, rng) if run % 4 == 0 else {}
        for kind, copy in {"honest": other, **damaged}.items():
            with tempfile.TemporaryDirectory() as temporary:
                folder = Path(temporary)
                private.to_parquet(folder / "private.parquet", index=False)
                copy.to_parquet(folder / "copy.parquet", index=False)
                found = first_spec(folder, SimulatedNoise(rng))
            yield {"name": name, "persons": persons, "copy": kind, "failures": found}


def first_spec(folder: Path, noise: Noise) -> list[str]:
    """Failures of the spec that ``pqd init`` writes of a copy."""
    text = spec_template(
        folder / "private.parquet", folder / "copy.parquet", folder, GATE, NAMES
    ).text
    (folder / "audit.toml").write_text(text, encoding="utf-8")
    return judged(lambda: run_check(read_spec(folder / "audit.toml"), noise, fresh=True))


def show_specs(results: ResultTable, lines: Sequence[Line]) -> None:
    """Add how many copies of each kind pass."""
    kinds = dict.fromkeys((line["name"], line["persons"], line["copy"]) for line in lines)
    for name, persons, kind in kinds:
        own = [
            line["failures"]
            for line in lines
            if (line["name"], line["persons"], line["copy"]) == (name, persons, kind)
        ]
        results.add(table=name, persons=persons, copy=kind, **passed(own))


RUNS = {"coverage": coverage, "marks": marks, "halves": halves, "specs": specs}
SHOWN = {
    "coverage": show_coverage,
    "marks": show_marks,
    "halves": show_halves,
    "specs": show_specs,
}


def run_all(options: argparse.Namespace) -> None:
    """Append the lines of each run to a file."""
    for run in range(options.first, options.first + options.runs):
        with options.out.open("a", encoding="utf-8") as file:
            for line in RUNS[options.table](run, options.persons):
                file.write(json.dumps({"table": options.table, "run": run, **line}) + "\n")
                file.flush()


def show(options: argparse.Namespace) -> None:
    """Print a table for each kind of run in the file."""
    lines = [json.loads(line) for line in options.results.read_text().splitlines()]
    for name, shown in SHOWN.items():
        own = [line for line in lines if line["table"] == name]
        if own:
            with ResultTable(f"persons-{name}", options.csv) as results:
                shown(results, own)


def main() -> None:
    """Run one kind of table, or print all."""
    parser = argparse.ArgumentParser(description=__doc__)
    actions = parser.add_subparsers(required=True)
    running = actions.add_parser("run")
    running.add_argument("table", choices=RUNS)
    running.add_argument("--out", type=Path, required=True)
    running.add_argument("--persons", type=int, default=300)
    running.add_argument("--runs", type=int, default=60)
    running.add_argument("--first", type=int, default=0)
    running.set_defaults(action=run_all)
    showing = actions.add_parser("show")
    showing.add_argument("results", type=Path)
    add_csv_option(showing)
    showing.set_defaults(action=show)
    options = parser.parse_args()
    options.action(options)


if __name__ == "__main__":
    main()
