"""Comparison of what a document shows with what a command prints, whatever the noise."""

import re


def shape(text: str) -> str:
    """``text`` as it is whatever the noise: no number, no verdict, no line ends."""
    words = re.sub(r"\b(?:yes|NO)\b|\?", "V", " ".join(text.split()))
    # What there are none of is not counted.
    words = re.sub(r", \d+ (?:beyond|undecided)", "", words)
    # On which side of chance a figure lies.
    words = re.sub(r", so this is (?:at|beyond) chance|\b(?:at|beyond) (?=\d)", "", words)
    words = re.sub(r"\b(?:undecided|NOT kept), (?=[-\d])", "", words)
    return re.sub(r"(?:< )?[-+]?\d[\d,.]*\d|(?:< )?[-+]?\d", "0", words)


def missing_rows(shown: str, printed: str) -> list[str]:
    """Rows of ``shown`` whose shape is not in that of ``printed``; "..." stands for any text."""
    whole = shape(printed)
    rows = [
        row
        for part in shown.split("...\n")
        for row in re.split(r"\n(?= *(?:yes|NO|\?|verdict) |     |\n)", part)
    ]
    return [row for row in rows if row.strip() and shape(row) not in whole]
