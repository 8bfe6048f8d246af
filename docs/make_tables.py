"""Writes docs/tables.md: needed budgets on the samples.

python docs/make_tables.py       writes docs/tables.md
python docs/make_tables.py -     prints it
"""

import argparse
import math
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

import pqd
from pqd.reports.models.plan import PlannedQuery

ROOT = Path(__file__).resolve().parent.parent


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


def document() -> str:
    """Text of docs/tables.md."""
    lines = [
        "# Tables",
        "",
        "Made by `python docs/make_tables.py`; a test keeps this file equal to what it prints.",
        "Exact errors on the paper's queries stand in [papers.md](papers.md) and its CSV files.",
        "",
        *budget_tables(),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write or print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", nargs="?", default=str(ROOT / "docs" / "tables.md"))
    options = parser.parse_args()
    text = document()
    if options.target == "-":
        print(text, end="")
    else:
        Path(options.target).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
