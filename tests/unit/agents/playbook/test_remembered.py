"""What recalled experiences tell the playbook's search."""

from __future__ import annotations

from dataclasses import replace

from agents.playbook.planner import plan
from agents.playbook.remembered import experienced, outpaced, worth
from agents.playbook.schedule import Schedule
from agents.playbook.search import options, sensible
from services.domain.measurements import Speedup
from tests.unit.agents.playbook.test_planner import attempt, facts, remembered, report, rmsnorm, rounds

BASE = Schedule(fuse=True, threads=0, lanes=64, wide=True)


def test_a_schedule_that_was_slower_on_the_same_problem_is_not_tried_again() -> None:
    fast, slow = replace(BASE, stream=True), replace(BASE, lanes=32)
    recalled = (
        remembered(fast, id="a", job_id="job-0", median_us=100.0),
        remembered(slow, id="b", job_id="job-0", median_us=110.0),
    )
    asked = facts(rmsnorm(), experiences=recalled)
    assert outpaced(asked) == {slow}
    tried = [BASE.apply([move.fact() for move in moves]) for moves in options(asked, BASE)]
    assert slow not in tried
    assert slow in [BASE.apply([move.fact() for move in moves]) for moves in options(facts(rmsnorm()), BASE)]


def test_latencies_of_different_jobs_are_not_compared() -> None:
    recalled = (
        remembered(replace(BASE, stream=True), id="a", job_id="job-0", median_us=100.0),
        remembered(BASE, id="b", job_id="job-1", median_us=900.0),
    )
    assert outpaced(facts(rmsnorm(), experiences=recalled)) == frozenset()


def test_a_move_that_memory_values_comes_before_one_that_the_figures_favour() -> None:
    names = [move.name for move in sensible(facts(rmsnorm()))]
    valued = remembered(BASE, moves=("tile_rows",), value=0.5)
    learned = [move.name for move in sensible(facts(rmsnorm(), experiences=(valued,)))]
    opening = [name for name in names if name in ("fuse", "parallelise", "vectorise")]
    assert names.index("unroll") < names.index("tile_rows")
    assert learned[: len(opening) + 1] == [*opening, "tile_rows"]


def test_values_of_a_move_are_averaged_and_other_families_do_not_count() -> None:
    recalled = (
        remembered(BASE, id="a", moves=("prefetch",), value=0.4),
        remembered(BASE, id="b", moves=("prefetch", "unroll"), value=-0.2),
        remembered(BASE, id="c", moves=("unroll",), value=0.9, family="softmax"),
        remembered(BASE, id="d", moves=("tile_rows",)),
    )
    found = worth(facts(rmsnorm(), experiences=recalled))
    assert found.keys() == {"prefetch", "unroll"}
    assert (round(found["prefetch"], 6), found["unroll"]) == (0.1, -0.2)


def test_while_refining_only_a_kernel_that_promises_more_is_copied() -> None:
    own = rounds(rmsnorm(), 3)[2][1].source or ""
    accepted = replace(report(50.0), speedup=Speedup(best_baseline=2.0))
    known = Schedule(fuse=True, threads=0, lanes=128, wide=True)
    for speedup, copied in ((1.9, False), (2.5, True)):
        recalled = (remembered(known, speedup=speedup),)
        planned = plan(facts(rmsnorm(), (attempt(0, own, accepted),), experiences=recalled))
        assert ([dict(move.parameters) for move in planned.moves] == [{"lanes": 128, "wide": True}]) is copied
    assert experienced(facts(rmsnorm(), experiences=(remembered(known, speedup=1.9),)), faster_than=2.0) is None


def test_the_problems_own_kernel_is_copied_before_a_neighbours_with_a_larger_speedup() -> None:
    problem = rmsnorm()
    slower, fastest = replace(BASE, lanes=32), replace(BASE, stream=True)
    recalled = (
        remembered(replace(BASE, lanes=128), id="a", speedup=9.0, similarity=0.95),
        remembered(slower, id="b", speedup=2.0, text=f"{facts(problem).analysis.subject} Moves: unroll."),
        remembered(fastest, id="c", speedup=2.5, text=f"{facts(problem).analysis.subject} Moves: non_temporal."),
    )
    assert experienced(facts(problem, experiences=recalled)) == fastest
