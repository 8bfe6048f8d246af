"""DP-PQD (Patwa et al. 2023) in plain pandas and numpy; benchmarks compare pqd with it.

`python benchmarks/pandas_pqd.py PRIVATE SYNTHETIC --queries samples/census.sql --json FILE`

The decider that the paper's Table 4 recommends decides each query.  With `--all`, each decider of
the paper decides each query.  The numbers follow the paper, but are doubles from numpy's generator.
So this script measures time and checks synthetic answers; it cannot protect anyone's data.
"""

import argparse
import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

# Parameters from section 7.1 of the paper.
BETA, THETA = 0.05, 0.95

_QUERY = re.compile(r"^-- id: (\w+)\s+SELECT (\w+)\((\*|\w+)\) FROM \w+ WHERE (.+);$", re.MULTILINE)
# An AND stands outside quotes if an even number of quotes follows it.
_AND = re.compile(r" AND (?=[^']*(?:'[^']*'[^']*)*$)")
_CONDITION = re.compile(r"(\w+) LIKE '((?:[^'%_]|'')*)'")


@dataclass(frozen=True)
class Query:
    """`SELECT aggregate(attribute) FROM D WHERE column LIKE text AND ...`."""

    id: str
    aggregate: str
    attribute: str
    where: tuple[tuple[str, str], ...]

    def matches(self, frame: pd.DataFrame) -> "pd.Series[bool]":
        """Boolean mask of the WHERE clause; LIKE without wildcards is equality."""
        return reduce(and_, (frame[column] == text for column, text in self.where))

    def values(self, frame: pd.DataFrame) -> "pd.Series[int]":
        """Attribute of the matching rows."""
        return frame.loc[self.matches(frame), self.attribute]

    def answer(self, frame: pd.DataFrame) -> int:
        """``q(frame)``; MEDIAN is the lower median."""
        if self.aggregate == "COUNT":
            return int(self.matches(frame).sum())
        if self.aggregate == "SUM":
            return int(self.values(frame).sum())
        return int(self.values(frame).quantile(0.5, interpolation="lower"))


@dataclass(frozen=True)
class DecisionProblem:
    """One query, its synthetic answer and tolerance, and the private table."""

    query: Query
    private: pd.DataFrame
    answer: int
    tau: float
    epsilon: float
    lower: int
    upper: int
    rng: np.random.Generator

    def within(self, estimate: float) -> bool:
        """Whether an estimate lies in the open interval of the paper's eq. (1)."""
        return bool(self.answer - self.tau < estimate < self.answer + self.tau)

    def rungs(self) -> range:
        """Exponents j of the truncation thresholds 2^j."""
        return range(1, math.ceil(math.log2(self.upper)) + 1)

    def at_most(self, bound: int) -> "pd.Series[int]":
        """SELECT attribute FROM D WHERE ... AND attribute <= bound."""
        frame = self.private
        kept = self.query.matches(frame) & (frame[self.query.attribute] <= bound)
        return frame.loc[kept, self.query.attribute]


def lm_count(problem: DecisionProblem) -> bool:
    """Algorithm 1 with the Laplace mechanism, for COUNT."""
    count = problem.query.answer(problem.private)
    return problem.within(count + problem.rng.laplace(scale=1 / problem.epsilon))


def em_count(problem: DecisionProblem) -> bool:
    """Exponential mechanism with the score u' of eqs. (10) to (16), of sensitivity 1/(2 tau)."""
    count, tau = problem.query.answer(problem.private), problem.tau
    yes = max(0.0, 1 - abs(count - problem.answer) / (2 * tau))
    exponents = problem.epsilon * np.array([1 - yes, yes]) * tau
    return bool(problem.rng.choice(2, p=_proportional_to_exp(exponents)))


def lm_sum(problem: DecisionProblem) -> bool:
    """Algorithm 1 with the Laplace mechanism, for SUM."""
    total = problem.query.answer(problem.private)
    return problem.within(total + problem.rng.laplace(scale=problem.upper / problem.epsilon))


def r2t_sum(problem: DecisionProblem) -> bool:
    """Algorithm 1 with Race-to-the-Top, eqs. (17) and (18)."""
    log_gs = math.log2(problem.upper)
    estimate = 0.0
    for j in problem.rungs():
        scale = 2**j * log_gs / problem.epsilon
        noisy = problem.at_most(2**j).sum() + problem.rng.laplace(scale=scale)
        estimate = max(estimate, noisy - scale * math.log(log_gs / BETA))
    return problem.within(estimate)


def private_bound(problem: DecisionProblem, epsilon: float) -> int:
    """Algorithm 4: the first rung that keeps a fraction theta of the matching rows."""
    draw, scale = problem.rng.laplace, 3 / epsilon
    rows = int(problem.query.matches(problem.private).sum()) + draw(scale=scale)
    rho = draw(scale=scale)
    for j in problem.rungs():
        if len(problem.at_most(2**j)) + draw(scale=scale) >= THETA * rows + rho:
            return j
    return problem.rungs()[-1]


def svt_sum(problem: DecisionProblem) -> bool:
    """Algorithm 2 up to the rung that Algorithm 4 finds; each step gets a third of the budget."""
    draw, scale = problem.rng.laplace, 3 / problem.epsilon
    last = private_bound(problem, problem.epsilon / 3)
    rho = draw(scale=scale)
    for j in range(1, last + 1):
        noisy = problem.at_most(2**j).sum() / 2**j + draw(scale=scale)
        if noisy >= (problem.answer + problem.tau) / 2**j + rho:
            return False
    for j in range(1, last + 1):
        noisy = problem.at_most(2**j).sum() / 2**j + draw(scale=scale)
        if noisy >= (problem.answer - problem.tau + 1) / 2**j + rho:
            return True
    return False


def em_median(problem: DecisionProblem) -> bool:
    """Algorithm 1 with the exponential mechanism over the lattice, section 6.1."""
    values = problem.query.values(problem.private).to_numpy()
    lattice = np.arange(problem.lower, problem.upper + 1)
    ranks = np.array([np.count_nonzero(values < point) for point in lattice])
    weights = _proportional_to_exp(-problem.epsilon * np.abs(ranks - len(values) / 2) / 2)
    return problem.within(float(problem.rng.choice(lattice, p=weights)))


def hist_median(problem: DecisionProblem) -> bool:
    """Algorithm 3: compares the noisy counts below and above the interval with a noisy half."""
    values = problem.query.values(problem.private).to_numpy()
    rows, below, above = problem.rng.laplace(scale=2 / problem.epsilon, size=3)
    below += np.count_nonzero(values <= problem.answer - problem.tau)
    above += np.count_nonzero(values >= problem.answer + problem.tau)
    half = math.ceil((len(values) + rows) / 2)
    return bool(below < half and above < half)


def _proportional_to_exp(exponents: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(exponents - exponents.max())
    return np.asarray(weights / weights.sum())


Decider = Callable[[DecisionProblem], bool]
TABLE_4: dict[str, tuple[Decider, ...]] = {
    "COUNT": (lm_count,),
    "SUM": (lm_sum,),
    "MEDIAN": (hist_median,),
}
ALL: dict[str, tuple[Decider, ...]] = {
    "COUNT": (lm_count, em_count),
    "SUM": (lm_sum, r2t_sum, svt_sum),
    "MEDIAN": (em_median, hist_median),
}


def read_queries(path: Path) -> list[Query]:
    """Read a workload, in the only form that this script understands."""
    text = path.read_text(encoding="utf-8")
    queries = []
    for name, aggregate, attribute, where in _QUERY.findall(text):
        found = [_CONDITION.fullmatch(part) for part in _AND.split(where)]
        conditions = tuple((m[1], m[2].replace("''", "'")) for m in found if m)
        if len(conditions) < len(found) or aggregate not in ALL:
            raise ValueError(f"query {name} is not a conjunction of plain LIKEs")
        queries.append(Query(name, aggregate, attribute, conditions))
    if len(queries) != text.count("SELECT"):
        raise ValueError(f"{path} holds queries that are not understood")
    return queries


def read_table(path: Path, *, categories: bool) -> pd.DataFrame:
    """Read a table; text as ``categories`` takes longer to read, but is compared faster."""
    frame = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
    texts = frame.columns.difference(frame.select_dtypes("number").columns)
    return frame.astype(dict.fromkeys(texts, "category")) if categories else frame


def problem_of(
    query: Query, tables: tuple[pd.DataFrame, pd.DataFrame], share: float, epsilon: float
) -> DecisionProblem:
    """Decision problem of a query; the range of the synthetic column is taken as its domain."""
    private, synthetic = tables
    answer = query.answer(synthetic)
    lower, upper = 0, 1
    if query.attribute != "*":
        column = synthetic[query.attribute]
        lower, upper = int(column.min()), int(column.max())
    rng = np.random.default_rng()
    return DecisionProblem(query, private, answer, share * abs(answer), epsilon, lower, upper, rng)


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description="DP-PQD as plain pandas: one verdict per query.")
    parser.add_argument("private", type=Path)
    parser.add_argument("synthetic", type=Path)
    parser.add_argument("--queries", type=Path, required=True)
    parser.add_argument("--tau", default="3.2%", help="share of the synthetic answer (%(default)s)")
    parser.add_argument("--epsilon", type=float, default=0.25, help="per decision (%(default)s)")
    parser.add_argument("--all", action="store_true", help="run all of the paper's deciders")
    parser.add_argument("--categories", action="store_true", help="hold text as categories")
    parser.add_argument("--json", type=Path, help="write answers and verdicts to this file")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> None:
    """Read both tables, and decide every query."""
    options = arguments(argv)
    share = float(options.tau.removesuffix("%")) / 100
    queries = read_queries(options.queries)
    private = read_table(options.private, categories=options.categories)
    synthetic = read_table(options.synthetic, categories=options.categories)
    verdicts = []
    for query in queries:
        problem = problem_of(query, (private, synthetic), share, options.epsilon)
        deciders = (ALL if options.all else TABLE_4)[query.aggregate]
        outcomes = {decider.__name__: decider(problem) for decider in deciders}
        verdicts.append({"id": query.id, "q_synthetic": problem.answer, "outcomes": outcomes})
        words = ", ".join(f"{name}: {'yes' if yes else 'no'}" for name, yes in outcomes.items())
        print(f"{query.id}  {problem.answer} +- {problem.tau:g}  {words}")
    if options.json:
        options.json.write_text(json.dumps({"verdicts": verdicts}, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
