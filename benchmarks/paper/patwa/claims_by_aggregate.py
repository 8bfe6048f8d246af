"""Claims of section 7.2.1 of DP-PQD, sentence by sentence, judged on exact errors."""

from collections.abc import Iterator

import pandas as pd

from benchmarks.paper.patwa.errors import EPSILONS, TAUS
from benchmarks.paper.patwa.tables import TIE, Errors, falling, told
from benchmarks.paper.record import Claim, judged

_COUNT, _SUM, _MEDIAN = (f"7.2.1, {name}" for name in ("COUNT", "SUM", "MEDIAN"))
OVERFLOW = (
    "the paper's rise comes from exp that overflows; the mechanism, evaluated stably, has no such "
    "error (errata, number 7)"
)


def count_by_tau(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on Figure 5."""
    errors = Errors.of(frame)
    lm, em = errors.along_tau("q1", "lm_count"), errors.along_tau("q1", "em_count")
    yield Claim(
        _COUNT,
        "q1, where q(D) = q(Ds): the errors of LM and EM decrease as tau grows",
        f"LM {told(lm)}; EM {told(em)}",
        judged(holds=falling(lm) and falling(em)),
    )
    yield Claim(
        _COUNT,
        "q1: EM gives the smaller error",
        f"EM at most LM at all five tau: {told(em)} against {told(lm)}",
        judged(holds=all(a <= b + TIE for a, b in zip(em, lm, strict=True))),
    )
    inside = [tau for tau in TAUS if not errors.inside("q3", tau)]
    yield Claim(
        _COUNT,
        "q3: q(D) is outside the interval for tau up to 3.2 %",
        f"outside at {', '.join(inside)} %",
        judged(holds=inside == list(TAUS[:3])),
    )
    lm, em = errors.along_tau("q3", "lm_count"), errors.along_tau("q3", "em_count")
    yield Claim(
        _COUNT,
        "q3: LM's error increases up to tau 3.2 %, where q(D) is nearest to an end, before it "
        "goes to 0",
        told(lm),
        judged(holds=lm[2] > lm[1] + TIE and lm[2] == max(lm) and lm[4] < 0.001),
    )
    yield Claim(
        _COUNT,
        "q3: EM's error starts decreasing for tau above 3.2 %",
        told(em),
        judged(holds=em[3] < em[2] and em[4] < em[3] and max(em[:3]) - min(em[:3]) < 0.06),
    )
    yield Claim(
        _COUNT,
        "q3: EM's error for tau up to 3.2 % ranges from 0.39 to 0.45 (100 trials)",
        f"{told(em[:3])}; with tau not rounded up it would be .489 .455 .432",
        judged(holds=all(0.39 <= error <= 0.45 for error in em[:3])),
    )
    outside = [tau for tau in TAUS if not errors.inside("q5", tau)]
    yield Claim(
        _COUNT,
        "q5: q(D) is outside the interval for tau up to 0.8 %, inside and nearest to an end at "
        "3.2 %",
        f"outside at {', '.join(outside)} %",
        judged(holds=outside == list(TAUS[:2])),
    )
    lm, em = errors.along_tau("q5", "lm_count"), errors.along_tau("q5", "em_count")
    yield Claim(
        _COUNT,
        "q5: LM's error has the same trend as for q3, with its peak at 3.2 %",
        told(lm),
        judged(holds=lm[2] == max(lm) and lm[4] < 0.001),
    )
    yield Claim(
        _COUNT,
        "q5: at tau 0.2 % EM says yes, wrongly, with probability 0.27",
        told(em[:1]),
        judged(holds=abs(em[0] - 0.27) < 0.005),
    )
    yield Claim(
        _COUNT,
        "q5: EM's error increases at 3.2 % before it goes to 0",
        told(em),
        judged(holds=em[2] > em[1] and em[4] < 0.001),
    )
    worst = max(
        error for name in ("lm_count", "em_count") for error in errors.along_tau("q12", name)
    )
    yield Claim(
        _COUNT,
        "q12: LM and EM give error 0",
        f"at most {worst:.1g}",
        judged(holds=worst < 0.001),
    )


def count_by_epsilon(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on Figure 6."""
    errors = Errors.of(frame)
    kept = [
        falling(errors.along_epsilon(query, name))
        for query in ("q1", "q5")
        for name in ("lm_count", "em_count")
    ]
    yield Claim(
        _COUNT,
        "the errors of LM and EM decrease as epsilon grows, but for q3 and q12",
        f"q1 and q5: {sum(kept)} of {len(kept)} lines decrease",
        judged(holds=all(kept)),
    )
    lm, em = errors.along_epsilon("q3", "lm_count"), errors.along_epsilon("q3", "em_count")
    yield Claim(
        _COUNT,
        "q3: LM's error increases at first, since the noisy answer falls into the interval more "
        "often (and later goes to 0)",
        told(lm),
        judged(holds=lm[1] > lm[0] and lm[4] < max(lm)),
    )
    yield Claim(
        _COUNT,
        "q3: EM's error increases similarly",
        told(em),
        judged(holds=em[1] > em[0] + TIE),
        "the probability of yes is 1 / (1 + exp(epsilon (l - q(D)))), which falls with epsilon "
        "wherever q(D) is outside; what 100 trials show is chance",
    )
    em = errors.along_epsilon("q12", "em_count")
    yield Claim(
        _COUNT,
        "q12: EM's error increases for epsilon above 0.5",
        told(em),
        judged(holds=em[4] > em[2] + TIE),
        OVERFLOW,
    )


def sum_by_tau(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on Figure 7."""
    errors = Errors.of(frame)
    lm = errors.along_tau("q13", "lm_sum")
    yield Claim(
        _SUM,
        "q13 is outside the interval at tau 0.2 %, where LM's error is low",
        f"LM {told(lm)}",
        judged(holds=not errors.inside("q13", "0.2") and lm[0] < 0.05),
    )
    yield Claim(
        _SUM,
        "q13: LM's error shoots up at 0.8 %, where q(D) is inside, and decreases from there on",
        f"LM {told(lm)}",
        judged(holds=errors.inside("q13", "0.8") and lm[1] > 0.5 and falling(lm[1:])),
    )
    peaks = {}
    for query in ("q16", "q20"):
        line = errors.along_tau(query, "lm_sum")
        peaks[query] = line
    holds = all(line.index(max(line)) in {1, 2} and line[4] < 0.01 for line in peaks.values())
    yield Claim(
        _SUM,
        "similarly for q16 and q20",
        "; ".join(f"{query} {told(line)}" for query, line in peaks.items()),
        judged(holds=holds),
        "the peak lies elsewhere",
    )
    line = errors.along_tau("q21", "lm_sum")
    yield Claim(
        _SUM, "q21: LM's error is 0 in all cases", told(line), judged(holds=max(line) < 0.001)
    )
    for query in ("q13", "q16"):
        line = errors.along_tau(query, "r2t_sum")
        within = [error for tau, error in zip(TAUS, line, strict=True) if errors.inside(query, tau)]
        yield Claim(
            _SUM,
            f"{query}: R2T's error is close to 1 whenever q(D) is inside",
            told(within),
            judged(holds=min(within) > 0.9),
        )
    for query, text in (
        (
            "q20",
            "R2T's error is high where q(D) is inside and tau is small, and decreases with tau",
        ),
        ("q21", "R2T's error has the trend of q20 but stays low, since tau is large"),
    ):
        line = errors.along_tau(query, "r2t_sum")
        within = [error for tau, error in zip(TAUS, line, strict=True) if errors.inside(query, tau)]
        high = within[0] > 0.5 if query == "q20" else max(within) < 0.5
        yield Claim(_SUM, f"{query}: {text}", told(line), judged(holds=high and falling(within)))
    line = errors.along_tau("q13", "svt_sum")
    yield Claim(
        _SUM,
        "q13: SVT's error is low at 0.2 %, where q(D) < l",
        told(line[:1]),
        judged(holds=line[0] < 0.2),
    )
    yield Claim(
        _SUM,
        "q13: for larger tau q(D) moves away from the ends, so SVT's error decreases",
        told(line[1:]),
        judged(holds=falling(line[1:])),
    )
    lines = {query: errors.along_tau(query, "svt_sum") for query in ("q13", "q16", "q20", "q21")}
    sooner = all(lines[query][3] < lines["q13"][3] - 0.1 for query in ("q20", "q21"))
    yield Claim(
        _SUM,
        "similarly for q16, q20 and q21, where for the last two SVT's error decreases sooner",
        "; ".join(f"{query} {told(line)}" for query, line in lines.items()),
        judged(holds=sooner and all(line[4] < 0.5 for line in lines.values())),
    )


def sum_by_epsilon(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on Figure 8."""
    errors = Errors.of(frame)
    lines = {query: errors.along_epsilon(query, "lm_sum") for query in ("q13", "q16", "q20", "q21")}
    steady = [query for query, line in lines.items() if falling(line)]
    yield Claim(
        _SUM,
        "LM's error decreases with epsilon on the four queries",
        "; ".join(f"{query} {told(line)}" for query, line in lines.items()),
        judged(holds=len(steady) == len(lines), partly=bool(steady)),
        "q16 lies outside the interval and near its end: at the smallest epsilon the noisy answer "
        "rarely falls into it, so the error rises first, as for q3",
    )
    for query in ("q13", "q20"):
        line = errors.along_epsilon(query, "r2t_sum")
        yield Claim(
            _SUM,
            f"{query}, inside at 3.2 %: a larger epsilon does not change R2T's error",
            told(line),
            judged(holds=errors.inside(query) and max(line) - min(line) < 0.05),
        )
    line = errors.along_epsilon("q21", "r2t_sum")
    yield Claim(
        _SUM,
        "q21: R2T's error decreases, since the width of the interval stays the same",
        told(line),
        judged(holds=falling(line) and line[0] > line[-1]),
    )
    changes = {query: errors.along_epsilon(query, "svt_sum") for query in ("q13", "q20", "q21")}
    yield Claim(
        _SUM,
        "inside the interval SVT's error does not change much with epsilon",
        "; ".join(f"{query} {told(line)}" for query, line in changes.items()),
        judged(holds=all(max(line) - min(line) < 0.1 for line in changes.values())),
    )
    yield Claim(
        _SUM,
        "q13 and q20 are near the left ends of their intervals, so SVT's error is high",
        "; ".join(f"{query} {told(changes[query])}" for query in ("q13", "q20")),
        judged(holds=all(min(changes[query]) > 0.5 for query in ("q13", "q20"))),
    )
    line = errors.along_epsilon("q16", "svt_sum")
    yield Claim(
        _SUM,
        "q16, where q(D) < l: SVT's error decreases with epsilon",
        told(line),
        judged(holds=falling(line) and line[-1] < line[0]),
    )


def taxi_sums(frame: pd.DataFrame, real: pd.DataFrame) -> Iterator[Claim]:
    """Claims on Figure 11."""
    errors, trips = Errors.of(frame), Errors.of(real, "taxi")
    peaks = {name: errors.along_tau("q45", name) for name in ("lm_sum", "r2t_sum")}
    yield Claim(
        _SUM,
        "q45: LM and R2T err most at tau 3.2 %, where q(D) is inside and near r",
        "; ".join(f"{name} {told(line)}" for name, line in peaks.items()),
        judged(holds=all(line[2] == max(line) for line in peaks.values())),
    )
    lines = {name: errors.along_tau("q50", name) for name in ("lm_sum", "r2t_sum")}
    yield Claim(
        _SUM,
        "q50: at 0.8 % q(D) is outside and near r, and LM and R2T err little",
        "; ".join(f"{name} {told(line)}" for name, line in lines.items()),
        judged(
            holds=not errors.inside("q50", "0.8") and all(line[1] < 0.1 for line in lines.values())
        ),
    )
    low = errors.along_tau("q45", "svt_sum")
    line, on_trips = errors.along_tau("q50", "svt_sum"), trips.along_tau("q50", "svt_sum")
    yield Claim(
        _SUM,
        "SVT errs little on both queries, but for q50 at 0.8 %, where Algorithm 4's threshold is "
        "often below the largest value",
        f"q45 {told(low)}; q50 {told(line)}; q50 on real trips {told(on_trips)}",
        judged(holds=line.index(max(line)) == 1, partly=max(low) < 0.2),
        "where the loss shows depends on the tail: on our generated trips at 3.2 %, on the real "
        "ones nowhere; its cause is the one that the paper names (errata, number 6)",
    )
    names = ("lm_sum", "r2t_sum", "svt_sum")
    least = {name: errors.along_epsilon("q45", name)[0] for name in names}
    yield Claim(
        _SUM,
        "q45: at a small epsilon all three err with at least 0.35, R2T the most",
        ", ".join(f"{name} {told([error])}" for name, error in least.items()),
        judged(holds=min(least.values()) >= 0.35 and least["r2t_sum"] == max(least.values())),
    )
    found = {name: max(errors.along_epsilon("q50", name)) for name in names}
    on_trips = [max(trips.along_epsilon("q50", name)) for name in names]
    yield Claim(
        _SUM,
        "q50: all three give error 0 at tau 3.2 %",
        f"largest over epsilon: {', '.join(f'{n} {told([e])}' for n, e in found.items())}; "
        f"on real trips {told(on_trips)}",
        judged(holds=max(found.values()) < 0.05, partly=found["lm_sum"] < 0.05),
        "LM and R2T do; SVT cuts off the tail of our generated trips, but not of real ones",
    )


def median_by_tau(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on Figure 9."""
    errors = Errors.of(frame)
    four = ("q22", "q23", "q28", "q29")
    em = {query: errors.along_tau(query, "em_median") for query in four}
    yield Claim(
        _MEDIAN,
        "q22 and q29 have a large support, so EM's distribution is concentrated at the median; the "
        "opposite holds for q23 and q28",
        "error at 3.2 %: " + ", ".join(f"{query} {told([line[2]])}" for query, line in em.items()),
        judged(holds=max(em[q][2] for q in ("q22", "q29")) < min(em[q][2] for q in ("q23", "q28"))),
    )
    yield Claim(
        _MEDIAN,
        "EM's error decreases as tau grows",
        "; ".join(f"{query} {told(line)}" for query, line in em.items()),
        judged(holds=all(map(falling, em.values()))),
    )
    hist = {query: errors.along_tau(query, "hist_median") for query in four}
    yield Claim(
        _MEDIAN,
        "Hist's error decreases in all cases",
        "; ".join(f"{query} {told(line)}" for query, line in hist.items()),
        judged(holds=all(map(falling, hist.values()))),
    )


def median_by_epsilon(frame: pd.DataFrame) -> Iterator[Claim]:
    """Claims on Figure 10."""
    errors = Errors.of(frame)
    four = ("q22", "q23", "q28", "q29")
    em = {query: errors.along_epsilon(query, "em_median") for query in four}
    yield Claim(
        _MEDIAN,
        "EM's error decreases as epsilon grows, but for q29",
        "; ".join(f"{query} {told(line)}" for query, line in em.items()),
        judged(holds=all(falling(em[query]) for query in four[:3])),
    )
    yield Claim(
        _MEDIAN,
        "q29: EM's error rises, since the scores are large negative numbers",
        told(em["q29"]),
        judged(holds=em["q29"][-1] > em["q29"][0] + TIE),
        "the paper's exp underflows to 0; the mechanism, evaluated stably, errs less with more "
        "budget (errata, number 7)",
    )
    hist = {query: errors.along_epsilon(query, "hist_median") for query in four}
    yield Claim(
        _MEDIAN,
        "Hist's error decreases as epsilon grows",
        "; ".join(f"{query} {told(line)}" for query, line in hist.items()),
        judged(holds=all(map(falling, hist.values()))),
    )
    smaller = [
        errors.at(query, "hist_median", tau=tau, epsilon=epsilon)
        < errors.at(query, "em_median", tau=tau, epsilon=epsilon)
        for query in ("q23", "q28")
        for tau in TAUS[:3]
        for epsilon in EPSILONS
    ]
    yield Claim(
        "7.2.1 and C.2",
        "Hist's error is smaller than EM's on q23 and q28, even at small tau and epsilon",
        f"in {sum(smaller)} of {len(smaller)} settings with tau up to 3.2 %",
        judged(holds=all(smaller), partly=sum(smaller) > len(smaller) / 2),
        "at the two smallest epsilon and tau 3.2 % EM errs less on q23, since Hist draws three "
        "noises at half the budget each",
    )
