"""Each fault once or a few times. `make faults` lets them happen as often as the deployment's promises ask."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from tests.faults.ground import UnavailableError
from tests.faults.installation import Installation
from tests.faults.orchestrators import PLACES, spots
from tests.faults.rows import ROWS, Row, ground, happen
from tests.selection import with_full

pytestmark = pytest.mark.integration

QUICK = [row for row in ROWS if row.quick]
LEFT = (
    "SIGKILL of a whole worker",
    "SIGKILL of one of two orchestrators",
    "SIGKILL of the compile worker",
    "FLUSHALL",
    "Docker daemon killed for 5 s",
    "PostgreSQL's disk full",
    "fork bomb, sandbox process",
    "memory bomb, sandbox process",
    "secrets searched, sandbox docker",
    "SIGTERM of the orchestrator",
    "hang in a system call, sandbox process",
    "two orchestrators, the same jobs",
)
"""Left to `make test-full`: each is close to a row that stays."""
KEPT = [row for row in QUICK if row.name not in LEFT]


@pytest.fixture(scope="module")
def place() -> Iterator[Installation]:
    try:
        with ground() as installation:
            yield installation
    except UnavailableError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize(
    "row",
    with_full(QUICK, KEPT),
    ids=lambda row: row.name,
)
def test_nothing_is_lost_and_nothing_done_twice_after(row: Row, place: Installation) -> None:
    try:
        assert happen(row, row.quick, place).times == row.quick
    except UnavailableError as error:
        pytest.skip(str(error))


def test_orchestrators_are_killed_ten_times_at_every_place() -> None:
    chosen = spots(10 * len(PLACES))
    assert Counter(name for name, _ in chosen) == {place.name: 10 for place in PLACES}
    assert len({name for name, _ in spots(6)}) == 6
