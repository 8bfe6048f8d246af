"""Makes the table of docs/verdicts-and-truth.md: `python docs/make_verdicts.py`.

The script audits samples/office.sql with secure noise and a temporary ledger.  Then it puts the
exact answer of the private sample beside each verdict, which only made-up tables allow.  The noise
is real, so the table differs from run to run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

import pqd

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "verdicts-and-truth.md"
PRIVATE = ROOT / "samples" / "census_private.parquet"
COPY = ROOT / "samples" / "census_synthetic.parquet"
WORDS = {"yes": "yes", "no": "**NO**", "undecided": "?"}
HEAD = "| verdict | query | copy | within | pqd says: off by | truth: off by | |\n"


def exact(sql: str, table: Path) -> float:
    """Exact answer of a query on a table, by DuckDB; a quantile is the `ceil(p n)`-th value."""
    sql = re.sub(r"MEDIAN\((\w+)\)", r"QUANTILE_DISC(\1, 0.5)", sql)
    sql = re.sub(r"QUANTILE\(", "QUANTILE_DISC(", sql)
    with duckdb.connect() as connection:
        connection.execute(f"CREATE VIEW D AS FROM '{table}'")
        ((answer,),) = connection.execute(sql).fetchall()
    return float(answer)


def amount(number: float) -> str:
    """Number with thousands apart, and a decimal only where the whole part has few digits."""
    return f"{number:+,.0f}" if abs(number) >= 100 or number == int(number) else f"{number:+,.1f}"


def told(verdict: pqd.Verdict) -> str:
    """What the verdict says of the gap, as the terminal does."""
    if verdict.gap_low is None or verdict.gap_high is None:
        if verdict.outcome == "undecided":
            return "not told"
        return f"{'within' if verdict.outcome == 'yes' else 'beyond'} {tolerance(verdict)}"
    return f"{amount(verdict.gap_low)} to {amount(verdict.gap_high)}"


def tolerance(verdict: pqd.Verdict) -> str:
    """Tolerance, with decimals only where it is small."""
    return f"{verdict.tau:,.0f}" if verdict.tau >= 10 else f"{verdict.tau:,.4g}"


def judged(outcome: str, gap: float, tau: float) -> str:
    """Whether a verdict is right."""
    if outcome == "undecided":
        return "undecided"
    return "right" if (outcome == "yes") == (abs(gap) <= tau) else "WRONG"


def rows() -> Iterator[str]:
    """Lines of the table, the worst first, as the report has them."""
    yield HEAD
    yield "| --- | --- | ---: | ---: | ---: | ---: | --- |\n"
    with TemporaryDirectory() as folder:
        report = pqd.audit(
            PRIVATE,
            COPY,
            pqd.read_queries(ROOT / "samples" / "office.sql"),
            tau="5%",
            epsilon=0.05,
            columns={"inctot": {"bounds": (0, 500_000)}},
            ledger=Path(folder) / "ledger.sqlite",
        )
    order = ("no", "undecided", "yes")
    for verdict in sorted(report.verdicts, key=lambda each: order.index(each.outcome)):
        gap = exact(verdict.sql, PRIVATE) - exact(verdict.sql, COPY)
        cells = (
            WORDS[verdict.outcome],
            verdict.id,
            f"{verdict.q_synthetic:,.0f}",
            f"±{tolerance(verdict)}",
            told(verdict),
            amount(gap),
            judged(verdict.outcome, gap, verdict.tau),
        )
        yield f"| {' | '.join(cells)} |\n"


def main() -> None:
    """Write the table anew in its place on the page."""
    before, rest = PAGE.read_text(encoding="utf-8").split(HEAD)
    after = "\n" + rest.partition("\n\n")[2]
    PAGE.write_text(before + "".join(rows()) + after, encoding="utf-8")
    print(PAGE)


if __name__ == "__main__":
    main()
