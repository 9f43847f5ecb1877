"""The world model: hypotheses, their evidence and their scores."""

from __future__ import annotations

from agents.roles.replies import Hypothesis, PlannerReply
from agents.strategies.world_model import WorldModelSearch, read
from services.domain.chat import HypothesisFact
from tests.unit.agents.search_states import a_state, accepted, planned, rejected


def test_a_hypothesis_outlives_its_broken_code() -> None:
    bold = HypothesisFact(id="split", parent=None, statement="split the reduction", difficulty=0.8, score=0.95)
    attempts = (
        planned(accepted(0, 100.0), "plain"),
        planned(rejected(1, parent=0), "split", bold),
        planned(rejected(2, parent=1), "split"),
    )
    search = WorldModelSearch(repairs=2)

    assert search.start_point(a_state(*attempts[:2])) == attempts[1], "its code is repaired first"
    assert search.start_point(a_state(*attempts)) == attempts[0], "then it is coded afresh from what worked"
    assert read(attempts).nodes["split"].is_open
    brief = search.brief(a_state(*attempts), attempts[0])
    assert "Most promising now: split." in brief.text
    assert "2 broken in a row, no working code yet" in brief.text


def test_a_hypothesis_is_left_alone_when_refuted_or_broken_too_often() -> None:
    refuted = HypothesisFact(id="split", parent=None, statement="split", score=0.95, refuted=True)
    broken = [planned(rejected(step, parent=0), "deep") for step in range(1, 4)]
    attempts = (planned(accepted(0, 100.0), "plain", refuted), *broken)

    model = read(attempts)

    assert [node.fact.id for node in model.frontier()] == ["plain"]
    assert WorldModelSearch().start_point(a_state(*attempts)) == attempts[0]


def test_without_a_tree_of_the_planner_plans_become_hypotheses_and_evidence_scores_them() -> None:
    first = planned(accepted(0, 100.0), "a")
    good = planned(accepted(1, 50.0, parent=0), "b", gain=2.0)
    bad = planned(accepted(2, 99.0, parent=1), "c", gain=2.0)

    model = read((first, good, bad))

    assert model.nodes["b"].fact.parent == "a"
    assert model.nodes["b"].fact.score > model.nodes["c"].fact.score
    assert model.nodes["b"].stale == 1
    assert WorldModelSearch().start_point(a_state(first, good, bad)) == good


def test_evidence_moves_a_score_and_the_planners_next_word_overrules_it() -> None:
    own = HypothesisFact(id="b", parent="a", statement="b", score=0.9)
    attempts = (planned(accepted(0, 100.0), "a"), planned(accepted(1, 200.0, parent=0), "b", own))
    later = planned(rejected(2, parent=0), "c", own)

    assert read(attempts).nodes["b"].fact.score < 0.6
    assert read((*attempts, later)).nodes["b"].fact.score == 0.9


def test_a_score_beyond_the_scale_is_cut_and_does_not_cost_the_plan() -> None:
    reply = PlannerReply(hypothesis="x", hypotheses=(Hypothesis(id="a", statement="a", score=7.5, difficulty=-1),))

    assert [(item.score, item.difficulty) for item in reply.fact().hypotheses] == [(1.0, 0.0)]
