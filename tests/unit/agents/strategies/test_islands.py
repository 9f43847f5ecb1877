"""Islands: where they start from, and what they tell the agents."""

from __future__ import annotations

from agents.strategies.islands import Islands
from tests.unit.agents.search_states import SERIAL, THREADED, a_state, accepted


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
