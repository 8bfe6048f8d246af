"""The keys of answers: golden for every kind of measurement, apart for what differs, else one.

A golden key that changes makes every stored answer of its kind a query that is paid for anew.
If that is meant, write them with ``python tests/pqd/accounting/test_cache_keys.py``.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pqd.accounting.accounts import Budget
from pqd.accounting.cache_keys import canonical_value, digest, parameters_of_range_sums
from pqd.batches.answers import select_batches
from pqd.batches.batch_measurement import BatchMeasurement
from pqd.batches.mechanisms import (
    BY_QUERY,
    LINEAR,
    RANGE_SUMS,
    RELEASING,
    TOGETHER,
    linear_mechanism,
)
from pqd.batches.range_sums import RangePlan
from pqd.batches.workload_laplace import WorkloadPlan
from pqd.comparison.references import select_group_counts
from pqd.deciders import DECIDERS, Interval, Lattice
from pqd.deciders.batch.linear.multiplicative_weights import MultiplicativeWeights
from pqd.deciders.batch.linear.radius import RadiusFirst
from pqd.deciders.batch.range_sums import select as ranking
from pqd.deciders.batch.range_sums.workload import Buckets, RangeSums
from pqd.deciders.distances.claims import DistanceBelow
from pqd.deciders.distances.decider import DistanceDecider
from pqd.deciders.distances.vector import CubeVector, GaussianVector
from pqd.deciders.estimators import Estimator
from pqd.deciders.estimators.exponential import ExponentialQuantile
from pqd.deciders.estimators.laplace import LaplaceEstimate
from pqd.deciders.estimators.mean import SumAndCount, SumOverCount
from pqd.deciders.estimators.race_to_the_top import RaceEstimate
from pqd.deciders.estimators.ranks import RankCounts
from pqd.deciders.single.split_margins import SplitMargins
from pqd.engine.scan_plan import PrivacyUnit
from pqd.engine.synthetic_tables import SyntheticTables
from pqd.engine.tables import open_table
from pqd.marginals.bound_profile import bind_profile
from pqd.marginals.measurements import ClaimMeasurement, MarginalMeasurement
from pqd.marginals.profile_parameters import ProfileParameters
from pqd.marginals.profile_plan import plan_profile
from pqd.parameters import Parameters
from pqd.planning.binding import bind
from pqd.planning.bound_workload import BoundWorkload, QueryRequest
from pqd.planning.choose_estimator import ESTIMATORS as NAMES
from pqd.planning.planned_comparison import PlannedComparison, select_estimators
from pqd.planning.query_verdict import PlannedQueryVerdict, select_deciders
from pqd.sql.query import Query
from pqd.sql.workload_files import as_queries
from pqd.stated.mechanism_options import read_mechanism_options

GOLDEN = Path(__file__).with_name("golden_keys.json")
COPY = pd.DataFrame(
    {
        "age": [float(n % 17) for n in range(120)],
        "pay": [float(n % 23 - 3) for n in range(120)],
        "sex": list("fmf") * 40,
        "who": [float(n // 2) for n in range(120)],
    }
)
COLUMNS = {"age": {"bounds": (0, 20)}, "pay": {"bounds": (-5, 30)}}
AGGREGATES = {
    "COUNT": "COUNT(*)",
    "COUNT DISTINCT": "COUNT(DISTINCT pay)",
    "SUM": "SUM(age)",
    "AVG": "AVG(age)",
    "MEDIAN": "MEDIAN(age)",
    "QUANTILE": "QUANTILE(age, 0.3)",
}


def sql(aggregate: str, where: str = "pay > 2 AND sex = 'f'") -> str:
    return f"SELECT {AGGREGATES[aggregate]} FROM D WHERE {where}"


def bound(
    *queries: str | Query,
    decider: str = "auto",
    epsilon: str = "1/3",
    tau: str = "5",
    columns: Any = COLUMNS,
    unit: PrivacyUnit | None = None,
    copies: Sequence[pd.DataFrame] = (COPY,),
    private: pd.DataFrame | None = None,
) -> BoundWorkload:
    parameters = Parameters.parse(
        tau=tau, epsilon=epsilon, alpha="0.05", mechanism=decider, columns=columns
    )
    secret = None if private is None else open_table(private, "private")
    tables = SyntheticTables([open_table(copy, "synthetic") for copy in copies], secret)
    requests = [QueryRequest(query, parameters) for query in as_queries(list(queries))]
    workload = bind(tables, requests, parameters.columns, unit)
    workload.check()
    return workload


def verdicts(*queries: str | Query, **how: Any) -> tuple[PlannedQueryVerdict, ...]:
    return select_deciders(bound(*queries, **how)).verdicts


def comparisons(*queries: str | Query, **how: Any) -> tuple[PlannedComparison, ...]:
    return select_estimators(bound(*queries, **how)).comparisons


def batch(
    mechanism: str,
    *queries: str | Query,
    options: Mapping[str, Any] | None = None,
    **how: Any,
) -> list[BatchMeasurement]:
    parameters = Parameters.parse(
        tau=1, epsilon=how.get("epsilon", "1/3"), alpha=0.05, mechanism=mechanism
    )
    workload = bound(*queries, tau="1", private=COPY.head(90), **how)
    stated = read_mechanism_options(mechanism, options)
    return [one.batch for one in select_batches(workload, parameters, stated).batches]


RANGES = ("SELECT SUM(age) FROM D WHERE age <= 9", "SELECT SUM(age) FROM D WHERE age <= 15")
COUNTS = (sql("COUNT", "pay > 2"), sql("COUNT", "pay > 9"))


RELEASED = {
    "laplace": ("COUNT", "COUNT DISTINCT", "SUM"),
    "race_to_the_top": ("SUM",),
    "sum_and_count": ("AVG",),
    "rank_counts": ("MEDIAN", "QUANTILE"),
    "exponential": ("MEDIAN", "QUANTILE"),
    "split": tuple(AGGREGATES),
}


def measurements() -> Iterator[tuple[str, str]]:
    """Yield every kind of measurement by name, with its key."""
    for name, decider in DECIDERS.items():
        if decider.releases_answer:
            # One measurement with the estimate of a comparison.
            continue
        (verdict,) = verdicts(sql(decider.aggregate), decider=name)
        yield f"audit by {name}", verdict.measurement.cache_key
    for name, aggregates in RELEASED.items():
        for aggregate in aggregates:
            (comparison,) = comparisons(sql(aggregate), decider=name)
            assert comparison.taken == name
            yield f"compare {aggregate} by {name}", comparison.measurement.cache_key
    people = PrivacyUnit("who", 3)
    (comparison,) = comparisons(sql("AVG"), decider="sum_over_count", unit=people)
    assert comparison.taken == "sum_over_count"
    yield "compare AVG of people by sum_over_count", comparison.measurement.cache_key
    (marginal,) = select_group_counts(bound(sql("COUNT"))).marginals
    yield "a marginal", marginal.cache_key
    yield from releases()
    # The best of these is taken for ``ranges``: each by itself.
    (one,) = batch("ranges", *RANGES)
    assert isinstance(one.plan, RangePlan)
    workload = one.plan.mechanism.workload
    for kind in ranking.MECHANISMS.values():
        yield f"ranges by {kind.id}", digest(parameters_of_range_sums(kind(workload=workload)))
    for aggregate in ("COUNT", "SUM", "MEDIAN"):
        name = f"inv_{aggregate.lower()}"
        (verdict,) = verdicts(sql(aggregate), unit=people, decider=name)
        yield f"{aggregate} of people", verdict.measurement.cache_key
    for name in BY_QUERY:
        (one,) = batch(name, *COUNTS, unit=people)
        yield f"{name} of people", one.cache_key
    yield from measurements_per_row()
    for name, measurement in profiled(zoom=1).items():
        yield f"profile, {name}", measurement.cache_key
    yield "profile, Gaussian distances", profiled(delta="1e-6")["distances"].cache_key
    yield "profile, distances of people", profiled(unit=people)["distances"].cache_key


def releases() -> Iterator[tuple[str, str]]:
    for name in RELEASING:
        queries = RANGES if name in RANGE_SUMS else COUNTS
        (one,) = batch(name, *queries)
        yield f"release by {name}", one.cache_key
    for options in ({"radius": "private"}, {"delta": "1e-6"}):
        (one,) = batch("numerical", *COUNTS, options=options)
        yield f"numerical with {' '.join(options)}", one.cache_key
    weighted = Query(COUNTS[0], weight=3), Query(COUNTS[1])
    (one,) = batch("numerical", *weighted)
    yield "numerical with weights", one.cache_key


def per_row(aggregate: str) -> Query:
    return Query(sql(aggregate), scale="rows")


def measurements_per_row() -> Iterator[tuple[str, str]]:
    for aggregate in ("COUNT", "SUM"):
        for name in ("inv_mean", "lm_mean"):
            (verdict,) = verdicts(per_row(aggregate), decider=name)
            yield f"{aggregate} per row by {name}", verdict.measurement.cache_key
        (comparison,) = comparisons(per_row(aggregate))
        yield f"estimate of a {aggregate} per row", comparison.measurement.cache_key


def profiled(
    *, copy: pd.DataFrame = COPY, unit: PrivacyUnit | None = None, **how: Any
) -> dict[str, MarginalMeasurement[Any]]:
    """Measurements of a profile, and one distance of it against a tolerance."""
    parameters = ProfileParameters.parse(**how)
    tables = SyntheticTables([open_table(copy, "synthetic")])
    plan = plan_profile(bind_profile(tables, parameters.request, unit), parameters)
    of, distance = plan.distances.distances[0]
    single = ClaimMeasurement(
        kinds=plan.bound.kinds_of(plan.terms[0].marginal.columns),
        unit=unit,
        epsilon=Fraction(1, 3),
        name="a distance",
        row_maps=of,
        claim=DistanceBelow(distance, parameters.tau),
    )
    numbers = range(1 + len(plan.distances.distances))
    zoomed = {f"cells {number}": each for number, each in enumerate(plan.cells(numbers))}
    first = {"distances": plan.distances, "values": plan.histograms}
    return {**first, "one distance": single, **zoomed}


def test_the_keys_are_as_they_were() -> None:
    assert dict(measurements()) == json.loads(GOLDEN.read_text("utf-8"))


def test_every_kind_has_its_own_key() -> None:
    golden = json.loads(GOLDEN.read_text("utf-8"))
    assert len(set(golden.values())) == len(golden)
    assert all(re.fullmatch("[0-9a-f]{64}", key) for key in golden.values())
    alone = {name for name, decider in DECIDERS.items() if not decider.releases_answer}
    assert {name.removeprefix("audit by ") for name in golden if "audit" in name} == alone
    assert {name.split()[-1] for name in golden if name.startswith("compare")} == set(NAMES)
    assert {name.split()[-1] for name in golden if name.startswith("release")} == set(RELEASING)


# What a key must know ----------------------------------------------------------------------------

# Fields that are the queries themselves, that hold a mechanism with a key of its own, or that the
# id tells.
BESIDE = {"queries", "workload", "truncation", "weights", "decider", "joint", "inner"}
# A part of the key where it is stated alone: ``parameters_of``.
BESIDE |= {"importance"}
ESTIMATORS: tuple[Any, ...] = (
    *(LaplaceEstimate, RaceEstimate, SumAndCount, SumOverCount, RankCounts),
    *(ExponentialQuantile, SplitMargins),
)


def kinds_of_mechanisms() -> Iterator[Any]:
    yield from DECIDERS.values()
    yield from ESTIMATORS
    yield WorkloadPlan
    yield from map(linear_mechanism, LINEAR)
    yield from ranking.MECHANISMS.values()
    yield from (MultiplicativeWeights, RadiusFirst)
    yield from truncations()
    yield from (CubeVector, GaussianVector, DistanceDecider)


def truncations() -> list[Any]:
    from pqd.deciders.batch.range_sums import truncation as home  # noqa: PLC0415 - for what is in it

    found = [x for x in vars(home).values() if is_dataclass(x) and hasattr(x, "id")]
    assert {kind.id for kind in found} == {"none", "svt", "recursive"}
    return found


def test_no_field_is_left_out() -> None:
    kinds: list[Any] = list(kinds_of_mechanisms())
    assert len(kinds) == len(set(kinds)) == 23 + 7 + 1 + len(LINEAR) + 5 + 2 + 3 + 3
    assert all(map(is_dataclass, kinds))
    for kind in kinds:
        # Its own, or what it inherits knows nothing of what it adds.
        assert {field.name for field in fields(kind)} - BESIDE == set(kind.key_fields), kind


def test_all_that_can_be_measured_is_in_the_golden_file() -> None:
    assert {kind.id for kind in ESTIMATORS} == set(NAMES)
    assert {"workload", "joint", *LINEAR, "ranges"} == set(TOGETHER)
    conformers = re.search(r"Conformers: ([^.]*)\.", Estimator.__doc__ or "")
    assert conformers
    assert {kind.__name__ for kind in ESTIMATORS[:-1]} == set(re.split(r",\s+", conformers[1]))


QUERY = sql("COUNT")
LIKE_IT: dict[str, dict[str, Any]] = {
    "small letters": {"queries": [QUERY.lower().replace("'F'", "'f'")]},
    "another order": {"queries": [sql("COUNT", "sex = 'f' AND pay > 2")]},
    "a comment": {"queries": [f"{QUERY} -- again"]},
    "a comment within": {"queries": [sql("COUNT", "pay > 2 /* a lot */ AND /* she */ sex = 'f'")]},
    "an amount in other words": {"tau": "5.0", "epsilon": "2/6"},
    "bounds that it does not use": {"columns": {}},
    "a copy that answers alike": {"copies": [COPY.sample(frac=1, random_state=1)]},
}
APART: dict[str, dict[str, Any]] = {
    "another condition": {"queries": [sql("COUNT", "pay > 3 AND sex = 'f'")]},
    "or": {"queries": [sql("COUNT", "pay > 2 OR sex = 'f'")]},
    "a text that looks like a condition": {"queries": [sql("COUNT", "sex = 'f and pay > 2'")]},
    "a mark of a comment in a text": {"queries": [sql("COUNT", "pay > 2 AND sex = 'f/**/'")]},
    "no condition": {"queries": ["SELECT COUNT(*) FROM D"]},
    "another column": {"queries": ["SELECT COUNT(age) FROM D WHERE pay > 2 AND sex = 'f'"]},
    "distinct": {"queries": [sql("COUNT DISTINCT")]},
    "another tolerance": {"tau": "6"},
    "another epsilon": {"epsilon": "1/4"},
    "another decider": {"decider": "lm_count"},
    "people": {"unit": PrivacyUnit("who")},
    "other people": {"unit": PrivacyUnit("age")},
    "another answer of the copy": {"copies": [COPY.head(90)]},
}
SUMMED: dict[str, dict[str, Any]] = {
    "a sum": {},
    "other bounds": {"columns": {"age": {"bounds": (0, 21)}}},
    "another step": {"columns": {"age": {"bounds": (0, 20), "step": "0.5"}}},
    "a median": {"queries": [sql("MEDIAN")]},
    "a quantile": {"queries": [sql("QUANTILE")]},
    "the quantile that is a median": {"queries": [sql("QUANTILE").replace("0.3", "0.5")]},
    "another number": {"queries": ["SELECT SUM(pay) FROM D WHERE pay > 2 AND sex = 'f'"]},
    "twice the number": {"queries": ["SELECT SUM(age * 2) FROM D WHERE pay > 2 AND sex = 'f'"]},
    "rows of people": {"queries": [sql("MEDIAN")], "unit": PrivacyUnit("who", 2)},
    "more rows of people": {"queries": [sql("MEDIAN")], "unit": PrivacyUnit("who", 3)},
    "totals of people": {"unit": PrivacyUnit("who", 3)},
    "a mean": {"queries": [sql("AVG")]},
    "a sum per row": {"queries": [per_row("SUM")]},
    "a sum per row of people": {"queries": [per_row("SUM")], "unit": PrivacyUnit("who", 3)},
    "a share of the rows": {"queries": [per_row("COUNT")]},
}


def key_of(
    plans: Callable[..., Any] = verdicts, queries: Sequence[str | Query] = (QUERY,), **how: Any
) -> str:
    (planned,) = plans(*queries, **how)
    return str(planned.measurement.cache_key)


@pytest.mark.parametrize("how", LIKE_IT)
def test_the_same_query_has_one_key(how: str) -> None:
    assert key_of(**LIKE_IT[how]) == key_of()


COMMENTED = [
    ("SELECT COUNT(*) FROM D WHERE pay IS NULL OR {}age > 3", "TRUE {0}= (age{0} > 5{0})"),
    ("SELECT SUM(age{}) FROM D WHERE NOT pay IS NULL{}", "sex IS NOT DISTINCT FROM NULL{0}"),
    ("SELECT {}COUNT(DISTINCT {}sex) FROM D", "CASE WHEN TRUE{0} THEN age{0} ELSE 3 END > 2"),
]


@pytest.mark.parametrize("text", [text for pair in COMMENTED for text in pair])
def test_a_comment_is_not_asked(text: str) -> None:
    texts = [text.replace("{0}", "{}").replace("{}", comment) for comment in ("", " /* so */ ")]
    if not text.startswith("SELECT"):
        texts = [f"SELECT COUNT(*) FROM D WHERE {condition}" for condition in texts]
    plain, commented = (verdicts(text, tau="50")[0] for text in texts)
    assert plain.measurement.cache_key == commented.measurement.cache_key
    assert "so" not in str(commented.facts()["where"])


@pytest.mark.parametrize("make", [verdicts, comparisons])
def test_another_query_has_another_key(make: Any) -> None:
    named = make is comparisons
    base = {} if named else {"decider": "inv_count"}
    found = [key_of(make, **base)]
    for how, terms in APART.items():
        if not named and how != "distinct":
            found.append(key_of(make, **{**base, **terms}))
        elif named and how in {"another tolerance", "another answer of the copy"}:
            # One release answers for all intervals.
            laplace = key_of(make, **{**terms, "decider": "laplace"})
            assert laplace == key_of(make, decider="laplace")
        elif named and how == "another decider":
            found.append(key_of(make, decider="laplace"))
        else:
            found.append(key_of(make, **terms))
    sums = [{"queries": [sql("SUM")], **terms} for terms in SUMMED.values()]
    found += [key_of(make, **terms) for terms in sums]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("aggregate", ["COUNT", "COUNT DISTINCT", "SUM"])
def test_a_noisy_answer_is_one_for_every_tolerance_and_that_of_a_comparison(aggregate: str) -> None:
    decider = f"noisy_{aggregate.lower().removeprefix('count ')}"
    asked: dict[str, Any] = {"queries": [sql(aggregate)], "decider": decider}
    key = key_of(**asked)
    assert key == key_of(**asked, tau="6") == key_of(**asked, copies=[COPY.head(90)])
    assert key == key_of(comparisons, queries=[sql(aggregate)], decider="laplace")
    assert key != key_of(**asked, epsilon="1/4")
    assert key != key_of(**asked, unit=PrivacyUnit("who"))


def test_a_settled_verdict_is_no_release() -> None:
    """Where 0 is the only sum there is nothing to draw, so it shares no key with what is drawn."""
    (settled,) = verdicts(
        sql("SUM"), decider="noisy_sum", columns={"age": {"bounds": (0, 0)}}, copies=[COPY]
    )
    assert settled.is_constant
    assert settled.measurement.cost == 0
    assert settled.measurement.parameters()["kind"] == "verdict"


def test_the_kind_of_a_column_is_in_the_key() -> None:
    # Each kind has a cell that fits it, since a kind that none fits is refused.
    text = COPY.assign(code=[("1", "2020-02-03", "true", "x")[n % 4] for n in range(120)])
    condition = "SELECT COUNT(*) FROM D WHERE code IS NOT NULL"
    kinds = ("text", "number", "time", "boolean")
    found = {
        key_of(queries=[condition], copies=[text], columns={"code": {"type": kind}}, tau="5")
        for kind in kinds
    }
    assert len(found) == len(kinds)


def test_who_may_be_counted_twice_is_in_the_key() -> None:
    """A count of people does not depend on how many of their rows may count elsewhere."""
    assert key_of(unit=PrivacyUnit("who", 2)) == key_of(unit=PrivacyUnit("WHO", 5))


PROFILED: dict[str, dict[str, Any]] = {
    "another epsilon": {"total_epsilon": 2},
    "no triples": {"ways": 3},
    "columns alone": {"ways": 1},
    "fewer columns": {"columns": ["age", "sex"]},
    "other cells": {"cells": {"age": 5}},
    "another distance": {"distances": ["emd"]},
    "total variation alone": {"distances": ["tv"]},
    "another kind": {"facts": {"age": {"type": "text"}}},
    "people": {"unit": PrivacyUnit("who")},
    "other people": {"unit": PrivacyUnit("pay")},
    "more rows of people": {"unit": PrivacyUnit("who", 2)},
    "Gaussian noise": {"delta": "1e-6"},
    "another delta": {"delta": "1e-7"},
    "another copy": {"copy": COPY.head(90)},
}


def test_another_profile_has_another_key() -> None:
    keys = [profiled(**how)["distances"].cache_key for how in PROFILED.values()]
    assert len({profiled()["distances"].cache_key, *keys}) == len(PROFILED) + 1


def test_stated_edges_have_a_key_of_their_own() -> None:
    """Also where they are those that the copy has: a value beyond them is then not unseen."""
    copy = pd.DataFrame({"pay": np.arange(100.0)})
    ends = [0, *range(9, 90, 10), 99]
    chosen, stated = profiled(copy=copy), profiled(copy=copy, cells={"pay": ends})
    assert chosen["one distance"].cache_key == stated["one distance"].cache_key
    assert chosen["distances"].cache_key != stated["distances"].cache_key


@pytest.mark.parametrize(
    "how",
    [
        {"tau": "20%"},
        {"alpha": "0.1"},
        {"columns": ["WHO", "SEX", "pay", "AGE"]},
        {"copy": COPY.sample(frac=1, random_state=1)},
        {"total_epsilon": "1.25", "zoom": 2},
    ],
)
def test_the_same_profile_has_one_key(how: dict[str, Any]) -> None:
    """Tolerances and levels are post-processing; the cells are paid for by themselves."""
    assert profiled(**how)["distances"].cache_key == profiled()["distances"].cache_key


def test_a_distance_is_known_by_its_marginal_and_tolerance() -> None:
    found = [
        profiled(**how)["one distance"].cache_key
        for how in ({}, {"tau": "6%"}, {"columns": ["sex"]}, {"copy": COPY.head(90)})
    ]
    assert len(set(found)) == len(found)
    assert profiled(total_epsilon=2)["one distance"].cache_key == found[0]


def test_a_marginal_is_no_release() -> None:
    (marginal,) = select_group_counts(bound(QUERY)).marginals
    assert marginal.cache_key != key_of(comparisons)


def test_batches_apart() -> None:
    found = [batch("workload", *COUNTS)[0].cache_key]
    found.append(batch("workload", *COUNTS, epsilon="1/4")[0].cache_key)
    found.append(batch("identity", *COUNTS)[0].cache_key)
    found.append(batch("workload", COUNTS[0])[0].cache_key)
    found.append(batch("workload", COUNTS[0], sql("COUNT", "pay > 8"))[0].cache_key)
    sums = [query.replace("COUNT(*)", "SUM(age)") for query in COUNTS]
    found.append(batch("workload", *sums)[0].cache_key)
    found.append(batch("workload", *sums, columns={"age": {"bounds": (0, 21)}})[0].cache_key)
    assert len(set(found)) == len(found)
    assert batch("workload", *reversed(COUNTS))[0].cache_key == found[0]


def test_range_sums_apart() -> None:
    buckets = Buckets((1, 2, 3, 4))
    workloads = [
        RangeSums(buckets, ((0, 2), (1, 3))),
        RangeSums(buckets, ((0, 2), (1, 4))),
        RangeSums(Buckets((1, 2, 3, 5)), ((0, 2), (1, 3))),
    ]
    sqm = ranking.MECHANISMS["sqm"]
    assert (
        len({digest(parameters_of_range_sums(sqm(workload=workload))) for workload in workloads})
        == 3
    )


# How values are written --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.05, "1/20"),
        (Fraction(6, 4), "3/2"),
        (Interval(Fraction(1, 3), 2), ["1/3", "2"]),
        (Lattice(0, 10), ["0", "10", "1"]),
        (((1, None), "a"), [[1, None], "a"]),
        ({"a": (0.5,)}, {"a": ["1/2"]}),
    ],
)
def test_values_are_exact(value: object, text: object) -> None:
    assert canonical_value(value) == text


@pytest.mark.parametrize("value", [object(), np.arange(3), b"1", {1, 2}, Budget(), int])
def test_nothing_is_written_by_its_printed_form(value: object) -> None:
    with pytest.raises(TypeError):
        canonical_value({"value": [value]})


def test_the_order_of_names_does_not_count() -> None:
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1}) != digest({"a": 2, "b": 1})


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(dict(measurements()), indent=1) + "\n", "utf-8")
