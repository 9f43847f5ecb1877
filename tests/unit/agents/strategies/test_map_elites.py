"""MAP-Elites: which kernels it keeps, and where it starts from."""

from __future__ import annotations

from agents.strategies.behaviour import behaviour
from agents.strategies.map_elites import MapElites, archive
from tests.unit.agents.search_states import SERIAL, THREADED, a_state, accepted


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
