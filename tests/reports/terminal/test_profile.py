"""A profile in the terminal: the one figure first, worst first, complete at any width, short."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len
from rich.console import Console

from pqd.deciders.errors import ParameterError
from pqd.deciders.options import for_shell
from pqd.reports.documents.marginals import marginal_rows
from pqd.reports.documents.profile import (
    at_once_sentences,
    headline,
    next_step,
    overall_sentence,
)
from pqd.reports.models.figure import Figure
from pqd.reports.models.profile import Alarm, DistanceFacts
from pqd.reports.models.refusals import LeftOut
from pqd.reports.models.standings import Standing
from pqd.reports.text.distances import fewer_cells
from pqd.reports.text.relations import kept_text, relations_remark, relations_sentence
from pqd.reports.text.use import use_sentences
from pqd.reports.writers.terminal import TerminalReport, terminal_text
from pqd.reports.writers.terminal.layout import Extent
from tests.support.profile_reports import (
    ADULT_PROFILE,
    BUDGET,
    COST,
    DRY,
    ODD,
    ONE_COLUMN,
    PLAIN,
    PLAN,
    REPORTS,
    TARGET,
    WIDE,
    distance,
    planned,
)
from tests.support.ranking_reports import DETAILED, RANKING
from tests.support.ranking_reports import REPORTS as RANKINGS

if TYPE_CHECKING:
    from pqd.reports.models.profile import ProfileReport
    from pqd.reports.models.ranking import RankingReport


def explained(report: ProfileReport | RankingReport, name: str) -> str:
    stream = io.StringIO()
    Console(file=stream, width=80).print(TerminalReport(report, explained=name))
    return stream.getvalue()


WHOLE = (replace(BUDGET[0], epsilon=Fraction(1)),)
LINES = terminal_text(PLAIN).splitlines()


def test_what_it_is_good_for_comes_first() -> None:
    assert overall_sentence(PLAIN) == (
        "Overall quality 95.8 % (95.7 to 96.0); an independent real sample of this size would "
        "score 99.2 %, so this is beyond chance."
    )
    assert LINES[0].startswith("15 columns and 105 pairs of ")
    assert LINES[1] == "epsilon 1 spent"
    use = " ".join(LINES[3:6])
    assert use.startswith("Use it for 11 of 15 columns and 45 of 105 pairs of columns.")
    assert "Do not use it for education-num, fnlwgt, " in use
    assert " ".join(LINES[6:8]) == overall_sentence(PLAIN)


def test_the_default_fits_a_screen_and_a_half() -> None:
    # Of a screen of 50 lines.
    assert len(LINES) <= 75


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("number", range(len(REPORTS) + len(RANKINGS)))
def test_no_line_is_wider_than_the_screen(number: int, width: int) -> None:
    text = terminal_text((*REPORTS, *RANKINGS)[number], width)
    assert max(map(cell_len, text.splitlines())) <= width


@pytest.mark.parametrize("width", [60, 80, 120])
def test_every_column_is_named_whole_at_any_width(width: int) -> None:
    text = "".join(terminal_text(ODD, width).split())
    for column in ODD.columns:
        if cell_len(column.name) < 20 or width == 60:
            assert "".join(column.name.split()) in text


def test_columns_are_worst_first_with_their_other_distances_beside() -> None:
    rows = marginal_rows(ADULT_PROFILE, 1)
    values = [row[0].value or 0.0 for row in rows]
    assert values == sorted(values, reverse=True)
    assert {row[0].distance for row in rows} == {"tv"}
    assert sum(len(row) == 2 for row in rows) == 6
    line = next(line for line in LINES if " fnlwgt " in line)
    assert line.split() == [
        "NO", "fnlwgt", "6.4", "%", "5.6", "to", "7.2", "beyond", "0.4", "%",
        "p", "=", "0.003",
    ]  # fmt: skip


def test_what_is_not_shown_is_counted_and_shown_when_asked_for() -> None:
    folded = [line.split() for line in LINES if line.endswith("(open() lists them)")]
    own = [(line[0], line[line.index("and") + 1]) for line in folded if "only" not in line]
    assert own == [("?", "11"), ("NO", "3"), ("?", "17"), ("yes", "44")]
    # Pairs that repeat a wrong column are one line.
    assert [" ".join(line[:-3]) for line in folded if "only" in line] == [
        "NO 14 pairs only repeat education-num",
        "NO 13 pairs only repeat fnlwgt",
    ]
    for extent in (Extent.ALL, Extent.VERBOSE):
        text = terminal_text(PLAIN, 200, extent)
        assert "--all lists them" not in text
        for each in PLAIN.of_ways(2):
            assert f" {', '.join(each.columns)} " in text


def test_what_holds_at_once_is_said() -> None:
    assert list(at_once_sentences(PLAIN)) == [
        "These hold all together, with probability 95 %: 48 within, 35 beyond."
    ]
    good = tuple(distance((f"c{place}",), 0.001, 4, "tv") for place in range(3))
    (sentence,) = at_once_sentences(replace(PLAIN, marginals=good))
    assert sentence == (
        "It is established that every distance is within the tolerance (p < 0.001)."
    )
    # One that leans beyond, however weakly, leaves nothing established.
    doubtful = (*good, distance(("d",), 0.0501, 4, "tv"))
    (sentence,) = at_once_sentences(replace(PLAIN, marginals=doubtful))
    assert sentence.startswith("These hold all together")


def test_the_next_step_fits_what_was_found() -> None:
    assert next_step(replace(PLAIN, budget=WHOLE)) == (
        "Next: pqd profile ... --total-epsilon 1.25 --zoom 5 shows in which cells the worst "
        "differ, for 0.25 more."
    )
    # A tenth of it was for the target: the rest is replayed, and the target left out.
    assert next_step(replace(PLAIN, budget=WHOLE, target=TARGET)) == (
        "Next: pqd profile ... --total-epsilon 1.125 --zoom 5 shows in which cells the worst "
        "differ, without --target for 0.225 more."
    )
    assert "--zoom" not in next_step(ADULT_PROFILE)
    assert next_step(ONE_COLUMN) == ""
    assert next_step(DRY) == "Next: the same without --dry-run."
    assert next_step(PLAN) == "Next: pqd profile PRIVATE COPY measures this."


def crowded(columns: tuple[str, ...], value: float, mark: float) -> DistanceFacts:
    """Distance of a marginal with so many cells that chance alone is beyond the tolerance."""
    return replace(distance(columns, value, 600, "tv"), reference=0.9 * mark, mark=mark)


def test_the_headline_names_faults_and_counts_apart_what_chance_explains() -> None:
    fault = distance(("a", "b"), 0.12, 4, "tv")
    good = tuple(distance((name,), 0.01, 4, "tv") for name in "abcd")
    at_chance = [crowded(("a", name), 0.13, 0.2) for name in "cd"]
    unsure = crowded(("b", "c"), 0.13, 0.131)
    narrow = replace(distance(("b", "d"), 0.12, 4, "tv"), mark=0.121)
    report = replace(PLAIN, marginals=(*good, fault, *at_chance, unsure, narrow), values=())
    use = " ".join(use_sentences(report))
    assert "Do not use it for a with b. 3 pairs have too many values for 48,842 rows: " in use
    assert "would be beyond 5 % on average, too." in use
    of_persons = replace(report, cost=replace(COST, unit="id", max_rows=1))
    assert "too many values for 48,842 persons: " in " ".join(use_sentences(of_persons))
    assert "Whether 1 of them is farther off than that is undecided." in use
    assert "1 pair is beyond 5 %, but not shown to be beyond chance." in use
    # Without a fault nothing is named; what is next costs nothing, and no zoom is proposed.
    by_chance = replace(report, marginals=(*good, *at_chance))
    use = " ".join(use_sentences(by_chance))
    assert "Do not use" not in use
    assert "undecided" not in use
    assert next_step(replace(by_chance, budget=WHOLE, cost=COST)) == (
        "Next: pqd profile ... --tau 10% is worked out from the same numbers, for nothing."
    )
    # Without marks, as of small copies, what chance alone explains is not named as a fault.
    unmarked = replace(report, marginals=(*good, *(replace(e, mark=None) for e in at_chance)))
    assert "Do not use" not in " ".join(use_sentences(unmarked))
    closing = terminal_text(report)
    assert "Beyond the tolerance: a, b; a, c; a, d; b, c; b, d." in closing


def test_the_headline_says_that_nothing_is_shown() -> None:
    columns = tuple(distance((name,), 0.05, 4, "tv") for name in "ab")
    undecided = tuple(replace(e, p_value=0.4, conclusive=False, mark=None) for e in columns)
    report = replace(PLAIN, marginals=undecided, values=(), relations=None)
    assert headline(report)[0] == ["No column is shown to be within 5 %."]
    pair = replace(distance(("a", "b"), 0.05, 4, "tv"), p_value=0.4, conclusive=False, mark=None)
    report = replace(report, marginals=(*undecided, pair))
    assert headline(report)[0] == ["No column or pair of columns is shown to be within 5 %."]


def test_relations_are_a_figure_only_where_their_interval_is_narrow() -> None:
    facts = PLAIN.relations
    assert facts is not None
    assert kept_text(facts) == "56.2 %"
    wide = replace(
        facts, estimate=Figure(0.48, 0.16, 0.79), outcome="no", p_value=0.43, conclusive=False
    )
    assert kept_text(wide) == "not known"
    assert relations_sentence(wide).startswith(
        "Relations kept: not known at this budget (16 to 79 %); about 1.6 times the epsilon would "
    )
    more = replace(
        facts, estimate=Figure(0.9, 0.55, 1.0), outcome="yes", p_value=0.01, conclusive=True
    )
    assert kept_text(more) == "more than 50 %"
    assert relations_sentence(more).startswith(
        "Relations kept: more than 50 % (p = 0.010; 55 to 100 %); "
    )
    assert (
        "about 1.6 times the epsilon would tell (--total-epsilon 3.2 costs 3.2 more: a ranking is "
        "drawn anew);"
    ) in relations_sentence(wide, ranked_for=2)
    assert "drawn anew" not in relations_sentence(wide)
    lost = replace(more, estimate=Figure(0.1, 0.0, 0.45), outcome="no")
    assert kept_text(lost) == "NOT kept, 10 %"
    text = terminal_text(replace(PLAIN, relations=wide))
    assert "48 %" not in text


def test_columns_that_the_copy_lacks_are_in_the_first_sentence() -> None:
    lacking = LeftOut(columns=("town",), reason="is missing", standing=Standing.MISSING)
    aside = LeftOut(columns=("key",), reason="a key", standing=Standing.NOT_JUDGED)
    use = [*use_sentences(replace(PLAIN, left_out=(lacking, aside)))]
    assert use[0].startswith("Use it for 11 of 16 judged columns and 45 of 105 pairs of columns.")
    assert use[1].startswith("Do not use it for town (missing), ")


def test_relations_that_a_real_sample_would_not_keep_are_no_fault_of_the_copy() -> None:
    facts = PLAIN.relations
    assert facts is not None
    chance = replace(
        facts,
        reference=0.36,
        least=0.28,
        estimate=Figure(0.29, 0.13, 0.44),
        outcome="no",
        p_value=0.003,
        conclusive=True,
    )
    assert (chance.is_lost, chance.is_unjudged, chance.may_be_lost) == (False, True, False)
    assert kept_text(chance) == "not judged, 29 %"
    report = replace(PLAIN, relations=chance)
    use = " ".join(use_sentences(report))
    assert "Do not use it for what relates" not in use
    assert "Whether it keeps what relates columns to each other cannot be judged with " in use
    text = " ".join(terminal_text(report).split())
    assert "Whether relations are kept cannot be judged: 29 % (13 to 44); an independent" in text
    assert "a bar of 50 % is out of reach here: take a lower one (--relations 25%), fewer" in text
    # More epsilon would not tell more than the bar of what such a sample does not keep either.
    wide = replace(chance, estimate=Figure(0.48, 0.16, 0.79), p_value=0.43, conclusive=False)
    assert (wide.is_unjudged, kept_text(wide)) == (True, "not judged")
    told = relations_sentence(wide)
    assert told.startswith("Whether relations are kept cannot be judged: 16 to 79 %; an")
    unknown = replace(chance, estimate=None, relations=Figure(0.02, 0.005, 0.035), p_value=None)
    assert (unknown.presence, kept_text(unknown)) == ("unknown", "not judged")
    assert relations_sentence(unknown).startswith("Whether relations are kept cannot be judged; an")
    # A sample keeps a little more than the bar as a rule, and now and then less.
    near = replace(chance, reference=0.53, least=0.44, estimate=Figure(0.46, 0.44, 0.48))
    assert (near.is_lost, near.is_unjudged) == (False, True)
    assert "might itself keep only 44 % of the relations, so a bar of 50 % is out of" in (
        relations_remark(near, PLAIN.columns)
    )
    # Surely less than such a sample would keep.
    lost = replace(chance, estimate=Figure(0.1, 0.0, 0.27))
    assert (lost.is_lost, lost.is_unjudged) == (True, False)
    assert "Do not use it for what relates" in " ".join(
        use_sentences(replace(PLAIN, relations=lost))
    )
    # A sample would keep more than the bar, or the copy has no relations to tell of a sample.
    for other in (
        replace(chance, reference=0.7, least=0.51),
        replace(chance, independence=replace(chance.independence, is_near=True)),
        replace(chance, least=None),
    ):
        assert (other.is_lost, other.is_unjudged) == (True, False)


def test_a_note_of_nearness_needs_bounds_that_differ_as_they_are_shown() -> None:
    def standing(low: float) -> Standing | None:
        score = replace(PLAIN.overall, estimate=Figure(low, low, low))
        return Alarm.of(score, independent=0.96531, drawn=0.98, copy_epsilon=None).standing

    assert standing(0.96534) is None
    assert standing(0.96544) is Standing.INDEPENDENT
    assert standing(0.98001) is Standing.DRAWN


def test_a_zoom_is_proposed_only_if_it_can_show_something() -> None:
    budget = (replace(WHOLE[0], epsilon=Fraction(1, 1000)),)
    assert "--zoom 5" in next_step(replace(PLAIN, budget=WHOLE))
    assert "--zoom" not in next_step(replace(PLAIN, budget=budget))


def test_a_plan_says_what_no_copy_can_reach() -> None:
    cells = tuple(replace(each, cells=600) for each in PLAN.columns)
    wide = planned(crowded(("age", "sex"), 0.13, 0.16))
    others = [each for each in PLAN.marginals if set(each.columns) != set(wide.columns)]
    report = replace(PLAN, marginals=(*others, wide), columns=cells)
    assert wide.planned is Standing.OUT_OF_REACH
    text = terminal_text(report, 120)
    assert "CHANCE  age, sex" in text
    assert "CHANCE: age, sex." in text
    assert "106 can be decided, 19 cannot, 1 is out of reach." in text
    words = " ".join(text.split())
    assert "--tau 15%, or fewer cells, such as --cells age=10 (10 bins), or" in words


def test_fewer_cells_are_proposed_for_the_widest_column() -> None:
    few, many = replace(PLAIN.columns[0], cells=7), replace(PLAIN.columns[1], cells=44)
    assert fewer_cells([]) == fewer_cells([few]) == "fewer cells"
    assert fewer_cells([few, many]) == "fewer cells, such as --cells workclass=10 (10 bins)"


def test_a_plan_says_what_can_be_decided_and_spends_nothing() -> None:
    (title,), lead = headline(DRY)
    assert title == "107 of 126 distances can be decided"
    assert "nothing was measured or spent" in lead
    assert "A profile would cost epsilon 1;" in lead
    text = terminal_text(DRY)
    assert "LOW     education, native-country         792           none   3.1 %" in text
    assert "107 can be decided, 19 cannot." in text
    assert "nothing spent; a run costs epsilon 1" in text
    assert "Spent epsilon" not in text
    assert DRY.spent == 0


def test_prices_of_a_profile_add_up() -> None:
    assert ADULT_PROFILE.total_epsilon == 1
    assert PLAIN.total_epsilon == Fraction(7, 10)
    assert "epsilon 0.2 for the cells of 3 marginals" in terminal_text(
        ADULT_PROFILE, 120, Extent.VERBOSE
    )


def test_json_names_the_parts_of_an_interval() -> None:
    found = json.loads(ADULT_PROFILE.to_json())
    assert found["kind"] == "profile"
    assert found["schema_version"] == 2
    assert set(found["overall"]["estimate"]) == {"value", "low", "high"}
    first = found["marginals"][0]
    assert (first["standing"], first["columns"]) == ("beyond", ["education-num"])
    assert found["p_value_all_within"] == 1.0
    plan = json.loads(DRY.to_json())
    assert plan["overall"]["estimate"] is None
    assert "infinite" in {each["tau_min"] for each in plan["marginals"]}


def test_a_profile_is_a_frame_with_a_row_per_distance() -> None:
    frame = ADULT_PROFILE.to_frame()
    assert frame["simulated"].eq(ADULT_PROFILE.simulated).all()
    assert len(frame) == 126
    row = frame.iloc[0]
    assert (row["columns"], row["distance"], row["standing"]) == ("education-num", "tv", "beyond")
    assert row["low"] < row["value"] < row["high"]
    assert DRY.to_frame()["value"].isna().all()


def test_a_report_is_asked_for_one_marginal() -> None:
    assert ADULT_PROFILE.of_columns("sex", "age").columns == ("age", "sex")
    assert ADULT_PROFILE.of_columns("age", distance="ks").distance == "ks"
    with pytest.raises(KeyError):
        ADULT_PROFILE.of_columns("sex", distance="ks")
    assert ADULT_PROFILE.ways == 2
    assert WIDE.overall.score == WIDE.overall.value
    assert DRY.overall.low is None
    assert isinstance(PLAIN.rows, Figure)


def test_copies_that_are_alike_share_a_sentence() -> None:
    text = " ".join(terminal_text(RANKING).split())
    assert (
        "tree and copula are each better than gan, vae and marginals, with probability 95 %."
        in text
    )
    assert "tree and copula cannot be told apart at this epsilon." in text
    assert "1-2" not in text
    assert "and 4 more   (--all lists them)" in terminal_text(DETAILED)
    assert "lists them" not in terminal_text(DETAILED, extent=Extent.VERBOSE)


def test_a_plan_begins_with_what_cannot_be_told() -> None:
    _, _, pairs = terminal_text(DRY).partition("\n105 pairs\n")
    badges = [line.split()[0] for line in pairs.split("\n\n")[0].splitlines()[1:]]
    assert badges == sorted(badges)
    assert set(badges) == {"LOW", "OK"}


@pytest.mark.parametrize("name", ["age", "age,sex", "sex, age", "sex , age"])
def test_one_marginal_is_explained(name: str) -> None:
    text = explained(ADULT_PROFILE, name)
    assert text.splitlines()[0] == f"yes   {'age, sex' if 'sex' in name else 'age'}"
    assert "with probability 95 %" in text
    assert "reliable for tolerances of" in text
    assert ("age: " in text, "sex: " in text) == (True, "sex" in name)
    assert ("age, education: worst cells" in explained(ADULT_PROFILE, "age,education")) is True
    assert "would have" in explained(DRY, "age")


def test_a_marginal_that_is_not_there_is_refused() -> None:
    for report in (ADULT_PROFILE, RANKING):
        with pytest.raises(ParameterError, match="nothing"):
            explained(report, "nothing")


def test_text_is_text_in_a_notebook_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    with for_shell(stated=False):
        assert str(PLAIN).splitlines() == LINES


@pytest.mark.parametrize("width", range(56, 81, 3))
def test_a_number_stays_with_its_sign(width: int) -> None:
    for report in (*REPORTS, *RANKINGS):
        text = terminal_text(report, width)
        assert "\ud800" not in text
        assert not re.search(r"\d\n *%|\bp\n *[<>=] \d|\bp [<>=]\n *\d", text)


def test_a_private_table_that_may_be_empty_is_asked_about() -> None:
    """A file that holds its header alone had an overall quality of 100 %, without a word."""
    asked = "It may have no row at all, as far as this budget tells: is it the right file?"
    none = replace(PLAIN, rows=Figure(0.0, 0.0, 46.0))
    assert asked in " ".join(terminal_text(none).split())
    assert asked not in " ".join(terminal_text(PLAIN).split())
