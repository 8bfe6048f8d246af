"""Comparisons made by hand: many queries on several candidates, ties, gaps that are not known."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from pqd.deciders.note import Note
from pqd.reports.models.audit import CompositionGroup, Cost
from pqd.reports.models.compare import (
    Cell,
    ComparedQuery,
    CompareReport,
    EstimatorFacts,
    LeaderboardRow,
)

NAMES = ("tree", "copula", "gan", "marginals", "bootstrap")
KINDS = {"marginals": "marginals", "bootstrap": "bootstrap"}
ALPHA = Fraction(1, 20)
SUBJECTS = (
    ("COUNT", None, "sex LIKE 'Female' AND race LIKE 'White' AND workly LIKE 'Yes'", 3871),
    ("SUM", "inctot", "educ LIKE 'Master''s degree' AND marst LIKE 'Widowed'", 1897546),
    ("MEDIAN", "age", "sex LIKE 'Male' AND race LIKE 'Black'", 41),
    ("COUNT", None, "marst LIKE 'Never married/single' AND citizen LIKE 'Born in U.S'", 512),
    ("AVG", "inctot", "age BETWEEN 30 AND 39", 48210.5),
    ("COUNT DISTINCT", "occupation", None, 371),
)
# How far each candidate lies from the private answer, in tolerances, query by query.
_STRAINS = {
    "tree": (0.1, 0.3, -0.6, 0.2, 0.9, -0.4, 1.3),
    "copula": (0.2, -0.7, 0.4, 1.1, 0.3, 0.8, 0.5),
    "gan": (-1.6, 0.9, 2.4, 0.3, -5.2, 1.2, 0.7),
    "marginals": (3.1, 1.4, -8.0, 0.6, 2.2, 140.0, -1.1),
    "bootstrap": (0.0, 0.1, -0.1, 0.2, 0.1, 0.0, -0.2),
}


def _cell(name: str, place: int, answer: float, tau: float, released: str) -> Cell:
    strains = _STRAINS[name]
    strain = strains[place % len(strains)]
    whole = isinstance(answer, int)
    synthetic = round(answer - strain * tau) if whole else answer - strain * tau
    decided = abs(abs(strain) - 1) > 0.25
    gap: float | None = round(strain * tau) if whole else strain * tau
    if released == "each by itself":
        gap = None
    reach = tau * 0.2
    if name == "gan" and place % 8 == 7:
        # No row of this candidate matches.
        return Cell(candidate=name, q_synthetic=None, tau=0, lower=None, upper=None, outcome="no",
                    error=0.01, alpha=ALPHA)  # fmt: skip
    return Cell(
        candidate=name,
        q_synthetic=synthetic,
        tau=tau,
        lower=synthetic - tau,
        upper=synthetic + tau,
        outcome="yes" if abs(strain) < 1 else "no",
        error=0.01 if decided else 0.2,
        alpha=ALPHA,
        p_value=None if released == "laplace" else 0.0004 if decided else 0.21,
        margin=int(40 * (1 - abs(strain))) if gap is None else None,
        gap=gap,
        gap_low=None if gap is None or place % 11 == 10 else gap - reach,
        gap_high=None if gap is None else gap + reach,
    )


def query(place: int, names: tuple[str, ...] = NAMES) -> ComparedQuery:
    """Query number ``place``; every third has another kind of release."""
    aggregate, attribute, where, answer = SUBJECTS[place % len(SUBJECTS)]
    released = ("geometric", "laplace", "each by itself")[place % 3]
    tau = max(1, round(answer * 0.05))
    estimate = None if released == "each by itself" else answer
    condition = f" WHERE {where}" if where else ""
    operand = f"DISTINCT {attribute}" if aggregate == "COUNT DISTINCT" else attribute or "*"
    cells = tuple(_cell(name, place, answer, tau, released) for name in names)
    gaps = {cell.candidate: abs((cell.q_synthetic or 0) - answer) for cell in cells}
    return ComparedQuery(
        id=f"q{place + 1}",
        sql=f"SELECT {aggregate.split()[0]}({operand}) FROM D{condition}",
        aggregate=aggregate,
        attribute=attribute,
        p=None,
        where=where,
        weight=1 + place % 2,
        tolerance="5%",
        estimator=released,
        reason="most often right on test tables made from the copies",
        estimators=(
            EstimatorFacts("geometric", 0.01, exact=True),
            EstimatorFacts("laplace", 0.02, exact=False),
            EstimatorFacts("each by itself", 0.3, exact=True),
        ),
        epsilon=Fraction(1, 4),
        tau_min=float("inf") if place % 13 == 12 else tau * 0.4,
        cells=cells,
        closest=tuple(name for name in names if gaps[name] == min(gaps.values())),
        estimate=estimate,
        low=None if estimate is None or place % 11 == 10 else answer - tau * 0.2,
        high=None if estimate is None else answer + tau * 0.2,
    )


def standing(
    queries: tuple[ComparedQuery, ...], name: str, ranks: tuple[int, int]
) -> LeaderboardRow:
    """Leaderboard row of a candidate over ``queries``."""
    cells = {q.id: q.cell(name) for q in queries}
    fates = [cell.standing.fate for cell in cells.values()]
    share = sum(cell.outcome == "yes" for cell in cells.values()) / (len(cells) or 1)
    return LeaderboardRow(
        candidate=name,
        kind=KINDS.get(name, "candidate"),  # type: ignore[arg-type]
        share=share,
        low=max(0.0, share - 0.11),
        high=min(1.0, share + 0.08),
        trusted=fates.count("passed"),
        not_trusted=fates.count("failed"),
        undecided=fates.count("open"),
        best_rank=ranks[0],
        worst_rank=ranks[1],
        wins=tuple(q.id for q in queries if name in q.closest),
        worst=tuple(sorted(cells, key=lambda id_: -(cells[id_].strain or 0))[:5]),
    )


def report_of(
    queries: tuple[ComparedQuery, ...], names: tuple[str, ...] = NAMES, simulated: bool = False
) -> CompareReport:
    """Comparison; the better half of the candidates is established as better."""
    order = ("bootstrap", "tree", "copula", "gan", "marginals", *names)
    ranked = [name for name in dict.fromkeys(order) if name in names]
    middle = (len(ranked) + 1) // 2
    board = tuple(
        standing(queries, name, (1, middle) if place < middle else (middle + 1, len(ranked)))
        for place, name in enumerate(ranked)
    )
    return CompareReport(
        queries=tuple(replace(q, simulated=simulated) for q in queries),
        leaderboard=board,
        better=tuple((a, b) for a in ranked[:middle] for b in ranked[middle:]),
        candidates={name: f"{name}.parquet" for name in names if name not in KINDS},
        private="census_private.parquet",
        tolerance="5%",
        alpha=ALPHA,
        cost=Cost(
            epsilon=Fraction(len(queries), 4),
            rule="sequential",
            groups=tuple(CompositionGroup((q.id,), Fraction(1, 4)) for q in queries),
            ledger="pqd-ledger.sqlite",
            total=Fraction(len(queries), 4) + 2,
            limit=Fraction(30),
        ),
        notes=(Note("Bounds of inctot from the synthetic tables: 0..500,000 step 1.", ()),),
    )


def grouped(groups: int) -> CompareReport:
    """Comparison of two queries, one of them grouped."""
    parts = tuple(
        replace(
            query(3 * place), id=f"by-age[age = {place}]", block="by-age", group=f"age = {place}"
        )
        for place in range(groups)
    )
    return report_of((query(1), *parts))


def many_compared(number: int) -> CompareReport:
    """Comparison by as many queries."""
    return report_of(tuple(map(query, range(number))))


LARGE = report_of(tuple(query(place) for place in range(60)))
SMALL = report_of(tuple(query(place) for place in range(3)))
SIMULATED = report_of(tuple(query(place) for place in range(3)), simulated=True)
ONE = report_of((query(0, ("tree",)),), ("tree",))
EMPTY = replace(report_of(()), leaderboard=(), better=())
CERTAIN = replace(
    SMALL,
    better=tuple((a, b) for i, a in enumerate(NAMES) for b in NAMES[i + 1 :]),
    leaderboard=tuple(standing(SMALL.queries, n, (i, i)) for i, n in enumerate(NAMES, 1)),
)
GROUPED = grouped(200)
REPORTS = (LARGE, GROUPED, SMALL, SIMULATED, ONE, EMPTY, CERTAIN)


def quoting(text: str) -> CompareReport:
    """Comparison that says ``text`` wherever users and tables can say something."""
    name = f"{text}c"
    (cell,) = query(0, ("tree",)).cells
    asked = replace(
        query(0, ("tree",)), id=text, sql=text, where=text, attribute=text, tolerance=text,
        estimator=text, reason=text, estimators=(EstimatorFacts(text, 0.1, exact=True),) * 2,
        cells=(replace(cell, candidate=name),), closest=(name,), block=text, group=text,
        block_sql=text,
    )  # fmt: skip
    board = replace(
        standing((query(0, ("tree",)),), "tree", (1, 1)),
        candidate=name,
        wins=(text,),
        worst=(text,),
    )
    single = replace(asked, block=None, id=f"{text}s")
    return replace(
        SMALL, queries=(asked, single), leaderboard=(board,), better=((name, text),),
        candidates={name: text}, private=text, tolerance=text, notes=(Note(text, ()),),
    )  # fmt: skip
