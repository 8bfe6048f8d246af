"""Draws the experiments, and writes their pages of the documents.

    python -m benchmarks.experiments [--out docs]

The CSV files are in ``experiments`` of ``--out``.  Each benchmark writes its own with ``--csv``;
nothing is measured here.  The prose of the pages stays as it is.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from benchmarks.experiments.page import FOLDER, Tables, read_tables, summary_page, topic_page
from benchmarks.experiments.topics import TOPICS
from benchmarks.paper.page import draw

ROOT = Path(__file__).resolve().parents[2]


def pages(documents: Path, tables: Tables) -> Iterator[tuple[Path, str]]:
    """Pages, each with its text; ``documents`` has the earlier ones with their prose."""
    place = documents / f"{FOLDER}.md"
    yield place, summary_page(TOPICS, place.read_text(encoding="utf-8"), tables)
    for topic in TOPICS:
        place = documents / FOLDER / f"{topic.key}.md"
        yield place, topic_page(topic, place.read_text(encoding="utf-8"), tables)


def main() -> None:
    """Draw and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=ROOT / "docs")
    documents = parser.parse_args().out
    tables = read_tables(documents / FOLDER, TOPICS)
    for path in draw(documents / FOLDER, TOPICS, tables):
        print(path)
    for path, text in pages(documents, tables):
        path.write_text(text, encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
