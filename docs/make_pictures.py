"""Makes the pictures of the documents: `python docs/make_pictures.py [NAME ...]`.

The script runs commands on the sample tables, each with a temporary ledger, so that none replays
what another has paid for.  Then it takes pictures of the pages that the commands write, with
Chromium, which must be on the PATH by one of its names.
The noise is real, so p-values and estimates differ from run to run.
"""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

DOCS = Path(__file__).resolve().parent
# Width and height, in pixels, of the part of each page that its picture shows.
SIZES = {"audit": (1000, 1180), "compare": (1000, 1770), "profile": (1000, 2560)}
# Pictures of the head of a page alone, for the README.
HEADS = {"profile": (1000, 990)}
BROWSERS = ("chromium", "google-chrome", "chromium-headless-shell")
PRIVATE, TREE, COARSE, FLAT = (
    f"samples/census_{name}.parquet" for name in ("private", "synthetic", "coarse", "flat")
)
# Command that writes the page of each picture.
COMMANDS = {
    "profile": f"profile {PRIVATE} {TREE}",
    "audit": f"audit {PRIVATE} {TREE} --tau 5% --epsilon 0.25"
    " -q \"SELECT COUNT(*) FROM D WHERE age > 64 AND workly LIKE 'Yes'\"",
    "compare": f"compare {PRIVATE} tree={TREE} coarse={COARSE} flat={FLAT}"
    " --queries samples/office.sql --tau 5% --epsilon 0.25",
}
# Pages whose rows are opened for the picture.
OPENED = {"audit"}


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
        for name in wanted:
            environment = {**os.environ, "PQD_LEDGER": f"{folder}/{name}.sqlite"}
            page = Path(folder) / f"{name}.html"
            run = [sys.executable, "-m", "pqd", *shlex.split(COMMANDS[name]), "--html", str(page)]
            subprocess.run(run, check=True, cwd=DOCS.parent, env=environment, capture_output=True)  # noqa: S603
            if name in OPENED:
                text = page.read_text(encoding="utf-8")
                page.write_text(text.replace("<details>", "<details open>"), encoding="utf-8")
            target = DOCS / "pictures" / f"{name}.png"
            photograph(browser, page, target, SIZES[name])
            if name in HEADS:
                head = target.with_name(f"{name}-head.png")
                photograph(browser, page, head, HEADS[name])
            print(target.relative_to(DOCS.parent))


if __name__ == "__main__":
    main()
