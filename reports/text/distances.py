"""Sentences on distances between tables that profiles and rankings share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from statistics import median
from typing import TYPE_CHECKING

from pqd.deciders.names import pasted
from pqd.deciders.options import option
from pqd.reports.models.standings import Standing
from pqd.reports.text.numbers import (
    counted,
    epsilon_option,
    epsilon_text,
    interval_text,
    number_text,
    percent_text,
    share_digits,
)

if TYPE_CHECKING:
    from pqd.reports.models.figure import Figure
    from pqd.reports.models.profile import Alarm, BudgetPart, ProfiledColumn, Score, Shortfall

INDEPENDENT = "an independent real sample of this size"
USEFULNESS = (
    "This measures how useful the copy is. It does not measure whether the copy protects the "
    "people in the private table."
)
_ADVICE = ": do not publish it"
WAYS = {1: "column", 2: "pair", 3: "triple"}
NAMES = {
    "tv": "total variation",
    "ks": "Kolmogorov-Smirnov distance",
    "emd": "earth mover's distance",
}
TERMS = {"tv": "Total variation", "ks": "Kolmogorov-Smirnov", "emd": "Earth mover's"}
TOTAL_VARIATION = (
    "The share of the rows that would have to change their cell until both tables have the same "
    "shares: 0 % is alike, at 100 % they have nothing in common."
)
INDEPENDENT_SAMPLE = (
    "The distance that chance alone gives: that of other rows of the same source, as many as the "
    "copy has. Beyond chance: farther off than chance explains. At chance: no farther. Without a "
    "word it is undecided."
)
ALARM = (
    "Whether the copy is nearer to the private table than copies that repeat nobody's rows. A "
    "note: nearer than an independent real sample, so fitted closely to these rows, or balanced, "
    "or made of some of them. An error: nearer than rows drawn from the private table itself. The "
    "marks are simulated on the copy, and silence is no safety: a tenth of leaked rows raises no "
    "alarm."
)
INTERVAL = (
    "What is said of the private table is noisy. The interval holds the true figure with "
    "probability"
)
# Names of the figures in other tools; these tools read the private table without noise.
RELATIONS: tuple[tuple[str, str], ...] = (
    ("SDMetrics", "TVComplement, ContingencySimilarity: 1 - TV. KSComplement: 1 - KS."),
    (
        "mostlyai-qa",
        "Accuracy is the mean of 1 - TV on ten bins; its upper bound is chance's share.",
    ),
    ("SDNist", "The k-marginal score is 1,000 times the mean of 1 - TV over sampled marginals."),
)
# Numbers of cells that are proposed in place of these and more.
_LEAST_CELLS, _MANY_CELLS, _FEWER = 7, 20, (5, 10)
# Names of distances that are short enough for the title of a column.
SHORT = {"tv": "TV", "ks": "KS", "emd": "EMD"}
_HOW = {
    "values": "each value of the copy",
    "quantiles": "bins between quantiles of the copy",
    "stated": "as stated",
    "missing": "none, since the copy lacks it",
}


def fewer_cells(columns: Sequence[ProfiledColumn]) -> str:
    """Words on fewer cells, with the option for the column that has the most of them."""
    widest = max(columns, key=lambda each: each.cells, default=None)
    if widest is None or widest.how == "missing" or widest.cells <= _LEAST_CELLS:
        return "fewer cells"
    number = _FEWER[widest.cells > _MANY_CELLS]
    cells = option(f"--cells {pasted(widest.name, f'={number}')}")
    return f"fewer cells, such as {cells} ({number} bins)"


def ways_text(ways: int, number: int = 2) -> str:
    """Word for marginals of ``ways`` columns: ``pairs``, or ``pair`` if ``number`` is 1."""
    word = WAYS.get(ways)
    if word is None:
        return f"{'marginal' if number == 1 else 'marginals'} of {ways} columns"
    return word if number == 1 else f"{word}s"


def names_text(columns: Sequence[str]) -> str:
    """Columns of a marginal, separated by commas."""
    return ", ".join(columns)


def chance_text(share: float | None, chance: Standing | None, digits: int) -> str:
    """Share of an independent real sample, and whether the figure is at or beyond it."""
    if share is None:
        return ""
    text = reference_text(share, digits)
    return text if chance is None else f"{chance.badge.text} {text}"


def alarm_sentence(
    alarm: Alarm, score: Score, name: str = "the copy", advice: str = _ADVICE
) -> str:
    """Sentence on a copy that is too near to the private table; empty if there is no alarm."""
    if alarm.standing is None or score.low is None:
        return ""
    mark = alarm.drawn
    if alarm.standing is Standing.INDEPENDENT and alarm.independent is not None:
        mark = alarm.independent
    digits = max(2, digits_of(score.estimate))
    quality = f"quality at least {percent_text(score.low, digits)}, such a sample seldom above "
    return alarm_words(alarm, f"{quality}{percent_text(mark, digits)}", name, advice)


def alarm_words(alarm: Alarm, figures: str, name: str = "the copy", advice: str = _ADVICE) -> str:
    """Sentence on a copy that is too near, with ``figures`` that show it; empty if it is not."""
    if alarm.standing is None:
        return ""
    word = alarm.standing.badge.text
    if alarm.standing is Standing.DRAWN:
        return (
            f"{word}: {name} is closer to the private table than rows drawn from the private table "
            f"itself ({figures}). It seems to repeat rows of real people{advice}."
        )
    made = "" if alarm.copy_epsilon is None else (
        f" It is said to be made under epsilon {epsilon_text(alarm.copy_epsilon)}."
    )  # fmt: skip
    return (
        f"{word}: {name} is closer to the private table than {INDEPENDENT} ({figures}). It is "
        f"fitted closely to these rows, or balanced, or made of some of them.{made} Ask "
        f"the maker whether real rows are in it; pqd risk looks for them."
    )


def shortfall_sentence(shortfall: Shortfall) -> str:
    """Sentence on how few distances can be decided."""
    number, tau = counted(shortfall.distances, "distance"), tolerance_text(shortfall.tau)
    rows = f"as many rows as the copy ({number_text(shortfall.copy_rows)})"
    if shortfall.private_rows is not None:
        rows = f"the stated {number_text(shortfall.private_rows)} rows"
    return (
        f"{shortfall.decidable:,} of {number} can be decided at epsilon "
        f"{epsilon_text(shortfall.total_epsilon)} and a tolerance of {tau}, if the private table "
        f"has {rows}."
    )


def remedies(shortfall: Shortfall) -> Iterator[str]:
    """Yield lines on what would do: each remedy alone decides all distances that it leaves."""
    options = [
        shortfall.needed_epsilon
        and option(f"--total-epsilon {epsilon_option(shortfall.needed_epsilon)}"),
        shortfall.needed_tau and option(f"--tau {number_text(100 * shortfall.needed_tau, 4)}%"),
        shortfall.singles_decide and f"{option('--ways 1')} (columns without pairs)",
        shortfall.needed_columns
        and f"{option('--columns')} with at most {shortfall.needed_columns} of {shortfall.columns}",
    ]
    stated = [each for each in options if each]
    yield "What would do, each by itself:" if stated else "A copy of more rows would do."
    yield from (f"- {each}" for each in stated)
    if shortfall.private_rows is None:
        yield f"- {option('--private-rows N')}, if the private table has more rows than the copy"
    compare = option(f"pqd compare ... --total-epsilon {epsilon_option(shortfall.total_epsilon)}")
    yield f"The overall quality alone takes less: {compare}."
    yield f"With {option('--anyway')} the profile is measured all the same."


def refusal_text(shortfall: Shortfall) -> str:
    """Message of a run that is refused: what was found, and a list of what would do."""
    return "\n".join(
        (
            shortfall_sentence(shortfall),
            "A profile takes at least a fifth, so nothing was measured and nothing was spent.",
            *remedies(shortfall),
        )
    )


def level_text(alpha: Fraction) -> str:
    """Probability with which an interval holds the true figure, such as ``95 %``."""
    return f"{number_text(100 * (1 - alpha), 4)} %"


def tolerance_text(tau: float) -> str:
    """Tolerance in per cent."""
    return f"{number_text(round(100 * tau, 9), 4)} %"


def digits_of(*figures: Figure | None) -> int:
    """Number of decimals that all figures in one column of a table have."""
    widths = [figure.high - figure.low for figure in figures if figure is not None]
    return share_digits(median(widths)) if widths else 1


def figure_text(figure: Figure, digits: int | None = None) -> str:
    """Share with its interval, such as ``92.4 % (92.2 to 92.6)``."""
    digits = digits_of(figure) if digits is None else digits
    between = interval_text(figure.low, figure.high, digits)
    return f"{percent_text(figure.value, digits)} ({between})"


def estimate_text(figure: Figure, digits: int | None = None) -> str:
    """Share, or ``< 2.6 %``, the high end of its interval, if the noise hid all of it."""
    digits = digits_of(figure) if digits is None else digits
    if figure.value:
        return percent_text(figure.value, digits)
    return f"< {interval_text(figure.low, figure.high, digits).split()[-1]} %"


def reference_text(share: float, digits: int) -> str:
    """Share without noise, for a place beside noisy shares; it has at least one decimal."""
    return percent_text(share, max(1, digits))


def cells_text(column: ProfiledColumn) -> str:
    """Number of cells of a column, and how the cells were made."""
    if column.how == "missing":
        return "missing in the copy, so all distances with it are 100 %"
    text = f"{counted(column.cells, 'cell')}: {_HOW[column.how]}"
    if column.merged:
        text += f"; {counted(column.merged, 'other value')} of it are one cell"
    return f"{text}; constant in the copy" if column.constant else text


def columns_sentence(columns: Sequence[ProfiledColumn], cells_from: str = "") -> str:
    """Sentence on how the cells of the columns were made; ``cells_from`` names a stated table."""
    origins = dict.fromkeys(_HOW[column.how] for column in columns if column.how != "missing")
    text = (
        f"Cells are public: {', or '.join(origins)}. NULL is a cell of its own. Values that the "
        "copy never has lie in its bins, or share a cell of their own."
    )
    return text.replace("the copy", cells_from) if cells_from else text


def budget_lines(
    parts: Sequence[BudgetPart], rows: float, named: dict[str, str] | None = None
) -> Iterator[str]:
    """One line for each part of a budget: what it paid for, and the size of its noise.

    ``rows`` is the noisy number of private rows, or the copy's in a plan; the line gives the noise
    in per cent of it.
    """
    for part in parts:
        words = _paid_for(part) if named is None else named.get(part.part, _paid_for(part))
        noise = f"noise of about {number_text(part.scale, 3)} rows"
        if rows >= 1 and part.part != "rows":
            noise += f" ({number_text(100 * part.scale / rows, 2)} % of them)"
        each = " each" if part.numbers > 1 else ""
        gaussian = ", Gaussian" if part.noise == "gaussian" else ""
        yield f"epsilon {_part_text(part)} for {words}: {noise}{each}{gaussian}"


def _part_text(part: BudgetPart) -> str:
    """Epsilon of a part, rounded if it is a fraction such as 1/3; the total is shown exactly."""
    exact = epsilon_text(part.epsilon)
    return f"about {number_text(float(part.epsilon), 3)}" if "/" in exact else exact


def _paid_for(part: BudgetPart) -> str:
    if part.part == "rows":
        return "the number of rows"
    if part.part == "relations":
        copies = part.numbers // 3
        each = f" of each of {counted(copies, 'copy', 'copies')}" if copies > 1 else ""
        return f"the three scores of relations{each}"
    if part.part == "distances":
        return counted(part.numbers, "distance")
    if part.part == "attacks":
        return f"{counted(part.numbers, 'number')} of attacks"
    if part.part == "values":
        return f"{counted(part.numbers, 'cell')} of the columns"
    return "the cells of the worst marginals" if part.part == "cells" else "the target"
