"""Builds the site of the documents: `python docs/make_site.py [FOLDER]`, by default build/site.

The pages of the site are the documents, a page of all commands and their options, and a gallery of
new reports on the samples.  The site loads nothing from other hosts, and its pages can be opened as
files.  Its fonts are those of the reader's machine.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer

from pqd.cli import command_line

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PRIVATE, COPY, FLAT = (
    f"samples/census_{name}.parquet" for name in ("private", "synthetic", "flat")
)
WORKLOAD = "--queries samples/office.sql --tau 5% --epsilon 0.25"
# Title of each kind of report, and the command that makes its page.
GALLERY = {
    "profile": ("Profile", f"profile {PRIVATE} {COPY} --zoom 3 --total-epsilon 1.25"),
    "audit": ("Audit", f"audit {PRIVATE} {COPY} {WORKLOAD}"),
    "plan": ("Plan", f"plan {COPY} {WORKLOAD}"),
    "check": ("Check", "check samples/audit.toml"),
    "compare": ("Compare, by queries", f"compare {PRIVATE} tree={COPY} flat={FLAT} {WORKLOAD}"),
    "ranking": ("Compare, without", f"compare {PRIVATE} tree={COPY} flat={FLAT} --total-epsilon 1"),
    "release": ("Release", "release samples/office.toml"),
}
# Names of the pages of documents in other folders; all pages are in one folder.
OTHERS = {
    "benchmarks/README.md": "benchmarks.md",
    "samples/README.md": "samples.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
}
# Folders of documents, and how the names of their pages begin.
ROOMS = {"decisions": "decision", "experiments": "experiment", "reference": "reference"}
OTHERS |= {
    f"docs/{folder}/{path.name}": f"{name}-{path.name}"
    for folder, name in ROOMS.items()
    for path in sorted(DOCS.glob(f"{folder}/*.md"))
}
# Text on the gallery in the documents, and the link that replaces it in the site.
IN_THE_SITE = (
    "the gallery, in the site that `make docs` builds",
    "[Gallery](gallery.md): a report of every kind",
)
# Address of a worker script for pages that are opened as files: at another host, as the builder
# writes it, and in this site.
FOREIGN, OURS = "https://unpkg.com/iframe-worker/shim", "theme/iframe-worker.js"
# Option of a command; a browser would break it at a hyphen.
OPTION = re.compile(r'(<span class="w"> +</span>|<code>)(--?[a-z][a-z-]*)')
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]+?)(#[^)\s]*)?\)")


def stage(folder: Path) -> None:
    """Write the input of the builder: the pages, and zensical.toml beside them."""
    pages = folder / "pages"
    pages.mkdir(parents=True)
    shutil.copy(DOCS / "zensical.toml", folder)
    for name in ("pictures", "theme"):
        shutil.copytree(DOCS / name, pages / name)
    documents = {path: path.name for path in sorted(DOCS.glob("*.md"))}
    documents |= {ROOT / path: name for path, name in OTHERS.items()}
    for path, name in documents.items():
        text = page_of(path, pages).replace(*IN_THE_SITE)
        (pages / name).write_text(text, encoding="utf-8")
    (pages / "commands.md").write_text("\n".join(commands_page()), encoding="utf-8")
    (pages / "gallery").mkdir()
    for name, (_, command) in GALLERY.items():
        report(command, pages / "gallery" / f"{name}.html")
    (pages / "gallery.md").write_text("\n".join(gallery_page()), encoding="utf-8")


def page_of(path: Path, pages: Path) -> str:
    """Text of a document whose links lead to pages of the site; other linked files are copied."""
    names = {(ROOT / source).resolve(): name for source, name in OTHERS.items()}

    def linked(match: re.Match[str]) -> str:
        picture, text, address, anchor = match[1], match[2], match[3], match[4] or ""
        target = (path.parent / address).resolve()
        if address.startswith("http") or not target.is_file():
            return match[0]
        if target in names:
            address = names[target]
        elif target.parent == DOCS and target.suffix == ".md":
            address = target.name
        elif target.is_relative_to(DOCS / "pictures"):
            address = f"pictures/{target.name}"
        else:
            # The builder leaves out what begins with a dot.
            place = pages / "files" / str(target.relative_to(ROOT)).lstrip(".")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(target, place)
            address = str(place.relative_to(pages))
        if text.endswith(".md"):
            text = target.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        return f"{picture}[{text}]({address}{anchor})"

    return LINK.sub(linked, path.read_text(encoding="utf-8"))


def commands_page() -> Iterator[str]:
    """Lines of the page of all commands: the text of `--help`, without the terminal's frames."""
    yield "# Commands\n\nWhat `pqd help COMMAND` shows, for every command.\n"
    root: Any = typer.main.get_command(command_line())
    for name, command in root.commands.items():
        parts = getattr(command, "commands", None) or {"": command}
        if "" not in parts:
            yield f"## pqd {name}\n\n{command.help}\n"
        for inner, part in parts.items():
            yield from _command(part, f"pqd {name} {inner}".strip(), "###" if inner else "##")


def _command(command: Any, name: str, mark: str) -> Iterator[str]:  # noqa: ANN401 - of typer's
    context = command.context_class(command, info_name=name)
    text = command.help.replace("\f", "")
    yield f"{mark} {name}\n"
    *said, last = text.strip().split("\n\n")
    yield from (f"{paragraph}\n" for paragraph in said)
    yield f"```sh\n{last.removeprefix('Example: ')}\n```\n" if "Example: " in last else f"{last}\n"
    for kind, title in (("argument", "argument"), ("option", "option")):
        records = [
            each.get_help_record(context)
            for each in command.params
            if each.param_type_name == kind and not each.hidden
        ]
        rows = [record for record in records if record]
        if rows:
            yield f"| {title} | |\n| --- | --- |"
            # Remove the kind of the value, such as <TEXT>, since the description says it in words.
            named = [(re.sub(r" <[^>]+>", "", names), said) for names, said in rows]
            yield from (f"| `{_cell(names)}` | {_cell(said)} |" for names, said in named)
            yield ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def gallery_page() -> Iterator[str]:
    """Lines of the page that shows a report of every kind."""
    yield "# Gallery\n"
    yield "A report of every kind, made of the sample tables when this site was built.\n"
    yield "Each is one file that needs nothing else: `--html FILE` writes it.\n"
    for name, (title, command) in GALLERY.items():
        yield f"## {title}\n\n```sh\npqd {command} --html {name}.html\n```\n"
        yield f'[Open it as a page](gallery/{name}.html){{target="_blank"}}\n'
        yield f'<iframe src="gallery/{name}.html" title="{title}" loading="lazy"></iframe>\n'


def report(command: str, page: Path) -> None:
    """Run a command with a temporary ledger, and write its page."""
    with TemporaryDirectory() as folder:
        done = subprocess.run(  # noqa: S603 - this interpreter, and commands stated above
            [sys.executable, "-m", "pqd", *shlex.split(command), "--html", str(page)],
            cwd=ROOT,
            env={**os.environ, "PQD_LEDGER": f"{folder}/ledger.sqlite"},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        sys.exit(f"pqd {command} failed:\n{done.stderr}")


def finished(page: str) -> str:
    """Page of the builder with this site's worker, and with options that are not broken."""
    return OPTION.sub(r'\1<span class="option">\2</span>', page.replace(FOREIGN, OURS))


def build(target: Path) -> None:
    """Build the site; stop if the builder warns of anything."""
    source = target.with_name(f"{target.name}-source")
    shutil.rmtree(source, ignore_errors=True)
    stage(source)
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict", "--clean"],
        cwd=source,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"the site was not built:\n{done.stdout}{done.stderr}")
    for page in (source / "site").glob("*.html"):
        page.write_text(finished(page.read_text("utf-8")), encoding="utf-8")
    shutil.rmtree(target, ignore_errors=True)
    (source / "site").rename(target)
    print(target)


if __name__ == "__main__":
    build(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "site").resolve())
