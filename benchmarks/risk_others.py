"""Copies of Adult of different kinds, and what Anonymeter and SDMetrics say of their risk.

    python benchmarks/risk_others.py make DATA FOLDER [--seeds 1]
    python benchmarks/risk_others.py score FOLDER Anonymeter > anonymeter.json
    python benchmarks/risk_others.py score FOLDER SDMetrics > sdmetrics.json

All commands need an environment of their own, since no tool is among pqd's dependencies:

    pip install anonymeter==1.1.0 sdmetrics==0.32.0 DataSynthesizer==0.1.13 pyarrow

``make`` draws private rows, held-out rows and other rows of the same law for each seed, and makes
copies of the private rows.  ``score`` measures some of those of the first seed; it reads the
private rows without protection.
"""

import argparse
import importlib
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

SEED, ROWS = 44, 15_000
SECRETS = ("income", "occupation", "marital-status")
# Targets of Anonymeter's attacks by nearest rows, and its guesses of predicates.
TARGETS, GUESSES = 500, 100
# Rows of the copy whose distances SDMetrics takes, and the real rows whose secret it guesses.
MEASURED, GUESSED, SECRET = 250, 1000, "income"
# Most parents of a column in a network, and the values that make a column one of texts.
DEGREE, FEW = 1, 20


def independent(private: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Copy with independent columns."""
    return private.apply(lambda column: rng.permutation(column.to_numpy()))


def copula(private: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Gaussian copula with the private margins; texts are ordered by their number."""
    normal = importlib.import_module("scipy.stats").norm
    ordered = {}
    for name, column in private.items():
        values = column.unique() if column.dtype != object else column.value_counts().index
        ordered[name] = pd.Categorical(column, values if column.dtype == object else sorted(values))
    codes = pd.DataFrame({name: each.codes for name, each in ordered.items()})
    jitter = codes + rng.random(codes.shape)
    scores = normal.ppf((jitter.rank() - 0.5) / len(codes))
    drawn = rng.multivariate_normal(np.zeros(scores.shape[1]), np.corrcoef(scores.T), len(codes))
    places = (normal.cdf(drawn) * len(codes)).astype(int).clip(0, len(codes) - 1)
    return pd.DataFrame(
        {
            name: each.categories.to_numpy()[np.sort(each.codes)[places[:, at]]]
            for at, (name, each) in enumerate(ordered.items())
        }
    )


def trees(leaf: int) -> Callable[[pd.DataFrame, np.random.Generator], pd.DataFrame]:
    """Copy by a tree for each column, given those before it, with so many rows in a leaf."""

    def made(private: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
        tree = importlib.import_module("sklearn.tree")
        codes = private.apply(lambda each: pd.factorize(each, sort=True)[0])
        # Columns of few values come first.
        names = codes.nunique().sort_values().index
        new = pd.DataFrame({names[0]: rng.permutation(codes[names[0]].to_numpy())})
        for place, name in enumerate(names[1:], start=1):
            before, numbers = list(names[:place]), private[name].dtype != object
            kind = tree.DecisionTreeRegressor if numbers else tree.DecisionTreeClassifier
            model = kind(min_samples_leaf=leaf, random_state=0)
            own = model.fit(codes[before], codes[name]).apply(codes[before])
            donors = pd.Series(np.arange(len(codes))).groupby(own).apply(np.array)
            found = [rng.choice(donors[each]) for each in model.apply(new[before])]
            new[name] = codes[name].to_numpy()[found]
        return pd.DataFrame(
            {
                name: pd.factorize(private[name], sort=True)[1][new[name].to_numpy()]
                for name in private
            }
        )

    return made


def privbayes(epsilon: float) -> Callable[[pd.DataFrame, np.random.Generator], pd.DataFrame]:
    """Copy by DataSynthesizer's PrivBayes."""

    def made(private: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
        describer = importlib.import_module("DataSynthesizer.DataDescriber").DataDescriber
        generator = importlib.import_module("DataSynthesizer.DataGenerator").DataGenerator()
        seed = int(rng.integers(1 << 30))
        texts = {name: True for name in private if private[name].dtype == object}
        with tempfile.TemporaryDirectory() as folder:
            table, description = Path(folder) / "private.csv", Path(folder) / "described.json"
            private.to_csv(table, index=False)
            describe = describer(category_threshold=FEW)
            describe.describe_dataset_in_correlated_attribute_mode(
                dataset_file=str(table), epsilon=epsilon, k=DEGREE,
                attribute_to_is_categorical=dict(texts), seed=seed,
            )  # fmt: skip
            describe.save_dataset_description_to_file(str(description))
            generator.generate_dataset_in_correlated_attribute_mode(
                len(private), str(description), seed=seed
            )
        new: pd.DataFrame = generator.synthetic_dataset[list(private)].reset_index(drop=True)
        for name in new:
            if name not in texts:
                new[name] = pd.to_numeric(new[name]).round().fillna(0).astype("int64")
        return new

    return made


def changed(cells: int) -> Callable[[pd.DataFrame, np.random.Generator], pd.DataFrame]:
    """Training rows but one, in each of which so many cells are those of other rows."""

    def made(private: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
        new = private.iloc[1:].reset_index(drop=True)
        places = np.argsort(rng.random(new.shape), axis=1)[:, :cells]
        for at, name in enumerate(new):
            other = private[name].to_numpy()[rng.integers(0, len(private), len(new))]
            new[name] = np.where((places == at).any(axis=1), other, new[name].to_numpy())
        return new

    return made


KINDS: dict[str, Callable[[pd.DataFrame, np.random.Generator], pd.DataFrame]] = {
    "independent columns": independent,
    "PrivBayes, epsilon 0.1": privbayes(0.1),
    "PrivBayes, epsilon 100": privbayes(100),
    "Gaussian copula": copula,
    "trees, leaves of 50": trees(50),
    "trees, leaves of 5": trees(5),
    "trees, leaves of 1": trees(1),
    "training rows, 4 cells changed": changed(4),
    "training rows": changed(0),
}


def make(data: Path, folder: Path, seeds: int) -> None:
    """Write the tables of each seed."""
    whole = pd.read_parquet(data / "adult_private.parquet")
    for seed in range(seeds):
        target = folder / str(seed)
        target.mkdir(parents=True, exist_ok=True)
        order = np.random.default_rng([SEED, seed]).permutation(len(whole))
        parts = [
            whole.iloc[order[first : first + ROWS]].reset_index(drop=True)
            for first in range(0, 3 * ROWS, ROWS)
        ]
        tables = dict(zip(("private", "held-out", "copy of other rows"), parts, strict=True))
        for name, part in tables.items():
            part.to_parquet(target / f"{name}.parquet")
        for place, (name, made) in enumerate(KINDS.items()):
            began = time.perf_counter()
            copy = made(parts[0], np.random.default_rng([SEED, seed, place]))
            copy.to_parquet(target / f"copy of {name}.parquet")
            print(f"{seed} {name}: {time.perf_counter() - began:.1f} s", file=sys.stderr)


# Copies that are scored, by tool.
SCORED = {
    "Anonymeter": ("trees, leaves of 1",),
    "SDMetrics": ("other rows", "trees, leaves of 50", "trees, leaves of 1"),
}


def copies(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the name of each copy with its file, the copy of other rows first."""
    for name in ("other rows", *KINDS):
        yield name, folder / f"copy of {name}.parquet"


def anonymeter(
    private: pd.DataFrame, held_out: pd.DataFrame, copy: pd.DataFrame
) -> Iterator[dict[str, Any]]:
    """Yield the rates of Anonymeter's attacks, and its risk with its interval."""
    tools = importlib.import_module("anonymeter.evaluators")
    tables = {"ori": private, "syn": copy, "control": held_out}
    columns = list(private)
    runs: dict[str, tuple[Any, dict[str, str]]] = {
        f"inference {secret}": (
            tools.InferenceEvaluator(
                **tables, aux_cols=[each for each in columns if each != secret], secret=secret,
                regression=False, n_attacks=TARGETS,
            ),
            {},
        )
        for secret in SECRETS
    }  # fmt: skip
    halves = (columns[::2], columns[1::2])
    runs["linkability"] = (
        tools.LinkabilityEvaluator(**tables, aux_cols=halves, n_neighbors=1, n_attacks=TARGETS),
        {},
    )
    for mode in ("univariate", "multivariate"):
        evaluator = tools.SinglingOutEvaluator(**tables, n_attacks=GUESSES)
        runs[f"singling-out {mode}"] = (evaluator, {"mode": mode})
    for name, (evaluator, options) in runs.items():
        np.random.seed(SEED)  # noqa: NPY002 - the tool samples with this generator
        began = time.perf_counter()
        try:
            threads = {} if options else {"n_jobs": 1}
            evaluator.evaluate(**options, **threads)
            found = evaluator.results(confidence_level=0.95)
        except RuntimeError as error:
            yield {"attack": name, "failed": str(error)}
            continue
        risk = found.risk()
        yield {
            "attack": name,
            "private": found.attack_rate.value,
            "held_out": found.control_rate.value,
            "naive": found.baseline_rate.value,
            "risk": risk.value,
            "low": risk.ci[0],
            "high": risk.ci[1],
            "seconds": time.perf_counter() - began,
        }


def sdmetrics(
    private: pd.DataFrame, held_out: pd.DataFrame, copy: pd.DataFrame
) -> Iterator[dict[str, Any]]:
    """Yield scores of SDMetrics, with the two numbers of which each is made.

    Distances are of some rows of the copy to all real rows, or, as the tool itself samples, to as
    many real rows.  ``control`` is the score of guesses of held-out rows, in the place of private
    rows.
    """
    tools = importlib.import_module("sdmetrics.single_table.privacy")
    numbers = [name for name in private if private[name].dtype != object]
    columns = {
        name: {"sdtype": "numerical" if name in numbers else "categorical"} for name in private
    }
    known = {"metadata": {"tables": {"t": {"columns": columns}}}, "table_name": "t"}
    few = copy.sample(MEASURED, random_state=SEED)

    def overfitting(new: pd.DataFrame, **options: int) -> dict[str, Any]:
        found = tools.DCROverfittingProtection.compute_breakdown(
            private, new, held_out, **known, **options
        )
        shares = found["synthetic_data_percentages"]
        return {
            "score": found["score"], "first": shares["closer_to_training"],
            "second": shares["closer_to_holdout"],
        }  # fmt: skip

    def baseline() -> dict[str, Any]:
        found = tools.DCRBaselineProtection.compute_breakdown(private, few, **known)
        medians = found["median_DCR_to_real_data"]
        return {
            "score": found["score"], "first": medians["synthetic_data"],
            "second": medians["random_data_baseline"],
        }  # fmt: skip

    def disclosure(real: pd.DataFrame) -> dict[str, Any]:
        found = tools.DisclosureProtection.compute_breakdown(
            real.iloc[:GUESSED], copy,
            known_column_names=[name for name in private if name != SECRET],
            sensitive_column_names=[SECRET], continuous_column_names=numbers,
        )  # fmt: skip
        return {
            "score": found["score"], "first": found["cap_protection"],
            "second": found["baseline_protection"],
        }  # fmt: skip

    runs: dict[str, list[Callable[[], dict[str, Any]]]] = {
        "DCR overfitting protection": [lambda: overfitting(few)],
        "DCR overfitting protection, subsampled": [
            lambda: overfitting(copy, num_rows_subsample=MEASURED)
        ],
        "DCR baseline protection": [baseline],
        f"disclosure protection of {SECRET}": [
            lambda: disclosure(private),
            lambda: disclosure(held_out),
        ],
    }
    for name, tried in runs.items():
        np.random.seed(SEED)  # noqa: NPY002 - the tool samples with this generator
        began = time.perf_counter()
        found, *control = [run() for run in tried]
        found["control"] = control[0]["score"] if control else None
        print(f"{name}: {time.perf_counter() - began:.1f} s", file=sys.stderr)
        yield {"attack": name, **found}


TOOLS = {"Anonymeter": anonymeter, "SDMetrics": sdmetrics}


def score(folder: Path, tool: str) -> dict[str, Any]:
    """Rates and risks, or scores, of some copies of the first seed."""
    own = folder / "0"
    private, held_out = (
        pd.read_parquet(own / f"{name}.parquet") for name in ("private", "held-out")
    )
    return {
        name: list(TOOLS[tool](private, held_out, pd.read_parquet(path)))
        for name, path in copies(own)
        if name in SCORED[tool]
    }


def main() -> None:
    """Make copies, or score them."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    made = commands.add_parser("make")
    made.add_argument("data", type=Path)
    made.add_argument("folder", type=Path)
    made.add_argument("--seeds", type=int, default=1)
    scored = commands.add_parser("score")
    scored.add_argument("folder", type=Path)
    scored.add_argument("tool", choices=TOOLS)
    given = parser.parse_args()
    if given.command == "make":
        make(given.data, given.folder, given.seeds)
    else:
        print(json.dumps(score(given.folder, given.tool), indent=1))


if __name__ == "__main__":
    main()
