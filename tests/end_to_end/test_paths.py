"""Paths: those that cannot be followed, links, what messages tell of a folder, a ledger removed."""

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import pqd
from pqd.accounting.accountant import Accountant
from pqd.accounting.ledger import Ledger
from pqd.commands.audit import run_audit
from pqd.deciders import SecureNoise
from pqd.errors import LostLedgerError
from pqd.parameters import Parameters
from pqd.sql.workload_files import as_queries
from tests.support.noises import LaplaceAlone

Ran = tuple[int, str, str]
Command = Callable[..., Ran]

PRIVATE = pd.DataFrame({"age": [float(n % 7) for n in range(40)]})
COPY = pd.DataFrame({"age": [float(n % 6) for n in range(40)]})
SQL = "SELECT COUNT(*) FROM D WHERE age > 2"
SPEC = """
[private]
path = "{private}"
[synthetic.copy]
path = "{copy}"
{ledger}
[budget]
epsilon = {budget}
[defaults]
tau = 5
epsilon = 0.5
on_undecided = "pass"
[[check]]
id = "one"
sql = "SELECT COUNT(*) FROM D WHERE age > 2"
[release]
total_epsilon = 0.5
queries = "{queries}"
"""


def written(**given: str) -> str:
    names = {"private": "private.csv", "copy": "copy.csv", "ledger": "", "queries": "q.sql"}
    return SPEC.format(**{**names, "budget": "9", **given})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with tables, queries and a spec."""
    PRIVATE.to_csv(tmp_path / "private.csv", index=False)
    COPY.to_csv(tmp_path / "copy.csv", index=False)
    (tmp_path / "q.sql").write_text(SQL)
    (tmp_path / "audit.toml").write_text(written())
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PQD_LEDGER", raising=False)
    return tmp_path


# Paths that cannot be followed --------------------------------------------------------------------

TERMS = ["--tau", "5", "--epsilon", "1"]
TABLES = ["private.csv", "copy.csv"]
AUDIT = ["audit", *TABLES, "-q", SQL, *TERMS]
COMPARE = ["compare", "private.csv", "a=copy.csv", "-q", SQL, *TERMS]
RELEASE = ["release", *TABLES, "-q", SQL, "--total-epsilon", "1"]
PLAN = ["plan", "copy.csv", "-q", SQL, "--tau", "5"]
CHECK = ["check", "audit.toml"]
# Every place of a path on the command line; X is the path.
PLACES: dict[str, list[str]] = {
    "audit, private": ["audit", "X", "copy.csv", "-q", SQL, *TERMS],
    "audit, synthetic": ["audit", "private.csv", "X", "-q", SQL, *TERMS],
    "audit, queries": ["audit", *TABLES, "--queries", "X", *TERMS],
    "audit, ledger": [*AUDIT, "--ledger", "X"],
    "audit, json": [*AUDIT, "--json", "X"],
    "audit, html": [*AUDIT, "--html", "X"],
    "audit, markdown": [*AUDIT, "--markdown", "X"],
    "compare, private": ["compare", "X", "a=copy.csv", "-q", SQL, *TERMS],
    "compare, synthetic": ["compare", "private.csv", "a=X", "-q", SQL, *TERMS],
    "compare, ledger": [*COMPARE, "--ledger", "X"],
    "release, private": ["release", "X", "copy.csv", "-q", SQL, "--total-epsilon", "1"],
    "release, ledger": [*RELEASE, "--ledger", "X"],
    "release, table": [*RELEASE, "--table", "X.csv"],
    "release, spec": ["release", "X.toml"],
    "plan, synthetic": ["plan", "X", "-q", SQL, "--tau", "5"],
    "plan, queries": ["plan", "copy.csv", "--queries", "X", "--tau", "5"],
    "check, spec": ["check", "X"],
    "check, output": [*CHECK, "--output", "junit=X"],
    "check, html": [*CHECK, "--html", "X"],
    "check, ledger": [*CHECK, "--ledger", "X"],
    "check, baseline": [*CHECK, "--baseline", "X"],
    "check, a new baseline": [*CHECK, "--update-baseline", "--baseline", "X"],
    "spec, private": ["init", "X", "copy.csv", "--file", "new.toml"],
    "spec, synthetic": ["init", "private.csv", "X", "--file", "new.toml"],
    "spec, file": ["init", *TABLES, "--file", "X"],
    "ledger": ["ledger", "show", "X"],
    "ledger, limit": ["ledger", "limit", "X", "5"],
}
BAD = {"a NUL": "a\0b", "a loop": "loop", "too long": "a" * 5000, "no text": "a\udcff\ud800"}


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("place", PLACES)
def test_a_path_that_cannot_be_followed(
    place: str, bad: str, folder: Path, command: Command
) -> None:
    if bad == "a loop" and place == "release, table":
        (folder / "loop.csv").symlink_to("loop.csv")
    elif bad == "a loop" and place == "release, spec":
        (folder / "loop.toml").symlink_to("loop.toml")
    before = sorted(folder.iterdir())
    code, out, err = command(*[word.replace("X", BAD[bad]) for word in PLACES[place]])
    assert (code, out) == (2, ""), err
    assert "internal error" not in err
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("bad", [name for name in BAD if name != "no text"])
@pytest.mark.parametrize("place", ["private", "copy", "ledger", "queries"])
@pytest.mark.parametrize("verb", ["check", "release"])
def test_such_a_path_in_a_spec(
    verb: str, place: str, bad: str, folder: Path, command: Command
) -> None:
    path = BAD[bad].replace("\0", "\\u0000")
    given = {place: f'[ledger]\npath = "{path}"' if place == "ledger" else path}
    (folder / "audit.toml").write_text(written(**given))
    code, out, err = command(verb, "audit.toml")
    assert (code, out) == (2, "")
    assert "cannot be used as a path" in err
    assert not (folder / "pqd-ledger.sqlite").exists()


@pytest.mark.parametrize("bad", BAD.values())
@pytest.mark.usefixtures("folder")
def test_such_a_path_in_python(bad: str) -> None:
    options: dict[str, Any] = {"tau": 5, "epsilon": 1}
    calls: list[Callable[[], object]] = [
        lambda: pqd.audit(bad, COPY, SQL, **options),
        lambda: pqd.audit(PRIVATE, COPY, SQL, **options, ledger=bad),
        lambda: pqd.compare(PRIVATE, {"a": bad}, SQL, **options),
        lambda: pqd.release(PRIVATE, COPY, SQL, total_epsilon=1, ledger=bad),
        lambda: pqd.release(PRIVATE, COPY, SQL, total_epsilon=1, table=f"{bad}.csv"),
        lambda: pqd.plan(bad, SQL, tau=5),
        lambda: pqd.check(bad),
        lambda: pqd.check("audit.toml", ledger=bad),
        lambda: pqd.check("audit.toml", baseline=bad),
    ]
    for call in calls:
        if bad == "loop":
            Path("loop.csv").unlink(missing_ok=True)
            Path("loop.csv").symlink_to("loop.csv")
        with pytest.raises(pqd.PqdError) as refused:
            call()
        assert refused.value.exit_code == 2


# Links --------------------------------------------------------------------------------------------

LINKED: dict[str, list[str]] = {
    **{f"audit, {kind}": [*AUDIT, f"--{kind}", "link"] for kind in ("json", "html", "markdown")},
    "compare": [*COMPARE, "--json", "link"],
    "release": [*RELEASE, "--json", "link"],
    "release, table": [*RELEASE, "--table", "link.csv"],
    "plan": [*PLAN, "--json", "link"],
    "check": [*CHECK, "--output", "json=link"],
    "check, html": [*CHECK, "--html", "link"],
    "check, baseline": [*CHECK, "--update-baseline", "--baseline", "link"],
    "spec": ["init", *TABLES, "--file", "link"],
}


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("how", LINKED)
def test_nothing_is_written_through_a_link(
    how: str, there: bool, folder: Path, command: Command
) -> None:
    target = folder / "target"
    if there:
        target.write_text("mine")
    for name in ("link", "link.csv"):
        (folder / name).symlink_to(target)
    code, out, _ = command(*LINKED[how])
    assert (code, out) == (2, "")
    assert (target.read_text() if there else target.exists()) == ("mine" if there else False)
    assert not (folder / "pqd-ledger.sqlite").exists()


@pytest.mark.parametrize("how", LINKED)
def test_a_place_that_may_not_be_written_is_found_before_anything_is_spent(
    how: str, folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may write anywhere, so the system's answer is played."""

    def allowed(path: Path, _: int) -> bool:
        return path.name not in {folder.name, "link", "link.csv"}

    monkeypatch.setattr("pqd.paths.os.access", allowed)
    code, out, err = command(*LINKED[how])
    assert (code, out) == (2, "")
    assert "permission denied" in err
    assert not (folder / "pqd-ledger.sqlite").exists()


def test_a_link_made_meanwhile_is_not_followed(
    folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def draw(_: SecureNoise, statistic: int, __: object) -> int:
        (folder / "report.json").symlink_to(folder / "target")
        return statistic

    monkeypatch.setattr(SecureNoise, "laplace", draw)
    code, _, err = command(*AUDIT, "--json", "report.json")
    assert code == 3
    assert "report.json was not written" in err
    assert not (folder / "target").exists()


# What a message tells of a folder ----------------------------------------------------------------


@pytest.mark.parametrize("verb", ["audit", "plan"])
def test_no_other_name_of_a_folder_is_told(verb: str, folder: Path, command: Command) -> None:
    (folder / "patient-smith.csv").write_text("age\n1\n")
    tables = ["patient.csv"] if verb == "plan" else ["patient.csv", "copy.csv"]
    code, _, err = command(verb, *tables, "-q", SQL, *TERMS)
    assert code == 2
    assert "smith" not in err


@pytest.mark.parametrize("verb", ["check", "release"])
@pytest.mark.parametrize(
    ("path", "variable"),
    [
        ("${PLACE}/private.csv", "{0}"),
        ("${PLACE}", "{0}/private.csv"),
        ("${PLACE}.csv", "{0}/private"),
    ],
)
def test_a_budget_that_is_exceeded_tells_no_variable(
    verb: str,
    path: str,
    variable: str,
    folder: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hidden = folder / "canary-folder"
    hidden.mkdir()
    (folder / "private.csv").rename(hidden / "private.csv")
    monkeypatch.setenv("PLACE", variable.format(hidden))
    (folder / "audit.toml").write_text(written(private=path, budget="0.1"))
    outputs = ["--output", "json=r.json", "--output", "junit=r.xml"] if verb == "check" else []
    code, out, err = command(verb, "audit.toml", *outputs)
    assert code == 4
    assert "this run needs epsilon 0.5" in err
    assert "PLACE" in err
    shown = [out, err, *(file.read_text() for file in folder.glob("r.*"))]
    assert "canary-folder" not in "".join(shown)


@pytest.mark.usefixtures("folder")
def test_a_folder_that_may_not_be_entered(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A permission problem is called so: no other name would help."""

    there = Path.exists

    def closed(path: Path) -> bool:
        if path.name == "private.csv":
            raise PermissionError
        return there(path)

    monkeypatch.setattr(Path, "exists", closed)
    given = ["private.csv", "copy.csv", "-q", SQL, "--tau", "5", "--epsilon", "1"]
    code, out, err = command("audit", *given)
    assert (code, out) == (2, "")
    assert "permission denied" in err
    assert "rename" not in err


# A ledger that is removed during a run ------------------------------------------------------------


class Meddling(LaplaceAlone):
    """Noise that meddles with the ledger when it is first drawn, thus after the charge."""

    simulated = False

    def __init__(self, meddle: Callable[[], object]) -> None:
        self._meddle: Callable[[], object] | None = meddle

    def laplace(self, statistic: int, _: object) -> int:
        if self._meddle:
            self._meddle()
            self._meddle = None
        return statistic

    def choose(self, logit: float) -> bool:
        return logit > 0


def audited(path: Path, meddle: Callable[[], object]) -> object:
    terms = Parameters.parse(tau=5, epsilon=1, alpha=0.05)
    return run_audit(
        PRIVATE, COPY, as_queries(SQL), terms, Meddling(meddle), accountant=Accountant(path)
    )


@pytest.mark.parametrize("how", ["removed", "replaced", "moved"])
def test_a_verdict_whose_charge_is_gone_is_not_shown(how: str, tmp_path: Path) -> None:
    path, other = tmp_path / "ledger.sqlite", tmp_path / "other.sqlite"
    Ledger(other).close()
    meddle: dict[str, Callable[[], object]] = {
        "removed": path.unlink,
        "replaced": lambda: other.replace(path),
        "moved": lambda: path.rename(tmp_path / "elsewhere.sqlite"),
    }
    with pytest.raises(LostLedgerError, match="removed or replaced during this run") as lost:
        audited(path, meddle[how])
    assert lost.value.exit_code == 3
    assert "Nothing was spent" not in str(lost.value)


def test_a_ledger_removed_before_the_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, drawn = tmp_path / "ledger.sqlite", []
    reserve = Ledger.reserve

    def removed(self: Ledger, *args: Any, **named: Any) -> Any:
        path.unlink()
        return reserve(self, *args, **named)

    monkeypatch.setattr(Ledger, "reserve", removed)
    with pytest.raises(pqd.PqdError):
        audited(path, lambda: drawn.append(1))
    assert not drawn


def test_a_ledger_that_stays_is_no_trouble(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    audited(path, lambda: None)
    with closing(Ledger(path)) as ledger:
        assert json.loads(ledger.entries[-1].text)["kind"] == "answers"


@pytest.mark.parametrize("moment", ["reserve", "record"])
def test_a_ledger_removed_before_it_is_written(
    moment: str, folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite calls a file that is gone read-only; what was charged is not denied."""
    path = folder / "here.sqlite"
    writing = getattr(Ledger, moment)

    def removed(self: Ledger, *args: Any, **named: Any) -> Any:
        path.unlink()
        return writing(self, *args, **named)

    monkeypatch.setattr(Ledger, moment, removed)
    options = ["-q", SQL, "--tau", "5", "--epsilon", "0.5", "--ledger", str(path)]
    code, out, err = command("audit", "private.csv", "copy.csv", *options)
    assert (code, out) == (3, "")
    assert "was removed or replaced during this run" in err
    assert "read-only" not in err
    assert "Nothing was spent" not in err
