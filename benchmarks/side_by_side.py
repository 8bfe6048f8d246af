"""SDMetrics' and pqd's figures of one copy beside the exact distances, as a CSV file.

    OTHERS benchmarks/other_reports.py samples/census_private.parquet \
        tree=samples/census_synthetic.parquet --tool sdmetrics > sdmetrics.json
    python -m benchmarks.side_by_side sdmetrics.json --csv docs

``OTHERS`` is the interpreter of an environment of `benchmarks/others.txt`.  The tables are samples,
which are made up, so their exact distances may be shown.  pqd draws secure noise: its figures, and
only these, differ from run to run.
"""

import argparse
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pqd
from benchmarks.profile_quality import distances, simulation_of
from benchmarks.result_tables import ResultTable, add_csv_option

ROOT = Path(__file__).resolve().parent.parent
PRIVATE = ROOT / "samples" / "census_private.parquet"
COPY = ROOT / "samples" / "census_synthetic.parquet"
Columns = frozenset[str]


def exact_distances() -> dict[tuple[str, Columns], float]:
    """Exact distances of all marginals in pqd's cells, by their kind and columns."""
    simulation = simulation_of(PRIVATE, COPY, "1")
    return {
        (kind, columns): value
        for kind in ("tv", "ks")
        for columns, value in distances(simulation, kind, simulation.truth.tolist()).items()
    }


def main() -> None:
    """Write docs/side-by-side.csv."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sdmetrics", type=Path, help="what other_reports.py printed")
    add_csv_option(parser)
    options = parser.parse_args()
    theirs = json.loads(options.sdmetrics.read_text(encoding="utf-8"))
    columns, pairs = theirs["columns"], theirs["pairs"]
    metrics = {frozenset([name]): metric for name, metric in theirs["metrics"].items()}
    metrics |= {frozenset(each["columns"]): each["metric"] for each in pairs}
    scores = {frozenset([name]): score for name, score in columns.items()}
    scores |= {frozenset(each["columns"]): each["score"] for each in pairs}
    counted = {frozenset(each["columns"]) for each in pairs if each["counts"]}
    exact = exact_distances()
    with TemporaryDirectory() as folder:
        report = pqd.profile(PRIVATE, COPY, ledger=Path(folder) / "ledger.sqlite")
    with ResultTable("side-by-side", options.csv) as table:
        for facts in report.marginals:
            of, figure = frozenset(facts.columns), facts.estimate
            # Of an ordered column SDMetrics has Kolmogorov-Smirnov alone.
            kind = "ks" if metrics[of] == "KSComplement" else "tv"
            if facts.distance != kind or figure is None:
                continue
            table.add(
                columns=", ".join(facts.columns),
                sdmetrics_metric=metrics[of],
                sdmetrics_score=scores[of],
                sdmetrics_counts=len(of) == 1 or of in counted,
                pqd=figure.value,
                pqd_low=figure.low,
                pqd_high=figure.high,
                pqd_verdict=facts.outcome,
                exact=exact[kind, of],
            )


if __name__ == "__main__":
    main()
