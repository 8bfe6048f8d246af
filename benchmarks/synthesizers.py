"""Three synthetic copies of one table, for `pqd compare`.

`python benchmarks/synthesizers.py PRIVATE OUT_DIR`

| Copy | Generator | Licence | Privacy |
| --- | --- | --- | --- |
| `forest.parquet` | arfpy, random forest with independent columns in each leaf | MIT | none |
| `mst.parquet` | smartnoise-synth, MST: a tree of noisy marginals | MIT | epsilon 1, delta 1e-9 |
| `independent.parquet` | DataSynthesizer, every column on its own | MIT | epsilon 1 |

The generators are not among pqd's dependencies; they need an environment of their own (arfpy 0.1.1
does not run with pandas 3 or numpy 2.4):

    pip install arfpy==0.1.1 DataSynthesizer==0.1.13 smartnoise-synth==1.0.8 mbi==1.1.0 \
        torch==2.13.0 numpy==2.3.5 pandas==2.3.3 pyarrow==26.0.1

Seeds are fixed, so the same table gives the same copies.  The two private generators take the
occurring values and the ranges as public, and their noise comes from numpy.  So use the copies for
benchmarks, and do not release them.
"""

import argparse
import importlib
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

SEED = 301
EPSILON = 1.0
DELTA = 1e-9
# If a column of numbers has at most this many different values, a copy draws from these values.
FEW = 200
# Number of bins for each other column of numbers.
BINS = 50


def is_discrete(column: "pd.Series[int]") -> bool:
    """Whether a copy draws from a column's own values: they are text, or few different numbers."""
    return not pd.api.types.is_numeric_dtype(column) or column.nunique() <= FEW


def discrete(table: pd.DataFrame) -> list[str]:
    """Columns for which a copy draws from the column's own values."""
    return [name for name in table.columns if is_discrete(table[name])]


def forest(private: pd.DataFrame) -> pd.DataFrame:
    """Copy by Watson et al. 2023.

    It has no adversarial rounds, since two of them took a minute on 10,000 rows.
    """
    arf = importlib.import_module("arfpy.arf")
    model = arf.arf(
        private.astype(dict.fromkeys(discrete(private), "category")),
        num_trees=20,
        min_node_size=5,
        max_iters=0,
        verbose=False,
        random_state=SEED,
        n_jobs=-1,
    )
    model.forde()
    copy: pd.DataFrame = model.forge(n=len(private))
    return copy


def spanning_tree(private: pd.DataFrame) -> pd.DataFrame:
    """Copy by McKenna et al. 2021, from all one-way marginals and a tree of two-way marginals."""
    mst: Any = importlib.import_module("snsynth.mst.mst")
    bins = importlib.import_module("snsynth.transform.bin")
    # The noise of the library cannot be seeded, so replace it.
    normal = np.random.default_rng(SEED).normal
    mst.gaussian_noise = lambda scale, size: normal(scale=scale, size=size)
    names = discrete(private)
    ranges = {
        name: bins.BinTransformer(
            bins=BINS, lower=float(private[name].min()), upper=float(private[name].max())
        )
        for name in private.columns.difference(names)
    }
    model = mst.MSTSynthesizer(EPSILON, DELTA)
    model.fit(private, transformer=ranges, categorical_columns=names)
    copy: pd.DataFrame = model.sample(len(private))
    return copy


def independent(private: pd.DataFrame) -> pd.DataFrame:
    """Copy by Ping et al. 2017 in independent attribute mode: its columns are independent."""
    describer = importlib.import_module("DataSynthesizer.DataDescriber")
    generator = importlib.import_module("DataSynthesizer.DataGenerator")
    categorical = {name: is_discrete(private[name]) for name in private.columns}
    description = describer.DataDescriber(histogram_bins=BINS)
    sampler = generator.DataGenerator()
    with tempfile.TemporaryDirectory() as folder:
        table, learned = Path(folder) / "table.csv", Path(folder) / "learned.json"
        private.to_csv(table, index=False)
        description.describe_dataset_in_independent_attribute_mode(
            table,
            epsilon=EPSILON,
            attribute_to_is_categorical=categorical,
            attribute_to_is_candidate_key=dict.fromkeys(categorical, False),
            seed=SEED,
        )
        description.save_dataset_description_to_file(learned)
        sampler.generate_dataset_in_independent_mode(len(private), learned, seed=SEED)
    copy: pd.DataFrame = sampler.synthetic_dataset
    return copy


GENERATORS: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "forest": forest,
    "mst": spanning_tree,
    "independent": independent,
}


def shaped_like(private: pd.DataFrame, copy: pd.DataFrame) -> pd.DataFrame:
    """Copy with the private table's columns and types; integers are rounded."""
    integers = private.select_dtypes("integer").columns
    shaped = copy[private.columns].astype(dict.fromkeys(integers, "float64"))
    return shaped.round(dict.fromkeys(integers, 0)).astype(private.dtypes)


def main(argv: Sequence[str] | None = None) -> None:
    """Write one Parquet file for each generator."""
    parser = argparse.ArgumentParser(description="Three synthetic copies of one table.")
    parser.add_argument("private", metavar="PRIVATE", type=Path, help="a Parquet file")
    parser.add_argument("out_dir", metavar="OUT_DIR", type=Path)
    args = parser.parse_args(argv)
    private = pd.read_parquet(args.private)
    args.out_dir.mkdir(parents=True, exist_ok=True)
    # The generators warn of deprecations, which do not matter since their versions are pinned.
    warnings.simplefilter("ignore")
    for name, generate in GENERATORS.items():
        np.random.seed(SEED)  # noqa: NPY002 - what the generators draw from
        begin = time.perf_counter()
        copy = shaped_like(private, generate(private))
        seconds = time.perf_counter() - begin
        copy.to_parquet(args.out_dir / f"{name}.parquet", compression="zstd", index=False)
        print(f"{name}: {len(copy)} rows in {seconds:.0f} s")


if __name__ == "__main__":
    main()
