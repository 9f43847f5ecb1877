"""Some of the random schedules: nothing is lost or doubled, whatever goes wrong."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.random_faults.checking import violations
from tests.random_faults.running import run
from tests.random_faults.schedule import Kind, drawn
from tests.selection import with_full

SEEDS = range(12)


@pytest.mark.parametrize("seeds", with_full([SEEDS, range(12, 50)], [SEEDS]), ids=len)
async def test_nothing_is_lost_or_doubled_whatever_goes_wrong(seeds: range) -> None:
    happened: Counter[Kind] = Counter()
    for seed in seeds:
        ground = await run(drawn(seed))
        happened += ground.happened
        assert violations(ground) == [], f"python -m tests.random_faults --seed {seed}"
    assert set(happened) == set(Kind), "every kind of fault is met"


async def test_the_checker_sees_what_is_lost_doubled_or_written_by_a_stale_holder() -> None:
    ground = await run(drawn(0))
    ground.database.steps["job-0"] = ground.database.steps["job-0"][:1]
    ground.queue.evaluated.append(ground.queue.evaluated[0])
    ground.jobs.tokens["job-0"] = [2, 1]
    log = next(iter(ground.database.logs.values()))
    log.append(log[0])
    said = " ".join(violations(ground))
    for word in ("doubled or lost: job-0", "evaluated more than once", "not fenced", "has gaps", "outcome twice"):
        assert word in said
