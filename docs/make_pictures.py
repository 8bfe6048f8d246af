"""Makes the pictures of the documents: `python docs/make_pictures.py [NAME ...]`.

The script runs commands that the documents show, with a temporary ledger.  Then it takes pictures
of the pages that the commands write, with Chromium, which must be on the PATH by one of its names.
The noise is real, so p-values and estimates differ from run to run.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

DOCS = Path(__file__).resolve().parent
# Width and height, in pixels, of the part of each page that its picture shows.
SIZES = {"audit": (1000, 1250), "compare": (1000, 1770), "profile": (1000, 2210)}
# Pictures of the head of a page alone, for the README.
HEADS = {"profile": (1000, 930)}
BROWSERS = ("chromium", "google-chrome", "chromium-headless-shell")
# Documents whose commands are run; if several commands write a page of one name, the first is run.
STORIES = ("first-report.md", "audit-gate-compare.md")
# Pages whose rows are opened for the picture.
OPENED = {"audit"}


def commands() -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each picture, and the command that writes its page."""
    pages = [DOCS / name for name in STORIES if (DOCS / name).is_file()]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages).replace("\\\n", "")
    left = set(SIZES)
    for line in re.findall(r"^\$ (pqd .* --html \S+)$", text, flags=re.MULTILINE):
        words = shlex.split(line)
        name = Path(words[-1]).stem
        if name in left:
            left.remove(name)
            yield name, words


def photograph(browser: str, page: Path, target: Path, size: tuple[int, int]) -> None:
    """Write a picture of ``page`` as Chromium shows it."""
    width, height = size
    subprocess.run(  # noqa: S603 - our own page, and a browser that was found
        [
            browser,
            "--headless",
            "--no-sandbox",
            "--hide-scrollbars",
            f"--window-size={width},{height}",
            f"--screenshot={target}",
            page.as_uri(),
        ],
        check=True,
        capture_output=True,
    )


def main() -> None:
    """Make all pictures, or only the named ones, and print their paths."""
    wanted = sys.argv[1:] or list(SIZES)
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit("there is no Chromium on the PATH; install it to make the pictures")
    (DOCS / "pictures").mkdir(exist_ok=True)
    with TemporaryDirectory() as folder:
        environment = {**os.environ, "PQD_LEDGER": f"{folder}/ledger.sqlite"}
        for name, words in commands():
            if name not in wanted:
                continue
            page = Path(folder) / f"{name}.html"
            run = [sys.executable, "-m", "pqd", *words[1:-1], str(page)]
            subprocess.run(run, check=True, cwd=DOCS.parent, env=environment, capture_output=True)  # noqa: S603
            if name in OPENED:
                text = page.read_text(encoding="utf-8")
                page.write_text(text.replace("<details", "<details open"), encoding="utf-8")
            target = DOCS / "pictures" / f"{name}.png"
            photograph(browser, page, target, SIZES[name])
            if name in HEADS:
                head = target.with_name(f"{name}-head.png")
                photograph(browser, page, head, HEADS[name])
            print(target.relative_to(DOCS.parent))


if __name__ == "__main__":
    main()
