"""The pytest plugin, in pytest runs of its own."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

Ran = tuple[int, str, str]
ROOT = Path(__file__).resolve().parents[2]
TESTS = """
import pytest

def test_holds(pqd):
    entry = pqd.assert_trusted("median-age-of-men")
    assert entry.gate == "pass"

def test_does_not_hold(pqd):
    pqd.assert_trusted("median-age-of-employed-black-women")

def test_sql(pqd):
    pqd.assert_trusted("SELECT COUNT(*) FROM D", tau="10%", epsilon=0.5)

def test_bad_sql(pqd):
    pqd.assert_trusted("SELECT COUNT(*) FROM D WHERE agee > 3", tau="10%", epsilon=0.5)

@pytest.mark.parametrize("how", ["fail", "warn", "pass"])
def test_undecided(pqd, how):
    sql = "SELECT COUNT(*) FROM D WHERE sex LIKE 'Female'"
    pqd.assert_trusted(sql, tau=1, epsilon=0.01, alpha=1e-9, on_undecided=how)

def test_no_check(pqd):
    with pytest.raises(TypeError, match="is no check of audit-fails.toml"):
        pqd.assert_trusted("median-age")
    with pytest.raises(TypeError, match="stand in audit-fails.toml"):
        pqd.assert_trusted("median-age-of-men", tau=3)
    with pytest.raises(TypeError, match="synthetic must name one of tree"):
        pqd.assert_trusted("median-age-of-men", synthetic="other")
"""


# A run of its own would draw real noise, by which any check fails once in a while.
SEEDED = """
import pytest
from tests.support import seeded_noise

seeded_noise.take_place(pytest.MonkeyPatch())
"""


@pytest.fixture
def seeded(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Folder whose runs draw their noise from a seed."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makeconftest(SEEDED)
    return pytester


def test_the_fixture_fails_what_is_not_trusted(seeded: pytest.Pytester) -> None:
    seeded.makepyfile(TESTS)
    spec = ROOT / "samples" / "audit-fails.toml"
    seeded.makeini(f"[pytest]\npqd_spec = {spec}\n")
    result = seeded.runpytest_subprocess("-rs", "-p", "no:cacheprovider", "-p", "no:xdist")
    result.assert_outcomes(passed=4, failed=3, skipped=1)
    text = result.stdout.str()
    assert "outside tolerance (p < 0.001), but close was expected" in text
    assert 'there is no column "agee"' in text
    assert "undecided: leans" in text
    for part in ("synthetic answer", "off by", "spent: epsilon 0.5", "next: do not rely on this"):
        assert part in text


def test_a_check_that_a_gate_does_not_tell_says_what_the_gate_found(
    seeded: pytest.Pytester,
) -> None:
    spec = (ROOT / "samples" / "audit-fails.toml").read_text(encoding="utf-8")
    spec = spec.replace('path = "census', f'path = "{ROOT}/samples/census')
    spec = re.sub(r"(?m)^(epsilon|decider|severity|on_undecided) = .*", "", spec)
    spec = spec.replace("[defaults]", "[budget]\ngate = 1\n[defaults]")
    (seeded.path / "audit.toml").write_text(spec, encoding="utf-8")
    seeded.makepyfile("def test_w(pqd):\n    pqd.assert_trusted('median-age-of-men')\n")
    result = seeded.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:xdist")
    result.assert_outcomes(failed=1)
    assert "not told, since the gate did not pass; the gate of all checks: at least one of" in (
        result.stdout.str()
    )


def test_counts_that_all_fail_name_the_size(seeded: pytest.Pytester) -> None:
    rows = "".join(f"{20 + k % 60}\n" for k in range(4000))
    for name, lines in (("private", rows), ("copy", rows[:1200])):
        (seeded.path / f"{name}.csv").write_text(f"age\n{lines}")
    checks = "".join(
        f'[[check]]\nid = "over-{age}"\nsql = "SELECT COUNT(*) FROM D WHERE age > {age}"\n'
        for age in (30, 50)
    )
    (seeded.path / "audit.toml").write_text(
        '[private]\npath = "private.csv"\n[synthetic.copy]\npath = "copy.csv"\n'
        f'[defaults]\ntau = "10%"\nepsilon = 1\n{checks}'
    )
    seeded.makepyfile("def test_a(pqd):\n    pqd.assert_trusted('over-30')\n")
    result = seeded.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:xdist")
    result.assert_outcomes(failed=1)
    told = 'number of rows than copy.csv (400), scale = "rows" compares them per row.'
    assert told in result.stdout.str()


def test_the_option_names_the_spec_and_the_warning_is_a_warning(seeded: pytest.Pytester) -> None:
    spec = (ROOT / "samples" / "audit-fails.toml").read_text(encoding="utf-8")
    spec = spec.replace('path = "census', f'path = "{ROOT}/samples/census')
    (seeded.path / "my.toml").write_text(
        spec.replace("[defaults]", '[defaults]\nseverity = "warn"'), encoding="utf-8"
    )
    seeded.makepyfile(
        "def test_w(pqd):\n    pqd.assert_trusted('median-age-of-employed-black-women')\n"
    )
    result = seeded.runpytest_subprocess("--pqd-spec", "my.toml", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, warnings=1)
    assert "UntrustedWarning" in result.stdout.str()


def test_a_missing_spec_is_said_where_the_fixture_is_used(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "def test_a():\n    pass\n\ndef test_b(pqd):\n    pqd.assert_trusted('x')\n"
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1)
    assert "audit.toml" in result.stdout.str()


def test_pytest_starts_without_what_is_heavy(process: Callable[..., Ran]) -> None:
    heavy = ("pandas", "duckdb", "opendp", "sqlglot", "numpy", "rich")
    code, out, err = process(
        "-c", f"import sys, pqd.pytest_plugin; print([m for m in {heavy} if m in sys.modules])"
    )
    assert (code, out.strip()) == (0, "[]"), err


GATED = """
def test_told(pqd):
    pqd.assert_trusted("rows")

def test_not_told(pqd):
    pqd.assert_trusted("women")

def test_sql(pqd):
    assert pqd.assert_trusted("SELECT COUNT(*) FROM D", tau="10%", epsilon=0.5).id != "all checks"

def test_whole(pqd):
    import pytest
    with pytest.raises(TypeError, match="name any check of it, such as 'rows'"):
        pqd.assert_trusted("all checks")
"""


def test_no_check_of_a_red_gate_passes(seeded: pytest.Pytester) -> None:
    """Nothing shows that a check holds that a gate does not tell; a query has its own verdict."""
    spec = f"""
[private]
path = "{ROOT}/samples/census_private.parquet"
[synthetic.flat]
path = "{ROOT}/samples/census_flat.parquet"
[budget]
gate = 1
[ledger]
path = "ledger.sqlite"
[defaults]
tau = "10%"
[[check]]
id = "rows"
sql = "SELECT COUNT(*) FROM D"
[[check]]
id = "women"
sql = "SELECT COUNT(*) FROM D WHERE age < 5"
expect = "far"
"""
    (seeded.path / "gated.toml").write_text(spec, encoding="utf-8")
    seeded.makepyfile(GATED)
    command = ("--pqd-spec", "gated.toml", "-p", "no:cacheprovider", "-p", "no:xdist")
    result = seeded.runpytest_subprocess(*command)
    result.assert_outcomes(passed=2, failed=2)
