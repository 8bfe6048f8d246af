"""The site of the documents: built strictly, complete, and without a request to another host."""

import importlib.util
import json
import re
import shlex
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

from pqd.cli import command_line

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
CONFIGURATION = tomllib.loads((DOCS / "zensical.toml").read_text(encoding="utf-8"))["project"]
# What a browser fetches by itself, as opposed to a link that a reader follows.
FETCHED = re.compile(
    r'<(?:script|img|iframe|source)[^>]*\bsrc="?(https?:)?//'
    r'|<link(?![^>]*rel="?(?:canonical|prev|next))[^>]*\bhref="?(https?:)?//'
    r"|url\(\s*[\"']?(https?:)?//|@import"
)

# Address of a link to a file of the site, without its anchor.
LINKED = re.compile(r'<a [^>]*\bhref="?([^"#?>\s:]+)(?=["#?>\s])')


def named(part: object) -> set[str]:
    """Pages that a part of the navigation names."""
    if isinstance(part, str):
        return {part}
    inner = part.values() if isinstance(part, dict) else part
    assert isinstance(inner, list | type({}.values()))
    return set().union(*map(named, inner))


def test_every_document_has_a_place() -> None:
    pages = named(CONFIGURATION["nav"])
    made = {"commands.md", "gallery.md"}
    others = {"benchmarks.md", "samples.md", "contributing.md", "changelog.md", "security.md"}
    decisions = {f"decision-{path.name}" for path in DOCS.glob("decisions/*.md")}
    experiments = {f"experiment-{path.name}" for path in DOCS.glob("experiments/*.md")}
    reference = {f"reference-{path.name}" for path in DOCS.glob("reference/*.md")}
    assert min(len(decisions), len(experiments), len(reference)) >= 8
    known = {path.name for path in DOCS.glob("*.md")} | decisions | experiments
    known |= reference
    assert pages == known | made | others


def in_this_process(module: ModuleType, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Make the gallery here, with the noise of the tests; what draws none runs as a process."""
    in_a_process = module.report

    def report(command: str, page: Path) -> None:
        if command.startswith("plan "):
            in_a_process(command, page)
            return
        ledger = folder / f"{page.stem}.sqlite"
        words = [*shlex.split(command), "--html", str(page)]
        done = CliRunner().invoke(command_line(), words, env={"PQD_LEDGER": str(ledger)})
        assert done.exit_code == 0, done.output

    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(module, "report", report)


def test_the_site_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one test, since the build is what takes long."""
    for library in ("zensical", "mkdocstrings_handlers.python"):
        pytest.importorskip(library)
    spec = importlib.util.spec_from_file_location("make_site", DOCS / "make_site.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    in_this_process(module, monkeypatch, tmp_path)
    site = tmp_path / "site"
    module.build(site)
    for name in named(CONFIGURATION["nav"]):
        assert (site / name).with_suffix(".html").stat().st_size, name
    gallery = (site / "gallery.html").read_text(encoding="utf-8")
    for text in ('<code><span class="option">--html</span> ', '<span class="option">--zoom</span>'):
        assert text in gallery, "an option may break at its hyphens"
    assert {path.stem for path in (site / "gallery").glob("*.html")} == set(module.GALLERY)
    questions_are_found(site)
    nothing_is_fetched_from_another_host(site)
    links_lead_to_files(site)
    commands_and_reference_are_complete(site)


def questions_are_found(site: Path) -> None:
    """The offline search has what newcomers type."""
    items = json.loads((site / "search.json").read_text(encoding="utf-8"))["items"]
    for words in ("is my copy safe", "german", "holdout", "gdpr", "xlsx", "which epsilon"):
        places = [each["location"] for each in items if words in each["title"].lower()]
        assert any(place.startswith("faq.html") for place in places), words


def nothing_is_fetched_from_another_host(site: Path) -> None:
    pages = [path for path in site.rglob("*") if path.suffix in {".html", ".css"}]
    assert len(pages) > 30
    assert not [path.name for path in pages if FETCHED.search(path.read_text(encoding="utf-8"))]


def links_lead_to_files(site: Path) -> None:
    """Also to files that the documents link to, whose names may begin with a dot."""
    for page in site.glob("*.html"):
        # The builder gives this page the addresses of a server.
        if page.name != "404.html":
            links = LINKED.findall(page.read_text(encoding="utf-8"))
            assert not [link for link in links if not (site / link).exists()], page.name


def commands_and_reference_are_complete(site: Path) -> None:
    commands = (site / "commands.html").read_text(encoding="utf-8")
    for command in command_line().registered_commands:
        assert f'id="pqd-{command.name}"' in commands
    for option in ("--total-epsilon", "--bounds", "--ledger", "--sharing", "--zoom"):
        assert option in commands
    assert "&amp;lt;" not in commands
    reference = (site / "api.html").read_text(encoding="utf-8")
    for name in re.findall(r"^::: (\S+)$", (DOCS / "api.md").read_text("utf-8"), re.MULTILINE):
        assert f'id="{name}"' in reference
    assert "<th>Name</th>" in reference, "parameters are a table"


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://cdn.example/katex.js">',
        '<link rel="stylesheet" href="//fonts.example/x.css">',
        "@font-face { src: url(https://fonts.example/x.woff2) }",
    ],
)
def test_what_a_browser_would_fetch_is_found(text: str) -> None:
    assert FETCHED.search(text)
