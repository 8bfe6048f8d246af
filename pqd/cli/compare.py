"""``pqd compare``: several synthetic tables at one price."""

from __future__ import annotations

from typing import Annotated

import typer

from deciders.errors import ParameterError
from pqd.cli import options


def compare(
    private: Annotated[
        str, typer.Argument(help="The private table: .csv, .tsv or .parquet.", show_default=False)
    ],
    candidates: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME=FILE...",
            help="The synthetic tables, taken as public, each with a name.",
            show_default=False,
        ),
    ],
    query: options.QueryTexts = None,
    queries: options.QueryFile = None,
    tau: options.Tau = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            metavar="EPSILON", help="Privacy budget per query, for all candidates together."
        ),
    ] = None,
    alpha: options.Alpha = "0.05",
    estimator: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="auto (chosen per query on public data), or laplace, race_to_the_top, "
            "sum_and_count, rank_counts, exponential, split, for the queries that it fits.",
        ),
    ] = "auto",
    weight: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID=NUMBER",
            help="What a query counts in the leaderboard, else 1; may be given several times.",
        ),
    ] = None,
    tau_of: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID=TAU", help="A tolerance for one query; may be given several times."
        ),
    ] = None,
    with_references: Annotated[
        bool,
        typer.Option(
            "--with-references",
            help="Also compare two reference tables: independent marginals (see "
            "--reference-epsilon), and the first candidate resampled.",
        ),
    ] = False,
    reference_epsilon: Annotated[
        str | None,
        typer.Option(metavar="EPSILON", help="With --with-references: what the marginals cost."),
    ] = None,
    bounds: options.Bounds = None,
    type_: options.Types = None,
    bins: options.Bins = None,
    unit: options.Unit = None,
    max_rows: options.MaxRows = "1",
    ledger: options.LedgerFile = None,
    fresh: options.Fresh = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show every query in full.")
    ] = False,
    json: options.Json = None,
    markdown: options.Markdown = None,
    html: options.Html = None,
) -> None:
    """Compare synthetic tables: who is within TAU on how many queries, as far as noise lets one say.

    Spends EPSILON per query on the private table, however many candidates there are: each query is
    released once, and every verdict follows from that.

    Example: pqd compare private.csv tree=a.csv copula=b.csv --queries queries.sql --tau 5% --epsilon 0.5
    """  # noqa: E501 - the example is one line in the help
    if not epsilon:
        raise ParameterError("--epsilon is missing; give it a value such as 0.5")
    if with_references != bool(reference_epsilon):
        raise ParameterError(
            "--with-references and --reference-epsilon go together: say what the independent "
            "marginals may cost, such as --with-references --reference-epsilon 1"
        )
    from pqd.parameters import privacy_unit

    found = _named(candidates, "candidate", "tree=copy.csv")
    targets = options.targets(json=json, markdown=markdown, html=html)
    targets.check(private, *found.values(), *options.named(queries, ledger))
    people = privacy_unit(unit, max_rows)
    from deciders import SecureNoise

    # OpenDP loads in the background from here on, while the tables are read.
    noise = SecureNoise()
    from pqd.accounting.ledger_location import ledger_path
    from pqd.cli.progress import progress
    from pqd.commands.compare import run_compare
    from pqd.commands.comparison_parameters import ComparisonParameters
    from pqd.execution import Accountant

    terms = options.terms_of(
        tau=tau,
        alpha=alpha,
        decider=estimator,
        bounds=bounds,
        types=type_,
        detailed=False,
    ).at(options.budget(epsilon))
    rules = ComparisonParameters.parse(
        terms,
        _named(weight or [], "weight", "q1=2", last=True),
        _named(tau_of or [], "tolerance", "q1=5%", last=True),
        options.budget(reference_epsilon) if reference_epsilon else None,
    )
    asked = options.selected(query, queries, bins, private, *found.values())
    accountant = Accountant(ledger_path(private, ledger), fresh=fresh)
    with progress() as show:
        report = run_compare(
            private, found, asked, rules, noise, show, accountant=accountant, unit=people
        )
    if not targets.takes_stdout:
        from reports.terminal import TerminalReport

        options.show(TerminalReport(report, verbose=verbose))
    # Last, so that a verdict is seen even where this fails.
    targets.write(report)


def _named(texts: list[str], what: str, example: str, *, last: bool = False) -> dict[str, str]:
    """Read ``NAME=VALUE`` texts; a file may hold the sign, and so may the id of a group."""
    found: dict[str, str] = {}
    for text in texts:
        name, sign, value = text.rpartition("=") if last else text.partition("=")
        if not sign or not name.strip() or not value:
            raise ParameterError(f"{what} {text!r} is not understood; write it as {example}")
        if name in found:
            raise ParameterError(f"two {what}s are called {name!r}; names must differ")
        found[name] = value
    return found
