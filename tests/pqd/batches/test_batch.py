"""Classes of rows, cells and batches against pandas on random tables and predicates."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pqd.accounting.accounts import decode, encode
from pqd.batches import linear_workload
from pqd.batches import row_classes as classes_module
from pqd.batches.batch_plan import BatchPlan, LinearPlan
from pqd.batches.linear_workload import LinearWorkload
from pqd.batches.mechanisms import LINEAR, NOISE_KNOWN, linear_mechanism
from pqd.batches.row_classes import RowClasses, pack, unpack
from pqd.batches.simulation import QuasiRandomNoise, choose_mechanism
from pqd.batches.workload_laplace import WorkloadPlan
from pqd.deciders import Decision, Lattice, SimulatedNoise
from pqd.deciders.batch.base import BatchOutput
from pqd.deciders.batch.linear.universe import DigitUniverse, LevelUniverse
from pqd.deciders.estimators import EstimatorOutput
from pqd.engine.contingency import ContingencyTable
from pqd.engine.scan_plan import Measure, ScanPlan, Statistic
from pqd.engine.synthetic_table import SyntheticTable
from pqd.engine.tables import open_table
from pqd.errors import ParameterError
from pqd.sql.query import Query

LATTICE = Lattice(0, 20)
# Each predicate in SQL and in pandas; NULL meets neither a condition nor its negation.
CONDITIONS: dict[str, Any] = {
    "age > 30": lambda d: d.age > 30,
    "age <= 50 AND job = 'cook'": lambda d: (d.age <= 50) & (d.job == "cook"),
    "NOT (job = 'cook')": lambda d: d.job.notna() & (d.job != "cook"),
    "job IS NULL OR age > 60": lambda d: d.job.isna() | (d.age > 60),
    "home IN ('a', 'b') AND NOT age > 30": lambda d: d.home.isin(["a", "b"]) & (d.age <= 30),
    "age = pay": lambda d: d.age == d.pay,
    "home LIKE 'a%' OR home = 'c'": lambda d: d.home.isin(["a", "c"]),
    "1 = 1": lambda d: d.age == d.age,
}


def table(seed: int, rows: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    jobs = np.array(["cook", "smith", "nurse", None], dtype=object)
    return pd.DataFrame(
        {
            "age": rng.integers(0, 80, rows),
            "pay": rng.integers(-3, 25, rows).astype(float),
            "job": rng.choice(jobs, rows),
            "home": rng.choice(["a", "b", "c"], rows),
        }
    )


class Scanned:
    """An engine over a synthetic and a private table, and a workload resolved on it."""

    def __init__(self, synthetic: pd.DataFrame, private: pd.DataFrame, *queries: str) -> None:
        self.public = open_table(synthetic, "synthetic")
        self.secret = open_table(private, "private")
        self.engine = SyntheticTable()
        parsed = [Query(sql) for sql in queries]
        self.schema = self.engine.schema(self.public, {n for q in parsed for n in q.mentioned}, {})
        statistics = []
        for query in parsed:
            found = query.resolve(self.schema)
            measure = Measure(found.value, LATTICE) if found.value else None
            statistics.append(Statistic(found.predicate, measure, found.columns, collapsed=True))
        self.workload = ScanPlan(tuple(statistics))

    def cells(self, *, private: bool = True) -> ContingencyTable:
        return self.engine.contingency(
            self.secret if private else self.public, self.schema, self.workload
        )

    def problem(self, lattice: Lattice | None = None) -> LinearWorkload:
        return LinearWorkload(
            RowClasses.of(self.workload, self.cells(private=False).words), lattice
        )


def mapped(problem: LinearWorkload, cells: ContingencyTable) -> Any:
    """The exact answers about rows as the classes know them."""
    held = np.all(cells.places >= 0, axis=1)
    worth = np.ones(held.sum(), np.int64)
    if problem.lattice:
        worth = problem.lattice.units_at(cells.places[held, 0])
    totals = np.zeros(problem.classes.size, np.int64)
    np.add.at(totals, problem.classes.of_words(cells.words[held]), worth * cells.counts[held])
    return problem.classes.matrix.astype(np.int64) @ totals


def counting(*conditions: str) -> list[str]:
    return [f"SELECT COUNT(*) FROM D WHERE {condition}" for condition in conditions]


def test_bits_survive_packing() -> None:
    rng = np.random.default_rng(2)
    for bits in (1, 63, 64, 65, 200):
        vectors = rng.random((7, bits)) < 0.5
        assert np.array_equal(unpack(pack(vectors), bits), vectors)


@pytest.mark.parametrize("seed", range(4))
def test_cells_are_what_pandas_groups(seed: int) -> None:
    frame = table(seed)
    sums = [f"SELECT SUM(pay) FROM D WHERE {c}" for c in ("age > 30", "job = 'cook'")]
    found = Scanned(frame, frame, *sums).cells()
    place = frame.pay.clip(0, 20).astype(int)
    word = (frame.age > 30).astype(int) + 2 * (frame.job == "cook").astype(int)
    expected = pd.DataFrame({"w": word, "p": place}).value_counts().sort_index()
    got = pd.DataFrame({"w": found.words[:, 0], "p": found.places[:, 0], "n": found.counts})
    assert got.set_index(["w", "p"]).sort_index()["n"].to_dict() == expected.to_dict()


def test_cells_without_atoms_and_without_rows() -> None:
    frame = table(0)
    whole = Scanned(frame, frame, "SELECT COUNT(*) FROM D").cells()
    assert (whole.words.shape, whole.counts.tolist()) == ((1, 0), [400])
    none = Scanned(frame, frame.iloc[:0], *counting("age > 30")).cells()
    assert none.counts.size == 0
    nulls = frame.assign(pay=np.nan)
    places = Scanned(frame, nulls, "SELECT SUM(pay) FROM D").cells().places
    assert places.tolist() == [[-1]]


def test_cells_hold_the_places_of_several_numbers() -> None:
    frame = table(0).assign(age=lambda d: d.age.astype(float))
    frame.loc[::9, "age"] = np.nan
    sums = ["SELECT SUM(pay) FROM D WHERE job = 'cook'", "SELECT SUM(age) FROM D"]
    found = Scanned(frame, frame, *sums).cells()
    expected = pd.DataFrame(
        {
            "w": (frame.job == "cook").astype(int),
            "pay": frame.pay.clip(0, 20).astype(int),
            "age": frame.age.clip(0, 20).fillna(-1).astype(int),
        }
    )
    keys = np.column_stack((found.words, found.places.view(np.uint64))).view(np.int64)
    got = dict(zip(map(tuple, keys.tolist()), found.counts.tolist(), strict=True))
    assert got == expected.value_counts().to_dict()
    assert [*got] == sorted(got)


def test_cells_refuse_a_number_without_a_lattice() -> None:
    frame = table(0)
    scanned = Scanned(frame, frame, "SELECT SUM(pay) FROM D")
    (one,) = scanned.workload.statistics
    scanned.workload = ScanPlan((replace(one, measure=Measure('"pay"', None)),))
    with pytest.raises(ValueError, match="places on lattices"):
        scanned.cells()


@pytest.mark.parametrize("seed", range(4))
def test_a_private_row_changes_at_most_one_cell(seed: int) -> None:
    """One row more raises one count by one, through the engine and through the classes."""
    public, secret = table(seed), table(seed + 10, 50)
    strange = secret.iloc[:1].assign(job="spy", home="z", age=99)
    for extra in (secret.iloc[3:4], strange):
        held = []
        for frame in (secret, pd.concat([secret, extra], ignore_index=True)):
            scanned = Scanned(public, frame, *counting(*CONDITIONS))
            rows = scanned.problem().rows(scanned.cells())
            held.append(np.bincount(rows.classes, minlength=scanned.problem().classes.size))
        assert max((held[1] - held[0]).tolist()) == 1
        assert np.abs(held[1] - held[0]).sum() == 1


@pytest.mark.parametrize("seed", range(4))
def test_conditions_are_those_of_the_queries(seed: int) -> None:
    public, secret = table(seed), table(seed + 20)
    scanned = Scanned(public, secret, *counting(*CONDITIONS))
    expected = [int(rule(secret).sum()) for rule in CONDITIONS.values()]
    problem = scanned.problem()
    on_public = mapped(problem, scanned.cells(private=False))
    assert on_public.tolist() == [int(rule(public).sum()) for rule in CONDITIONS.values()]
    # Conditions on age, pay and job share a factor, of which all is shown but the rarest.
    assert np.abs(mapped(problem, scanned.cells()) - expected).max() <= 12


def test_factors_make_combinations_that_no_synthetic_row_shows() -> None:
    public = pd.DataFrame({"age": [20, 50], "job": ["cook", "smith"]})
    secret = pd.DataFrame({"age": [50, 20, 50], "job": ["cook", "smith", "spy"]})
    conditions = ("age > 30", "job = 'cook'", "age > 30 AND job = 'cook'")
    scanned = Scanned(public, secret, *counting(*conditions))
    problem = scanned.problem()
    assert len(problem.classes.factors) == 2
    assert problem.classes.size == 4
    assert mapped(problem, scanned.cells()).tolist() == [2, 1, 1]


def test_plain_conditions_are_right_of_values_that_no_synthetic_row_shows() -> None:
    public = pd.DataFrame({"age": [20, 50], "job": ["cook", "smith"]})
    secret = public.assign(job=pd.Series(["spy", None], dtype=object))
    conditions = ("age > 30", "job <> 'cook'", "job <> 'cook' AND job <> 'smith'", "job IS NULL")
    scanned = Scanned(public, secret, *counting(*conditions))
    classes = scanned.problem().classes
    assert mapped(scanned.problem(), scanned.cells()).tolist() == [1, 1, 1, 1]
    assert classes.open_conditions == ()


def test_a_private_value_under_like_counts_as_meeting_no_condition_of_its_factor() -> None:
    public = pd.DataFrame({"age": [20, 50], "job": ["cook", "smith"]})
    secret = public.assign(job="nurse")
    patterns = ("job NOT LIKE 'c%'", "job NOT LIKE 's%'")
    scanned = Scanned(public, secret, *counting("age > 30", patterns[0], " AND ".join(patterns)))
    # Both conditions on job hold of a nurse, which no synthetic row shows.
    assert mapped(scanned.problem(), scanned.cells()).tolist() == [1, 0, 0]
    classes = scanned.problem().classes
    assert [len(factor.names) for factor in classes.factors] == [1, 2]
    assert classes.open_conditions == tuple(f"NOT (\"job\" LIKE '{letter}%')" for letter in "cs")


def test_one_condition_that_is_not_plain_makes_its_whole_factor_unsure() -> None:
    frame = table(0)
    scanned = Scanned(frame, frame, *counting(*CONDITIONS))
    names = " ".join(scanned.problem().classes.open_conditions)
    # "age = pay" joins what is asked of either; "1 = 1" is the same for every row.
    for part in ('"age" > ', '"age" = "pay"', "LIKE 'a%'", "\"home\" = 'c'"):
        assert part in names
    assert "1.0e0 = 1.0e0" not in names
    assert '"job"' not in names


@pytest.mark.parametrize("seed", range(4))
def test_plain_conditions_are_right_of_any_private_table(seed: int) -> None:
    plain = {
        sql: rule for sql, rule in CONDITIONS.items() if "LIKE" not in sql and "pay" not in sql
    }
    secret = table(seed + 30).assign(age=lambda d: d.age * 3 - 60)
    secret.loc[::7, "job"] = "spy"
    secret.loc[::5, "home"] = None
    # Two rows of the synthetic table show next to nothing.
    scanned = Scanned(table(seed).iloc[:2], secret, *counting(*plain))
    expected = [int(rule(secret).sum()) for rule in plain.values()]
    assert mapped(scanned.problem(), scanned.cells()).tolist() == expected


def test_too_many_combinations_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classes_module, "MOST_COMBINATIONS", 12)
    public = pd.DataFrame({"age": [20, 50] * 8, "job": list("abcdefgh") * 2})
    kept = counting("age > 30", *(f"job = '{job}'" for job in "abcdefgh"))
    with pytest.raises(ParameterError, match=r"combine in 18 ways; at most 12 fit: ask"):
        Scanned(public, public, *kept).problem()
    monkeypatch.setattr(classes_module, "MOST_COMBINATIONS", 18)
    scanned = Scanned(public, public, *kept)
    assert mapped(scanned.problem(), scanned.cells()).tolist() == [8] + [2] * 8


def test_the_digest_does_not_depend_on_the_order_of_atoms() -> None:
    frame = table(1)
    several = counting(*CONDITIONS)
    ways = [Scanned(frame, frame, *order).problem() for order in (several, several[::-1])]
    assert ways[0].classes.digest == ways[1].classes.digest
    fewer = Scanned(frame, frame, *several[:-2]).problem()
    assert fewer.classes.digest != ways[0].classes.digest


@pytest.mark.parametrize(
    ("lattice", "kind"),
    [
        (None, LevelUniverse),
        (Lattice(0, 20), LevelUniverse),
        (Lattice(0, 2**20), DigitUniverse),
        (Lattice(-9, 9), LevelUniverse),
    ],
)
def test_the_universe_fits_the_lattice(lattice: Lattice | None, kind: type) -> None:
    frame = table(1)
    problem = Scanned(frame, frame, *counting("age > 30")).problem(lattice)
    assert isinstance(problem.queries().universe, kind)
    assert problem.signed is (lattice == Lattice(-9, 9))


def test_a_universe_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = table(1)
    problem = Scanned(frame, frame, *counting("age > 30")).problem(Lattice(0, 2**40))
    assert problem.queries().top == 2**40
    several = counting(*(f"age > {age}" for age in range(70)))
    monkeypatch.setattr(linear_workload, "_LARGEST_BEYOND", 500)
    monkeypatch.setattr(linear_workload, "_LARGEST_BITS", 3000)
    problem = Scanned(frame, frame, *several).problem(Lattice(0, 2**32 - 1))
    assert problem.queries().top == 2**32 - 1
    problem = Scanned(frame, frame, *several).problem(Lattice(0, 2**40))
    with pytest.raises(ParameterError, match="makes 2,911 cells; at most 500 fit"):
        problem.queries()


@pytest.mark.parametrize("lattice", [Lattice(0, 20), Lattice(5, 25, 5), Lattice(-10, 10)])
@pytest.mark.parametrize("name", ["identity", "clipped_composition"])
def test_plans_at_a_large_epsilon_give_the_truth(name: str, lattice: Lattice) -> None:
    frame = table(3)
    sums = [f"SELECT SUM(pay) FROM D WHERE {c}" for c in list(CONDITIONS)[:4]]
    scanned = Scanned(frame, frame, *sums)
    statistics = [
        Statistic(t.predicate, Measure(t.measure.sql, lattice), t.columns, collapsed=True)
        for t in scanned.workload.statistics
        if t.measure
    ]
    scanned.workload = ScanPlan(tuple(statistics))
    problem, cells = scanned.problem(lattice), scanned.cells()
    plan = LinearPlan.of(name, problem, Fraction(10**7))
    released = plan.release(plan.read(cells), Fraction(10**7), QuasiRandomNoise(0))
    assert np.allclose(released.answers, mapped(problem, cells), atol=1)
    assert released.deviations is not None
    assert max(released.deviations) < 1
    worth = frame.pay.clip(float(lattice.lower), float(lattice.upper))
    worth = (worth / float(lattice.step)).round() * float(lattice.step) / float(lattice.unit)
    rules = list(CONDITIONS.values())[:4]
    by_hand = [worth[rule(frame)].sum() for rule in rules]
    # Half-way values may snap either way.
    assert np.allclose(mapped(problem, cells), by_hand, atol=0.02 * len(frame) * 5)


def test_the_choice_is_the_same_every_time_and_says_why() -> None:
    frame = table(5)
    scanned = Scanned(frame, frame, *counting(*CONDITIONS))
    problem, cells = scanned.problem(), scanned.cells(private=False)
    general = [name for name in LINEAR if name != "dyadic"]
    plans = {name: LinearPlan.of(name, problem, Fraction(1)) for name in general}
    first, again = (
        choose_mechanism(plans, scanned.workload, cells, Fraction(1), Fraction(1)) for _ in range(2)
    )
    assert (first.reason, first.errors) == (again.reason, again.errors)
    assert first.plan is plans[min(first.errors, key=first.errors.__getitem__)]
    assert set(first.errors) == set(general)
    assert "smallest simulated error: " in str(first.reason)


@pytest.mark.parametrize("epsilon", ["1", "0.5"])
def test_no_mechanism_answers_one_count_best_by_chance(epsilon: str) -> None:
    """Of one COUNT plain noise errs least: 'dyadic' has a quarter of epsilon for each number."""
    frame = table(10)
    scanned = Scanned(frame, frame, *counting("job = 'cook'"))
    problem, cells = scanned.problem(), scanned.cells(private=False)
    plans = {
        name: LinearPlan.of(name, problem, Fraction(epsilon)) for name in ("dyadic", "identity")
    }
    choice = choose_mechanism(plans, scanned.workload, cells, Fraction(epsilon), Fraction(1))
    assert choice.plan.id == "identity"
    # Discrete Laplace noise of scale 1 / epsilon is about that far from 0 on average.
    assert choice.errors["identity"] == pytest.approx(1 / float(epsilon), rel=0.3)
    assert choice.errors["dyadic"] > 3 / float(epsilon)


RANGES = ("age > 30", "age BETWEEN 20 AND 60", "age < 0", "age >= 50 AND age < 51", "age < 40")


@pytest.mark.parametrize("order", [1, -1])
def test_classes_of_ranges_are_in_the_order_of_their_column(order: int) -> None:
    frame = table(6)
    classes = Scanned(frame, frame, *counting(*RANGES[::order])).problem().classes
    intervals = classes.intervals
    assert intervals is not None
    for row, first, last in zip(classes.matrix, intervals.first, intervals.last, strict=True):
        assert np.flatnonzero(row).tolist() == list(range(first, last + 1))


@pytest.mark.parametrize("sums", [False, True])
def test_dyadic_answers_ranges_of_one_column(sums: bool) -> None:
    public, secret = table(7), table(8)
    conditions = [c for c in RANGES if c != "age < 0"]
    what = "SUM(pay)" if sums else "COUNT(*)"
    queries = [f"SELECT {what} FROM D WHERE {condition}" for condition in conditions]
    scanned = Scanned(public, secret, *queries)
    problem = scanned.problem(LATTICE if sums else None)
    plan = LinearPlan.of("dyadic", problem, Fraction(10**9))
    released = plan.release(plan.read(scanned.cells()), Fraction(10**9), SimulatedNoise(1))
    assert np.allclose(released.answers, mapped(problem, scanned.cells()), atol=0.01)


@pytest.mark.parametrize(
    "conditions",
    [
        ("age > 30", "job = 'cook'"),
        ("age < 20 OR age > 60", "age > 30"),
        ("age > 30", "age > 30 AND age < 20"),
    ],
)
def test_dyadic_refuses_what_are_no_ranges(conditions: tuple[str, ...]) -> None:
    frame = table(9)
    problem = Scanned(frame, frame, *counting(*conditions)).problem()
    with pytest.raises(ParameterError, match="dyadic is for queries that each select one range"):
        LinearPlan.of("dyadic", problem, Fraction(1))


def test_the_points_of_a_simulation_follow_the_laws_of_the_noise() -> None:
    noise = QuasiRandomNoise(1)
    drawn = np.array([noise.laplace(5, Fraction(10)) for _ in range(4000)])
    assert abs(drawn.mean() - 5) < 1
    assert abs(np.abs(drawn - 5).mean() - 10) < 0.7
    chances = [np.mean([noise.choose(logit) for _ in range(4000)]) for logit in (-2.0, 0.0, 2.0)]
    assert np.allclose(chances, [0.119, 0.5, 0.881], atol=0.03)


def test_answers_of_a_batch_survive_the_ledger() -> None:
    for kept in (
        BatchOutput((1.5, -2.0), (3, 4), (0.1, 1e300)),
        BatchOutput((1 / 3,)),
        EstimatorOutput((4,)),
        Decision(outcome=True, p_value=0.1, margin=4),
    ):
        assert decode(encode(kept)) == kept


def test_the_names_of_the_mechanisms_are_theirs() -> None:
    assert [linear_mechanism(name).id for name in LINEAR] == list(LINEAR)


def test_the_mechanisms_of_known_noise_are_those_that_tell_it() -> None:
    frame = table(5)
    scanned = Scanned(frame, frame, *counting("age > 30", "age > 40"))
    plans: list[BatchPlan] = [
        WorkloadPlan.of(scanned.workload, Fraction(1), joint=joint) for joint in (False, True)
    ]
    plans += [LinearPlan.of(name, scanned.problem(), Fraction(1)) for name in LINEAR]
    assert tuple(plan.id for plan in plans if plan.noise(Fraction(1))) == NOISE_KNOWN
