"""Check reports made by hand: every status and gate, groups, a baseline, a dry run."""

from dataclasses import replace
from fractions import Fraction

from hypothesis import strategies as st

from pqd.deciders.note import Note
from pqd.reports.models.audit import CompositionGroup, Cost, Verdict
from pqd.reports.models.check import CheckReport, CheckResult
from pqd.reports.models.query import CandidateFacts
from pqd.reports.models.standings import Leaning

CHOSEN = CandidateFacts(
    "inv_count", 10.0, True, 9.2, 0.02, 0.03, 0.9, (0.9, 0.1, None), decision_chance=0.93
)
POOR = replace(CHOSEN, false_no=0.4, decision_chance=0.34)
YES = Verdict(
    id="rows",
    sql="SELECT COUNT(*) FROM D WHERE age > 40",
    aggregate="COUNT",
    attribute=None,
    p=None,
    where="age > 40",
    q_synthetic=1122,
    tau=56.1,
    decider="inv_count",
    reason="most often right of those with p-values",
    candidates=(CHOSEN,),
    lower=1065.9,
    upper=1178.1,
    epsilon=Fraction(1, 4),
    alpha=Fraction(1, 20),
    leans="yes",
    tau_min=10.0,
    synthetic="copy.csv",
    p_value=0.004,
    margin=22,
    evidence="proof",
)
NO = replace(YES, leans="no", margin=-3, p_value=0.01)
OPEN = replace(YES, evidence="none", p_value=0.31, margin=0, tau=2, candidates=(POOR,))
_BY_SEX: tuple[tuple[str, Leaning], ...] = (("Female", "yes"), ("Male", "no"))
GROUPS = tuple(
    replace(YES, id=f"by-sex[{key}]", block="by-sex", group=f"sex = {key}", leans=outcome)
    for key, outcome in _BY_SEX
)

PASS = CheckResult(
    id="rows",
    line=12,
    sql=YES.sql,
    tolerance="5%",
    expect="close",
    severity="error",
    on_undecided="fail",
    status="as expected",
    gate="pass",
    message="within tolerance, as expected",
    verdicts=(YES,),
)
FAIL = replace(
    PASS,
    id="pay",
    line=18,
    status="not as expected",
    gate="fail",
    message="outside tolerance, expected close",
    verdicts=(NO,),
)
FLIPPED = replace(FAIL, id="turned", flip=0.02131, message="the baseline had it as expected")
FAR = replace(FAIL, id="far", expect="far", message="within tolerance", verdicts=(YES,))
UNDECIDED = replace(
    FAIL, id="few", line=24, status="undecided", message="leans yes", verdicts=(OPEN,)
)
LENIENT = replace(UNDECIDED, id="lenient", gate="pass", on_undecided="pass")
UNSURE = replace(UNDECIDED, id="unsure", gate="warn", on_undecided="warn")
WARN = replace(FAIL, id="mild", gate="warn", severity="warn")
KNOWN = replace(FAIL, id="old", gate="known", message="failed in the baseline too")
GROUPED = replace(FAIL, id="by-sex", message="1 of 2 groups outside", verdicts=GROUPS)
BROKEN = replace(
    FAIL,
    id="capital",
    line=36,
    status="broken",
    gate="error",
    exit_code=2,
    message='no column capital; did you mean "capital-gain"?\n'
    "  SELECT SUM(capital) FROM D WHERE age > 40 AND relationship = 'Unmarried' AND sex = 'Male'\n"
    "             ^^^^^^^",
    verdicts=(),
)
PLAN = replace(PASS, id="later", status="planned", message="inv_count would do", verdicts=())
NARROW = replace(PLAN, id="rare", gate="warn", message="NOT decidable: no epsilon would do")
ALL = (PASS, FAIL, FLIPPED, FAR, UNDECIDED, LENIENT, UNSURE, WARN, KNOWN, GROUPED, BROKEN, PLAN)

COST = Cost(
    epsilon=Fraction(1, 3),
    rule="parallel",
    groups=(
        CompositionGroup(
            ("a", "b", "c"), Fraction(1, 4), ("no row can satisfy two of them: x = 1, x = 2",)
        ),
        CompositionGroup(("d",), Fraction(1, 12)),
    ),
)


def report_of(*checks: CheckResult, cost: Cost = COST) -> CheckReport:
    return CheckReport(spec="audit.toml", private="private.csv", checks=checks, cost=cost)


def many_checks(number: int) -> CheckReport:
    """Report of as many checks, of every gate."""
    return report_of(
        *(replace(ALL[n % len(ALL)], id=f"check-{n}", line=10 + 6 * n) for n in range(number))
    )


BASED = replace(report_of(*ALL), baseline="old.json", notes=(Note("Bounds of x from there.", ()),))
DRY = replace(report_of(PLAN, BROKEN, NARROW), dry=True)
SIMULATED = report_of(
    *(replace(e, verdicts=tuple(replace(v, simulated=True) for v in e.verdicts)) for e in ALL)
)
REPORTS = (
    *map(report_of, ALL),
    report_of(),
    BASED,
    DRY,
    SIMULATED,
)

_NASTY = (
    "<script>alert(1)</script>", "]]>", "](http://evil.example)", "@someone", "a|b", "\\|", "`x`",
    "\r::error::x", "\n::error::x", "\n", "\r\n", "##[x]##vso[x]", "%0A", "<!-- ", "-->", "&amp;",
    '"', "'", "</pre>", "</details>\n\n# x", "\n\n<img src=x>", "www.evil.example", "http://e.com",
    "a@b.com", "\x1b[31m", "\x00", "\u202e", "\u2028", "\ufffe", "\ud800", "中文", "**x**", "_y_",
    "{{ 1 }}", "~~~", "```", "- ", "1. ", "| --- |", "\t", "    x", "$x$", ":smile:", "#1", "GH-1",
)  # fmt: skip
hostile = st.lists(st.sampled_from(_NASTY) | st.text(max_size=6), max_size=5).map("".join)


def quoting(text: str) -> CheckReport:
    """Report that says ``text`` wherever users and tables can say something."""
    line = text.replace("\n", " ")
    verdict = replace(NO, id=text, sql=text, where=text, attribute=text, synthetic=text)
    group = replace(verdict, group=text, block=text, block_sql=text)
    checks = (
        replace(FAIL, id=text, sql=text, tolerance=text, message=line, verdicts=(verdict,)),
        replace(GROUPED, id=text, sql=text, message=line, verdicts=(group, group)),
        replace(BROKEN, id=text, sql=text, message=f"x\nSELECT {text}\n       ^^"),
        replace(PASS, id=text, sql=text, message=line, tolerance=text),
    )
    shared = CompositionGroup((text, "b"), Fraction(1, 4), (text,))
    return CheckReport(
        spec=text,
        private=text,
        checks=checks,
        cost=Cost(Fraction(1), groups=(shared,), ledger=f"x{text}", total=Fraction(1), unit=text),
        dry=True,
        baseline=text,
        notes=(Note(text, ()),),
    )
