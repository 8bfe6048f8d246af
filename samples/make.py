"""Make a sample table and its synthetic copy: `python samples/make.py census --rows 20000`.

Both tables are made up from scratch. `census.py` and `taxi.py` say what they look like and
`treecopy.py` how the copy is made and what it must not be used for.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import census
import duckdb
import numpy as np
import pandas as pd
import taxi
from draw import Table
from treecopy import Attribute, synthetic_copy

TABLES = {"census": census, "taxi": taxi}
ROWS = 20_000
SEED = 7
EPSILON = 10.0
# The tables that have worse copies too, to compare with.
COMPARED = ("census",)


def labelled(table: Table, tree: Sequence[Attribute]) -> pd.DataFrame:
    """Turn coded columns into text, keeping the column order of `table`."""
    labels = {attribute.name: pd.Index(attribute.labels) for attribute in tree}
    return pd.DataFrame(
        {
            name: pd.Categorical.from_codes(values, labels[name]) if len(labels[name]) else values
            for name, values in table.items()
        }
    )


def make(name: str, rows: int, seed: int, epsilon: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Private table and the synthetic copy learnt from it."""
    module = TABLES[name]
    # The table's position is part of the seed, so `all` and one table alone agree.
    rng = np.random.default_rng([seed, list(TABLES).index(name)])
    private = module.private_table(rows, rng)
    synthetic = synthetic_copy(private, module.TREE, epsilon, rng)
    return labelled(private, module.TREE), labelled(synthetic, module.TREE)


def worse(name: str, rows: int, seed: int, epsilon: float) -> dict[str, pd.DataFrame]:
    """Two worse copies of the same private table: one coarse, one without its tree.

    The coarse one gets a hundredth of epsilon; in the flat one every column is drawn by itself.
    """
    module = TABLES[name]
    private = module.private_table(rows, np.random.default_rng([seed, list(TABLES).index(name)]))
    flat = [replace(attribute, parent=None) for attribute in module.TREE]
    copies = {"coarse": (module.TREE, epsilon / 100), "flat": (flat, epsilon)}
    made = {}
    for number, (kind, (tree, budget)) in enumerate(copies.items(), start=1):
        rng = np.random.default_rng([seed, list(TABLES).index(name), number])
        made[kind] = labelled(synthetic_copy(private, tree, budget, rng), module.TREE)
    return made


def write(frame: pd.DataFrame, stem: Path, formats: Sequence[str]) -> Iterator[Path]:
    """Write `frame` once per format and yield the paths."""
    texts = frame.select_dtypes("category").columns
    columns = ", ".join(f"{c}::VARCHAR AS {c}" if c in texts else str(c) for c in frame.columns)
    with duckdb.connect() as connection:
        relation = connection.from_df(frame).project(columns)
        for extension in formats:
            path = stem.with_name(f"{stem.name}.{extension}")
            if extension == "csv":
                relation.write_csv(str(path), header=True)
            else:
                relation.write_parquet(str(path), compression="zstd")
            yield path


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description="Write a made-up private table and a synthetic copy of it."
    )
    parser.add_argument("table", choices=[*TABLES, "all"])
    parser.add_argument("--rows", type=int, default=ROWS, help="rows in each file (%(default)s)")
    parser.add_argument("--seed", type=int, default=SEED, help="(%(default)s)")
    parser.add_argument(
        "--epsilon", type=float, default=EPSILON, help="sets the noise of the copy (%(default)s)"
    )
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).parent, help="folder (where make.py is)"
    )
    parser.add_argument("--format", choices=["parquet", "csv", "both"], default="parquet")
    options = parser.parse_args(argv)
    if options.rows < 1 or options.seed < 0 or not options.epsilon > 0:
        parser.error("--rows and --epsilon must be positive, --seed must not be negative")
    return options


def main(argv: Sequence[str] | None = None) -> None:
    """Make the tables asked for and print the path of each file."""
    options = arguments(argv)
    options.out.mkdir(parents=True, exist_ok=True)
    formats = ["parquet", "csv"] if options.format == "both" else [options.format]
    for name in TABLES if options.table == "all" else [options.table]:
        given = name, options.rows, options.seed, options.epsilon
        frames = dict(zip(("private", "synthetic"), make(*given), strict=True))
        if name in COMPARED:
            frames |= worse(*given)
        for kind, frame in frames.items():
            for path in write(frame, options.out / f"{name}_{kind}", formats):
                print(path)


if __name__ == "__main__":
    main()
