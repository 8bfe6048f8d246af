"""Risk: false alarms, power and widths, copies of many kinds, trees, other tools, time."""

from collections.abc import Iterator
from itertools import product

import pandas as pd
from matplotlib.figure import Figure

from benchmarks.experiments.drawing import Series, dots, from_zero, mark
from benchmarks.experiments.record import Study, Topic, claim, number, per_cent
from benchmarks.paper.pictures import INK, LINES, MARKS, STYLES, legend, panels
from benchmarks.paper.record import Claim
from benchmarks.risk_copies import TREES
from benchmarks.risk_splits import ANY, COLUMNS, LEVEL

# Reports in which planted rows are found.
FOUND = {"found": "all attacks", "alone": "`copied` alone"}
# What is below this excess is drawn on a linear scale.
_LINEAR = 1.0
# Their names stand lower, since other names would stand upon them.
_LOWER = ("training rows, 4 cells changed", "Gaussian copula")


def draw_clean(frame: pd.DataFrame) -> Figure:
    """Shares of false leaks, by attack and table, at epsilon 1; bars are two standard errors."""
    own = frame[(frame["epsilon"] == 1) & (frame["attack"] != ANY)]
    # Of two reports the one with more splits.
    own = own.sort_values("splits", kind="stable").drop_duplicates(["table", "attack"], keep="last")
    own = own.sort_index()
    figure, (axis,) = panels(1, width=7.2, height=1.7)
    attacks = list(dict.fromkeys(own["attack"]))
    series = {}
    for table, part in own.groupby("table", sort=False):
        rows = part.set_index("attack").reindex(attacks)
        shares = (100 * rows[name] for name in ("leak", "leak_error"))
        values, errors = (each.tolist() for each in shares)
        series[str(table)] = Series(values, [2 * each for each in errors])
    dots(axis, attacks, series)
    mark(axis, 100 * LEVEL)
    from_zero(axis)
    axis.set_xlabel("per cent of the verdicts with a false leak; dashed: alpha")
    legend(figure, axis)
    return figure


def shown_clean(frame: pd.DataFrame) -> pd.DataFrame:
    """Table of false alarms of any attack."""
    own = frame[frame["attack"] == ANY]
    return pd.DataFrame(
        {
            "table": own["table"],
            "attacks": own["attacks"],
            "epsilon": own["epsilon"].map("{:g}".format),
            "splits": own["splits"],
            "releases": own["verdicts"],
            "some leak at once": _shares(own, "at_once"),
            "some NO": _shares(own, "no"),
        }
    )


def _shares(frame: pd.DataFrame, name: str) -> list[str]:
    """Texts of shares in per cent, with their standard errors."""
    pairs = zip(frame[name], frame[f"{name}_error"], strict=True)
    # A single split has no standard error, and splits that agree show none.
    return [
        f"{100 * share:.2f} +- {100 * error:.2f} %" if error > 0 else f"{100 * share:.2f} %"
        for share, error in pairs
    ]


def claims_clean(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on clean splits."""
    each = frame[frame["attack"] != ANY]
    for name, text in (
        ("leak", "a leak is told falsely with probability alpha at most, for each attack"),
        ("no", "a NO is false with probability alpha at most, for each attack"),
        ("missed", "an interval of 95 % misses an excess of 0 in 5 % at most, for each attack"),
    ):
        # Few splits have large shares by chance: what is surely there counts.
        surely = each[name] - 2 * each[f"{name}_error"]
        row = each.assign(surely=surely).sort_values("surely").iloc[-1]
        yield claim(
            text,
            f"worst of {len(each)}: {100 * row[name]:.2f} +- {100 * row[f'{name}_error']:.2f} % "
            f"({row['table']}, {row['attack']}, {row['attacks']} attacks, "
            f"epsilon {row['epsilon']:g}, {row['splits']:,} splits)",
            holds=bool(surely.max() <= LEVEL),
        )
    whole = frame[frame["attack"] == ANY]
    row = whole.sort_values("at_once").iloc[-1]
    yield claim(
        'the sentence "gives private rows away" is false in 5 % of the reports at most',
        f"worst of {len(whole)}: {100 * row['at_once']:.2f} +- "
        f"{100 * row['at_once_error']:.2f} % ({row['table']}, {row['attacks']} attacks, "
        f"epsilon {row['epsilon']:g})",
        holds=bool((whole["at_once"] - 2 * whole["at_once_error"] <= LEVEL).all()),
    )


def draw_planted(frame: pd.DataFrame) -> Figure:
    """Power by the share of planted rows, with one cell changed, by epsilon."""
    figure, axes = panels(2, columns=2, width=3.6, height=1.6)
    own = frame[(frame["table"] == "adult") & (frame["changed"] == 1)]
    for axis, (epsilon, part) in zip(axes, own.groupby("epsilon"), strict=True):
        for place, (columns, name) in enumerate(product(COLUMNS, FOUND)):
            rows = part[part["columns"] == columns].sort_values("planted")
            axis.errorbar(
                100 * rows["planted"], 100 * rows[name], 100 * rows[f"{name}_error"],
                fmt=MARKS[place], linestyle=STYLES[place], color=LINES[place],
                label=f"{columns}: {FOUND[name].replace('`', '')}", elinewidth=1,
            )  # fmt: skip
        axis.set_title(f"epsilon {epsilon:g}", loc="left")
        axis.set_ylim(-3, 103)
        axis.set_xlabel("planted rows, per cent")
    axes[0].set_ylabel("found, per cent")
    legend(figure, axes[0])
    return figure


def shown_planted(frame: pd.DataFrame) -> pd.DataFrame:
    """Table of power."""
    keys = ["table", "columns", "changed", "planted"]
    one, low = (
        frame[frame["epsilon"] == epsilon].set_index(keys, drop=False) for epsilon in (1, 0.1)
    )
    shown: dict[str, object] = {
        "table, columns": one["table"] + ", " + one["columns"],
        "cells changed": one["changed"],
        "planted": one["planted"].map(per_cent),
        "splits": one["splits"].astype(str) + ", " + one["splits_alone"].astype(str),
    }
    for epsilon, part in ((1, one), (0.1, low.loc[one.index])):
        for name, label in FOUND.items():
            shown[f"{label}, epsilon {epsilon}"] = _shares(part, name)
    return pd.DataFrame(shown)


def claims_planted(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on planted rows."""
    one = frame[frame["epsilon"] == 1]
    exact = one[(one["changed"] == 0) & (one["planted"] == 0.01)]
    whys = (
        "eight attacks share the level and the epsilon",
        (
            "many of these rows stand in rows of other people, too, so few of them are rare, or "
            "none; 5,000 held-out rows leave a sampling error"
        ),
    )
    texts = ("with a column that is nearly a key", "without one")
    for name, label in FOUND.items():
        for columns, text, why in zip(COLUMNS, texts, whys, strict=True):
            found = exact[exact["columns"] == columns].set_index("table")[name]
            yield claim(
                f"1 % of the private rows in the copy as they are is found in 99 % of the releases "
                f"at epsilon 1, by {label}, {text}",
                ", ".join(f"{table}: {per_cent(share)}" for table, share in found.items()),
                holds=bool((found >= 0.99).all()),
                partly=bool((found >= 0.99).any()),
                why=why,
            )
    changed = one[(one["table"] == "adult") & (one["changed"] == 1)]
    for name, label in FOUND.items():
        power = changed.set_index(["columns", "planted"])[name]
        yield claim(
            "with one cell changed 2 % of the rows are found with such a column, 5 % without it, "
            f"by {label}",
            f"{per_cent(power[COLUMNS[0], 0.02])}, {per_cent(power[COLUMNS[1], 0.05])}",
            holds=bool(power[COLUMNS[0], 0.02] > 0.9 and power[COLUMNS[1], 0.05] > 0.9),
        )


def shown_widths(frame: pd.DataFrame) -> pd.DataFrame:
    """Table of half-widths in points."""
    return pd.DataFrame(
        {
            "attacks": frame["attacks"],
            "epsilon": frame["epsilon"].map("{:g}".format),
            "rate, points": [f"{100 * each:.3f}" for each in frame["rate"]],
            "excess, points": [f"{100 * each:.2f}" for each in frame["excess"]],
            "excess, by attack": [
                f"{100 * low:.2f} to {100 * high:.2f}"
                for low, high in zip(frame["least"], frame["most"], strict=True)
            ],
        }
    )


def claims_widths(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on widths."""
    most = frame["attacks"].max()
    own, single = (
        frame[(frame["attacks"] == most) == whole].set_index("epsilon") for whole in (True, False)
    )
    rows = number(own, 1, "rows")
    alone, least = (100 * number(each, 0.1, "rate") for each in (single, own))
    yield claim(
        "a rate is known to 0.1 points at epsilon 0.1 for an attack alone",
        f"+-{alone:.2f} points of {rows:,.0f} rows",
        holds=alone <= 0.1,
        why="noise",
    )
    yield claim(
        "and for all attacks at once",
        f"+-{least:.2f} points at epsilon 0.1, +-{100 * number(own, 1, 'rate'):.3f} at epsilon 1",
        holds=least <= 0.1,
        why="they share the epsilon, so the noise of each grows with their number",
    )
    sampling = 1.96 * (0.5 / rows) ** 0.5
    yield claim(
        "at epsilon 1 an excess is nearly as sure as sampling allows",
        f"+-{100 * number(own, 1, 'most'):.2f} points for the attack of the widest, by sampling "
        f"alone +-{100 * sampling:.2f} at a rate of a half",
        holds=number(own, 1, "most") < 1.1 * sampling,
    )


def of_nearest(frame: pd.DataFrame) -> pd.DataFrame:
    """Attacks of a usual report, in which the nearest row guesses."""
    return frame[~frame["attack"].str.startswith(TREES)]


def worst(frame: pd.DataFrame) -> pd.DataFrame:
    """Attack with the largest excess, of each copy."""
    frame = of_nearest(frame)
    return frame.loc[frame.groupby("copy", sort=False)["excess"].idxmax()].set_index("copy")


def draw_copies(frame: pd.DataFrame) -> Figure:
    """Largest excess of each copy against its quality."""
    own = worst(frame)
    figure, (axis,) = panels(1, width=7.2, height=2.9)
    for place, (name, row) in enumerate(own.iterrows()):
        x, y = 100 * row["quality"], 100 * row["excess"]
        axis.errorbar(
            x, y, xerr=100 * row["quality_error"], yerr=100 * row["excess_error"],
            fmt=MARKS[place % len(MARKS)], color=LINES[place % len(LINES)], elinewidth=1,
        )  # fmt: skip
        right, down = x > 70, 10 if name in _LOWER else 0
        axis.annotate(
            str(name), (x, y), xytext=(-7 if right else 7, -down), textcoords="offset points",
            va="center", ha="right" if right else "left", color=INK["text"],
        )  # fmt: skip
    axis.set_yscale("symlog", linthresh=_LINEAR, linscale=0.4)
    axis.set_yticks([0, 1, 10, 100], ["0", "1", "10", "100"])
    axis.set_ylim(-0.5, 150)
    axis.set_xlabel("overall quality of a profile, per cent")
    axis.set_ylabel("largest excess, points")
    return figure


def shown_copies(frame: pd.DataFrame) -> pd.DataFrame:
    """Table of copies: quality, excess of each attack in points, what one release establishes."""
    frame = of_nearest(frame)
    attacks = list(dict.fromkeys(frame["attack"]))
    lines = []
    for name, part in frame.groupby("copy", sort=False):
        rows = part.set_index("attack")
        line: dict[str, object] = {"copy": name, "seeds": rows["seeds"].iloc[0]}
        line["quality"] = f"{100 * rows['quality'].iloc[0]:.1f} %"
        for attack in attacks:
            value, error = (100 * float(rows[key][attack]) for key in ("excess", "excess_error"))
            line[attack] = _points(value, error)
        line["NO of an attack, epsilon 1"] = per_cent(rows["no"].max(), 0)
        lines.append(line)
    return pd.DataFrame(lines)


def _points(value: float, error: float) -> str:
    return f"{round(value, 1) + 0:.1f}" + (f" +- {error:.1f}" if error else "")


def claims_copies(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on the order of copies."""
    largest = 100 * worst(frame)["excess"]
    calm = [name for name in largest.index if name.startswith(("indep", "PrivBayes", "Gauss"))]
    order = ["trees, leaves of 50", "trees, leaves of 5", "trees, leaves of 1", "training rows"]
    rising = largest.loc[order]
    yield claim(
        "the risk rises from models of few parameters over finer trees to the training rows",
        f"largest excess: at most {largest[calm].max():.1f} points ({', '.join(calm)}); "
        + ", ".join(f"{name}: {each:.1f}" for name, each in rising.items()),
        holds=bool(rising.is_monotonic_increasing and largest[calm].max() < rising.iloc[0]),
    )
    quality = frame.drop_duplicates("copy").set_index("copy")["quality"]
    yield claim(
        "quality does not tell risk",
        f"{per_cent(quality[order[2]])} with leaves of 1 and {per_cent(quality[order[0]])} with "
        f"leaves of 50, whose excesses are {largest[order[2]]:.0f} and {largest[order[0]]:.0f} "
        "points",
        holds=bool(abs(quality[order[2]] - quality[order[0]]) < 0.01),
    )
    rows = of_nearest(frame[frame["copy"] == "training rows"])
    least = rows["leak"].min()
    yield claim(
        "the training rows are found by every attack in every release at epsilon 1",
        f"least: {per_cent(least, 0)}",
        holds=bool(least == 1),
    )


def learners(frame: pd.DataFrame) -> pd.DataFrame:
    """Guesses of trees with those of the nearest row beside them, for each copy and secret."""
    guesses = frame[frame["attack"].str.startswith(("inference", TREES))].copy()
    guesses["secret"] = guesses["attack"].str.partition(" ")[2]
    trees = guesses[guesses["attack"].str.startswith(TREES)]
    nearest = guesses[guesses["attack"].str.startswith("inference")]
    return trees.merge(nearest, on=["copy", "secret", "seeds"], suffixes=("", "_nearest"))


def shown_trees(frame: pd.DataFrame) -> pd.DataFrame:
    """Table of the excesses of both learners in points."""
    own = learners(frame)
    lines = []
    for name, part in own.groupby("copy", sort=False):
        line: dict[str, object] = {"copy": name}
        for learner, end in (("nearest row", "_nearest"), ("trees", "")):
            for row in part.to_dict("records"):
                value, error = (100 * row[f"{key}{end}"] for key in ("excess", "excess_error"))
                line[f"{learner}: {row['secret']}"] = _points(value, error)
        lines.append(line)
    return pd.DataFrame(lines)


def claims_trees(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on trees beside the nearest row."""
    own = learners(frame)
    error = (own["excess_error"] ** 2 + own["excess_error_nearest"] ** 2) ** 0.5
    more = own[own["excess"] - own["excess_nearest"] > 2 * error]
    names = "".join(
        f"; {name}: {secret}" for name, secret in zip(more["copy"], more["secret"], strict=True)
    )
    yield claim(
        "trees gain more from the private rows than the nearest row does",
        f"by more than two standard errors for {len(more)} of {len(own)} guesses{names}",
        holds=len(more) > len(own) / 2,
        why="trees learn what many rows share, and the nearest row repeats a single one",
    )
    better = own[own["held_out"] > own["held_out_nearest"]]
    yield claim(
        "trees guess better where nothing leaks: on held-out rows",
        f"for {len(better)} of {len(own)} guesses, on average "
        f"{100 * (own['held_out'] - own['held_out_nearest']).mean():.1f} points better",
        holds=len(better) > 0.9 * len(own),
    )


def shown_sdmetrics(frame: pd.DataFrame) -> pd.DataFrame:
    """Table of the scores of SDMetrics, and of what they are made of, beside our rates."""
    return pd.DataFrame(
        {
            "copy": frame["copy"],
            "metric": frame["metric"],
            "its two numbers": [
                f"{one:.3f}, {other:.3f}"
                for one, other in zip(frame["first"], frame["second"], strict=True)
            ],
            "its score": frame["score"].map("{:.3f}".format),
            "score of held-out rows": ["" if pd.isna(e) else f"{e:.3f}" for e in frame["control"]],
            "our attack": frame["attack"],
            "private, held-out": _both(frame["pqd_private"], frame["pqd_held_out"]),
        }
    )


def claims_sdmetrics(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on the scores of SDMetrics."""
    whole, part = (
        frame[frame["metric"] == f"DCR overfitting protection{end}"].set_index("copy")
        for end in ("", ", subsampled")
    )
    leaky, fine, other = "trees, leaves of 1", "trees, leaves of 50", "other rows"
    full = {name: number(whole, name, "score") for name in (leaky, fine, other)}
    sampled = {name: number(part, name, "score") for name in (leaky, fine, other)}
    yield claim(
        "its protection from overfitting tells a copy with copied rows from other rows",
        f"{full[leaky]:.2f} of {leaky}, {full[other]:.2f} of other rows",
        holds=full[leaky] < 0.9 <= full[other],
    )
    yield claim(
        "it does so with the sampling of the tool itself",
        f"{sampled[leaky]:.2f} of {leaky}, {sampled[other]:.2f} of other rows",
        holds=sampled[leaky] < 0.9 <= sampled[other],
        why="the row from which a row was copied is seldom in the sample, too",
    )
    yield claim(
        "it tells leaves of 50, whose excess is up to 3 points, from other rows",
        f"{full[fine]:.2f} of {fine}, {full[other]:.2f} of other rows",
        holds=full[fine] < 0.9 <= full[other],
        why="a share of 0.55 of 250 rows is within two errors of a half",
    )
    own = frame[frame["metric"].str.startswith("disclosure") & (frame["copy"] == other)]
    scores = list(zip(own["metric"], own["score"], own["control"], strict=True))
    yield claim(
        "its protection from disclosure is high where nothing is disclosed",
        "; ".join(
            f"{name.rpartition(' ')[2]}: {score:.2f} of other rows, {control:.2f} with held-out "
            "rows in the place of private ones"
            for name, score, control in scores
        ),
        holds=all(score > 0.9 for _, score, _ in scores),
        why="its baseline is a guess among all values alike, and a good copy lets everybody guess",
    )


def shown_anonymeter(frame: pd.DataFrame) -> pd.DataFrame:
    """Table of the rates of Anonymeter beside ours."""
    return pd.DataFrame(
        {
            "copy": frame["copy"],
            "metric": frame["metric"],
            "theirs, private and held-out": _both(frame["private"], frame["held_out"]),
            "ours": _both(frame["pqd_private"], frame["pqd_held_out"]),
            "their score": ["" if pd.isna(each) else f"{each:.3f}" for each in frame["risk"]],
        }
    )


def _both(first: pd.Series, second: pd.Series) -> list[str]:
    return [
        "" if pd.isna(a) else f"{100 * a:.1f}, {100 * b:.1f} %"
        for a, b in zip(first, second, strict=True)
    ]


def claims_anonymeter(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on Anonymeter."""
    guesses = frame[frame["metric"].str.startswith("inference")]
    theirs, ours = (
        guesses["private"] - guesses["held_out"],
        (guesses["pqd_private"] - guesses["pqd_held_out"]),
    )
    rates, excesses = (guesses["private"] - guesses["pqd_private"]).abs(), (theirs - ours).abs()
    yield claim(
        "guesses succeed as often as Anonymeter's, whose distance scales numbers otherwise",
        f"rates apart by at most {100 * rates.max():.1f} points, excesses by "
        f"{100 * excesses.max():.1f}",
        holds=bool(excesses.max() < 0.06),
    )
    links = frame[frame["metric"] == "linkability"]
    yield claim(
        "linkability succeeds more often by our rule, by which ties count, on both kinds of rows",
        "; ".join(
            f"{name}: {both}, theirs {other}"
            for name, both, other in zip(
                links["copy"],
                _both(links["pqd_private"], links["pqd_held_out"]),
                _both(links["private"], links["held_out"]),
                strict=True,
            )
        ),
        holds=bool(
            (links["pqd_private"] > links["private"]).all()
            and (links["pqd_held_out"] > links["held_out"]).all()
        ),
    )


def shown_time(frame: pd.DataFrame) -> pd.DataFrame:
    """Table of time and memory."""
    return pd.DataFrame(
        {
            "private rows, rows of the copy": [f"{rows:,}" for rows in frame["rows"]],
            "seconds": frame["seconds"].map("{:.0f}".format),
            "CPU s": frame["cpu_seconds"].map("{:.0f}".format),
            "peak MB": frame["peak_mb"].map("{:.0f}".format),
        }
    )


def claims_time(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on time and memory."""
    own = frame.set_index("rows").loc[50_000]
    yield claim(
        "50,000 rows against 50,000 of 15 columns take a minute and 2 GB at most on two cores",
        f"{own['cpu_seconds']:.0f} s of CPU, {own['peak_mb']:.0f} MB ({own['seconds']:.0f} s while "
        "others used the cores, too)",
        holds=bool(own["cpu_seconds"] <= 120 and own["peak_mb"] <= 2000),
    )
    rows, sizes = int(frame["rows"].max()), frame.set_index("rows")
    seconds, peak = (number(sizes, rows, name) for name in ("cpu_seconds", "peak_mb"))
    times = seconds / number(sizes, 50_000, "cpu_seconds")
    yield claim(
        "time grows with the private rows alone",
        f"{rows:,} rows take {times:.1f} times the CPU of 50,000, {peak:.0f} MB",
        holds=times <= 1.25 * rows / 50_000 and peak <= 2000,
    )


RISK = Topic(
    "risk",
    "Does a copy give anybody away? Risk against the truth",
    (
        Study(
            "clean",
            "Shares of verdicts on clean copies that tell a leak",
            ("risk-clean",),
            draw_clean,
            claims_clean,
            command=(
                "python -m benchmarks.risk_splits clean DATA --table adult --out risk.jsonl    "
                "# and cps, bank\n"
                "python -m benchmarks.risk_splits clean DATA --table adult --attacks "
                "near,linkability,singling-out,inference --out risk.jsonl\n"
                "python -m benchmarks.risk_splits show risk.jsonl --csv docs/experiments"
            ),
            shown=shown_clean,
        ),
        Study(
            "planted",
            "Power by the share of planted rows with one cell changed",
            ("risk-planted",),
            draw_planted,
            claims_planted,
            command=(
                "python -m benchmarks.risk_splits planted DATA --table adult --out risk.jsonl    "
                "# and cps, bank\n"
                "python -m benchmarks.risk_splits planted DATA --table adult --attacks copied "
                "--runs 20 --out risk.jsonl\n"
                "python -m benchmarks.risk_splits show risk.jsonl --csv docs/experiments"
            ),
            shown=shown_planted,
        ),
        Study(
            "widths",
            "Half-widths",
            ("risk-widths",),
            None,
            claims_widths,
            command="python -m benchmarks.risk_splits widths DATA --csv docs/experiments",
            shown=shown_widths,
        ),
        Study(
            "copies",
            "Largest excess of each copy against its quality",
            ("risk-copies",),
            draw_copies,
            claims_copies,
            command=(
                "python benchmarks/risk_others.py make DATA FOLDER --seeds 3  # its environment\n"
                "python -m benchmarks.risk_copies FOLDER --out copies.jsonl --csv docs/experiments"
            ),
            shown=shown_copies,
        ),
        Study(
            "trees",
            "Guesses of trees beside those of the nearest row",
            ("risk-copies",),
            None,
            claims_trees,
            command=(
                "python -m benchmarks.risk_copies FOLDER --out copies.jsonl --csv docs/experiments"
            ),
            shown=shown_trees,
        ),
        Study(
            "Anonymeter",
            "Rates of Anonymeter beside ours",
            ("risk-anonymeter",),
            None,
            claims_anonymeter,
            command=(
                "python benchmarks/risk_others.py score FOLDER Anonymeter > anonymeter.json\n"
                "python -m benchmarks.risk_copies FOLDER --out copies.jsonl "
                "--anonymeter anonymeter.json --csv docs/experiments"
            ),
            shown=shown_anonymeter,
        ),
        Study(
            "SDMetrics",
            "Scores of SDMetrics beside ours",
            ("risk-sdmetrics",),
            None,
            claims_sdmetrics,
            command=(
                "python benchmarks/risk_others.py score FOLDER SDMetrics > sdmetrics.json\n"
                "python -m benchmarks.risk_copies FOLDER --out copies.jsonl "
                "--sdmetrics sdmetrics.json --csv docs/experiments"
            ),
            shown=shown_sdmetrics,
        ),
        Study(
            "time",
            "Time and memory",
            ("risk-time",),
            None,
            claims_time,
            command="python -m benchmarks.risk_time DATA --csv docs/experiments",
            shown=shown_time,
        ),
    ),
)
