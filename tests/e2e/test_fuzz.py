"""A short round of the fuzzing that `make fuzz` does in full: every operation of the REST API, as two teams."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.asking import fuzz
from tests.fuzz.ground import prepared

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(280), pytest.mark.filterwarnings("ignore")]
CASES = 192


def test_no_request_breaks_the_api_leaves_its_document_or_reads_another_team(tmp_path: Path) -> None:
    with prepared(tmp_path / "home") as ground:
        tallies = list(fuzz(ground, CASES))
    assert [f"{tally.operation}: {fault}" for tally in tallies for fault in tally.faults] == []
    assert sum(tally.cases for tally in tallies) >= CASES
    assert sum(tally.foreign for tally in tallies) >= 10
    assert any(200 <= status < 300 for tally in tallies for status in tally.statuses)
