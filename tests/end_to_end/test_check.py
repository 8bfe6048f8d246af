"""``pqd check`` on the sample specs, as a build runs it."""

import json
import os
import re
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import pqd
from pqd.accounting.ledger import Ledger
from pqd.commands.baseline import write_baseline
from pqd.commands.check import run_check
from pqd.deciders import SimulatedNoise
from pqd.reports.junit import junit_text
from pqd.reports.text.check import CONDITIONAL_HINT
from pqd.reports.writers.terminal import terminal_text
from pqd.reports.writers.terminal.layout import Extent
from pqd.spec import read_spec
from pqd.spec.problems import SpecError
from tests.support.likeness import like

Ran = tuple[int, str, str]
Command = Callable[..., Ran]
SAMPLES = Path(__file__).resolve().parents[2] / "samples"
CODES = {"audit": 0, "audit-fails": 1, "audit-undecided": 0, "audit-over-budget": 4}


def sample(name: str) -> str:
    return str(SAMPLES / f"{name}.toml")


def edited(tmp_path: Path, name: str, *changes: tuple[str, str]) -> Path:
    """Write a sample spec with ``changes``, beside links to the tables."""
    text = (SAMPLES / f"{name}.toml").read_text(encoding="utf-8")
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    spec = tmp_path / "audit.toml"
    spec.write_text(text.replace('path = "census', f'path = "{SAMPLES}/census'), encoding="utf-8")
    return spec


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """Where the fixture of every test keeps the account."""
    return tmp_path / "ledger.sqlite"


@pytest.mark.parametrize("name", CODES)
def test_a_sample_spec_ends_as_it_says(name: str, command: Command) -> None:
    code, out, err = command("check", sample(name))
    assert code == CODES[name]
    assert bool(out) != bool(err)
    if code == 4:
        assert "this run needs epsilon 1; of 0.75 for this data set 0 are spent" in err
        assert "Nothing was spent" in err


@pytest.mark.parametrize(("stated", "code"), [("fail", 1), ("warn", 0), ("pass", 0)])
def test_undecided_means_what_the_check_says(
    stated: str, code: int, tmp_path: Path, command: Command
) -> None:
    change = 'on_undecided = "warn"', f'on_undecided = "{stated}"'
    # At the sample's alpha two runs in a million are decided; at this one two in 10^12.
    spec = edited(tmp_path, "audit-undecided", change, ("alpha = 0.000001", "alpha = 1e-12"))
    found, out, _ = command("check", str(spec))
    assert found == code
    assert "needs epsilon" in out
    again, out, _ = command("check", str(spec), "--explain", "women-to-the-head")
    assert again == 0
    assert "undecided: leans" in out


@pytest.mark.parametrize("name", ["audit", "audit-fails", "audit-undecided"])
def test_the_second_run_costs_nothing_and_says_the_same(name: str, ledger: Path) -> None:
    first, second = pqd.check(sample(name)), pqd.check(sample(name))
    assert first.cost.epsilon > 0
    assert second.cost.epsilon == 0
    assert second.exit_code == first.exit_code
    for before, after in zip(first.checks, second.checks, strict=True):
        assert (before.status, before.message) == (after.status, after.message)
        for old, new in zip(before.verdicts, after.verdicts, strict=True):
            assert new.replayed
            assert (old.outcome, old.p_value, old.margin) == (new.outcome, new.p_value, new.margin)
    (account,) = Ledger(ledger).accounts
    assert account.epsilon == first.cost.epsilon


def test_what_a_dry_run_prices_is_what_a_run_costs(command: Command, ledger: Path) -> None:
    code, out, err = command("check", sample("audit"), "--dry-run")
    assert (code, err) == (0, "")
    assert "nothing spent; a run costs epsilon 2\n" in out
    code, out, err = command("check", sample("audit"), "--dry-run", "--verbose")
    assert (code, err) == (0, "")
    assert not ledger.exists()
    words = " ".join(out.split())
    assert "Would spend epsilon 2" in words
    for proof in ("\"sex\" = 'Female'", '"age" in [20, 40)'):
        assert proof in words
    # Each check by itself, its groups charged once.
    assert words.count("epsilon 0.5 by itself") == 5
    assert pqd.check(sample("audit")).cost.epsilon == 2
    dry = pqd.check(sample("audit"), dry_run=True)
    assert dry.cost.epsilon == 0
    assert all("known already" in entry.message for entry in dry.checks)


def test_an_unaffordable_dry_run_says_so(command: Command) -> None:
    code, out, err = command("check", sample("audit-over-budget"), "--dry-run")
    assert (code, out) == (4, "")
    assert "needs epsilon 1; of 0.75" in err


def test_a_run_is_refused_whole(command: Command, ledger: Path) -> None:
    assert command("check", sample("audit-over-budget"), "--only", "old")[0] in {0, 1}
    spent = Ledger(ledger).accounts[0].epsilon
    assert spent == Fraction(1, 2)
    # One of the two is known by now, and the other does not fit any more.
    code, _, err = command("check", sample("audit-over-budget"))
    assert code == 4
    assert "needs epsilon 0.5; of 0.75 for this data set 0.5 are spent and 0.25 left" in err
    assert Ledger(ledger).accounts[0].epsilon == spent


def test_only_chosen_checks_run(command: Command) -> None:
    code, out, _ = command("check", sample("audit"), "--only", "ages", "--output", "json=-")
    report = json.loads(out)
    assert code == 0
    assert [entry["id"] for entry in report["checks"]] == ["ages"]
    code, _, err = command("check", sample("audit"), "--only", "agse")
    assert code == 5
    assert "has no check 'agse'; the nearest of its 5 is ages" in err
    code, _, err = command("check", sample("audit"), "--only", "ages,ages")
    assert code == 5
    assert "has no check 'ages,ages'; give each by itself: --only ages --only ages" in err


def test_a_broken_check_is_an_error_and_the_others_go_on(tmp_path: Path, command: Command) -> None:
    change = "SELECT MEDIAN(age) FROM D WHERE sex LIKE 'Male'", "SELECT MEDIAN(agee) FROM D"
    spec = edited(tmp_path, "audit-fails", change)
    code, out, _ = command("check", str(spec), "--output", "json=-")
    entries = {entry["id"]: entry for entry in json.loads(out)["checks"]}
    assert code == 2, "an error outranks a failure"
    assert entries["median-age-of-men"]["gate"] == "error"
    assert (
        'there is no column "agee"; the nearest are "age", "race"'
        in (entries["median-age-of-men"]["message"])
    )
    assert entries["median-age-of-employed-black-women"]["gate"] == "fail"


BROKEN = {
    "a missing synthetic table": (("census_synthetic.parquet", "gone.parquet"), "does not exist"),
    "an aggregate that a decider does not decide": (
        ("epsilon = 0.5", 'epsilon = 0.5\ndecider = "lm_count"'),
        "decides COUNT, not MEDIAN",
    ),
    "keys without GROUP BY": (("[[check]]", '[[check]]\nkeys = ["a"]'), "no GROUP BY"),
    "bins of no column": (("[[check]]", '[[check]]\nbins = "agge=0:10:5"'), "no column"),
    "a share of nothing": (
        ("WHERE sex LIKE 'Female'", "WHERE sex LIKE 'female'"),
        "no synthetic row matches",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_check_costs_nothing(
    name: str, tmp_path: Path, command: Command, ledger: Path
) -> None:
    change, words = BROKEN[name]
    code, out, _ = command("check", str(edited(tmp_path, "audit-fails", change)), "--output=json=-")
    assert code == 2
    broken = [e for e in json.loads(out)["checks"] if e["gate"] == "error"]
    assert broken
    assert all(words in entry["message"] for entry in broken)
    if len(broken) == 2:
        assert not ledger.exists()


def test_a_dry_run_of_nothing_but_broken_checks(
    tmp_path: Path, command: Command, ledger: Path
) -> None:
    # One run in a million is decided, and fails: here it need only be charged.
    assert command("check", sample("audit-undecided"))[0] in {0, 1}
    assert ledger.exists()
    spec = edited(tmp_path, "audit-undecided", ("COUNT(*)", "COUNTS(*)"))
    code, out, err = command("check", str(spec), "--dry-run")
    assert (code, err) == (2, "")
    assert "ERROR" in out


def test_a_missing_private_table_stops_the_run(tmp_path: Path, command: Command) -> None:
    spec = edited(tmp_path, "audit", ("census_private.parquet", "gone.parquet"))
    code, out, err = command("check", str(spec))
    assert (code, out) == (2, "")
    assert "gone.parquet does not exist" in err


def test_what_the_environment_hides_is_not_shown(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "token-41fc"
    secret.mkdir()
    spec = tmp_path / "audit.toml"
    text = (SAMPLES / "audit.toml").read_text(encoding="utf-8")
    text = text.replace("census_private.parquet", "${VAULT}/private.parquet")
    spec.write_text(text.replace('path = "census', f'path = "{SAMPLES}/census'), encoding="utf-8")
    monkeypatch.setenv("VAULT", str(secret))
    _, out, err = command("check", str(spec), "--output", "github")
    assert "${VAULT}/private.parquet does not exist" in err
    (secret / "private.parquet").write_bytes(b"no table")
    monkeypatch.setenv("PQD_LEDGER", "")
    _, more, last = command("check", str(spec))
    assert "41fc" not in out + err + more + last


def test_several_outputs_at_once(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    kinds = {"json": "r.json", "junit": "r.xml", "markdown": "r.md", "html": "r.html"}
    wanted = [f"--output={kind}={tmp_path / name}" for kind, name in kinds.items()]
    code, out, err = command("check", sample("audit-fails"), *wanted, "--output", "github")
    assert (code, err) == (1, "")
    texts = {kind: (tmp_path / name).read_text(encoding="utf-8") for kind, name in kinds.items()}
    assert json.loads(texts["json"])["exit_code"] == 1
    assert '<failure message="' in texts["junit"]
    for kind in ("markdown", "html"):
        assert "median-age-of-employed-black-women" in texts[kind]
    annotations = [line for line in out.splitlines() if line.startswith("::error")]
    line = (SAMPLES / "audit-fails.toml").read_text("utf-8").splitlines().index("[[check]]") + 1
    assert len(annotations) == 1
    assert f"audit-fails.toml,line={line}," in annotations[0]
    assert "outside tolerance" in annotations[0]


def test_the_step_summary_is_added_to(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("# Before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    command("check", sample("audit-fails"), "--output", "github")
    text = summary.read_text(encoding="utf-8")
    assert text.startswith("# Before\n")
    assert "median-age-of-employed-black-women" in text


def test_errors_of_a_spec_are_annotated_at_their_lines(tmp_path: Path, command: Command) -> None:
    spec = edited(tmp_path, "audit", ("tau = 3", "tua = 3"), ("bins =", "bin ="))
    code, out, _ = command("check", str(spec), "--output", "github")
    assert code == 2
    lines = spec.read_text("utf-8").splitlines()
    wanted = [n for n, line in enumerate(lines, 1) if line.startswith(("tua", "bin "))]
    found = [
        int(n) for n in re.findall(r"^::error file=[^,]*audit\.toml,line=(\d+)", out, re.MULTILINE)
    ]
    assert found == wanted


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--output", "xml=a"], "is not understood"),
        (["--output", "github=a"], "is not understood"),
        (["--output", "json="], "is not understood"),
        (["--output", "json=no/such/folder/r.json"], "no such folder"),
        (["--output", "json=a", "--output", "html=a"], "same place"),
        (["--output", "json=-", "--output", "html=-"], "same place"),
        (["--update-baseline"], "needs --baseline"),
        (["--baseline", "gone.json"], "does not exist"),
    ],
)
def test_usage_errors_spend_nothing(
    arguments: list[str], words: str, command: Command, ledger: Path
) -> None:
    code, out, err = command("check", sample("audit"), *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert not ledger.exists()


def test_an_output_does_not_overwrite_the_spec(tmp_path: Path, command: Command) -> None:
    spec = edited(tmp_path, "audit")
    before = spec.read_bytes()
    assert command("check", str(spec), "--output", f"json={spec}")[0] == 2
    assert spec.read_bytes() == before


def test_a_baseline_forgives_what_it_knew(tmp_path: Path, command: Command) -> None:
    baseline = tmp_path / "baseline.json"
    spec = sample("audit-fails")
    update = ["--baseline", str(baseline), "--update-baseline"]
    assert command("check", spec, *update)[0] == 1, "the first baseline forgives nothing"
    code, out, _ = command("check", spec, "--baseline", str(baseline))
    assert code == 0
    assert "KNOWN" in out
    _, out, _ = command("check", spec, "--baseline", str(baseline), "--verbose")
    assert "; as in the baseline" in " ".join(out.split())


def test_a_new_failure_comes_with_the_odds_that_it_is_noise(tmp_path: Path) -> None:
    baseline = tmp_path / "baseline.json"
    name = "median-age-of-employed-black-women"
    write_baseline(baseline, pqd.check(sample("audit-fails")))
    kept = json.loads(baseline.read_text("utf-8"))
    kept["checks"][name] |= {"gate": "pass", "badness": {"": 0}}
    baseline.write_text(json.dumps(kept), encoding="utf-8")
    report = pqd.check(sample("audit-fails"), baseline=baseline)
    entry = report.checks[0]
    assert report.exit_code == 1
    assert entry.flip == entry.verdicts[0].p_value
    assert "noise alone does that with probability 0.1 % at most" in entry.message


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"kind": "other"}', '{"checks": {"a": 1}}', "{" * 9]
)
def test_no_baseline_is_named(text: str, tmp_path: Path, command: Command, ledger: Path) -> None:
    path = tmp_path / "b.json"
    path.write_text(text, encoding="utf-8")
    code, out, err = command("check", sample("audit"), "--baseline", str(path))
    assert (code, out) == (2, "")
    assert "baseline" in err
    assert not ledger.exists()


def test_an_updated_baseline_keeps_checks_that_were_not_run(
    tmp_path: Path, command: Command
) -> None:
    baseline = tmp_path / "baseline.json"
    update = ["--baseline", str(baseline), "--update-baseline"]
    command("check", sample("audit-fails"), *update)
    command("check", sample("audit-fails"), "--only", "median-age-of-men", *update)
    assert len(json.loads(baseline.read_text("utf-8"))["checks"]) == 2


def like_the_private(folder: Path) -> Path:
    """Table that answers as the private one does."""
    path = folder / "like.parquet"
    like(pd.read_parquet(SAMPLES / "census_private.parquet")).to_parquet(path)
    return path


def test_several_synthetic_tables_and_expecting_far(tmp_path: Path) -> None:
    spec = edited(
        tmp_path,
        "audit-fails",
        (
            "[defaults]",
            f'[synthetic.copy]\npath = "{like_the_private(tmp_path)}"\n\n[defaults]',
        ),
        ("workly LIKE 'Yes'\"", 'workly LIKE \'Yes\'"\nexpect = "far"\nsynthetic = ["tree"]'),
    )
    report = pqd.check(spec)
    assert {e.id: e.gate for e in report.checks} == {
        "median-age-of-employed-black-women@tree": "pass",
        "median-age-of-men@tree": "pass",
        "median-age-of-men@copy": "pass",
    }


WORSE = {
    "it was undecided and passed": {"gate": "pass", "badness": {"": 1}},
    "it was undecided and failed": {"gate": "fail", "badness": {"": 1}},
    "it only warned": {"gate": "warn", "badness": {"": 2}},
    "it was asked otherwise": {"asked": "SELECT 1 | 5% | close"},
    "it was another group": {"badness": {"sex = Male": 2}},
}


@pytest.mark.parametrize("how", WORSE)
def test_a_baseline_does_not_forgive_what_is_worse(how: str, tmp_path: Path) -> None:
    baseline, name = tmp_path / "baseline.json", "median-age-of-employed-black-women"
    write_baseline(baseline, pqd.check(sample("audit-fails")))
    assert pqd.check(sample("audit-fails"), baseline=baseline).exit_code == 0
    kept = json.loads(baseline.read_text("utf-8"))
    kept["checks"][name] |= WORSE[how]
    baseline.write_text(json.dumps(kept), encoding="utf-8")
    assert pqd.check(sample("audit-fails"), baseline=baseline).exit_code == 1


@pytest.mark.parametrize("kind", ["json", "html"])
@pytest.mark.parametrize("target", ["ledger", "private", "synthetic", "spec", "baseline"])
def test_no_output_overwrites_what_the_run_needs(
    kind: str, target: str, tmp_path: Path, command: Command, ledger: Path
) -> None:
    for table in ("private", "synthetic"):
        shutil.copy(SAMPLES / f"census_{table}.parquet", tmp_path)
    spec = tmp_path / "audit.toml"
    shutil.copy(SAMPLES / "audit-fails.toml", spec)
    places = {
        "ledger": ledger,
        "private": tmp_path / "census_private.parquet",
        "synthetic": tmp_path / "census_synthetic.parquet",
        "spec": spec,
        "baseline": tmp_path / "baseline.json",
    }
    baseline = ["--baseline", str(places["baseline"]), "--update-baseline"]
    assert command("check", str(spec), *baseline)[0] == 1
    before = places[target].read_bytes()
    code, out, err = command("check", str(spec), *baseline, "--output", f"{kind}={places[target]}")
    assert (code, out) == (2, "")
    assert "is an input of this run, or a ledger" in err or "is named like a table" in err
    assert places[target].read_bytes() == before


def test_an_audit_does_not_overwrite_its_ledger(command: Command, ledger: Path) -> None:
    tables = [str(SAMPLES / f"census_{kind}.parquet") for kind in ("private", "synthetic")]
    query = ["-q", "SELECT COUNT(*) FROM D", "--tau", "5%", "--epsilon", "1"]
    assert command("audit", *tables, *query)[0] == 0
    before = ledger.read_bytes()
    assert command("audit", *tables, *query, "--json", str(ledger))[0] == 2
    assert command("ledger", "export", str(ledger), str(ledger))[0] == 2
    assert command("ledger", "show", str(ledger), "--json", str(ledger))[0] == 2
    assert ledger.read_bytes() == before


def test_a_stopped_run_is_rendered_as_an_error(tmp_path: Path, command: Command) -> None:
    junit, text = tmp_path / "r.xml", tmp_path / "r.json"
    wanted = ["--output", f"junit={junit}", "--output", f"json={text}"]
    assert command("check", sample("audit-over-budget"), *wanted)[0] == 4
    assert "this run needs epsilon 1" in junit.read_text("utf-8")
    report = json.loads(text.read_text("utf-8"))
    assert (report["exit_code"], report["checks"][0]["gate"]) == (4, "error")


def test_a_stopped_run_names_no_folder_in_what_may_be_handed_on(
    tmp_path: Path, command: Command
) -> None:
    page = tmp_path / "page.html"
    code, _, err = command("check", sample("audit-over-budget"), "--html", str(page))
    assert code == 4
    (ledger,) = re.findall(r"\(ledger (/[^)]*)\)", err)
    text = page.read_text("utf-8")
    assert f"(ledger {Path(ledger).name})" in text
    assert str(Path(ledger).parent) not in text


def test_a_verdict_without_a_p_value_counts_only_where_the_spec_says_so(tmp_path: Path) -> None:
    """Whatever it errs with on the copy, here hardly ever, it is no success by itself."""
    spec = {}
    for evidence in ("proof", "likely"):
        (tmp_path / evidence).mkdir()
        terms = f'tau = "20%"\nepsilon = 5\ndecider = "em_count"\nevidence = "{evidence}"'
        spec[evidence] = edited(
            tmp_path / evidence,
            "audit-undecided",
            ('on_undecided = "warn"\n', ""),
            ("tau = 1\nepsilon = 0.01", terms),
            ("alpha = 0.000001  ", "alpha = 0.05  "),
        )
    for evidence, code in (("proof", 2), ("likely", 0)):
        report = pqd.check(spec[evidence], dry_run=True)
        (entry,) = report.checks
        assert "decidable" not in entry.message
        assert "em_count gives no p-value" in entry.message
        assert ("NOT taken by a check" in entry.message) == (evidence == "proof")
        assert ("<error" in junit_text(report)) == (evidence == "proof")
        assert report.exit_code == code
    with pytest.raises(SpecError, match="gives no proof: name another decider, or say evidence"):
        pqd.check(spec["proof"])
    report = pqd.check(spec["likely"])
    (entry,) = report.checks
    assert (entry.status, entry.gate, report.exit_code) == ("as expected", "pass", 0)
    (verdict,) = entry.verdicts
    assert verdict.chosen.worst < 1e-6
    assert (verdict.p_value, verdict.conclusive, verdict.standing) == (None, False, "likely yes")
    assert "<error" not in junit_text(report)


CONDITIONAL = """
[private]
path = "private.csv"

[synthetic.copy]
path = "copy.csv"

[defaults]
epsilon = 1
tau = "10%"

[[check]]
id = "sum"
sql = "SELECT SUM(x) FROM D"
"""


def conditional(folder: Path, more: str) -> Path:
    """Spec with a check of a sum, and with ``more``."""
    rows = "\n".join(str(n % 10) for n in range(3000))
    for name, last in (("private", "3"), ("copy", "4")):
        (folder / f"{name}.csv").write_text(f"x\n{rows}\n{last}\n")
    (folder / "audit.toml").write_text(CONDITIONAL + more)
    return folder / "audit.toml"


@pytest.mark.parametrize("facts", ['"copy"', "[0, 9]"])
def test_a_sum_within_the_bounds_of_the_copy_counts_only_where_the_spec_says_so(
    tmp_path: Path, facts: str
) -> None:
    spec = read_spec(conditional(tmp_path, f"[columns.x]\nbounds = {facts}\n"), {})
    report = run_check(spec, SimulatedNoise(4), fresh=True)
    (entry,) = report.checks
    assert "as expected" in entry.message
    assert report.exit_code == 0
    assert (entry.verdicts[0].condition is None) == ("[0, 9]" in facts)


@pytest.mark.parametrize("facts", ['[0, ""]', '["", 9]'])
def test_one_stated_bound_lets_a_no_count_and_no_yes(tmp_path: Path, facts: str) -> None:
    spec = conditional(tmp_path, f"[columns.x]\nbounds = {facts}\n")
    (entry,) = pqd.check(spec, dry_run=True).checks
    assert entry.gate == "error"
    with pytest.raises(SpecError, match="since it holds within the copy's bounds alone"):
        pqd.check(spec)
    text = spec.read_text("utf-8").replace("[defaults]", '[defaults]\nexpect = "far"')
    spec.write_text(text, encoding="utf-8")
    (entry,) = pqd.check(spec, dry_run=True).checks
    assert entry.gate == "pass"
    (entry,) = run_check(read_spec(spec, {}), SimulatedNoise(4), fresh=True).checks
    assert (entry.status, entry.gate) == ("conditional", "error")


# A count beside the sum, which could be decided.
AND_A_COUNT = """
[[check]]
id = "rows"
sql = "SELECT COUNT(*) FROM D"

[[check]]
id = "bit"
sql = "SELECT COUNT(*) FROM D"
decider = "em_count"
"""


def test_checks_that_could_never_count_stop_the_run_before_it_spends(
    tmp_path: Path, ledger: Path, command: Command
) -> None:
    """The decision is public: whatever the private table holds, the message is the same."""
    spec = conditional(tmp_path, AND_A_COUNT)
    code, out, err = command("check", str(spec), "--output", f"junit={tmp_path / 'pqd.xml'}")
    assert code == 2
    first, *lines = err.removeprefix("pqd: ").splitlines()
    assert "could never count, so nothing was measured and nothing was spent" in first
    assert [line.split(": ")[0:2] for line in lines] == [
        ["audit.toml, line 12", "sum"],
        ["audit.toml, line 20", "bit"],
    ]
    assert CONDITIONAL_HINT in lines[0]
    assert 'say evidence = "likely"' in lines[1]
    assert "<error" in (tmp_path / "pqd.xml").read_text("utf-8")
    assert not ledger.exists()
    (tmp_path / "private.csv").write_text("x\n" + "\n".join(map(str, range(50))) + "\n")
    assert command("check", str(spec)) == (code, out, err)
    with pytest.raises(SpecError) as error:
        pqd.check(spec)
    assert [problem.place.line for problem in error.value.problems] == [12, 20]
    assert {problem.code for problem in error.value.problems} == {"never_counted"}
    assert not ledger.exists()
    # A dry run says the same of each check, and a run of the other check alone goes on.
    planned = pqd.check(spec, dry_run=True)
    assert [each.gate for each in planned.checks] == ["error", "pass", "error"]
    assert planned.exit_code == 2
    assert pqd.check(spec, only="rows").cost.epsilon == 1


def test_the_variable_comes_before_the_spec(
    tmp_path: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = "[defaults]", '[ledger]\npath = "mine.sqlite"\n\n[defaults]'
    spec = edited(tmp_path, "audit-fails", own)
    pqd.check(spec)
    assert ledger.exists()
    assert not (tmp_path / "mine.sqlite").exists()
    monkeypatch.delenv("PQD_LEDGER")
    report = pqd.check(spec)
    assert report.cost.ledger == "mine.sqlite"
    assert report.cost.epsilon > 0


def test_one_table_of_a_check_can_be_chosen(tmp_path: Path) -> None:
    second = (
        "[defaults]",
        f'[synthetic.copy]\npath = "{like_the_private(tmp_path)}"\n[defaults]',
    )
    spec = edited(tmp_path, "audit-fails", second)
    report = pqd.check(spec, only="median-age-of-men@copy")
    assert [entry.id for entry in report.checks] == ["median-age-of-men@copy"]


ODD_PATHS = ["x" * 300, "a\0b", "loop/x"]


@pytest.mark.parametrize("path", ODD_PATHS)
def test_odd_paths_are_refused_in_words(
    path: str, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    spec = sample("audit")
    for arguments in (
        ["check", path],
        ["check", spec, "--output", f"json={path}"],
        ["check", spec, "--baseline", path],
        ["check", spec, "--ledger", path],
        ["check", spec, "--ledger", path, "--dry-run"],
        ["ledger", "show", path],
        ["ledger", "limit", path, "3"],
        ["init", path, path, "--file", "-"],
        ["spec", "--schema", "--file", path],
        ["audit", path, path, "-q", "SELECT COUNT(*) FROM D", "--tau=1", "--epsilon=1"],
    ):
        code, _, err = command(*arguments)
        assert code in {2, 3} or arguments[1] == "--schema", arguments
        assert "internal error" not in err, arguments


def test_a_pipe_is_no_spec_and_no_ledger(tmp_path: Path, command: Command) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert command("check", str(pipe))[0] == 2
    assert command("check", sample("audit"), "--ledger", str(pipe))[0] == 3
    assert command("ledger", "show", str(pipe))[0] in {2, 3}


def test_severity_warn_does_not_fail(tmp_path: Path, command: Command) -> None:
    spec = edited(tmp_path, "audit-fails", ("[defaults]", '[defaults]\nseverity = "warn"'))
    code, out, _ = command("check", str(spec))
    assert code == 0
    assert "WARN" in out


def test_delta_lowers_the_price(tmp_path: Path) -> None:
    checks = "".join(
        f'[[check]]\nid = "c{n}"\nsql = "SELECT COUNT(*) FROM D WHERE age > {n}"\n'
        for n in range(60)
    )
    head = (SAMPLES / "audit-fails.toml").read_text(encoding="utf-8").partition("[[check]]")[0]
    head = head.replace('path = "census', f'path = "{SAMPLES}/census')
    text = head.replace("epsilon = 0.5", 'epsilon = 0.1\non_undecided = "pass"')
    text = text.replace("[defaults]", "[budget]\nepsilon = 10\ndelta = 1e-6\n\n[defaults]")
    spec = tmp_path / "audit.toml"
    spec.write_text(text + checks, encoding="utf-8")
    report = pqd.check(spec)
    assert report.cost.rule == "optimal"
    assert 0 < report.cost.epsilon < 6
    assert report.cost.delta == Fraction(1, 2_000_000)
    text = terminal_text(report, extent=Extent.VERBOSE)
    assert "optimal composition" in " ".join(text.split())
    facts: Any = report.to_dict()
    assert facts["cost"]["total_delta"] == 5e-7
