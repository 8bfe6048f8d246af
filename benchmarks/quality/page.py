"""The page of the benchmark, which follows from CSV files alone."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.paper.pictures import drawing, save
from benchmarks.quality.page_text import (
    ABOUT,
    ENTRANT_NOTES,
    EXTENDING,
    HARD_NOTE,
    READING,
    RESULTS_NOTE,
    RULES,
    SUMMARY,
)
from benchmarks.quality.pictures import CAREFUL, SHOWN, against_epsilon
from benchmarks.quality.problems import AGGREGATES
from benchmarks.quality.results import PROBLEM, QUERY
from benchmarks.quality.scores import CELL, scores_of
from pqd.stated.budgets import AUTO

FOLDER = "quality"
_OF_QUERY = [*QUERY, "aggregate", "sql", "private_answer", "copy_answer"]
_OF_PROBLEM = [*PROBLEM, "hard", "tau", "within"]
_FILES = ("scores", "problems", "queries")
# Budgets of the tables, where a run has them.
_TABLED = (0.1, 1.0)
# Standard errors by which another entrant must be better, and the least difference that is shown.
_LOSES_BY, _HAIR = 2, 0.0005


def write_page(out: Path, results: pd.DataFrame | None) -> Iterator[Path]:
    """Write the page into ``out``, and its folder; yield the files.

    Without results the CSV files of an earlier page are read.

    Raises
    ------
    SystemExit
        There are neither results nor an earlier page.
    """
    folder = out / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    if results is not None:
        yield from _write_files(folder, results)
    missing = [name for name in _FILES if not (folder / f"{name}.csv").is_file()]
    if missing:
        raise SystemExit(f"{folder} has no {missing[0]}.csv; name the results of a run")
    scores = pd.read_csv(folder / "scores.csv")
    for name, column, label, entrants in (
        ("balanced-error", "error", "balanced error", SHOWN),
        ("decided", "decided", "share decided", CAREFUL),
    ):
        with drawing():
            figure = against_epsilon(scores, column, label, entrants)
        path = folder / f"{name}.svg"
        save(figure, path, f"{label.capitalize()} against epsilon, by aggregate")
        yield path
    text = page_text(folder)
    path = out / "quality.md"
    path.write_text(text, encoding="utf-8")
    yield path


def _write_files(folder: Path, results: pd.DataFrame) -> Iterator[Path]:
    """Write scores, problems and queries; the answers keep all their digits."""
    tables = {
        "scores": (scores_of(results), "%.6g"),
        "problems": (results[_OF_PROBLEM].drop_duplicates(PROBLEM), "%.10g"),
        "queries": (results[_OF_QUERY].drop_duplicates(QUERY), "%.10g"),
    }
    for name, (frame, digits) in tables.items():
        path = folder / f"{name}.csv"
        frame.to_csv(path, index=False, float_format=digits, lineterminator="\n")
        yield path


def page_text(folder: Path) -> str:
    """Text of the page, for the CSV files in ``folder``."""
    scores, problems, queries = (pd.read_csv(folder / f"{name}.csv") for name in _FILES)
    lines = [
        *(line for text in (ABOUT, RULES, ENTRANT_NOTES, EXTENDING) for line in (*text, "")),
        "## Entries",
        "",
        *_entries(scores, problems, queries),
        "## Results",
        "",
        *RESULTS_NOTE,
        "",
        *(line for aggregate in AGGREGATES for line in _aggregate(scores, aggregate)),
        "## Hard problems",
        "",
        *HARD_NOTE,
        *_hard(scores),
        "## Where `auto` loses",
        "",
        *READING,
        "",
        *_losses(scores),
        "",
        *SUMMARY,
        "",
        *_wins(scores),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def per_cent(value: float, digits: int = 1) -> str:
    """Share in per cent; empty where it is unknown."""
    return "" if np.isnan(value) else f"{100 * value:.{digits}f}"


def _entries(scores: pd.DataFrame, problems: pd.DataFrame, queries: pd.DataFrame) -> Iterator[str]:
    """Lines of the table of entries."""
    yield "| entry | queries | plain problems | truly within | hard problems |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for entry, rows in problems.groupby("entry", sort=False):
        number = int((queries["entry"] == entry).sum())
        plain, hard = rows[rows["hard"] == 0], int((rows["hard"] == 1).sum())
        share = f"{per_cent(plain['within'].mean(), 0)} %"
        yield f"| {entry} | {number} | {len(plain)} | {share} | {hard} |"
    yield ""
    yield f"In all {len(queries):,} queries and {len(problems):,} problems, of {_seeds(problems)}."
    tolerances = ", ".join(problems["tolerance"].unique())
    budgets = ", ".join(f"{epsilon:g}" for epsilon in sorted(scores["epsilon"].unique()))
    yield f"Tolerances: {tolerances}; budgets of one query: {budgets}."
    yield ""


def _seeds(problems: pd.DataFrame) -> str:
    number = problems["seed"].nunique()
    return f"{number} seed{'s' if number > 1 else ''}"


def _budgets(scores: pd.DataFrame) -> list[float]:
    """Budgets of the tables: 0.1 and 1, or else the least and the largest of the run."""
    known = sorted(scores["epsilon"].unique())
    return [each for each in _TABLED if each in known] or list(dict.fromkeys((known[0], known[-1])))


def _aggregate(scores: pd.DataFrame, aggregate: str) -> Iterator[str]:
    """Lines of one aggregate: a row for each entrant, columns for each budget."""
    rows = scores[(scores["aggregate"] == aggregate) & (scores["hard"] == 0)]
    if rows.empty:
        return
    budgets = _budgets(scores)
    first = rows.iloc[0]
    yield f"### {aggregate}"
    yield ""
    number, within = first["problems"], first["within"]
    yield f"{number:,} problems, of which {within:,} are truly within tolerance."
    yield ""
    names = "error", "undecided half", "decided", "false"
    heads = [f"{name}, {epsilon:g}" for epsilon in budgets for name in names]
    yield "| entrant | " + " | ".join(heads) + " |"
    yield "| --- |" + " ---: |" * len(heads)
    cells = {epsilon: rows[rows["epsilon"] == epsilon].set_index("entrant") for epsilon in budgets}
    for entrant in cells[budgets[0]].index:
        parts = [
            part for table in cells.values() for part in _cells(table.loc[entrant], _least(table))
        ]
        yield f"| {_shown(entrant, cells[budgets[0]])} | " + " | ".join(parts) + " |"
    yield ""


def _shown(entrant: str, table: pd.DataFrame) -> str:
    return entrant if table.loc[entrant, "private"] else f"{entrant} (not private)"


def _least(table: pd.DataFrame) -> float:
    """Least balanced error of a private entrant."""
    return float(table.loc[table["private"] == 1, "error"].min())


def _cells(row: "pd.Series[float]", least: float) -> Iterator[str]:
    """Yield the four cells of an entrant at one budget; the least balanced error is bold."""
    error = f"{per_cent(row['error'])} ± {per_cent(row['error_se'])}"
    is_least = row["private"] and per_cent(row["error"]) == per_cent(least)
    yield f"**{error}**" if is_least else error
    yield per_cent(row["error_undecided_half"])
    yield per_cent(row["decided"])
    above = row["above_alpha"]
    yield per_cent(row["false"], 2) + ("" if np.isnan(above) else f" ({int(above)})")


def _hard(scores: pd.DataFrame) -> Iterator[str]:
    """Lines of the table of hard problems: balanced errors at the largest budget of the tables."""
    epsilon = _budgets(scores)[-1]
    rows = scores[(scores["hard"] == 1) & (scores["epsilon"] == epsilon)]
    table = rows.pivot_table(index="entrant", columns="aggregate", values="error", sort=False)
    # Single deciders answer one aggregate, and stand in the CSV file.
    table = table[table.notna().sum(axis=1) > 1]
    yield f"Balanced error in per cent at epsilon {epsilon:g}."
    yield ""
    yield "| entrant | " + " | ".join(AGGREGATES) + " |"
    yield "| --- |" + " ---: |" * len(AGGREGATES)
    for entrant in table.index:
        values = [per_cent(table.loc[entrant].get(name, np.nan)) for name in AGGREGATES]
        yield f"| {entrant} | " + " | ".join(values) + " |"
    yield ""


def _losses(scores: pd.DataFrame) -> Iterator[str]:
    """Lines of the table of cells in which a private entrant is clearly better than ``auto``.

    An entrant that is false more often than alpha on a problem does not count as one that decides.
    """
    rows = scores[(scores["private"] == 1) & (scores["entrant"] != AUTO)]
    auto = scores[scores["entrant"] == AUTO].set_index(CELL)
    found = []
    for name, sign, able in (
        ("error", -1, rows),
        ("decided", 1, rows[rows["above_alpha"] == 0]),
    ):
        gain, error = sign * able[f"{name}_above_auto"], able[f"{name}_above_auto_se"]
        lost = able.assign(figure=name, gain=gain, gain_se=error)[gain > _LOSES_BY * error + _HAIR]
        found.append(lost.loc[lost.groupby(CELL)["gain"].idxmax()])
    best = pd.concat(found).sort_values(["figure", *CELL], key=_in_order, kind="stable")
    if best.empty:
        yield "There is no such cell."
        return
    heads = "figure", "aggregate", "problems", "epsilon", "entrant", "its figure", "`auto`"
    yield "| " + " | ".join((*heads, "difference")) + " |"
    yield "| --- | --- | --- | ---: | --- | ---: | ---: | ---: |"
    for _, row in best.iterrows():
        name = row["figure"]
        cells = [
            {"error": "balanced error", "decided": "decided"}[name],
            row["aggregate"],
            "hard" if row["hard"] else "plain",
            f"{row['epsilon']:g}",
            row["entrant"],
            per_cent(row[name]),
            per_cent(auto.loc[tuple(row[CELL]), name]),
            f"{per_cent(row['gain'])} ± {per_cent(row['gain_se'])}",
        ]
        yield "| " + " | ".join(cells) + " |"


def _in_order(column: pd.Series) -> pd.Series:
    orders = {"aggregate": AGGREGATES, "figure": ("error", "decided")}
    order = orders.get(str(column.name))
    return column.map(order.index) if order else column


def _wins(scores: pd.DataFrame) -> Iterator[str]:
    """Lines that follow from the scores: where ``auto`` errs less, and how often it is false."""
    others = [name for name in SHOWN if name != AUTO]
    yield "| epsilon | " + " | ".join(others) + " |"
    yield "| ---: |" + " ---: |" * len(others)
    plain = scores[scores["hard"] == 0]
    for epsilon, rows in plain.groupby("epsilon"):
        table = rows.pivot_table(index="aggregate", columns="entrant", values="error")
        counts = [
            f"{int((table[AUTO] < table[name]).sum())} of {int(table[name].notna().sum())}"
            for name in others
        ]
        yield f"| {epsilon:g} | " + " | ".join(counts) + " |"
    auto = scores[scores["entrant"] == AUTO]
    wrong, asked = int(auto["above_alpha"].sum()), int(auto["problems"].sum())
    yield ""
    yield (
        f"On {wrong:,} of all {asked:,} pairs of a problem and a budget a conclusive verdict of "
        "`auto` is false more often than alpha."
    )
