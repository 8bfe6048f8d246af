"""Writer of LaTeX: the tables of a report, for a paper that uses the package booktabs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pqd.reports.blocks import plain
from pqd.reports.escape import visible
from pqd.reports.models.report import document_of
from pqd.reports.writers.tables import text_tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pqd.reports.models.report import Report
    from pqd.reports.writers.tables import TextTable

# Signs that TeX obeys or joins, and those of reports that a usual font lacks.
_SIGNS = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "%": r"\%",
        "_": r"\_",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "`": r"\textasciigrave{}",
        '"': "{\\char34}",
        "±": r"$\pm$",
        "\u2013": r"\textendash{}",
        "…": r"\ldots{}",
        "\u00d7": r"$\times$",
        "≤": r"$\leq$",
        "≥": r"$\geq$",
        "✓": r"$\surd$",
        "✗": r"$\times$",
    }
)
_JOINED = re.compile(r"-(?=-)|,(?=,)|'(?=')")
_MINUS = re.compile(r"(?<!\S)-(?=\d)")
_HEAD = "% Tables of pqd {}: they need \\usepackage{{booktabs}}\n"


def latex_text(report: Report) -> str:
    """Tables of a report of any kind, each with a caption that says what was spent."""
    document = document_of(report)
    told = [*(plain(line.text) for line in document.banner), document.subject or document.title]
    caption = " ".join(map(_sentence, [*told, document.spent]))
    tables = (_table(table, caption) for table in text_tables(document))
    return "\n".join([_HEAD.format(document.kind), *tables])


def _table(table: TextTable, caption: str) -> str:
    sides = "".join("r" if column.kind == "number" else "l" for column in table.columns)
    title = " ".join(filter(None, [_sentence(table.title), caption]))
    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{tex(title)}}}",
        rf"  \begin{{tabular}}{{{sides}}}",
        r"    \toprule",
        _line([column.title for column in table.columns]),
        r"    \midrule",
        *map(_line, table.rows),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]
    return "".join(f"{line}\n" for line in lines)


def _line(cells: Sequence[str]) -> str:
    """Line of a table."""
    return f"    {' & '.join(map(tex, cells))} \\\\"


def tex(text: str) -> str:
    r"""Text that TeX prints as it is; hidden signs are escaped.

    ``{}`` parts signs that TeX would join, and braces keep a first ``*`` or ``[`` from being read
    as part of the ``\\`` before it.
    """
    text = _JOINED.sub(r"\g<0>{}", visible(text).translate(_SIGNS))
    text = _MINUS.sub("$-$", text)
    return f"{{{text[0]}}}{text[1:]}" if text.startswith(("*", "[")) else text


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:].rstrip('.')}." if text else ""
