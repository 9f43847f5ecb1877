"""MAP-Elites, islands, tree search and world model: where they start from, and what they tell the agents."""

from __future__ import annotations

import pytest

from agents.roles.replies import Hypothesis, PlannerReply
from agents.strategies.behaviour import behaviour
from agents.strategies.greedy import Greedy
from agents.strategies.islands import Islands
from agents.strategies.map_elites import MapElites, archive
from agents.strategies.registry import STRATEGIES, strategy
from agents.strategies.stop_rule import StopRule
from agents.strategies.tree import TreeSearch
from agents.strategies.world_model import WorldModelSearch, read
from services.domain.chat import HypothesisFact
from tests.unit.agents.search_states import SERIAL, THREADED, VECTOR, a_state, accepted, planned, rejected


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_every_strategy_drafts_first_and_decides_the_same_again(name: str) -> None:
    attempts = (rejected(0), accepted(1, 100.0, parent=0), accepted(2, 90.0, parent=1), rejected(3, parent=2))

    assert strategy(name).name == name
    assert strategy(name).start_point(a_state()) is None
    for seed in range(5):
        state = a_state(*attempts, seed=seed)
        assert strategy(name).start_point(state) == strategy(name).start_point(state)
        assert strategy(name).brief(state, attempts[2]) == strategy(name).brief(state, attempts[2])


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_every_strategy_stops_at_the_roof_and_on_a_plateau(name: str) -> None:
    flat = [accepted(0, 200.0), *(rejected(step) for step in range(1, 60))]

    assert strategy(name).stop(a_state(accepted(0, 82.0))) == "stopped early: within 5 % of the roofline"
    assert (strategy(name).stop(a_state(*flat)) or "").startswith("no gain in the last")
    assert strategy(name).stop(a_state(*flat[:3])) is None
    assert strategy(name).stop(a_state(*(rejected(step) for step in range(60)))) is None


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_the_branches_of_a_beam_get_start_points_that_exist(name: str) -> None:
    attempts = (accepted(0, 100.0), accepted(1, 120.0), rejected(2, parent=0), accepted(3, 110.0, parent=0))

    for branch in range(4):
        start = strategy(name).start_point(a_state(*attempts, branch=branch, width=4))
        assert start is None or start in attempts


def test_a_plateau_of_a_beam_takes_as_many_rounds_as_without() -> None:
    attempts = (accepted(0, 100.0), *(accepted(step, 100.0) for step in range(1, 5)))
    rule = StopRule(patience=3)

    assert rule.reason(a_state(*attempts)) == "no gain in the last 3 steps"
    assert rule.reason(a_state(*attempts, width=2)) is None


def test_a_greedy_beam_starts_from_the_fastest_ones() -> None:
    attempts = (accepted(0, 100.0), accepted(1, 80.0), accepted(2, 90.0), accepted(3, 95.0))
    starts = [Greedy().start_point(a_state(*attempts, branch=branch, width=3)) for branch in range(3)]

    assert starts == [attempts[1], attempts[2], attempts[3]]


def test_a_greedy_beam_repairs_different_failures_before_anything_is_accepted() -> None:
    attempts = (rejected(0), rejected(1))
    starts = [Greedy().start_point(a_state(*attempts, branch=branch, width=3)) for branch in range(3)]

    assert starts == [attempts[1], attempts[0], None]


def test_behaviour_is_read_from_the_code_and_not_from_its_comments() -> None:
    assert behaviour(SERIAL).parallelism == "serial"
    assert behaviour("// #pragma omp parallel for\n" + SERIAL).parallelism == "serial"
    assert behaviour(THREADED).parallelism == "threads"
    assert behaviour(VECTOR).staging == "vector"
    assert behaviour("__global__ void f() { __shared__ float x; }").staging == "shared"
    assert behaviour("@triton.jit\ndef f(): tl.dot(a, b)").staging == "tensor core"
    assert behaviour('extern "C" a\nextern "C" b\n').traffic == "few passes"
    assert behaviour("x = 1\n" * 100).size == "long"
    assert behaviour(SERIAL).distance(behaviour(THREADED)) == 1


def test_the_archive_keeps_the_fastest_kernel_of_each_behaviour() -> None:
    attempts = (
        accepted(0, 100.0, source=SERIAL),
        accepted(1, 150.0, parent=0, source=THREADED),
        accepted(2, 90.0, parent=0, source=SERIAL + "# faster\n"),
        accepted(3, 160.0, parent=1, source=THREADED + "x = 1\n"),
    )

    cells = archive(attempts)

    assert [cell.elite.step for cell in cells.values()] == [2, 1]
    assert cells[behaviour(SERIAL)].visits == 2
    assert cells[behaviour(SERIAL)].finds == 2, "one founded a cell, one became an elite"
    assert cells[behaviour(THREADED)].finds == 0


def test_map_elites_also_starts_from_slow_kernels_that_are_unlike_the_best() -> None:
    attempts = (accepted(0, 100.0, source=SERIAL), accepted(1, 150.0, source=THREADED))
    starts = [MapElites().start_point(a_state(*attempts, seed=seed)) for seed in range(40)]

    assert all(start in attempts for start in starts)
    assert starts.count(attempts[1]) >= 5
    brief = MapElites().brief(a_state(*attempts), attempts[0])
    assert brief.inspirations == (attempts[1],)
    assert "one pass, threads, plain, short: 150.0 µs" in brief.text


def test_islands_evolve_apart_until_they_migrate() -> None:
    islands = Islands(count=2, migration=2)
    attempts = tuple(accepted(step, 100.0 - 10 * (step % 2) - step) for step in range(4))

    apart = islands.members(0, attempts[:3])
    after = islands.members(0, attempts)

    assert {item.step for item in apart} == {0, 2}
    assert {item.step for item in after} == {0, 2, 3}, "the neighbour's best has come"
    start = islands.start_point(a_state(*attempts[:3], seed=1))
    assert start is not None
    assert start.step == 1, "step 3 belongs to the second island"


def test_an_empty_island_is_founded_with_an_idea_of_its_own() -> None:
    state = a_state(accepted(0, 100.0))

    assert Islands(count=3).start_point(state) is None
    assert "empty" in Islands(count=3).brief(state, None).text


def test_the_prompt_of_an_island_shows_the_best_and_the_most_different() -> None:
    attempts = (
        accepted(0, 100.0, source=SERIAL),
        accepted(1, 50.0, source=SERIAL),
        accepted(2, 120.0, source=THREADED),
    )

    brief = Islands(count=1).brief(a_state(*attempts), attempts[0])

    assert brief.inspirations == (attempts[1], attempts[2])


def test_tree_search_drafts_twice_and_then_leaves_the_best_line_now_and_then() -> None:
    tree = TreeSearch(exploration=1.0, widening=0.3)
    one = (accepted(0, 100.0),)
    assert tree.start_point(a_state(*one)) is None, "the root has room for a second draft"

    attempts = (accepted(0, 100.0), accepted(1, 300.0))
    start = tree.start_point(a_state(*attempts))
    assert start == attempts[0]

    barren = (*attempts, *(accepted(step, 101.0, parent=0) for step in range(2, 14)))
    visited = set()
    for count in range(2, len(barren)):
        found = tree.start_point(a_state(*barren[:count]))
        visited.add(None if found is None else found.step)
    assert 1 in visited, "the slower draft gets its chance"


def test_tree_search_repairs_a_failure_and_gives_up_a_line_that_keeps_failing() -> None:
    tree = TreeSearch(drafts=1, repairs=3)
    line = [rejected(0)]
    assert tree.start_point(a_state(*line)) == line[0]

    line += [rejected(1, parent=0), rejected(2, parent=1)]

    assert tree.start_point(a_state(*line)) is None


def test_branches_of_a_tree_see_the_children_that_are_under_way() -> None:
    state = a_state(accepted(0, 100.0), width=4)
    starts = [TreeSearch().start_point(a_state(*state.attempts, branch=branch, width=4)) for branch in range(4)]

    assert starts[0] is None
    assert state.attempts[0] in starts


def test_the_brief_of_the_tree_tells_the_way_and_what_was_tried() -> None:
    attempts = (accepted(0, 100.0), accepted(1, 80.0, parent=0), rejected(2, parent=1), accepted(3, 70.0))

    brief = TreeSearch().brief(a_state(*attempts), attempts[1])

    assert brief.text.index("step 0: no named move: 100.0 µs") < brief.text.index("step 1: no named move: 80.0 µs")
    assert "Tried from the start point in step 2: no named move: not accepted" in brief.text
    assert brief.inspirations == (attempts[3],)


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
