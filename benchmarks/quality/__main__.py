"""Runs the benchmark of verdict quality, and writes its page.

    python -m benchmarks.quality run [PRIVATE [NAME=COPY...]] [--data FOLDER] --out results.csv
    python -m benchmarks.quality page [results.csv] [--out docs]

``run`` without PRIVATE takes the generated pairs of ``samples``, and with ``--data`` the real
tables of a folder too.  PRIVATE without a copy gets copies that are made of it: independent
columns, a bootstrap, and one half against the other.

``page`` writes ``quality.md`` and the folder ``quality`` (CSV files and pictures).  Without results
it makes the page again from its CSV files.  All noise is seeded, so this protects nobody: use
public tables only.
"""

import argparse
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pandas as pd

from benchmarks.quality.entrants import named_entrant
from benchmarks.quality.entries import generated_pairs, real_pairs, stated_pairs, tables_of
from benchmarks.quality.page import write_page
from benchmarks.quality.problems import Problem, drawn_queries, problems_of
from benchmarks.quality.results import ENTRANTS, results_of

ROOT = Path(__file__).resolve().parents[2]
EPSILONS, TAUS = ("0.03", "0.1", "0.3", "1"), ("2%", "10%")
# Digits of a number in a CSV file.
_DIGITS = "%.10g"


def drawn_problems(options: argparse.Namespace) -> list[Problem]:
    """Problems of all entries and seeds."""
    taus, problems = [tolerance(text) for text in options.taus], list[Problem]()
    for seed in range(options.seeds):
        if options.private:
            pairs = [stated_pairs(options.private, options.copies, seed)]
        else:
            pairs = [generated_pairs()]
            pairs += [real_pairs(options.data, seed)] if options.data else []
        for pair in (each for some in pairs for each in some):
            queries = drawn_queries(tables_of(pair, seed), options.queries)
            problems += [problem for query in queries for problem in problems_of(query, taus)]
            print(f"seed {seed}, {pair[0]}: {len(queries)} queries", flush=True)
    return problems


def tolerance(text: str) -> Fraction:
    """Tolerance as a share of the copy's answer, such as ``5%``.

    Raises
    ------
    SystemExit
        It is no positive share.
    """
    number = text.removesuffix("%")
    try:
        share = Fraction(number) / 100
    except ValueError:
        share = Fraction(0)
    if share <= 0 or number == text:
        raise SystemExit(f"--taus {text} is no tolerance; write a share such as 5%")
    return share


def budget(text: str) -> Fraction:
    """Epsilon as an exact number; SystemExit unless it is positive."""
    try:
        epsilon = Fraction(text)
    except (ValueError, ZeroDivisionError):
        epsilon = Fraction(0)
    if epsilon <= 0:
        raise SystemExit(f"--epsilons {text} is no budget; write a positive number such as 0.1")
    return epsilon


def run(options: argparse.Namespace) -> None:
    """Write the results of all entrants."""
    epsilons = [budget(text) for text in options.epsilons]
    entrants = [*ENTRANTS, *map(named_entrant, options.entrant)]
    results = results_of(drawn_problems(options), entrants, epsilons)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    results.to_csv(options.out, index=False, float_format=_DIGITS, lineterminator="\n")
    print(f"{options.out}: {len(results):,} rows")


def page(options: argparse.Namespace) -> None:
    """Write the page, its pictures and its CSV files."""
    results = None if options.results is None else pd.read_csv(options.results)
    for path in write_page(options.out, results):
        print(path)


def arguments(stated: Sequence[str] | None = None) -> argparse.Namespace:
    """Options of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(required=True)
    running = actions.add_parser("run", help="run all entrants on all problems")
    running.add_argument("private", type=Path, nargs="?", help="private table, a public one")
    running.add_argument("copies", nargs="*", metavar="NAME=COPY", help="its synthetic copies")
    running.add_argument("--data", type=Path, help="folder of the real tables")
    running.add_argument("--out", type=Path, required=True, help="CSV file of the results")
    running.add_argument("--epsilons", nargs="+", default=EPSILONS)
    running.add_argument("--taus", nargs="+", default=TAUS, help="shares of the copy's answer")
    running.add_argument("--queries", type=int, default=12, help="for each pair and seed")
    running.add_argument("--seeds", type=int, default=3)
    running.add_argument(
        "--entrant", nargs="+", default=[], metavar="MODULE:CLASS", help="more entrants"
    )
    running.set_defaults(action=run)
    writing = actions.add_parser("page", help="write the page of the documents")
    writing.add_argument("results", type=Path, nargs="?", help="CSV file of a run")
    writing.add_argument("--out", type=Path, default=ROOT / "docs")
    writing.set_defaults(action=page)
    return parser.parse_args(stated)


def main() -> None:
    """Run or write."""
    options = arguments()
    options.action(options)


if __name__ == "__main__":
    main()
