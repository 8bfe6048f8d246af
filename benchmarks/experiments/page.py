"""Pages of experiments: their prose is written by hand, all else follows from CSV files.

A page has one block for each study, from ``<!-- study: NAME -->`` to ``<!-- end -->``.  The block
has the commands, the picture, the names of the files, and the claims.  ``docs/experiments.md`` has
the block ``<!-- summary -->``.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from benchmarks.experiments.record import Study, Topic
from benchmarks.paper.page import claims_of, picture_name
from benchmarks.paper.record import Verdict
from benchmarks.result_tables import read_table

FOLDER = "experiments"
HOLDS: Mapping[Verdict, str] = {
    "reproduces": "yes",
    "in part": "in part",
    "does not": "**no**",
    "undecided": "undecided",
}
_BLOCK = re.compile(r"<!-- (?:study: )?(\S+) -->\n.*?<!-- end -->\n", re.DOTALL)
Tables = Mapping[str, pd.DataFrame]


def read_tables(folder: Path, topics: Sequence[Topic]) -> dict[str, pd.DataFrame]:
    """Tables of all studies, by name.

    Raises
    ------
    FileNotFoundError
        A benchmark has not written its file.
    """
    names = {name for topic in topics for study in topic.items for name in study.tables}
    return {name: read_table(folder / f"{name}.csv") for name in sorted(names)}


def topic_page(topic: Topic, text: str, tables: Tables) -> str:
    """Page of a topic whose prose is that of ``text``.

    Raises
    ------
    ValueError
        The blocks of the text are not those of the studies.
    """
    blocks = {slug(study): "\n".join(_study(topic, study, tables)) for study in topic.items}
    heading, _, rest = text.partition("\n")
    del heading
    return f"# {topic.title}\n{_filled(rest, blocks, f'{FOLDER}/{topic.key}.md')}"


def summary_page(topics: Sequence[Topic], text: str, tables: Tables) -> str:
    """Page of the summary: the first claim of every study."""
    return _filled(text, {"summary": "\n".join(_summary(topics, tables))}, f"{FOLDER}.md")


def slug(study: Study) -> str:
    """Name of a study in its block."""
    return study.place.replace(" ", "-")


def _filled(text: str, blocks: Mapping[str, str], name: str) -> str:
    """Text with the content of its blocks."""
    found = _BLOCK.findall(text)
    if sorted(found) != sorted(blocks):
        raise ValueError(f"docs/{name} has the blocks {found}; it needs {list(blocks)}, each once")
    return _BLOCK.sub(lambda match: _block(match[0], blocks[match[1]]), text)


def _block(match: str, content: str) -> str:
    opening = match.partition("\n")[0]
    return f"{opening}\n\n{content}\n<!-- end -->\n"


def _study(topic: Topic, study: Study, tables: Tables) -> Iterator[str]:
    """Lines of the block of one study."""
    yield from ("```sh", study.command, "```", "")
    if study.draw is not None:
        yield from (f"![{study.title}]({picture_name(topic, study)})", "")
    if study.shown is not None:
        yield from _table(study.shown(*(tables[name] for name in study.tables)))
    files = ", ".join(f"[{name}.csv]({name}.csv)" for name in study.tables)
    yield from (f"Data: {files}.", "", "| claim | our number | holds |", "| --- | --- | --- |")
    for each in claims_of(study, tables):
        why = f": {each.why}" if each.why and each.verdict != "reproduces" else ""
        yield f"| {each.text} | {each.ours} | {HOLDS[each.verdict]}{why} |"
    yield ""


def _table(frame: pd.DataFrame) -> Iterator[str]:
    """Lines of a Markdown table; the first column is left, the others are right."""
    yield f"| {' | '.join(map(str, frame.columns))} |"
    yield f"| --- |{' ---: |' * (len(frame.columns) - 1)}"
    for row in frame.astype(str).to_numpy().tolist():
        yield f"| {' | '.join(row)} |"
    yield ""


def _summary(topics: Sequence[Topic], tables: Tables) -> Iterator[str]:
    """Lines of the summary."""
    yield "| claim | our number | command | page |"
    yield "| --- | --- | --- | --- |"
    for topic in topics:
        for study in topic.items:
            first = claims_of(study, tables)[0]
            ours = first.ours
            if first.verdict != "reproduces":
                ours += f" (holds: {HOLDS[first.verdict]})"
            page = f"[{topic.title}]({FOLDER}/{topic.key}.md)"
            yield f"| {first.text} | {ours} | {_short(study.command)} | {page} |"
    yield ""


def _short(command: str) -> str:
    """First module of benchmarks in a command, with the part that it runs."""
    line = next(line for line in command.splitlines() if " -m benchmarks." in line)
    words = line.split()
    parts = [word for word in words[3:4] if word.isalpha() and word.islower()]
    return f"`{' '.join([*words[:3], *parts])}`"
