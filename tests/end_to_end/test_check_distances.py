"""Checks on marginals and on the overall quality, in a build as checks on queries are."""

import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pqd
from pqd.accounting.ledger import Ledger
from pqd.commands.baseline import write_baseline
from pqd.commands.check import run_check
from pqd.deciders.distances.decider import DistanceDecider
from pqd.deciders.noise import SimulatedNoise
from pqd.reports.models.check import CheckReport
from pqd.spec import read_spec
from tests.support.noises import Absent

Ran = tuple[int, str, str]
Command = Callable[..., Ran]

HEAD = """\
[private]
path = "private.parquet"
[synthetic.copy]
path = "copy.parquet"
[ledger]
path = "ledger.sqlite"
[columns.person]
judge = false
[defaults]
tau = "5%"
{budget}
{more}
"""
PAIR = '[[check]]\nid = "pair"\nmarginal = ["SEX", "job"]\n'
SCORE = '[[check]]\nid = "score"\nscore = "overall"\nat_least = "90%"\n'
ROWS = '[[check]]\nid = "rows"\nsql = "SELECT COUNT(*) FROM D"\n'


def people(rows: int, seed: int, share: float = 0.5) -> pd.DataFrame:
    """Ages, jobs and sexes; a ``share`` of the rows is of women."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "sex": np.where(rng.random(rows) < share, "f", "m"),
            "job": rng.choice(["cook", "smith", "nurse"], rows, p=[0.6, 0.3, 0.1]),
            "age": rng.integers(18, 80, rows),
        }
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a private table, and a copy with fewer women."""
    private = people(4_000, 1)
    # Two rows each; the copy has no such column.
    private.assign(person=np.arange(4_000) // 2).to_parquet(tmp_path / "private.parquet")
    people(4_000, 2, 0.4).to_parquet(tmp_path / "copy.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def spec(*checks: str, budget: str = "epsilon = 0.5", more: str = "") -> str:
    """Path of a spec in the folder, with these checks."""
    text = HEAD.format(budget=budget, more=more) + "".join(checks)
    Path("audit.toml").write_text(text, encoding="utf-8")
    return "audit.toml"


def exact(path: str) -> CheckReport:
    """Report without noise."""
    return run_check(read_spec(path), Absent(), fresh=True)


def margin(rows: Fraction, n: int, tau: str) -> int:
    return DistanceDecider().margin(rows, n, Fraction(tau))


def distance_of(names: Sequence[str]) -> Fraction:
    """Total variation of a marginal in rows, by hand."""
    private, copy = pd.read_parquet("private.parquet"), pd.read_parquet("copy.parquet")
    counts, copied = (t.groupby(list(names)).size() for t in (private, copy))
    n, m = len(private), len(copy)
    cells = set(counts.index) | set(copied.index)
    apart = (
        abs(Fraction(int(counts.get(c, 0))) - Fraction(n * int(copied.get(c, 0)), m)) for c in cells
    )
    return sum(apart, Fraction(0)) / 2


@pytest.mark.usefixtures("folder")
def test_a_verdict_is_the_margin_of_the_exact_distance() -> None:
    ks = '[[check]]\nid = "ks"\nmarginal = ["age"]\ndistance = "ks"\ntau = "2%"\n'
    emd = ks.replace("ks", "emd")
    report = exact(spec(PAIR, ks, emd))
    pair, by_ks, by_emd = (check.verdicts[0] for check in report.checks)
    assert (pair.aggregate, pair.attribute, pair.where) == ("TOTAL VARIATION", "sex, job", None)
    assert pair.margin == margin(distance_of(["sex", "job"]), 4_000, "1/20")
    assert (pair.outcome, pair.standing, pair.q_synthetic, pair.tau) == (
        "no",
        "not trusted",
        0,
        0.05,
    )
    private, copy = (pd.read_parquet(f"{name}.parquet")["age"] for name in ("private", "copy"))
    steps = range(17, 81)
    gaps = [
        abs(Fraction(int((private <= t).sum())) - 4_000 * Fraction(int((copy <= t).sum()), 4_000))
        for t in steps
    ]
    assert by_ks.margin == margin(max(gaps), 4_000, "1/50")
    assert by_ks.aggregate == "KOLMOGOROV-SMIRNOV"
    assert by_emd.aggregate == "EARTH MOVER'S DISTANCE"
    assert by_emd.outcome == "yes"
    assert [check.status for check in report.checks] == [
        "not as expected",
        "as expected",
        "as expected",
    ]


@pytest.mark.usefixtures("folder")
def test_the_score_is_that_of_columns_and_pairs() -> None:
    more = "[columns.age]\ncells = [18, 40, 80]\n"
    report = exact(spec(SCORE, SCORE.replace('"score"', '"ways"', 1) + "ways = 1\n", more=more))
    profile = pqd.profile(
        "private.parquet",
        "copy.parquet",
        total_epsilon=100,
        ledger="other.sqlite",
        cells={"age": [18, 40, 80]},
    )
    assert profile.overall.estimate is not None
    score, ways = (check.verdicts[0] for check in report.checks)
    assert score.aggregate == "MEAN DISTANCE"
    assert (score.tau, score.sql) == (0.1, "MEAN DISTANCE(overall, 2 ways)")
    assert score.margin != ways.margin
    # A margin of m: the mean distance is tau - (1 + tau) m / n, up to one row.
    near = 1 - (0.1 - 1.1 * (score.margin or 0) / 4_000)
    assert near == pytest.approx(profile.overall.estimate.value, abs=2e-3)


@pytest.mark.usefixtures("folder")
def test_it_is_charged_replayed_and_shown_as_a_query_is(command: Command) -> None:
    path = spec(ROWS, PAIR, SCORE)
    code, out, _ = command("check", path, "--dry-run")
    assert code == 0
    assert out.count("epsilon 0.5 by itself; decidable; by inv_distance") == 2
    assert "nothing spent; a run costs epsilon 1.5\n" in out
    assert not Path("ledger.sqlite").exists()
    first, second = pqd.check(path), pqd.check(path)
    assert first.cost.epsilon == Fraction(3, 2)
    assert second.cost.epsilon == 0
    for before, after in zip(first.checks, second.checks, strict=True):
        assert after.verdicts[0].replayed
        assert after.verdicts[0].margin == before.verdicts[0].margin
    (account,) = Ledger("ledger.sqlite").accounts
    assert account.epsilon == Fraction(3, 2)
    asked = [facts["id"] for facts in account.runs[0].body["questions"]]
    assert asked == ["rows", "pair", "score"]
    # Another tolerance, distance or copy is another question.
    assert pqd.check(spec(PAIR.replace("\nm", '\ntau = "4%"\nm'))).cost.epsilon == Fraction(1, 2)
    people(4_000, 3, 0.4).to_parquet("copy.parquet")
    assert pqd.check(spec(PAIR)).cost.epsilon == Fraction(1, 2)
    # The same in other letters is the same.
    assert pqd.check(spec(PAIR.replace("SEX", "Sex"))).cost.epsilon == 0


@pytest.mark.usefixtures("folder")
def test_a_budget_that_does_not_reach_refuses_all(command: Command) -> None:
    path = spec(ROWS, PAIR, SCORE, more="[budget]\nepsilon = 1.25\n")
    code, _, err = command("check", path)
    assert code == 4
    assert "needs epsilon 1.5; of 1.25" in err
    assert not Ledger("ledger.sqlite").accounts


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("unit", [False, True])
def test_distances_share_a_budget_as_queries_do(*, unit: bool) -> None:
    privacy = '[privacy]\nunit = "person"\nmax_rows = 2\n' if unit else ""
    shared = f'{privacy}[shared_budget]\ntotal_epsilon = 0.6\nsharing = "alone"\n'
    same = PAIR.replace('"pair"', '"again"')
    own = SCORE.replace('"score"', '"own"', 1) + "epsilon = 0.1\nways = 1\n"
    report = exact(spec(ROWS, PAIR, same, SCORE, own, budget="", more=shared))
    costs = {check.id: check.verdicts[0].epsilon for check in report.checks}
    fifth = Fraction(1, 5)
    price = Fraction(1, 5) if unit else Fraction(1, 10)
    assert costs == {"rows": fifth, "pair": fifth, "again": fifth, "score": fifth, "own": price}
    assert report.cost.epsilon == Fraction(6, 10) + price


@pytest.mark.usefixtures("folder")
def test_a_check_that_is_wrong_is_broken_by_itself(command: Command) -> None:
    wrong = {
        "missing": ('marginal = ["sx"]\n', 'no column "sx"'),
        "absolute": ('marginal = ["sex"]\ntau = 10\n', "write it in per cent: 10%"),
        "unordered": ('marginal = ["sex"]\ndistance = "ks"\n', "use tv"),
        "wide": ('marginal = ["sex", "age"]\ndistance = "emd"\n', "use tv"),
    }
    checks = [f'[[check]]\nid = "{name}"\n{text}' for name, (text, _) in wrong.items()]
    report = exact(spec(ROWS, PAIR, *checks))
    assert [check.status for check in report.checks[:2]] == ["as expected", "not as expected"]
    for check in report.checks[2:]:
        assert check.status == "broken"
        assert wrong[check.id][1] in check.message
        assert check.exit_code == 2
    assert report.cost.epsilon == 1
    code, out, _ = command("check", spec(checks[0]))
    assert code == 2
    assert "nothing spent\n" in out


@pytest.mark.usefixtures("folder")
def test_every_rendering_says_what_was_asked(command: Command) -> None:
    path = spec(PAIR, SCORE)
    kinds = ("json", "junit", "markdown", "html", "github")
    outputs = [f"--output={kind}=out.{kind}" for kind in kinds if kind != "github"]
    code, out, _ = command("check", path, *outputs, "--verbose")
    assert code == 1
    words = " ".join(out.split())
    assert "tolerance 5 % of the rows: is the private table's distribution so near" in words
    assert "score at least 90 %, a mean distance below 10 %" in words
    assert "synthetic answer" not in words
    for kind in kinds[1:4]:
        text = Path(f"out.{kind}").read_text(encoding="utf-8")
        assert "TOTAL VARIATION(SEX, job)" in text
        assert "Synthetic answer 0, tolerance from" not in text
    facts = json.loads(Path("out.json").read_text(encoding="utf-8"))
    assert [c["verdicts"][0]["tau"] for c in facts["checks"]] == [0.05, 0.1]
    assert "of the rows" in Path("out.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("folder")
def test_a_baseline_knows_a_distance(command: Command) -> None:
    path = spec(PAIR)
    write_baseline("base.json", exact(path))
    assert command("check", path, "--baseline", "base.json")[0] == 0
    other = spec(PAIR.replace('["SEX", "job"]', '["sex"]'))
    code, out, _ = command("check", other, "--baseline", "base.json", "--verbose")
    assert code == 1
    assert "not asked like this in the baseline" in " ".join(out.split())


def test_a_copy_of_the_same_distribution_passes(folder: Path) -> None:
    """The score of two samples is 3 %, the pair's distance 2 %: both far within."""
    people(4_000, 4).to_parquet(folder / "copy.parquet")
    found = read_spec(spec(PAIR, SCORE, budget="epsilon = 0.1"))
    gates = [
        check.gate
        for seed in range(5)
        for check in run_check(found, SimulatedNoise(seed), fresh=True).checks
    ]
    assert gates == ["pass"] * 10


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("rows", ["", "rows = 4_000\n", "rows = 8_000\n"])
def test_a_margin_tells_the_distance_of_a_table_of_so_many_rows(rows: str) -> None:
    """The copy has as many rows as the private table, so without stated rows it is exact too."""
    path = spec(PAIR, SCORE.replace("90%", "98%"))
    text = Path(path).read_text(encoding="utf-8").replace("[synthetic", rows + "[synthetic")
    Path(path).write_text(text, encoding="utf-8")
    pair, score = (check.verdicts[0] for check in exact(path).checks)
    assert pair.distance is not None
    assert score.distance is not None
    value, low, high = pair.distance
    true = float(distance_of(["sex", "job"]) / 4_000)
    assert low < value < high
    assert pair.rows_stated == bool(rows)
    if "8" in rows:
        # What is beyond the tolerance weighs half among twice the rows.
        assert value - 0.05 == pytest.approx((true - 0.05) / 2, abs=2e-4)
        return
    assert value == pytest.approx(true, abs=1.05 / 4_000)
    assert low <= true <= high
    assert score.distance.value > 0.02


@pytest.mark.usefixtures("folder")
def test_relations_tell_no_distance_since_those_of_the_private_table_are_not_known() -> None:
    kept = '[[check]]\nid = "kept"\nscore = "relations"\nat_least = "50%"\n'
    (check,) = exact(spec(kept)).checks
    assert check.verdicts[0].margin is not None
    assert (check.verdicts[0].distance, check.verdicts[0].distance_rows) == (None, None)


@pytest.mark.usefixtures("folder")
def test_every_rendering_of_a_failure_says_how_far_off_what_it_cost_and_what_next(
    command: Command,
) -> None:
    far = '[[check]]\nid = "women"\nsql = "SELECT COUNT(*) FROM D WHERE sex LIKE \'f\'"\n'
    path = spec(PAIR, SCORE.replace("90%", "98%"), far)
    files = [f"--output={kind}=out.{kind}" for kind in ("junit", "markdown", "html")]
    code, out, _ = command("check", path, *files, "--output", "github", "--verbose")
    assert code == 1
    told = {kind: Path(f"out.{kind}").read_text("utf-8") for kind in ("junit", "markdown", "html")}
    told["github"] = "\n".join(line for line in out.splitlines() if line.startswith("::error"))
    told["terminal"] = out.partition("::error")[0]
    for kind, text in told.items():
        words = " ".join(text.replace("%25", "%").replace("%0A", " ").split())
        for part in (
            "the distance is about 10",
            "the score is about 9",
            "if the private table is as large as the copy",
            "synthetic answer 1,",
            "tolerance",
            "private answer is above the copy",
            "spent: epsilon 0.5",
            "do not rely on this distribution",
            "accept the gap with a larger tau",
        ):
            assert part in words, (kind, part)
