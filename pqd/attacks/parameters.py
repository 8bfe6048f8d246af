"""Parameters of a risk report, which a caller states: budget, tolerance, secrets, what is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from pqd.attacks.outcomes import KINDS, MOST_SECRETS
from pqd.attacks.trees import LEARNERS, LearnerId
from pqd.deciders.exact import Number, budget_of, probability
from pqd.deciders.names import suggestion
from pqd.deciders.note import Note, note
from pqd.deciders.options import option
from pqd.errors import ParameterError
from pqd.marginals.classifier import require_library
from pqd.marginals.profile_parameters import ProfileRequest, stated_names
from pqd.parameters import stated_rows
from pqd.planning.query_warnings import budget_warnings
from pqd.reports.models.risk import AttackId
from pqd.sql.schema import fold_case
from pqd.sql.tolerance import Tolerance
from pqd.stated.budgets import total_budget
from pqd.stated.column_facts import StatedColumns, parse_columns

USUAL_EPSILON, USUAL_TAU = Fraction(1), "1%"


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskParameters:
    """Parameters of a risk report; all of it public.

    Attributes
    ----------
    request
        The columns, and the facts about them.
    total_epsilon
        The budget on the private table, and on the held-out table.
    tau, tolerance
        The tolerance of an excess: as a share of the rows, below 1, and as the caller wrote it.
    alpha
        The error probability that the caller accepts.
    secrets
        The columns that an attacker guesses; None for a public choice.
    known
        The columns that an attacker knows; None for all but the secret.
    kinds
        The kinds of attacks that are tried.
    copy_epsilon
        The epsilon with which the copy was made; None if it was made without.
    learner
        The way in which an attacker guesses a secret: by the nearest row, or by boosted trees.
    private_rows, held_out_rows
        The numbers of rows that a plan takes for granted; None for that of the copy.
    """

    request: ProfileRequest
    total_epsilon: Fraction
    tau: Fraction
    tolerance: str
    alpha: Fraction
    secrets: tuple[str, ...] | None
    known: tuple[str, ...] | None
    kinds: tuple[AttackId, ...]
    copy_epsilon: Fraction | None
    learner: LearnerId
    private_rows: int | None = None
    held_out_rows: int | None = None

    @classmethod
    def parse(  # noqa: PLR0913 - the facts of a risk report, all by keyword
        cls,
        *,
        total_epsilon: Number = USUAL_EPSILON,
        tau: Number = USUAL_TAU,
        alpha: Number = "0.05",
        columns: Sequence[str] | None = None,
        secrets: Sequence[str] | None = None,
        known: Sequence[str] | None = None,
        attacks: Sequence[str] | None = None,
        copy_epsilon: Number | None = None,
        learner: str = "nearest",
        private_rows: Number | None = None,
        held_out_rows: Number | None = None,
        facts: StatedColumns | None = None,
    ) -> RiskParameters:
        """Parameters that a caller states; ParameterError names the mistake and allowed values."""
        tolerance = Tolerance.parse(tau)
        named, hidden, given = (
            stated_names(columns, "columns"),
            stated_names(secrets, "secrets"),
            stated_names(known, "known"),
        )
        if hidden is not None and len(hidden) > MOST_SECRETS:
            raise ParameterError(
                f"{len(hidden)} secrets ({option('--secret')}) are stated; at most "
                f"{MOST_SECRETS} are allowed in one run"
            )
        kinds = _kinds(attacks)
        chosen = _learner(learner)
        if "inference" not in kinds and (hidden or given or chosen != "nearest"):
            what = f"a learner ({option('--learner')})"
            if given:
                what = f"a known column ({option('--known')})"
            if hidden:
                what = f"a secret ({option('--secret')})"
            raise ParameterError(
                f"{what} is of inference, which is not among the attacks ({option('--attacks')}); "
                "add it, or leave the other out"
            )
        both = {*map(fold_case, hidden or ())} & {*map(fold_case, given or ())}
        if given is not None and hidden and both == {*map(fold_case, given)} and len(given) == 1:
            raise ParameterError(
                f'"{given[0]}" is the only known column and a secret too; name another '
                f"known column ({option('--known')})"
            )
        return cls(
            request=ProfileRequest(
                columns=named, ways=1, distances=("tv",), facts=parse_columns(facts)
            ),
            total_epsilon=total_budget(total_epsilon),
            tau=tolerance.share_of("what an attack gains"),
            tolerance=tolerance.text,
            alpha=probability(alpha, "alpha"),
            secrets=hidden,
            known=given,
            kinds=kinds,
            copy_epsilon=None if copy_epsilon is None else budget_of(copy_epsilon, "copy_epsilon"),
            learner=chosen,
            private_rows=stated_rows(private_rows),
            held_out_rows=stated_rows(held_out_rows, "--held-out-rows"),
        )

    @property
    def _rows(self) -> dict[str, int | None]:
        return {"--private-rows": self.private_rows, "--held-out-rows": self.held_out_rows}

    @property
    def unstated_rows(self) -> tuple[str, ...]:
        """Options of the numbers of rows that are not stated."""
        return tuple(name for name, rows in self._rows.items() if rows is None)

    def check_measured(self) -> None:
        """Refuse numbers of rows in a run that measures: it counts the rows itself, with noise."""
        for name, rows in self._rows.items():
            if rows is not None:
                raise ParameterError(
                    f"{option(name)} is {rows:,}; it is for a plan, and a run counts the rows "
                    f"itself, with noise; add {option('--dry-run')}, or leave it out"
                )

    @classmethod
    def usual(cls, request: ProfileRequest, alpha: Fraction) -> RiskParameters:
        """Usual attacks at the usual tolerance, on the columns of another report."""
        usual = cls.parse()
        columns = replace(usual.request, columns=request.columns, facts=request.facts)
        return replace(usual, request=columns, alpha=alpha)

    def warnings(self) -> Iterator[Note]:
        """Yield warnings of parameters that are allowed, but are often a mistake."""
        yield from budget_warnings(self.total_epsilon)
        if self.alpha > Fraction(1, 2):
            yield note("alpha-wide", alpha=self.alpha)


def _kinds(names: Sequence[str] | None) -> tuple[AttackId, ...]:
    """Kinds of attacks that are stated, in their usual order; all without a statement."""
    stated = stated_names(names, "attacks", f"attacks, which are {', '.join(KINDS)}")
    if stated is None:
        return KINDS
    folded = [name.strip().lower().replace(" ", "-") for name in stated]
    for name in folded:
        if name not in KINDS:
            raise ParameterError(
                f'there is no attack "{name}" ({option("--attacks")}); {suggestion(name, KINDS)}'
            )
    return tuple(kind for kind in KINDS if kind in folded)


def _learner(name: str) -> LearnerId:
    """Stated learner; ParameterError for another name, and for trees without scikit-learn."""
    for learner in LEARNERS:
        if str(name).strip().lower() == learner:
            if learner == "trees":
                require_library(f"a learner of trees ({option('--learner')})")
            return learner
    raise ParameterError(
        f'there is no learner "{name}" ({option("--learner")}); {suggestion(str(name), LEARNERS)}'
    )
