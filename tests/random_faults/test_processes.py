"""Two schedules of random faults on real processes; `python -m tests.random_faults --processes` plays fifty."""

from __future__ import annotations

from contextlib import closing

import pytest

from tests.faults.ground import UnavailableError
from tests.faults.rows import ground
from tests.random_faults.processes import ProcessGround
from tests.random_faults.schedule import drawn

pytestmark = pytest.mark.integration

SEEDS = (3, 12)
EXPECTED = {"orchestrator killed", "FLUSHALL", "worker's child suspended", "database connections terminated"}
"""Some of what happens under them."""


@pytest.mark.full
def test_nothing_is_lost_or_doubled_when_processes_servers_and_connections_go() -> None:
    happened: set[str] = set()
    try:
        with ground() as place, closing(ProcessGround(place)) as played:
            for seed in SEEDS:
                struck = played.play(drawn(seed))  # raises for whatever must not be
                assert len(struck.jobs) == drawn(seed).jobs
                happened |= set(struck.happened)
    except UnavailableError as error:
        pytest.skip(str(error))
    assert happened >= EXPECTED
