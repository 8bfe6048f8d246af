"""``pqd profile`` from end to end: what it says, what it costs, what it refuses."""

import json
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import pqd
from pqd.accounting.accountant import Accountant
from pqd.accounting.accounts import Budget
from pqd.accounting.ledger import Ledger
from pqd.commands.profile import run_profile, run_profile_plan
from pqd.deciders import SimulatedNoise
from pqd.deciders.note import Note
from pqd.engine.scan_plan import PrivacyUnit
from pqd.errors import BudgetError, ParameterError, PqdError
from pqd.marginals.profile_parameters import ProfileParameters
from pqd.progress import Step
from pqd.reports.models.profile import ProfileReport
from tests.support.noises import Absent, Recorded

Ran = tuple[int, str, str]
Command = Callable[..., Ran]


def people(seed: int, rows: int, tilt: float = 0.0) -> pd.DataFrame:
    """Table of every kind of column, with NULLs; ``tilt`` moves it away from others."""
    rng = np.random.default_rng(seed)
    level = rng.integers(0, 6, rows)
    sex = np.where(rng.random(rows) < 0.5 + tilt, "f", "m").astype(object)
    sex[rng.random(rows) < 0.05] = None
    return pd.DataFrame(
        {
            "level": level,
            "sex": sex,
            "old": rng.random(rows) < 0.1 + 0.1 * level + tilt / 2,
            "pay": np.round(rng.gamma(2.0, 10.0 + 2 * level + 20 * tilt), 2),
            "born": pd.to_datetime("1990-01-01")
            + pd.to_timedelta(365 * rng.integers(0, 9, rows), unit="D"),
        }
    )


COPY, SECRET = people(1, 900), people(2, 700, 0.2)
TWO = PrivacyUnit("who", 2)
EDGES = {"pay": [0, 20, 40, 400]}


def stated(**options: Any) -> ProfileParameters:
    usual: dict[str, Any] = {"cells": EDGES, "anyway": True}
    return ProfileParameters.parse(**usual | options)


def profiled(
    private: Any = SECRET, noise: Any = None, *, unit: Any = None, **options: Any
) -> ProfileReport:
    """Profile without noise, if no other is given, and without an account."""
    return run_profile(private, COPY, stated(**options), noise or Absent(), unit=unit)


def cells(frame: pd.DataFrame) -> pd.DataFrame:
    """Cells of every row as texts, by brute force."""
    return pd.DataFrame(
        {
            name: pd.cut(column, EDGES["pay"], right=False).astype(str)
            if name == "pay"
            else column.astype(object).where(column.notna(), "NULL").astype(str)
            for name, column in frame.items()
        }
    )


def total_variation(private: pd.DataFrame, copy: pd.DataFrame, columns: tuple[str, ...]) -> float:
    shares = [cells(frame)[list(columns)].value_counts(normalize=True) for frame in (private, copy)]
    return float(shares[0].sub(shares[1], fill_value=0).abs().sum() / 2)


def shuffled(frame: pd.DataFrame, seed: int = 3) -> pd.DataFrame:
    """Table with the same columns, each in another order."""
    rng = np.random.default_rng(seed)
    orders = {name: rng.permutation(len(frame)) for name in frame}
    return pd.DataFrame({name: frame[name].to_numpy()[o] for name, o in orders.items()})


def related(seed: int, rows: int) -> pd.DataFrame:
    """People with a grade that nearly follows their level."""
    frame, rng = people(seed, rows), np.random.default_rng(seed)
    other = rng.random(rows) < 0.1
    return frame.assign(grade=np.where(other, rng.integers(0, 6, rows), frame["level"]))


def kept(private: pd.DataFrame, copy: pd.DataFrame) -> tuple[float, float]:
    """Relations kept, and the relations as a share of the rows, by brute force."""
    pairs = list(combinations(map(str, copy), 2))
    own, columns, product = 0.0, 0.0, 0.0
    for a, b in pairs:
        own += total_variation(private, copy, (a, b))
        columns += max(total_variation(private, copy, (c,)) for c in (a, b))
        first, second = (cells(copy)[c].value_counts(normalize=True) for c in (a, b))
        joint = cells(private)[[a, b]].value_counts(normalize=True)
        both = {(x, y): p * q for x, p in first.items() for y, q in second.items()}
        product += joint.sub(pd.Series(both).rename_axis([a, b]), fill_value=0).abs().sum() / 2
    return 1 - (own - columns) / (product - columns), (product - columns) / len(pairs)


def kolmogorov_smirnov(private: pd.Series, copy: pd.Series) -> float:
    ends = np.unique(np.concatenate([private, copy]))
    gaps = [(private <= end).mean() - (copy <= end).mean() for end in ends]
    return float(np.abs(gaps).max())


# What it says -------------------------------------------------------------------------------------


def test_distances_are_those_of_the_tables() -> None:
    report = profiled()
    names = tuple(COPY)
    tv = [each for each in report.marginals if each.distance == "tv"]
    assert len(tv) == len(names) + len(names) * (len(names) - 1) // 2
    for each in tv:
        truth = total_variation(SECRET, COPY, each.columns)
        # The vector holds whole rows.
        assert each.value == pytest.approx(truth, abs=0.5001 / len(SECRET))
        assert each.low is not None
        assert each.high is not None
        assert each.low <= truth <= each.high
    for name in ("level", "pay", "born"):
        facts = report.of_columns(name, distance="ks")
        truth = kolmogorov_smirnov(SECRET[name], COPY[name])
        assert facts.value == pytest.approx(truth, abs=0.5001 / len(SECRET))
    assert {each.distance for each in report.marginals} == {"tv", "ks"}
    assert report.rows is not None
    assert report.rows.value == len(SECRET)


def test_scores_are_means_of_distances() -> None:
    report = profiled()
    by_ways = {ways: 1 - np.mean([each.value for each in report.of_ways(ways)]) for ways in (1, 2)}
    assert [score.ways for score in report.scores] == [1, 2]
    for score in report.scores:
        assert score.ways is not None
        assert score.value == pytest.approx(by_ways[score.ways])
        assert score.marginals == len(report.of_ways(score.ways))
    assert report.overall.value == pytest.approx(np.mean(list(by_ways.values())))
    assert report.overall.estimate is not None
    value, low, high = report.overall.estimate
    assert low < value < high
    assert value < report.overall.reference < 1


def test_marginals_are_worst_first_and_verdicts_follow_from_them() -> None:
    report = profiled(tau="10%", total_epsilon=100)
    for ways in (1, 2):
        values = [each.value or 0 for each in report.marginals if len(each.columns) == ways]
        assert values == sorted(values, reverse=True)
    for each in report.marginals:
        assert each.value is not None
        assert each.outcome == ("yes" if each.value < 0.1 else "no")
        assert each.conclusive == (each.p_value is not None and each.p_value <= 0.05)
        assert not each.at_once or each.conclusive
    assert {each.standing for each in report.marginals} >= {"within", "beyond"}


def test_values_that_the_copy_never_has_are_counted() -> None:
    private = SECRET.copy()
    private.loc[:69, "sex"] = "x"
    private.loc[35:104, "level"] = 77
    report = profiled(private)
    assert report.unseen is not None
    assert report.unseen.value == pytest.approx(105 / len(private))
    facts = report.of_columns("sex")
    assert facts.value == pytest.approx(total_variation(private, COPY, ("sex",)), abs=0.001)


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_files_and_frames_have_the_same_profile(kind: str, tmp_path: Path) -> None:
    def written(frame: pd.DataFrame, name: str) -> Any:
        path = tmp_path / f"{name}.{kind}"
        if kind == "csv":
            frame.to_csv(path, index=False)
        elif kind == "parquet":
            frame.to_parquet(path)
        else:
            return pa.Table.from_pandas(frame)
        return path

    files = run_profile(written(SECRET, "private"), written(COPY, "copy"), stated(zoom=2), Absent())
    frames = profiled(zoom=2)
    assert files.marginals == frames.marginals
    assert files.zoomed == frames.zoomed
    assert (files.overall, files.unseen) == (frames.overall, frames.unseen)


def test_triples_columns_and_distances_as_stated() -> None:
    report = profiled(ways=3, columns=["Sex", "level", "pay"], distances=["emd"])
    assert [each.name for each in report.columns] == ["level", "sex", "pay"]
    assert [len(report.of_ways(ways)) for ways in (1, 2, 3)] == [3, 3, 1]
    assert [score.ways for score in report.scores] == [1, 2, 3]
    assert {each.distance for each in report.marginals} == {"tv", "emd"}
    truth = total_variation(SECRET, COPY, ("level", "sex", "pay"))
    assert report.of_ways(3)[0].value == pytest.approx(truth, abs=0.001)
    assert len(profiled(distances=["tv"], ways=1).marginals) == 5


def test_constant_and_empty_columns_are_profiled_and_identifiers_are_not() -> None:
    def wider(frame: pd.DataFrame) -> pd.DataFrame:
        number = np.arange(len(frame))
        return frame.assign(
            same="one", none=None, text=[f"free text {n}" for n in number], number=number
        )

    report = run_profile(wider(SECRET), wider(COPY), stated(), Absent())
    facts = {each.name: each for each in report.columns}
    assert facts["same"].constant
    assert facts["none"].constant
    assert report.of_columns("same").value == 0
    assert report.of_columns("none").value == 0
    assert {each.columns for each in report.left_out} == {("text",), ("number",)}
    assert {"text", "number"}.isdisjoint(facts)


def test_a_column_of_one_table_alone_is_left_out_or_refused() -> None:
    copy = COPY.assign(more=1)
    report = run_profile(SECRET.assign(hidden=2), copy, stated(), Absent())
    assert [each.columns for each in report.left_out] == [("more",)]
    assert "hidden" not in report.to_json()
    with pytest.raises(PqdError, match="more"):
        run_profile(SECRET, copy, stated(columns=["more"]), Absent())


# Cells of the worst marginals ---------------------------------------------------------------------


def test_relations_are_those_of_the_tables() -> None:
    """Without noise, up to the rounding to whole rows."""
    private, copy = related(5, 1_400), related(1, 1_800)
    facts = run_profile(private, copy, stated(total_epsilon=8), Absent()).relations
    assert facts is not None
    share, there = kept(private, copy)
    assert facts.pairs == 15
    assert facts.relations is not None
    assert facts.relations.value == pytest.approx(there, abs=1.01 / len(private))
    assert facts.estimate is not None
    assert facts.estimate.value == pytest.approx(share, abs=0.03)
    assert facts.low is not None
    assert facts.high is not None
    assert facts.low <= share <= facts.high
    assert facts.outcome == "yes"
    # A sample of the same law keeps about what a sample is said to keep.
    assert facts.reference == pytest.approx(share, abs=0.1)


def test_shuffled_columns_keep_no_relations_and_that_is_said_first() -> None:
    private, copy = related(5, 6_000), shuffled(related(1, 6_000))
    report = run_profile(private, copy, stated(total_epsilon=8), Absent())
    facts = report.relations
    assert facts is not None
    assert facts.estimate is not None
    assert abs(facts.estimate.value) < 0.1
    assert facts.is_lost
    assert facts.independence.is_near
    page, text = report.to_html(), report.to_markdown()
    assert text.index("Relations are NOT kept") < text.index("Overall quality")
    for rendering in (page, text):
        assert "are nearly independent" in rendering
    other = run_profile(private, related(1, 6_000), stated(total_epsilon=8), Absent())
    assert other.relations is not None
    assert other.relations.standing == "within"
    assert "nearly independent" not in other.to_markdown()


def test_relations_of_independent_columns_are_no_figure() -> None:
    private = shuffled(related(5, 6_000))
    same = run_profile(private, shuffled(related(1, 6_000)), stated(total_epsilon=8), Absent())
    assert same.relations is not None
    assert same.relations.presence == "none"
    assert same.relations.estimate is None
    assert "There are no relations to keep" in same.to_markdown()
    more = run_profile(private, related(1, 6_000), stated(total_epsilon=8), Absent())
    assert more.relations is not None
    assert more.relations.presence == "in the copy alone"
    assert "relations that the private table lacks" in more.to_markdown()
    unsure = run_profile(private, related(1, 900), stated(total_epsilon="0.02"), SimulatedNoise(4))
    assert unsure.relations is not None
    assert unsure.relations.presence == "unknown"
    assert "undecided at this budget" in unsure.to_markdown()


@pytest.mark.parametrize("options", [{"ways": 1}, {"columns": ["level"]}])
def test_without_pairs_there_are_no_relations_and_distances_have_their_share(
    options: dict[str, Any],
) -> None:
    report = profiled(**options, cells={})
    assert report.relations is None
    assert {part.part for part in report.budget} == {"distances", "rows", "values"}
    assert report.total_epsilon == 1


def test_the_bar_of_relations_is_stated() -> None:
    private = related(5, 6_000)
    outcomes = {
        bar: run_profile(private, related(1, 6_000), stated(relations=bar), Absent()).relations
        for bar in ("0%", "50%", 0.99)
    }
    assert [each and each.outcome for each in outcomes.values()] == ["yes", "yes", "no"]
    with pytest.raises(ParameterError, match="at least 0 and below 1"):
        stated(relations="100%")


def test_zoomed_cells_are_the_shares_of_both_tables() -> None:
    report = profiled(zoom=3, total_epsilon=1)
    # The worst columns are wrong by themselves; no pair is much worse than they are.
    assert [each.columns for each in report.zoomed] == [
        each.columns for each in report.of_ways(1)[:3]
    ]
    (name,) = report.zoomed[0].columns
    shares = [cells(frame)[name].value_counts(normalize=True) for frame in (SECRET, COPY)]
    for cell in report.zoomed[0].cells:
        if name == "sex":
            truth = [share.get(cell.labels[0], 0.0) for share in shares]
            assert (cell.private.value, cell.copy) == pytest.approx(truth)
        assert cell.difference.value == pytest.approx(cell.private.value - cell.copy)
        assert cell.private.low <= cell.private.value <= cell.private.high
    gaps = [abs(cell.difference.value) for cell in report.zoomed[1].cells]
    assert gaps == sorted(gaps, reverse=True)
    for each in report.zoomed:
        assert len(each.cells) == np.prod([len(axis) for axis in each.axes])
        for cell in each.cells:
            assert all(label in axis for label, axis in zip(cell.labels, each.axes, strict=True))
        assert each.epsilon == Fraction(1, 15)
    parts = {part.part: part for part in report.budget}
    assert parts["cells"].epsilon == Fraction(1, 5)
    assert parts["distances"].epsilon + parts["rows"].epsilon == Fraction(14, 25)
    assert parts["relations"].epsilon == Fraction(2, 25)
    assert parts["values"].epsilon == Fraction(4, 25)
    assert report.cost.epsilon == 1


def test_released_distances_alone_choose_what_is_looked_into() -> None:
    """With one record of noise the same marginals are chosen, whatever the private table."""
    record = [700, *range(1, 6), 90, 80, *range(6, 14), 0, 0, 0, 0, *range(40)]
    zoomed = {
        tuple(each.columns for each in profiled(private, noise, zoom=2).zoomed)
        for private in (SECRET, SECRET.iloc[:0], people(5, 50, 0.4))
        for noise in [Recorded(record, answer=True)]
    }
    # A pair counts by how much its number of the record exceeds that of its columns.
    assert zoomed == {(("level", "sex"), ("level", "old"))}


def test_more_zoom_than_marginals_shares_among_those_there_are() -> None:
    report = profiled(columns=["sex"], cells={}, zoom=9)
    assert len(report.zoomed) == 1
    assert report.zoomed[0].epsilon == Fraction(1, 5)
    assert report.cost.epsilon == 1


# A classifier -------------------------------------------------------------------------------------


def test_a_target_is_tried_on_the_private_table() -> None:
    private = SECRET.assign(who=[f"p{n // 2}" for n in range(len(SECRET))])
    names = ["old", "level", "sex"]
    report = profiled(private, target="OLD", columns=names, cells={}, unit=TWO)
    assert report.target is not None
    assert report.target.column == "old"
    known = sum(map(sum, report.target.confusion))
    assert known == len(private)
    hits = sum(row[place] for place, row in enumerate(report.target.confusion))
    assert report.target.accuracy.value == pytest.approx(hits / known)
    # What a person is charged, of two rows.
    assert report.target.epsilon == Fraction(1, 10)
    assert {part.part: part.epsilon for part in report.budget}["target"] == Fraction(1, 10)
    assert report.total_epsilon == report.cost.epsilon == 1


# What it costs ------------------------------------------------------------------------------------


@pytest.fixture
def account(tmp_path: Path) -> Path:
    """Where the fixture of every test keeps the account."""
    return tmp_path / "ledger.sqlite"


def spent(path: Path) -> list[Fraction]:
    if not path.exists():
        return []
    with closing(Ledger(path)) as ledger:
        return [account.epsilon for account in ledger.accounts]


def test_the_same_profile_again_costs_nothing(account: Path) -> None:
    first = pqd.profile(SECRET, COPY, zoom=2, anyway=True)
    again = pqd.profile(SECRET, COPY, zoom=2, anyway=True)
    assert first.cost.epsilon == 1
    assert first.replayed is False
    assert again.cost.epsilon == 0
    assert again.replayed is True
    assert (again.marginals, again.zoomed) == (first.marginals, first.zoomed)
    assert again.total_epsilon == 1
    # Another tolerance and level is post-processing.
    other = pqd.profile(SECRET, COPY, zoom=2, anyway=True, tau="20%", alpha=0.1)
    assert other.cost.epsilon == 0
    assert other.replayed is True
    assert spent(account) == [1]
    fresh = pqd.profile(SECRET, COPY, zoom=2, anyway=True, fresh=True)
    assert fresh.cost.epsilon == 1
    assert fresh.replayed is False
    assert spent(account) == [2]


def test_cells_can_be_added_at_their_own_price(account: Path) -> None:
    first = pqd.profile(SECRET, COPY, tau="10%")
    report = pqd.profile(SECRET, COPY, total_epsilon="1.25", zoom=5, tau="10%")
    assert report.marginals == first.marginals
    assert report.values == first.values  # noqa: PD011
    assert report.cost.epsilon == Fraction(1, 4)
    assert spent(account) == [Fraction(5, 4)]


@pytest.mark.parametrize(("zoom", "limit"), [(0, "0.9"), (2, "0.9"), (2, "0.79")])
def test_a_budget_that_does_not_reach_for_all_refuses_before_a_draw(
    zoom: int, limit: str, account: Path
) -> None:
    accountant = Accountant(account, Budget(Fraction(limit)))
    with pytest.raises(BudgetError, match="Nothing was spent"):
        run_profile(SECRET, COPY, stated(zoom=zoom), Absent(), accountant=accountant)
    assert spent(account) == []


def test_distances_that_were_paid_for_do_not_count_against_the_budget(account: Path) -> None:
    def run(limit: str, **options: Any) -> ProfileReport:
        accountant = Accountant(account, Budget(Fraction(limit)))
        return run_profile(SECRET, COPY, stated(**options), Absent(), accountant=accountant)

    run("1")
    with pytest.raises(BudgetError, match="Nothing was spent"):
        run("1.2", total_epsilon="1.25", zoom=5)
    assert run("1.25", total_epsilon="1.25", zoom=5).cost.epsilon == Fraction(1, 4)


def test_every_person_counts_by_so_many_rows(account: Path) -> None:
    who = np.arange(len(SECRET)) // 7
    private = SECRET.assign(who=[f"p{n}" for n in who])
    accountant = Accountant(account)
    report = run_profile(private, COPY, stated(zoom=1), Absent(), accountant=accountant, unit=TWO)
    assert report.rows is not None
    assert report.rows.value == 2 * 100
    assert report.cost.epsilon == 1
    assert (report.cost.unit, report.cost.max_rows) == ("who", 2)
    assert {part.part: part.epsilon for part in report.budget} == {
        "distances": Fraction(19, 20) * Fraction(14, 25),
        "rows": Fraction(1, 20) * Fraction(14, 25),
        "relations": Fraction(2, 25),
        "values": Fraction(4, 25),
        "cells": Fraction(1, 5),
    }
    single, double = (
        {part.part: part.scale for part in each.budget}
        for each in (profiled(private, zoom=1, unit=PrivacyUnit("who")), report)
    )
    assert double["cells"] == pytest.approx(2 * single["cells"], rel=0.05)
    assert double["distances"] == pytest.approx(2 * single["distances"], rel=0.05)
    assert "who" not in {each.name for each in report.columns}


def test_gaussian_noise_is_charged_with_its_delta(account: Path) -> None:
    pure = profiled(total_epsilon=1)
    report = pqd.profile(SECRET, COPY, delta="1e-6", cells=EDGES, anyway=True)
    assert (report.cost.epsilon, report.cost.delta) == (Fraction(1), Fraction(1, 10**6))
    parts = {part.part: part for part in report.budget}
    noises = {name: part.noise for name, part in parts.items()}
    others = {"relations": "cube", "values": "laplace"}
    assert noises == {"distances": "gaussian", "rows": "gaussian", **others}
    assert parts["distances"].numbers == next(
        p.numbers for p in pure.budget if p.part == "distances"
    )
    again = pqd.profile(SECRET, COPY, delta="1e-6", cells=EDGES, anyway=True)
    assert again.replayed
    assert again.marginals == report.marginals
    accountant = Accountant(account, Budget(Fraction(9), Fraction(1, 10**7)))
    with pytest.raises(BudgetError, match="delta"):
        run_profile(SECRET, COPY, stated(delta="1e-5"), Absent(), accountant=accountant)
    assert spent(account) == [1]


def test_what_is_seldom_meant_is_warned_of_before_anything_is_spent() -> None:
    steps: list[str] = []

    def progress(stage: Step | Note, done: int = 0, total: int = 0) -> None:
        del done, total
        steps.append(str(stage))

    parameters = stated(total_epsilon=20, alpha="0.6", delta="0.1")
    report = run_profile(SECRET, COPY, parameters, Absent(), progress)
    for words in ("epsilon 20 protects hardly anybody", "alpha 0.6", "delta 0.1"):
        assert any(words in str(note) for note in report.notes)
        (place,) = (number for number, step in enumerate(steps) if words in step)
        assert place < steps.index(Step.READING_PRIVATE)


# Plans --------------------------------------------------------------------------------------------


def test_a_plan_reads_the_copy_and_spends_nothing(account: Path) -> None:
    plan = pqd.profile(SECRET, COPY, dry_run=True, zoom=2)
    assert plan.dry
    assert plan.cost.epsilon == 1
    assert plan.spent == 0
    assert not account.exists()
    alone = pqd.profile(None, COPY, dry_run=True, zoom=2)
    assert alone.private == ""
    assert alone.marginals == plan.marginals
    assert all(each.estimate is None and each.outcome is None for each in plan.marginals)
    assert plan.rows is None
    assert plan.unseen is None
    assert plan.overall.estimate is None
    parts = {part.part for part in plan.budget}
    assert parts == {"distances", "rows", "relations", "values", "cells"}
    assert plan.relations is not None
    assert plan.relations.estimate is plan.relations.relations is None
    real = pqd.profile(SECRET, COPY, zoom=2, anyway=True, dataset="people")
    assert [part.scale for part in real.budget] == [part.scale for part in plan.budget]
    replay = pqd.profile(SECRET, COPY, dry_run=True, zoom=2, dataset="people")
    assert replay.cost.epsilon == 0
    unknown = pqd.profile(SECRET, COPY, dry_run=True, zoom=2)
    assert unknown.cost.epsilon == 1, "a frame has no place, and a dry run reads no row"


def test_less_noise_tells_smaller_tolerances() -> None:
    thresholds = [
        pqd.profile(None, COPY, dry_run=True, total_epsilon=epsilon).marginals[0].tau_min
        for epsilon in (0.1, 1, 10)
    ]
    assert thresholds == sorted(thresholds, reverse=True)
    assert thresholds[-1] < 0.05 < thresholds[0]


def test_plan_of_a_copy_alone_on_the_command_line(tmp_path: Path, command: Command) -> None:
    COPY.to_csv(tmp_path / "copy.csv", index=False)
    code, out, _ = command("plan", str(tmp_path / "copy.csv"), "--total-epsilon", "10")
    assert code == 0
    assert "copy.csv" in out
    code, out, _ = command("plan", str(tmp_path / "copy.csv"), "--json", "-")
    assert (code, json.loads(out)["kind"], json.loads(out)["dry"]) == (0, "profile", True)
    code, _, err = command("plan", str(tmp_path / "copy.csv"), "--epsilon", "1")
    assert code == 2
    assert "no query" in err


# Bad input ----------------------------------------------------------------------------------------

MANY_EDGES = ",".join(map(str, range(1100)))
CASES: dict[str, tuple[tuple[str, ...], int, str]] = {
    "tau of 1": (("--tau", "1"), 2, "write it in per cent"),
    "tau of 100 %": (("--tau", "100%"), 2, "below 1"),
    "tau of 0": (("--tau", "0"), 2, "greater than 0"),
    "ways of 4": (("--ways", "4"), 2, "must be 1 (columns)"),
    "ways of text": (("--ways", "two"), 2, "ways is 'two'"),
    "zoom below 0": (("--zoom=-1",), 2, "--zoom is -1"),
    "zoom of one half": (("--zoom", "0.5"), 2, "--zoom is 0.5"),
    "epsilon of 0": (("--total-epsilon", "0"), 2, "greater than 0"),
    "delta of 1": (("--delta", "1"), 2, "delta"),
    "alpha of 1": (("--alpha", "1"), 2, "alpha"),
    "unknown distance": (("--distance", "tvd"), 2, "use tv"),
    "unknown column": (("--columns", "levl,sex"), 2, "level"),
    "column of the private table alone": (("--columns", "hidden"), 2, "hidden"),
    "column of the copy alone": (("--columns", "public"), 2, "not in the private one"),
    "cells of an unknown column": (("--cells", "levl=3"), 2, "level"),
    "cells given twice": (("--cells", "level=3", "--cells", "LEVEL=4"), 2, "given twice"),
    "cells that are no cells": (("--cells", "level"), 2, "cells"),
    "more cells than rows": (("--cells", f"pay={MANY_EDGES}"), 2, "1,101 cells"),
    "type of an unknown column": (("--type", "levl=text"), 2, "level"),
    "unit of an unknown column": (("--unit", "who"), 2, "unit of private.csv"),
    "rows of nobody": (("--max-rows", "3"), 2, "no unit"),
    "target of an unknown column": (("--target", "levl"), 2, "levl"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with both tables; each has a column that the other lacks."""
    SECRET.assign(hidden="zebra-canary").to_csv(tmp_path / "private.csv", index=False)
    COPY.assign(public="one").to_csv(tmp_path / "copy.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_one_message_and_costs_nothing(
    name: str, account: Path, command: Command
) -> None:
    options, status, words = CASES[name]
    code, out, err = command("profile", "private.csv", "copy.csv", *options)
    assert (code, out) == (status, ""), err
    assert words in err
    assert err.count("\n") <= 3
    assert "zebra-canary" not in err
    assert spent(account) == []


@pytest.mark.usefixtures("folder")
def test_the_copy_is_not_the_private_table(command: Command) -> None:
    for dry in ((), ("--dry-run",)):
        code, _, err = command("profile", "private.csv", "private.csv", *dry)
        assert code == 2
        assert "is the private table itself" in err


def test_nothing_to_profile_has_an_exit_code_of_its_own(tmp_path: Path, command: Command) -> None:
    for name, rows in (("private", 200), ("copy", 300)):
        pd.DataFrame({"id": [f"{name} {n}" for n in range(rows)]}).to_csv(
            tmp_path / f"{name}.csv", index=False
        )
    files = [str(tmp_path / f"{name}.csv") for name in ("private", "copy")]
    code, _, err = command("profile", *files)
    assert code == 5
    assert "--columns" in err


def test_tables_that_share_no_column_are_told_why(tmp_path: Path, command: Command) -> None:
    pd.DataFrame({"age": range(9)}).to_csv(tmp_path / "private.csv", index=False)
    pd.DataFrame({name: range(9) for name in "abcde"}).to_csv(tmp_path / "copy.csv", index=False)
    code, _, err = command("profile", str(tmp_path / "private.csv"), str(tmp_path / "copy.csv"))
    assert code == 5
    reason = "the private table has no such column"
    assert f"(a: {reason}; b: {reason}; c: {reason}; and 2 more)" in err
    assert "age" not in err


def test_the_command_shows_and_writes_what_the_function_returns(
    folder: Path, command: Command, account: Path
) -> None:
    code, out, err = command(
        "profile", "private.csv", "copy.csv", "--cells", "pay=0,20,40,400", "--zoom", "1",
        "--anyway", "--output", "json=report.json", "--output", "markdown=report.md",
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert "private.csv" in out
    report = json.loads((folder / "report.json").read_text())
    assert report["kind"] == "profile"
    assert report["cost"]["epsilon"] == 1
    again = pqd.profile("private.csv", "copy.csv", cells=EDGES, zoom=1, anyway=True)
    assert again.replayed
    assert json.loads(again.to_json())["overall"] == report["overall"]
    assert spent(account) == [1]
    code, out, _ = command("ledger", "show", str(account))
    assert code == 0
    assert "profile of 5 columns" in out
    assert "cells of" in out


@pytest.mark.parametrize("seed", range(4))
def test_the_overall_score_lies_among_its_parts_whatever_the_noise(seed: int) -> None:
    """At this budget the noise is larger than the table, and cuts most of the means to 0 or 1."""
    report = profiled(noise=SimulatedNoise(seed), total_epsilon="0.02")
    parts = [each.score or 0.0 for each in report.scores]
    overall = report.overall
    assert overall.estimate
    assert overall.simultaneous
    assert overall.score == pytest.approx(sum(parts) / len(parts))
    assert min(parts) <= overall.estimate.value <= max(parts)
    # What holds at once with all others is no narrower, and so never says more.
    for score in (overall, *report.scores):
        assert score.estimate
        assert score.simultaneous
        assert score.simultaneous.low <= score.estimate.low
        assert score.estimate.high <= score.simultaneous.high


@pytest.mark.parametrize(("rows", "marked"), [(1_999, False), (2_000, True)])
def test_a_small_copy_has_marks_of_chance_for_its_scores_alone(rows: int, *, marked: bool) -> None:
    parameters = stated(columns=["sex", "old"], cells={})
    report = run_profile(SECRET, people(3, rows), parameters, Absent())
    totals = [each for each in report.marginals if each.distance == "tv"]
    assert {each.mark is not None for each in totals} == {marked}
    assert all(score.mark is not None for score in (report.overall, *report.scores))


def test_seeded_noise_is_marked() -> None:
    report = profiled(noise=SimulatedNoise(1))
    assert report.simulated
    assert "SIMULATED" in str(report)


def test_a_plan_without_a_private_table_is_no_profile() -> None:
    with pytest.raises(ParameterError, match="private table is missing"):
        pqd.profile(None, COPY)
    assert run_profile_plan(None, COPY, stated()).dry


def test_cells_of_a_column_that_is_not_compared_are_refused() -> None:
    with pytest.raises(ParameterError, match=r'the column "PAY" is not among those.*\(sex, old\)'):
        pqd.profile(None, COPY, columns=["sex", "old"], cells={"PAY": 3}, dry_run=True)


@pytest.mark.parametrize("kind", ["sample", "shuffled"])
def test_a_check_of_relations_passes_a_sample_and_fails_shuffled_columns(
    kind: str, tmp_path: Path
) -> None:
    copy, passes = related(1, 4_000), kind == "sample"
    related(5, 4_000).to_csv(tmp_path / "private.csv", index=False)
    (copy if passes else shuffled(copy)).to_csv(tmp_path / "copy.csv", index=False)
    (tmp_path / "audit.toml").write_text(
        '[private]\npath = "private.csv"\n[synthetic.copy]\npath = "copy.csv"\n'
        '[[check]]\nid = "kept"\nscore = "relations"\nat_least = "50%"\nepsilon = 8\n'
        "[columns.pay]\ncells = [0, 20, 40, 400]\n"
    )
    report = pqd.check(tmp_path / "audit.toml")
    assert report.checks[0].status == ("as expected" if passes else "not as expected")
    assert any("nearly independent" in str(each) for each in report.notes) != passes


def test_columns_beyond_the_tolerance_show_both_distributions_at_no_cost() -> None:
    private, copy = related(5, 6_000), related(1, 6_000)
    copy["level"] = np.where(np.arange(len(copy)) % 3 == 0, copy["level"].iloc[0], copy["level"])
    report = run_profile(private, copy, stated(), Absent())
    beyond = [each.columns for each in report.of_ways(1) if each.outcome == "no"]
    assert ("level",) in beyond
    assert [each.columns for each in report.histograms] == beyond[:5]
    shown = next(each for each in report.histograms if each.columns == ("level",))
    counts = private["level"].value_counts(normalize=True)
    for cell in shown.cells:
        true = counts.get(cell.labels[0], None)
        assert cell.private.low <= cell.private.value <= cell.private.high
        if true is not None:
            assert cell.private.value == pytest.approx(true, abs=1e-3)
            assert cell.private.low <= true <= cell.private.high
    assert sum(cell.copy for cell in shown.cells) == pytest.approx(1)
    assert report.total_epsilon == 1
