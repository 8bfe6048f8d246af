"""Deciders of one's own: what they are given, what is taken of them, and who answers for them."""

import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
import pytest

import pqd
from pqd.deciders import Decision, Histogram, Interval, Noise
from pqd.deciders.bounds import NoBounds
from pqd.deciders.exact import Number, as_float, budget_of
from pqd.deciders.single import registered
from pqd.deciders.single.base import DeciderDefaults, ExponentialDecider

QUERY = "SELECT COUNT(*) FROM D WHERE x = 1"
SECRET = 87_654
COPY = pd.DataFrame({"x": [1] * 40 + [0] * 60})
PRIVATE = pd.DataFrame({"x": [1] * 41 + [0] * 59})
SOURCE = """
from dataclasses import dataclass
from typing import ClassVar

from pqd.deciders import Decision
from pqd.deciders.bounds import NoBounds



@dataclass(frozen=True)
class Always(NoBounds):
    aggregate: ClassVar[str] = "COUNT"

    def accept(self, histogram, interval, epsilon):
        return 1.0

    def decide(self, histogram, interval, epsilon, noise):
        return Decision(True, p_value=0.0, margin=5, released=(3,))
"""


@dataclass(frozen=True, slots=True)
class Capped(ExponentialDecider, NoBounds, DeciderDefaults):
    """Exponential mechanism on {no, yes}, with a score that is cut off."""

    cap: int = 100
    aggregate: ClassVar[str] = "COUNT"

    def logit(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
        """``epsilon`` times the distance to the nearer end, within ``-cap`` and ``cap``."""
        count = Fraction(histogram.mass)
        depth = min(count - interval.lower, interval.upper - count)
        return as_float(
            budget_of(epsilon) * max(Fraction(-self.cap), min(Fraction(self.cap), depth))
        )


def deciding(act: Callable[[Histogram], Any]) -> type[Capped]:
    """Decider whose verdict is what ``act`` gives."""

    @dataclass(frozen=True)
    class Acting(Capped):
        def decide(
            self, histogram: Histogram, interval: Interval, epsilon: Number, noise: Noise
        ) -> Decision:
            del interval, epsilon, noise
            result: Decision = act(histogram)
            return result

    return Acting


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(registered, "_REGISTERED", {})
    monkeypatch.chdir(tmp_path)


def register(name: str, decider: type[Any], version: str = "1.0") -> None:
    """Register for the package my-study."""
    pqd.register(name, decider, package="my-study", version=version)


def audit(decider: str = "capped", **stated: Any) -> pqd.AuditReport:
    """Audit of one query by a decider."""
    stated = {"tau": 10, "epsilon": 2, **stated}
    return pqd.audit(PRIVATE, COPY, stated.pop("query", QUERY), decider=decider, **stated)


def test_a_registered_decider_leans_at_most_and_every_rendering_names_its_package() -> None:
    register("capped", Capped)
    report = audit(epsilon=20)
    verdict = report["q1"]
    assert (verdict.outcome, verdict.evidence, verdict.p_value) == ("undecided", "none", None)
    assert (verdict.standing.value, verdict.leans) == ("leans yes", "yes")
    assert report.spent == 20
    for text in (
        str(report), report.to_markdown(), report.to_html(), report.to_json(),
        report._repr_html_(),
    ):  # fmt: skip
        flat = " ".join(text.split())
        assert "capped (my-study 1.0)" in flat
        assert "pqd has not checked that it keeps its epsilon" in flat


def test_what_a_verdict_claims_beside_its_bit_is_dropped() -> None:
    register("capped", deciding(lambda _: Decision(True, 0.0, 5, (SECRET,), True, SECRET)))
    verdict = audit()["q1"]
    assert (verdict.p_value, verdict.margin, verdict.estimate) == (None, None, None)
    assert verdict.outcome == "undecided"
    assert str(SECRET) not in audit().to_json()


class OwnError(BaseException):
    """Error of a package that is no Exception."""


class OwnInterrupt(KeyboardInterrupt):
    """Interrupt with words of its own."""


def broken(error: BaseException) -> Callable[[Histogram], Any]:
    """Function that raises an error."""

    def act(_: Histogram) -> Any:
        raise error

    return act


@pytest.mark.parametrize(
    "act",
    [
        broken(ValueError(f"{SECRET} rows")),
        broken(pqd.PqdError(f"{SECRET} rows")),
        broken(SystemExit(f"{SECRET} rows")),
        broken(OwnError(f"{SECRET} rows")),
        lambda _: SECRET,
        lambda _: Decision(SECRET),  # type: ignore[arg-type]
        lambda _: (True, SECRET),
    ],
)
def test_nothing_of_a_broken_decider_is_shown_but_the_charge(act: Callable[..., Any]) -> None:
    register("capped", deciding(act))
    with pytest.raises(pqd.PqdError, match=r"nothing of it is shown.*Epsilon 2 was charged") as met:
        audit()
    shown = "".join(traceback.format_exception(met.value))
    assert str(SECRET) not in shown
    assert met.value.__cause__ is met.value.__context__ is None
    assert met.value.exit_code == 3


def test_an_interrupt_of_a_decider_has_no_words() -> None:
    register("capped", deciding(broken(OwnInterrupt(f"{SECRET} rows"))))
    with pytest.raises(KeyboardInterrupt) as met:
        audit()
    shown = "".join(traceback.format_exception(met.value))
    assert f"{SECRET} rows" not in shown
    assert type(met.value) is KeyboardInterrupt
    assert met.value.__cause__ is met.value.__context__ is None


def test_a_warning_of_a_decider_is_not_shown(recwarn: pytest.WarningsRecorder) -> None:
    def act(histogram: Histogram) -> Decision:
        warnings.warn(f"{histogram.mass}", stacklevel=1)
        return Decision(True)

    pqd.register("my_count", deciding(act), package="study", version="1")
    pqd.simulate(pqd.audit, seed=1)(PRIVATE, COPY, QUERY, tau=5, epsilon=1, decider="my_count")
    assert "41" not in {str(each.message) for each in recwarn}


def test_a_broken_accept_is_told_before_anything_is_spent(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Odd(Capped):
        def accept(self, histogram: Histogram, interval: Interval, epsilon: Number) -> float:
            del histogram, interval, epsilon
            return 1.5

    register("capped", Odd)
    with pytest.raises(pqd.PqdError, match=r"accept gave 1\.5, which is no probability"):
        audit()
    assert not list(tmp_path.iterdir())


def test_auto_never_takes_it_and_no_candidate_is_it() -> None:
    register("capped", Capped)
    report = audit("auto", detailed=True)
    assert "capped" not in report.to_json()


def test_a_verdict_is_replayed_for_the_same_version_and_fields_alone() -> None:
    register("capped", Capped)
    assert not audit()["q1"].replayed
    assert audit()["q1"].replayed
    register("capped", Capped, version="1.1")
    assert not audit()["q1"].replayed

    class Narrow(Capped):
        @classmethod
        def on(cls, lattice: Any) -> Any:
            del lattice
            return replace(cls(), cap=3)

    register("capped", dataclass(frozen=True)(Narrow), version="1.1")
    assert not audit()["q1"].replayed


def test_a_simulation_takes_it_too() -> None:
    register("capped", Capped)
    simulate = pqd.simulate(pqd.audit, seed=1)
    report = simulate(PRIVATE, COPY, QUERY, tau=10, epsilon=2, decider="capped")
    assert "capped (my-study 1.0)" in str(report)
    assert "SIMULATED" in str(report)


@pytest.mark.parametrize(
    ("name", "decider", "said"),
    [
        ("lm_count", Capped, "'lm_count' is a name of pqd's own"),
        ("auto", Capped, "'auto' is a name of pqd's own"),
        ("paper", Capped, "'paper' is a name of pqd's own"),
        ("My count", Capped, "'My count' is no name of a decider"),
        (3, Capped, "3 is no name of a decider"),
        ("mine", int, "mine decides None; its aggregate must be one of COUNT, "),
        ("mine", type("A", (), {"aggregate": "SUM"}), "mine lacks on, accept, decide, bounds"),
        ("mine", type("B", (Capped,), {"cap": 1}), None),
    ],
)
def test_what_cannot_be_registered_is_told(name: Any, decider: Any, said: str | None) -> None:
    if said is None:
        register(name, decider)
        return
    with pytest.raises(pqd.PqdError, match=said):
        register(name, decider)


def test_a_decider_must_be_a_frozen_dataclass() -> None:

    class Bare:
        aggregate = "COUNT"
        bounds = None, None, 1
        on = accept = decide = print

    with pytest.raises(pqd.PqdError, match="mine must be a frozen dataclass"):
        register("mine", Bare)


@pytest.mark.parametrize("facts", [{"package": "", "version": "1"}, {"package": "a", "version": 1}])
def test_a_package_and_a_version_are_words(facts: Any) -> None:
    with pytest.raises(pqd.PqdError, match=r"the (package|version) of mine is "):
        pqd.register("mine", Capped, **facts)


def test_another_package_does_not_take_a_name() -> None:
    register("mine", Capped)
    register("mine", Capped, version="2")
    with pytest.raises(pqd.PqdError, match="'mine' is registered already, by my-study 2"):
        pqd.register("mine", Capped, package="other", version="1")


def test_another_aggregate_is_refused_before_anything_is_spent(tmp_path: Path) -> None:
    register("capped", Capped)
    with pytest.raises(pqd.PqdError, match=r"capped \(my-study 1\.0\) decides COUNT, not SUM"):
        audit(query="SELECT SUM(x) FROM D")
    with pytest.raises(pqd.PqdError, match="capped decides COUNT; per row"):
        audit(scale="rows")
    assert not list(tmp_path.iterdir())


def test_an_unknown_name_is_still_unknown() -> None:
    with pytest.raises(pqd.PqdError, match="there is no decider 'nope'; use auto, paper or "):
        audit("nope")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Folder of installed packages, which are forgotten after the test."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    before = {*sys.modules}
    yield folder
    for name in {*sys.modules} - before:
        if name.startswith("study_"):
            del sys.modules[name]


def install(site: Path, package: str, points: dict[str, str], source: str = SOURCE) -> None:
    """Install a package with entry points, as pip leaves it."""
    info = site / f"{package}-2.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 2.5\n")
    lines = "".join(f"{name} = {value}\n" for name, value in points.items())
    (info / "entry_points.txt").write_text(f"[pqd.deciders]\n{lines}")
    (site / f"{package}.py").write_text(source)


def test_an_entry_point_is_found_when_it_is_named(site: Path) -> None:
    install(site, "study_one", {"always": "study_one:Always"})
    audit("auto")
    assert "study_one" not in sys.modules, "a package is imported when it is named"
    verdict = audit("always")["q1"]
    assert verdict.decider == "always (study_one 2.5)"
    assert (verdict.outcome, verdict.leans) == ("undecided", "yes")


@pytest.mark.parametrize(
    ("points", "source", "said"),
    [
        ({"always": "study_two:Gone"}, SOURCE, "AttributeError"),
        ({"always": "study_two:Always"}, "import nowhere_at_all", "No module named"),
        ({"always": "study_two:Always"}, "raise ValueError('odd')", "ValueError: odd"),
        ({"always": "study_two:dataclass"}, SOURCE, "always decides None"),
    ],
)
def test_a_broken_package_is_named_in_one_message(
    points: dict[str, str], source: str, said: str, site: Path
) -> None:
    install(site, "study_two", points, source)
    expected = rf"the decider 'always' of the package study_two 2\.5 .*cannot be loaded: .*{said}"
    with pytest.raises(pqd.PqdError, match=expected):
        audit("always")
    assert {path.name for path in Path.cwd().iterdir()} == {"site"}, "nothing was spent"


def test_two_packages_with_one_name_are_both_told(site: Path) -> None:
    install(site, "study_one", {"always": "study_one:Always"})
    install(site, "study_two", {"always": "study_two:Always"})
    with pytest.raises(pqd.PqdError, match=r"several .*: study_one 2\.5, study_two 2\.5; uninst"):
        audit("always")


def test_an_entry_point_shadows_no_name_of_pqd(site: Path) -> None:
    install(site, "study_one", {"lm_count": "study_one:Always"})
    assert audit("lm_count")["q1"].decider == "lm_count"
    assert "study_one" not in sys.modules
