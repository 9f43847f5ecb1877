"""Tree search: where it starts from, and what it tells the agents."""

from __future__ import annotations

from agents.strategies.tree import TreeSearch
from tests.unit.agents.search_states import a_state, accepted, rejected


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
