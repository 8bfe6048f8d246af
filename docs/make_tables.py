"""Writes docs/tables.md: exact errors on the paper's queries, and needed budgets on the samples.

python docs/make_tables.py                 writes docs/tables.md
python docs/make_tables.py --round-tau -   prints it with tau rounded up, as the paper's code did
"""

import argparse
import csv
import math
import statistics
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import pqd
from pqd.deciders import DECIDERS, Histogram, Interval
from pqd.reports.models.plan import PlannedQuery

ROOT = Path(__file__).resolve().parent.parent
TAUS = ("0.2", "0.8", "3.2", "12.8", "51.2")
EPSILONS = ("0.0625", "0.125", "0.25", "0.5", "1")
COUNTING = ("lm_count", "em_count", "inv_count")


def paper_counts() -> list[tuple[str, int, int]]:
    """Id, q(D) and q(Ds) of the 22 COUNT queries (Patwa 2023, Tables 5 and 6)."""
    with (ROOT / "samples" / "paper_answers.csv").open(encoding="utf-8", newline="") as file:
        return [
            (row["id"], int(row["q_private"]), int(row["q_synthetic"]))
            for row in csv.DictReader(file)
            if row["aggregate"] == "COUNT"
        ]


def count_error(decider: str, private: int, interval: Interval, epsilon: str) -> float:
    """Exact probability of a wrong verdict (Def. 3.2) of a COUNT decider."""
    accept = DECIDERS[decider]().accept(Histogram.of_mass(private), interval, epsilon)
    return float(1 - accept if interval.contains(private) else accept)


def interval_of(synthetic: int, percent: str, *, rounded: bool) -> Interval:
    """Interval around the synthetic answer; tau is ``percent`` of it, rounded up if ``rounded``."""
    tau = Fraction(percent) / 100 * synthetic
    return Interval.around(synthetic, math.ceil(tau) if rounded else tau)


def error_tables(*, rounded: bool) -> Iterator[str]:
    """Lines of one table per epsilon: errors of LM, EM and INV for each COUNT query and tau."""
    yield "## Exact error on the paper's 22 COUNT queries"
    yield ""
    yield (
        "Each cell: LM / EM / INV, the probability of a wrong verdict (Def. 3.2) from the closed "
        "forms of docs/theory.md, not from trials.\nAn asterisk: q(D) is outside the interval."
    )
    triples: list[tuple[float, float, float]] = []
    for epsilon in EPSILONS:
        yield ""
        yield f"### epsilon = {epsilon}"
        yield ""
        yield "| query | " + " | ".join(f"tau {tau} %" for tau in TAUS) + " |"
        yield "| --- |" + " --- |" * len(TAUS)
        for name, private, synthetic in paper_counts():
            cells = []
            for tau in TAUS:
                interval = interval_of(synthetic, tau, rounded=rounded)
                errors = [count_error(d, private, interval, epsilon) for d in COUNTING]
                triples.append((errors[0], errors[1], errors[2]))
                mark = "" if interval.contains(private) else " *"
                cells.append(" / ".join(f"{error:.3f}" for error in errors) + mark)
            yield f"| {name} | " + " | ".join(cells) + " |"
    yield ""
    yield from count_summary(triples)


def count_summary(triples: Sequence[tuple[float, float, float]]) -> Iterator[str]:
    """Sentences on how often the error of INV is below the others, and on the mean errors."""
    above = sum(inv > em + 1e-12 for _, em, inv in triples)
    below = sum(inv < lm - 1e-12 for lm, _, inv in triples)
    worse = sum(inv > lm + 1e-12 for lm, _, inv in triples)
    means = " / ".join(f"{statistics.fmean(errors):.4f}" for errors in zip(*triples, strict=True))
    yield (
        f"Of the {len(triples)} cells INV is above EM in {above}, below LM in {below} and above LM "
        f"in {worse}.\nMean error LM / EM / INV: {means}."
    )


def budget_tables() -> Iterator[str]:
    """Lines of the tables of epsilons that deciders need for 5 % error on the sample tables."""
    yield "## Budget for 5 % error on the sample tables"
    yield ""
    yield (
        "Least epsilon at which a verdict with tau = 5 % of the synthetic answer (at least one "
        "step) errs with at most 5 % on stand-ins made from the synthetic table (`pqd plan`).\n"
        "`none`: no epsilon up to 2^20 will do, the decider is biased there."
    )
    for table in ("census", "taxi"):
        queries = [
            query
            for query in pqd.read_queries(ROOT / "samples" / f"{table}.sql")
            if query.aggregate in {"SUM", "MEDIAN"}
        ]
        copy = ROOT / "samples" / f"{table}_synthetic.parquet"
        plan = pqd.plan(copy, queries, tau="5%", detailed=True)
        for aggregate in ("MEDIAN", "SUM"):
            entries = [entry for entry in plan.queries if entry.aggregate == aggregate]
            yield from budget_table(f"{table}, {aggregate}", entries)


def budget_table(title: str, entries: Sequence[PlannedQuery]) -> Iterator[str]:
    """Lines of one table: needed budgets, and median ratios to the inverse-sensitivity decider."""
    names = [candidate.decider for candidate in entries[0].candidates]
    yield ""
    yield f"### {title}"
    yield ""
    yield "| query | synthetic answer | " + " | ".join(names) + " |"
    yield "| --- |" + " ---: |" * (len(names) + 1)
    ratios: dict[str, list[float]] = {name: [] for name in names}
    for entry in entries:
        needed = [candidate.epsilon_needed or math.inf for candidate in entry.candidates]
        for name, epsilon in zip(names, needed, strict=True):
            ratios[name].append(epsilon / needed[0])
        cells = ["none" if math.isinf(epsilon) else f"{epsilon:.3g}" for epsilon in needed]
        yield f"| {entry.id} | {entry.q_synthetic:,} | " + " | ".join(cells) + " |"
    middle = [statistics.median(ratios[name]) for name in names]
    cells = ["none" if math.isinf(ratio) else f"x {ratio:.2g}" for ratio in middle]
    yield "| median ratio | | " + " | ".join(cells) + " |"


def document(*, rounded: bool) -> str:
    """Text of docs/tables.md."""
    lines = [
        "# Tables",
        "",
        "Made by `python docs/make_tables.py`; a test keeps this file equal to what it prints.",
        "",
        *error_tables(rounded=rounded),
        "",
        *budget_tables(),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write or print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", nargs="?", default=str(ROOT / "docs" / "tables.md"))
    parser.add_argument("--round-tau", action="store_true", help="round tau up to a whole number")
    options = parser.parse_args()
    text = document(rounded=options.round_tau)
    if options.target == "-":
        print(text, end="")
    else:
        Path(options.target).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
