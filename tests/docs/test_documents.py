"""What the documents say is what the code does: examples run, tables and numbers are made again."""

import importlib.util
import json
import math
import re
import shlex
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from typer.testing import CliRunner

from pqd.cli import command_line
from pqd.deciders.numbers import factor_text, guess_text
from pqd.deciders.risk.forecast import ExcessForecast
from pqd.spec import json_schema, read_spec

ROOT = Path(__file__).parents[2]
PLAIN = ("first-report", "verdicts-and-truth", "choosing", "sources")
REFERENCE = sorted(f"docs/reference/{path.name}" for path in ROOT.glob("docs/reference/*.md"))
PAGES = [
    "README.md",
    *(f"docs/{name}.md" for name in PLAIN),
    *REFERENCE,
]
CHECK = "docs/reference/check.md"
GOLDEN = ROOT / "tests" / "reports" / "golden"
FILE = r"\b((?:docs|tests|pqd|reports|deciders)/[\w/]+\.(?:md|py))"


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


PYTHON = [(page, code) for page in PAGES for code in blocks(page, "python")]
COMMANDS = [
    (page, line.removeprefix("$ ").removeprefix(".venv/bin/"))
    for page in PAGES
    for block in blocks(page, "console")
    for line in block.replace("\\\n", "").splitlines()
    if "pqd " in line
]


@pytest.mark.parametrize(("page", "code"), PYTHON)
def test_python_examples_run(
    page: str, code: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    exec(compile(code, page, "exec"), {})  # noqa: S102 - the point of the test
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize(("page", "line"), COMMANDS)
def test_commands_run(
    page: str, line: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert page
    monkeypatch.chdir(ROOT)
    for name in ("private.csv", "copy.csv"):
        rows = "".join(f"{20 + i % 60},{1000 * i}\n" for i in range(300))
        (tmp_path / name).write_text("age,income\n" + rows, encoding="utf-8")
        line = line.replace(f" {name}", f" {tmp_path / name}")
    line = line.replace("--html ", f"--html {tmp_path}/")
    result = CliRunner().invoke(command_line(), shlex.split(line)[1:])
    assert result.exit_code == 0, result.output
    assert {"epsilon", "spent"} & {*result.output.split()}


@pytest.mark.thorough
def test_held_out_rows_of_the_samples_are_made_as_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (block,) = blocks("docs/reference/risk.md", "sh")
    make, risk = block.replace("samples/", f"{ROOT}/samples/").splitlines()
    monkeypatch.chdir(tmp_path)
    subprocess.run([sys.executable, *shlex.split(make)[1:]], check=True)  # noqa: S603 - ours
    held_out = Path("others/census_private.parquet")
    assert held_out.read_bytes() != (ROOT / "samples" / "census_private.parquet").read_bytes()
    result = CliRunner().invoke(command_line(), shlex.split(risk)[1:])
    assert result.exit_code == 0, result.output
    assert "excess" in result.output


def test_the_spec_of_the_documents_is_one(tmp_path: Path) -> None:
    whole, distances, values, risk, alarm, rule, gate, unit = [
        *blocks(CHECK, "toml"),
        *blocks("docs/reference/persons.md", "toml"),
    ]
    spec = tmp_path / "audit.toml"
    for text in (whole, whole.replace("[defaults]", f"{unit}\n[defaults]")):
        spec.write_text(text, encoding="utf-8")
        assert [check.id for check in read_spec(spec).checks] == ["employed-women"]
    assert read_spec(spec).unit == "person_id"
    spec.write_text(f"{whole}\n{distances}", encoding="utf-8")
    assert [check.marginal for check in read_spec(spec).checks] == [None, ("age", "sex"), None]
    assert read_spec(spec).checks[2].tolerance.share == Fraction(1, 10)
    (terms,) = re.findall(r"\[budget\]\n(.*)", gate, flags=re.DOTALL)
    ungated = re.sub(r"^epsilon = 0.*\n", "", whole, flags=re.MULTILINE)
    spec.write_text(ungated.replace("[budget]\n", f"[budget]\n{terms}\n"), encoding="utf-8")
    assert (read_spec(spec).gate, read_spec(spec).names) == (Fraction(1, 4), Fraction(1, 2))
    spec.write_text(spec.read_text(encoding="utf-8") + values, encoding="utf-8")
    assert [check.column for check in read_spec(spec).checks] == [None, "diagnosis"]
    spec.write_text(f"{whole}\n{rule}", encoding="utf-8")
    assert read_spec(spec).checks[1].tau == "0.1% of rows"
    spec.write_text(f"{whole}\n{risk}", encoding="utf-8")
    read = read_spec(spec, {"PQD_FOLDER": str(tmp_path)})
    assert (read.checks[1].risk, read.checks[1].epsilon) == ("all", None)
    assert read.risk
    assert read.risk.secrets == ("income",)
    made_under, check = alarm.split("[[check]]")
    named = whole.replace("[budget]", f"{made_under.partition(chr(10))[2]}[budget]")
    named = named.replace('path = "census_synthetic.parquet"\n', "", 1)
    spec.write_text(f"{named}\n[[check]]{check}", encoding="utf-8")
    assert read_spec(spec).checks[1].alarm == "overall"
    assert read_spec(spec).copy_epsilon == {"tree": 1}


def test_the_keys_of_a_check_are_all_in_the_documents() -> None:
    text = (ROOT / CHECK).read_text(encoding="utf-8")
    keys = json_schema()["properties"]["check"]["items"]["properties"]
    assert len(keys) > 8
    for key in keys:
        assert f"`{key}`" in text, key


def test_the_readme_names_both_commands_and_ci_calls_all_tests() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "$ make demo\n$ make test\n" in readme
    demo = makefile.partition("\ndemo:")[2].partition("\n\n")[0]
    pair = re.search(r"^PAIR := (.*)$", makefile, re.MULTILINE)
    assert pair
    run = re.sub(r"\\\n\s+", "", demo).replace("$(BIN)", ".venv/bin").replace("$(PAIR)", pair[1])
    ran = re.findall(r"^\t(\.venv/bin/pqd .*)$", run, re.MULTILINE)
    shown = re.findall(r"^\$ (\.venv/bin/pqd .*)$", readme, re.MULTILINE)[:2]
    # The options of a command may stand in another order.
    assert {frozenset(shlex.split(line)) for line in shown} == {
        frozenset(shlex.split(line)) for line in ran
    }
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert script.endswith("make test\nmake test-thorough\nmake browser\nmake test-browser\n")


def test_hooks_of_commits_call_targets_of_make() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    called = re.findall(r"entry: make (\S+)", hooks)
    assert called == ["check", "test"]
    assert all(f"\n{target}: " in makefile for target in called)


def test_hooks_for_other_repositories_run_commands_that_exist() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert [hook["id"] for hook in hooks] == ["pqd-dry-run", "pqd-check"]
    for hook in hooks:
        program, name, *options = hook["entry"].split()
        assert (program, name, hook["pass_filenames"]) == ("pqd", "check", False)
        shown = CliRunner().invoke(command_line(), [name, "--help-all"]).output
        assert all(option in shown for option in options)
        assert hook["id"] in (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")


def test_what_an_epsilon_means_is_computed() -> None:
    text = (ROOT / "docs" / "choosing.md").read_text(encoding="utf-8")
    row = r"^\| ([\d.]+) \| ([\d.,]+) \| ([\d.]+) % \| ([\d.]+) % \|$"
    rows = re.findall(row, text, re.MULTILINE)
    assert len(rows) == 5
    for epsilon, factor, half, hundredth in rows:
        times = math.exp(float(epsilon))
        assert factor == factor_text(Fraction(epsilon))
        for stated, prior in ((half, 0.5), (hundredth, 0.01)):
            odds = times * prior / (1 - prior)
            assert stated == f"{math.ceil(1000 * odds / (1 + odds)) / 10:.1f}"
        assert guess_text(Fraction(epsilon)).endswith(f" at most {half} %")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for epsilon in ("1/4", "1"):
        assert guess_text(Fraction(epsilon)).split()[-2] in readme


def test_what_attacks_can_be_decided_is_computed() -> None:
    """The least tolerances of the page for officers: 13 counts, which the usual attacks release."""
    text = (ROOT / "docs" / "anybody.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\d,]+) \| ([\d,]+) \| (\d.*) \|$", text, re.MULTILINE)
    assert len(rows) == 4
    for private, held_out, stated in rows:
        sizes = [int(size.replace(",", "")) for size in (private, held_out)]
        forecasts = [
            ExcessForecast(
                rate=rate, rows=sizes[0], held_out_rows=sizes[1], numbers=13, alpha=Fraction(1, 20)
            )
            for rate in (0, 0.01, 0.1, 0.5)
        ]
        assert stated == " | ".join(f"{100 * each.tau_decided(1):.2f}" for each in forecasts)


def test_help_names_every_option_of_the_reference() -> None:
    runner = CliRunner()
    shown = "".join(
        runner.invoke(command_line(), [name, "--help-all"], env={"COLUMNS": "200"}).output
        for name in ("profile", "lint", "audit", "plan", "compare", "release", "risk")
    )
    pages = [page for page in REFERENCE if Path(page).stem not in {"check", "init", "ledger"}]
    text = "".join((ROOT / page).read_text("utf-8") for page in pages)
    stated = set(re.findall(r"`(--[a-z]+)", text))
    assert {"--bounds", "--type", "--verbose", "--json", "--decider", "--epsilon"} <= stated
    for option in stated:
        assert option in shown


def test_links_between_documents_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([\w./-]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
        for target, place in re.findall(r"\]\(([\w./-]*)#([\w-]+)\)", page.read_text("utf-8")):
            whole = (page.parent / target if target else page).read_text("utf-8")
            titles = re.findall(r"^#+ (.+)$", whole, flags=re.MULTILINE)
            places = {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}
            assert place in places, f"{page.name} links to {target}#{place}"
        # A title names a file that an example writes.
        text = re.sub(r'title="\S+"', "", page.read_text("utf-8"))
        for target in re.findall(FILE, text):
            assert (ROOT / target).exists(), f"{page.name} names {target}"


def script(name: str) -> ModuleType:
    """Module of a script of docs/."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def tables() -> ModuleType:
    return script("make_tables")


def test_tables_are_what_their_command_prints(tables: ModuleType) -> None:
    committed = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    assert tables.document() == committed


def keys(value: object) -> set[str]:
    """Every key of a JSON value, at any depth."""
    if isinstance(value, dict):
        return set(value).union(*map(keys, value.values()))
    return set().union(*map(keys, value)) if isinstance(value, list) else set()


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.json")), ids=lambda path: path.stem)
def test_the_schema_document_names_every_field(path: Path) -> None:
    words = set(re.findall(r"[a-z_]+", (ROOT / "docs" / "report-schema.md").read_text("utf-8")))
    report = json.loads(path.read_text(encoding="utf-8"))
    # In a comparison their keys are names that the caller gives.
    report.pop("candidates", None)
    report["risks"] = [*report.get("risks", {}).values()]
    assert keys(report) <= words


def test_every_kind_of_report_has_a_schema() -> None:
    reports = [json.loads(path.read_text("utf-8")) for path in GOLDEN.glob("*.json")]
    assert len({report["kind"] for report in reports}) == 11


def test_the_shape_of_the_code_is_as_documented() -> None:
    architecture = script("make_architecture")
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    rows = [
        *architecture.folder_table(ROOT),
        *list(architecture.comparison(architecture.structure(ROOT)))[2:],
    ]
    stale = [row for row in rows if f"{row}\n" not in text]
    assert not stale, f"run `make architecture`: {stale}"


def test_shapes_of_graphs() -> None:
    architecture = script("make_architecture")
    graph = {"a": {"b"}, "b": {"c", "d"}, "c": {"b"}, "d": {"e"}, "e": set(), "f": {"e"}}
    assert architecture.circles(graph) == [["b", "c"]]
    assert architecture.floors(graph) == 4
