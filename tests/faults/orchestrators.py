"""Orchestrators that are killed at every node boundary, and inside every node."""

from __future__ import annotations

import itertools
import time
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tests.faults.installation import ROUNDS, Installation
from tests.faults.nursery import Born, Nursery
from tests.waiting import until

if TYPE_CHECKING:
    from tests.faults.rows import Tally

Spot = tuple[str, int, str]
"""An operation, its how-manieth call, and whether before, during or after it."""

STEP = ("recall", "plan", "code", "evaluate", "inspect", "profile", "judge", "learn", "select")
"""The nodes of a step, in order; `analyse` comes before the first one."""
ASKING = ("plan", "code", "inspect", "profile", "judge")
"""Those of them that call the model, once each."""
AT_ONCE = 8
"""So many orchestrators are killed, each with a job of its own, before another one takes all their jobs over."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where orchestrators are killed; each time at the next of some spots."""

    name: str
    spots: tuple[Spot, ...]


def _written(node: str) -> tuple[int, ...]:
    """Which of a job's checkpoints a node's is, in each round; the first two are the job's beginning."""
    if node == "analyse":
        return (3,)
    return tuple(4 + STEP.index(node) + len(STEP) * number for number in range(ROUNDS))


def _asked(node: str) -> tuple[int, ...]:
    return tuple(1 + ASKING.index(node) + len(ASKING) * number for number in range(ROUNDS))


def _around(operation: str, numbers: tuple[int, ...], *when: str) -> tuple[Spot, ...]:
    return tuple((operation, number, moment) for number in numbers for moment in when)


def _inside(node: str) -> tuple[Spot, ...]:
    """The spots within a node: at what it asks of others, and when all is done but its checkpoint is not written."""
    rounds = tuple(range(1, ROUNDS + 1))
    others = {
        "recall": _around("recall", rounds, "before", "after"),
        "code": _around("add", rounds, "before", "after"),
        "evaluate": _around("evaluate", rounds, "before", "during", "after")
        + _around("finish", rounds, "before", "after"),
        "learn": _around("record_step", rounds, "before", "after"),
    }
    asked = _around("complete", _asked(node), "before", "during", "after") if node in ASKING else ()
    return asked + others.get(node, ()) + _around("aput", _written(node), "before")


PLACES = (
    Place(
        name="validation",
        spots=(
            *_around("validate", (1,), "before", "after"),
            *_around("set_status", (1, 2), "before", "after"),
            *_around("put", (1,), "after"),
            *_around("aput", (1,), "after"),
            *_around("aput", (2,), "before", "after"),
        ),
    ),
    *(Place(name=f"after {node}", spots=_around("aput", _written(node), "after")) for node in ("analyse", *STEP)),
    *(Place(name=f"inside {node}", spots=_inside(node)) for node in ("analyse", *STEP)),
    Place(name="the job's end", spots=_around("set_status", (3,), "before", "after")),
)


def spots(times: int) -> list[tuple[str, Spot]]:
    """So many, evenly over all places: each place in turn, at its next spot every time."""
    everywhere = [
        (place.name, place.spots[turn % len(place.spots)])
        for turn in range(-(-times // len(PLACES)))
        for place in PLACES
    ]
    return everywhere[:: max(1, len(everywhere) // times)][:times]


def orchestrator_killed(place: Installation, times: int, tally: Tally) -> str:
    """SIGKILL of orchestrators at node boundaries and inside nodes, each at its own spot; another one goes on."""
    place.workers(2)
    place.orchestrators(0)
    jobs: list[str] = []
    left = iter(spots(times))
    with closing(place.nursery()) as nursery:
        while batch := list(itertools.islice(left, AT_ONCE)):
            jobs += _struck(place, nursery, batch, tally)
    place.check(jobs)
    assert max(place.judged(jobs).values()) == 1, "an evaluation was done twice"
    return "no finished step repeated"


def _struck(place: Installation, nursery: Nursery, where: list[tuple[str, Spot]], tally: Tally) -> list[str]:
    """Kill orchestrators, one job and one spot each, and let another one end their jobs; the jobs."""
    doomed = [
        (spot, nursery.orchestrator(FAULT_AT=_written_out(spot), FAULT_MODEL_S="0.3", KERNELWRIGHT_CONCURRENCY="1"))
        for _, spot in where
    ]
    for spot, one in doomed:
        until(partial(_ready, place, one), f"the start of the orchestrator to be killed at {_written_out(spot)}")
    jobs = place.submit(len(where))
    try:
        until(lambda: not _living(doomed))
    except AssertionError:
        raise AssertionError(f"not reached: {', '.join(_living(doomed))}") from None
    struck, held = time.monotonic(), _held(place, jobs, doomed)
    with closing(nursery.orchestrator()):
        place.wait(jobs)
    tally.saw("all ended after s", time.monotonic() - struck)
    for job, holders in place.postgres.rows("SELECT id, lease_token FROM jobs WHERE id = ANY(%s)", jobs):
        again, deaths = place.repeated_calls([str(job)]), int(str(holders)) - 1
        tally.saw("model calls repeated", again)
        # On a slow machine a job's holder can be killed after another one was: a call may be repeated each time.
        assert again <= max(1, deaths), f"{again} calls of {job} repeated, {held.get(str(job))}, {deaths} deaths"
        between = deaths == 1 and held.get(str(job), ("", 0, ""))[::2] == ("aput", "after")
        assert not (between and again), f"{again} calls of {job} repeated, whose checkpoint was written: {held}"
    return jobs


def _held(place: Installation, jobs: list[str], doomed: list[tuple[Spot, Born]]) -> dict[str, Spot]:
    """Where the holders of some jobs were killed."""
    spot_of = {one.pid: spot for spot, one in doomed}
    rows = place.postgres.rows("SELECT id, lease_owner FROM jobs WHERE id = ANY(%s) AND lease_owner IS NOT NULL", jobs)
    return {str(job): spot_of[int(str(owner).rsplit("-", 4)[2])] for job, owner in rows}


def _ready(place: Installation, one: Born) -> bool:
    assert one.alive, f"it ended:\n{place.output.read_text()[-3000:]}"
    return any(line[1:] == (one.pid, "orchestrator", "ready") for line in place.lines())


def _living(doomed: list[tuple[Spot, Born]]) -> list[str]:
    return [_written_out(spot) for spot, one in doomed if one.alive]


def _written_out(spot: Spot) -> str:
    return ":".join(map(str, spot))
