"""The page "The papers, reproduced", which follows from CSV files alone."""

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from benchmarks.paper.pictures import drawing, save
from benchmarks.paper.record import VERDICTS, Claim, Item, Paper, Pictured
from benchmarks.result_tables import read_table

SECONDS = "seconds"
FOLDER = "papers"
_WIDTH = 160
INTRODUCTION = """\
Every figure, table and claim of the evaluations of the three papers that pqd implements, computed again with pqd's own deciders and mechanisms.
`make paper DATA=FOLDER` makes this page, its pictures and its CSV files again: the same bytes in every run, since all noise is seeded.
Without `DATA` the items that need real tables keep their recorded files.
The seconds are those of one recorded run ([papers/seconds.csv](papers/seconds.csv); `make paper TIMES=1` records them anew)."""  # noqa: E501 - lines of the page


def read_tables(folder: Path, papers: Sequence[Paper]) -> dict[str, pd.DataFrame]:
    """Tables of all experiments that have been made, by name."""
    names = [experiment.name for paper in papers for experiment in paper.experiments]
    files = {name: folder / f"{name}.csv" for name in names}
    return {name: read_table(file) for name, file in files.items() if file.is_file()}


def read_seconds(folder: Path) -> dict[str, float]:
    """Recorded seconds of each experiment."""
    file = folder / f"{SECONDS}.csv"
    if not file.is_file():
        return {}
    frame = pd.read_csv(file)
    return dict(zip(frame["experiment"], frame["seconds"], strict=True))


def claims_of(item: Item, tables: Mapping[str, pd.DataFrame]) -> list[Claim]:
    """Judged claims of an item; none if one of its tables is missing."""
    frames = item.of(tables)
    return [] if frames is None or item.claims is None else list(item.claims(*frames))


def picture_name(paper: Pictured, item: Item) -> str:
    """Name of an item's picture, such as ``patwa-figure-4.svg``."""
    return f"{paper.key}-{item.place.lower().replace(' ', '-').replace(',', '')}.svg"


def draw(
    folder: Path, papers: Sequence[Pictured], tables: Mapping[str, pd.DataFrame]
) -> list[Path]:
    """Draw every picture whose tables exist; return the files."""
    drawn = []
    for paper in papers:
        for item in paper.items:
            frames = item.of(tables)
            if item.draw is None or frames is None:
                continue
            path = folder / picture_name(paper, item)
            with drawing():
                figure = item.draw(*frames)
            save(figure, path, f"{paper.title}, {item.place}: {item.title}")
            drawn.append(path)
    return drawn


def page(folder: Path, papers: Sequence[Paper]) -> str:
    """Text of the page, for the CSV files in ``folder``."""
    tables, seconds = read_tables(folder, papers), read_seconds(folder)
    judged = {
        (paper.key, item.place): claims_of(item, tables) for paper in papers for item in paper.items
    }
    lines = [
        "# The papers, reproduced",
        "",
        *INTRODUCTION.splitlines(),
        "",
        "| paper | claims | " + " | ".join(VERDICTS) + " | ours | seconds |",
        "| --- |" + " ---: |" * (len(VERDICTS) + 3),
    ]
    for paper in papers:
        every = [claim for item in paper.items for claim in judged[paper.key, item.place]]
        claims = [claim for claim in every if not claim.own]
        counts = Counter(claim.verdict for claim in claims)
        spent = sum(seconds.get(experiment.name, 0.0) for experiment in paper.experiments)
        numbers = [
            len(claims),
            *(counts[verdict] for verdict in VERDICTS),
            len(every) - len(claims),
        ]
        anchor = paper.title.lower().translate({ord(c): None for c in "(),.:"}).replace(" ", "-")
        cells = [f"[{paper.title}](#{anchor})", *map(str, numbers), f"{spent:,.0f}"]
        lines.append(f"| {' | '.join(cells)} |")
    lines.append("")
    for paper in papers:
        lines += [f"## {paper.title}", "", paper.about, ""]
        for item in paper.items:
            lines += _item(paper, item, tables, seconds)
            lines += _claims(judged[paper.key, item.place])
    return "\n".join(lines).rstrip("\n") + "\n"


def _item(
    paper: Paper, item: Item, tables: Mapping[str, pd.DataFrame], seconds: Mapping[str, float]
) -> Iterator[str]:
    """Lines of one item: its picture and its files."""
    yield f"### {item.place}: {item.title}"
    yield ""
    if item.note:
        yield item.note
        yield ""
    if item.of(tables) is None:
        missing = [name for name in item.tables if name not in tables]
        needs = {need for each in paper.experiments if each.name in missing for need in each.needs}
        yield f"Not run: it needs {', '.join(sorted(needs)) or 'a longer run'}."
        yield ""
        return
    if item.draw is not None:
        yield f"![{item.place}: {item.title}]({FOLDER}/{picture_name(paper, item)})"
        yield ""
    if item.tables:
        files = ", ".join(f"[{name}.csv]({FOLDER}/{name}.csv)" for name in item.tables)
        spent = sum(seconds.get(name, 0.0) for name in item.tables)
        yield from _wrapped(f"Data: {files}; {spent:,.1f} seconds.", "")
        yield ""


def _claims(claims: Sequence[Claim]) -> Iterator[str]:
    """Lines of a list of claims: the verdict and what the paper says, what we found, and why."""
    for claim in claims:
        place = "ours" if claim.place == "(ours)" else claim.place
        yield from _wrapped(f"* **{claim.word}**: {claim.text} ({place}).", "  ")
        yield from _wrapped(f"  Ours: {claim.ours}.", "  ")
        if claim.why and claim.verdict != "reproduces":
            yield from _wrapped(f"  Why: {claim.why}.", "  ")
    if claims:
        yield ""


def _wrapped(sentence: str, indent: str) -> list[str]:
    """Lines of a sentence, none of them too long for a screen."""
    return textwrap.wrap(
        sentence, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
