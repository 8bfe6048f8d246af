"""Sentences of the page: rules, entrants, how to cite and how to extend."""

from benchmarks.quality.entrants import TRIALS
from benchmarks.quality.problems import ALPHA

# Version of the rules.  Whatever changes a problem, a truth or a score makes a new version.
VERSION = 1

ABOUT = """\
# Verdict quality, a benchmark

How good is a verdict on a synthetic copy, and what does its privacy cost?
This benchmark asks every decider and dispatcher of pqd, noisy answers that are compared by hand, and scores of similarity that are not private at all.

```sh
make quality DATA=FOLDER     # the page, its pictures and its CSV files; QUICK=1: small, into build/quick
python -m benchmarks.quality run PRIVATE NAME=COPY... --out results.csv
python -m benchmarks.quality page results.csv --out FOLDER
```

All noise is seeded, so the same command makes the same bytes, and protects nobody: use public tables only.
Without `DATA` the entries are the generated pairs of `samples/`.
With a table and no copy, the copies are made of the table: independent columns, a bootstrap, and one half against the other.
""".splitlines()  # noqa: E501 - lines of the page

RULES = f"""\
## Rules, version {VERSION}

* **A problem** is a query, a tolerance tau and a budget epsilon: is `|q(D) - q(Ds)| < tau` for the private table D and its copy Ds?
* **The truth** is computed on D without noise; a query that has no answer on D is not within tolerance.
* **A query** is COUNT, SUM, AVG, MEDIAN, QUANTILE (0.25 or 0.9) or COUNT(DISTINCT), in turn.
  It aggregates a column of whole numbers with more than 12 distinct values, over the rows where a column with at most 20 distinct values has one of these.
  A COUNT has a second condition: the number is at least that of a drawn row.
* **The draw** reads the copy alone, from the seed and the name of the entry.
  A query enters if it selects at least 30 rows of the copy and its answer there is not 0.
* **Bounds** of a column are public and the same for all entrants: the range of both tables, rounded outwards to two digits.
* **Plain problems** have a tau that is a share of the copy's answer, so no private row has a part in them.
  How many are truly within tolerance stands with each entry.
* **Hard problems** have half and twice the true gap as their tau, so the right answers are no and yes.
  The truth designs this test; no entrant is told it, and their scores stand apart.
* **An answer** is yes, no or undecided.
  An entrant of pqd is undecided where its p-value exceeds alpha = {float(ALPHA):g}; it then still has a leaning, the verdict that it prints.
  A verdict with a condition is undecided too: `auto` may cut values to the copy's, and then says "yes within" or "NO or beyond".
  A decider without p-values is always undecided, as in pqd's reports; its leaning is the verdict of its paper.
* **Balanced error** is the mean of two shares: wrong answers among the truly yes problems, and among the truly no; where one truth alone occurs, it is the share of that one.
  Here an undecided answer counts by its leaning ("error"), and half where there is none.
  "Undecided half" counts every undecided answer as half an error.
* **Decided** is the share of problems with a conclusive yes or no.
* **False** is the share of problems with a conclusive answer that is wrong.
  The number in parentheses counts the problems on which the chance of it exceeds alpha; a private verdict with a valid p-value has none.
* **Chances** over the noise are exact where an entrant gives them, which is so for all deciders but those that prove one outcome.
  The others are shares of {TRIALS} seeded trials a problem.
* **Standard errors** are clustered by query, since problems of one query share its answers.
  `scores.csv` has them over seeds, too (`_seeds_se`): each seed draws new queries, and new copies where these are made of the table.
  Entries of one table share its rows, which neither error covers.
""".splitlines()  # noqa: E501 - lines of the page

ENTRANT_NOTES = """\
## Entrants

* `auto` and `paper`: the dispatchers of pqd, which choose a decider from public data ([deciders](reference/deciders.md)).
* Every decider that fits the aggregate, by its id ([theory](theory.md)).
* `OpenDP by hand`: release a noisy answer with OpenDP at epsilon, and say yes exactly if it is within the tolerance.
  An AVG is a noisy sum divided by a noisy count, each at half of epsilon; a quantile is OpenDP's private quantile, whose candidates are the copy's own values at 501 evenly spaced ranks.
* `OpenDP by hand, with interval`: say nothing where the 95 % interval of the noise holds an end of the tolerance.
  OpenDP's quantile has no such interval.
* `column score`, `score of the selected rows`: not private, and tuned on the truth.
  The first is the mean of SDMetrics' TVComplement or KSComplement of the two columns that the query mentions, the second the KSComplement of its column in the selected rows.
  For each aggregate and tolerance the threshold has the least balanced error on half of the queries; the other half is judged, and the halves are exchanged.
* `always yes`, `always no`.
""".splitlines()  # noqa: E501 - lines of the page

EXTENDING = f"""\
## Cite and extend

Cite it as "pqd, benchmark of verdict quality, rules version {VERSION}", with the version of pqd and the entries.
[quality/queries.csv](quality/queries.csv) has every query with both answers, and [quality/problems.csv](quality/problems.csv) every tolerance with its truth.
[quality/scores.csv](quality/scores.csv) has every score at every budget.
So another program can be judged on the same problems without pqd.

An entrant is a class in one file, and `--entrant module:Class` adds it:

```python
from benchmarks.quality.entrants import Answer


class TenRows:
    name, private = "ten rows", True

    def fits(self, problem):
        return problem.query.aggregate == "COUNT"

    def verdict(self, problem, epsilon, noise):
        noisy = noise.laplace(problem.query.private.mass, 1 / epsilon)
        lower, upper = problem.interval.lower, problem.interval.upper
        far = noisy - 10 > lower and noisy + 10 < upper
        return Answer(says_yes=lower < noisy < upper, conclusive=far)
```

A problem has its `interval` (the answers within tolerance), `tau` and `alpha`, and its `query` has `sql`, `lattice` (the bounds), `copy` and `private` (histograms of the selected rows).
A method `chances(problem, epsilon)` spares the trials ([benchmarks/quality/entrants.py](../benchmarks/quality/entrants.py)).
The draws of an entrant depend on its name and on the problem alone, so a new entrant changes no other score.
A new entry changes the thresholds of the tuned scores alone, beside the means.
An own table is an entry by `run PRIVATE NAME=COPY...`; `page` then makes this page of it.
""".splitlines()  # noqa: E501 - lines of the page

RESULTS_NOTE = """\
Plain problems alone; numbers are per cent, with one standard error by query.
Bold is the least balanced error of a private entrant.

![Balanced error against epsilon, by aggregate](quality/balanced-error.svg)

![Share decided against epsilon, by aggregate](quality/decided.svg)

The bars are two standard errors.
In the second picture are the entrants that may stay undecided.
""".splitlines()

HARD_NOTE = """\
The tolerance is half or twice the true gap.
So where the gap is small beside the noise, no private answer can decide.
""".splitlines()

READING = """\
A row for each aggregate, kind of problem and budget in which a private entrant errs less than `auto`, or decides more, by more than two standard errors of the difference; the best one is shown.
The difference is paired by problem, and its error clustered by query.
An entrant that is false more often than alpha on any problem, or whose chances are those of trials, is not compared by what it decides.
`auto` is made to decide with a valid p-value, not for the least error of leanings.
It prefers a decider that shows the noisy answer, where this is nearly as sharp, and it may cut values to the copy's, which makes a condition.
""".splitlines()  # noqa: E501 - lines of the page

SUMMARY = """\
## Where `auto` wins

The number of aggregates in which `auto` has the smaller balanced error on plain problems, of those that the other entrant answers:
""".splitlines()  # noqa: E501 - lines of the page
