"""Model of ``pqd risk``: how often attacks on a copy succeed on private rows, and on others."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pqd.reports.models.figure import Figure
from pqd.reports.models.report import IndexedReport, data_frame
from pqd.reports.models.standings import ATTACKS, Outcome, Standing, standing_of

if TYPE_CHECKING:
    import pandas as pd

    from pqd.deciders.note import Note
    from pqd.reports.models.audit import Cost
    from pqd.reports.models.refusals import LeftOut

AttackId = Literal["copied", "near", "membership", "linkability", "singling-out", "inference"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcessFacts:
    """How much more often an attack succeeds on private rows than on held-out rows.

    ``excess`` is the difference of the rates, with noise and sampling error in its interval.
    ``persons`` is the excess as a number of private rows or persons.  ``outcome`` says whether the
    excess is at most ``tau``, and ``p_value`` how sure this is.  ``leak_p_value`` is the p-value of
    "more than 0".  ``at_once`` says that this is established even if all attacks of the report are
    tested together (Bonferroni).  ``bound`` is the most that the excess can be, on average over the
    ways to split the rows, if the copy was made with the epsilon that is declared; None without a
    declaration.  ``breaks_bound`` says that more is established, for all attacks at once.

    ``below_zero`` names the attacks of the run whose excess is established to be below 0, all at
    once.  Then the held-out rows are no control: no yes is ``conclusive``, whatever its p-value.
    """

    rate: Figure
    excess: Figure
    persons: Figure
    tau: float
    outcome: Outcome
    p_value: float
    conclusive: bool
    leak_p_value: float
    leaks: bool
    at_once: bool
    bound: float | None = None
    breaks_bound: bool = False
    below_zero: tuple[str, ...] = ()

    @property
    def standing(self) -> Standing:
        """Standing of the excess against the tolerance."""
        return standing_of(self.outcome, ATTACKS, conclusive=self.conclusive)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackOutlook:
    """What decides an attack: in a plan, and in a report whose verdict on it is undecided.

    ``tau_decided`` is the least tolerance that is decided: of a report by its own numbers, and of a
    plan by nine runs of ten, if the attack gains nothing.  The other fields are for ``tau``, and
    mean nine runs of ten.  ``needed_epsilon`` is roughly the budget of a report that decides it,
    and ``needed_held_out_rows`` roughly the number of held-out rows; None if none does, since the
    sampling error of the other rows stays.  ``alone`` says whether a report of this kind of attack
    alone decides it at the same budget, with less noise.
    """

    tau: float
    tau_decided: float
    needed_epsilon: float | None
    needed_held_out_rows: int | None
    alone: bool

    @property
    def standing(self) -> Standing:
        """Standing in a plan: whether the tolerance is decided at the planned budget."""
        return Standing.DECIDABLE if self.tau_decided <= self.tau else Standing.TOO_LITTLE


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackFacts:
    """Success of one attack.

    ``id`` is ``copied`` (the row is a rare row of the copy), ``near`` (it is as near to the copy as
    few of the copy's own rows are to each other), ``membership`` (it is so near for its place),
    ``linkability``, ``singling-out`` or ``inference``;
    ``column`` is the secret of an inference.  ``rate`` is the share of the private rows on which it
    succeeds; in a plan it is ``copy_rate``, with the interval that noise would give it.
    ``held_out`` compares it with rows that the generator never saw; None without them.
    ``copy_rate`` is the share of the copy's own rows, each left out in turn, and ``majority`` the
    share of the secret's most frequent value in the copy; both are public.
    ``outlook`` says what decides the attack; None where nothing is planned and nothing undecided.
    """

    id: AttackId
    column: str
    rate: Figure
    copy_rate: float
    majority: float | None = None
    held_out: ExcessFacts | None = None
    outlook: AttackOutlook | None = None

    @property
    def name(self) -> str:
        """Name of the attack, such as ``inference of income``."""
        return f"inference of {self.column}" if self.column else self.id.replace("-", " ")

    @property
    def standing(self) -> Standing:
        """Standing of the excess against the tolerance, or of the plan; else there is none."""
        told = self.held_out or self.outlook
        return Standing.UNJUDGED if told is None else told.standing

    def computed(self) -> dict[str, Any]:
        """Name and standing."""
        return {"name": self.name, "standing": self.standing.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """Share of rows up to one distance from the copy, of its own rows and of the private rows.

    ``distance`` is a share of the largest distance, and ``copy`` is public: of the copy's own rows,
    each to the nearest other row.  All intervals of the points hold at once.
    """

    distance: float
    copy: float
    private: Figure
    held_out: Figure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RocPoint:
    """Shares of rows that are taken for members, at one threshold of the score.

    ``copy`` is public: the share of the copy's own rows, each left out in turn.  ``private`` is the
    rate of true positives, and ``held_out`` that of false positives; ``advantage`` is their
    difference, with noise and sampling error.  All intervals of the points hold at once.
    """

    copy: float
    private: Figure
    held_out: Figure | None = None
    advantage: Figure | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RiskReport(IndexedReport[AttackFacts]):
    """Attacks on a copy, the worst first.

    ``total_epsilon`` is the budget of the report on each private table, paid now or before.
    ``rows`` is the number of private rows, or of persons, and ``held_out_rows`` that of held-out
    ones.  ``tried`` is the number of the copy's own rows on which an attack was tried, ``searched``
    the number of its rows among which the nearest were found.  ``known`` are the columns that an
    attacker is stated to know; None stands for all but the secret.  ``learner`` says how secrets
    are guessed, and ``model`` names the trees, if trees guess them.  ``held_out_cost`` is what was
    charged to the held-out table, which has an account of its own.  ``curve`` has the shares of
    rows up to some distances from the copy, and ``roc`` those that are taken for members.
    ``copy_epsilon`` is the epsilon with which the copy was made, if it is declared.  ``dry`` says
    that the report is a plan: nothing was measured and nothing was spent, ``rows`` and
    ``held_out_rows`` are taken for granted, and the costs are those of a run.
    """

    kind: ClassVar[str] = "risk"
    _question: ClassVar[str] = 'all(attack.standing == "within" for attack in report)'

    private: str
    synthetic: str
    held_out: str | None
    total_epsilon: Fraction
    tolerance: str
    alpha: Fraction
    attacks: tuple[AttackFacts, ...]
    curve: tuple[CurvePoint, ...]
    columns: tuple[str, ...]
    known: tuple[str, ...] | None
    rows: Figure
    held_out_rows: Figure | None
    copy_rows: int
    searched: int
    tried: int
    cost: Cost
    held_out_cost: Cost | None = None
    roc: tuple[RocPoint, ...] = ()
    copy_epsilon: Fraction | None = None
    learner: str = "nearest"
    model: str = ""
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[Note, ...] = ()
    dry: bool = False
    replayed: bool = False
    simulated: bool = False

    @property
    def spent(self) -> Fraction:
        """Exact epsilon that this run spent on the private table; a replay costs nothing."""
        return Fraction(0) if self.dry else self.cost.spent

    @property
    def leaks(self) -> tuple[AttackFacts, ...]:
        """Attacks that are established to succeed more often on private rows, all at once."""
        return tuple(each for each in self.attacks if each.held_out and each.held_out.at_once)

    @property
    def below_zero(self) -> tuple[str, ...]:
        """Attacks that are established to succeed less often on private rows, all at once."""
        return next((each.held_out.below_zero for each in self.attacks if each.held_out), ())

    @property
    def withhold(self) -> bool:
        """Whether the copy is established to give private rows away, so nobody may get it."""
        return bool(self.leaks)

    @property
    def exit_code(self) -> int:
        """0 if each attack is established to gain at most the tolerance, else 1."""
        return 0 if all(each.standing is Standing.WITHIN for each in self.attacks) else 1

    def computed(self) -> dict[str, Any]:
        """Epsilon that was spent, what to do, and the number of leaks established all at once."""
        return {
            "spent_epsilon": self.spent,
            "withhold": self.withhold,
            "leaks": len(self.leaks),
        }

    def to_frame(self) -> pd.DataFrame:
        """Frame with one row per attack."""
        names = [
            *("attack", "column", "standing", "rate", "low", "high", "copy_rate", "majority"),
            *("held_out", "excess", "excess_low", "excess_high", "p_value", "leak_p_value"),
            *("bound", "tau_decided", "needed_epsilon", "needed_held_out_rows", "alone"),
            "simulated",
        ]
        rows = [{**_frame_row(each), "simulated": self.simulated} for each in self.attacks]
        return data_frame(rows, names)

    @property
    def _items(self) -> tuple[AttackFacts, ...]:
        return self.attacks

    def _name(self, item: AttackFacts) -> str:
        return item.name


def _frame_row(attack: AttackFacts) -> dict[str, object]:
    facts, outlook = attack.held_out, attack.outlook
    compared = {} if facts is None else {
        "held_out": facts.rate.value,
        "excess": facts.excess.value,
        "excess_low": facts.excess.low,
        "excess_high": facts.excess.high,
        "p_value": facts.p_value,
        "leak_p_value": facts.leak_p_value,
        "bound": facts.bound,
    }  # fmt: skip
    return {
        "attack": attack.id,
        "column": attack.column,
        "standing": attack.standing.value,
        "rate": attack.rate.value,
        "low": attack.rate.low,
        "high": attack.rate.high,
        "copy_rate": attack.copy_rate,
        "majority": attack.majority,
        **compared,
        **({} if outlook is None else asdict(outlook)),
    }
