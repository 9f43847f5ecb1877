"""A few jobs through each adapter while three of ten requests fail; `make model-faults` runs two hundred of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.chat_bench import NAMES
from tests.model_faults.service import FAULTS
from tests.model_faults.survey import survey
from tests.selection import with_full

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]


@pytest.mark.parametrize("name", with_full(NAMES, ["compatible:local"]))
async def test_jobs_end_within_their_budgets_while_three_of_ten_requests_fail(name: str, tmp_path: Path) -> None:
    found = await survey(name, 20, tmp_path)
    assert found.ended == 20
    assert found.statuses["solved"] + found.statuses["no_gain"] >= 5
    assert found.crashes == []
    assert found.over_cap == []
    assert found.over_budget == []
    assert found.stopped_by_budget >= 1, "budgets that never bind would show nothing"
    assert set(found.faults) == {fault.name for fault in FAULTS}
    assert found.share_of_faults > 0.1, "fewer than 0.3 of them, since a job that meets many soon has no budget left"
