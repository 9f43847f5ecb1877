"""An orchestrator killed between any two of its operations: none is left out."""

from __future__ import annotations

import pytest

from tests.unit.orchestrator.killing import sweep

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("part", range(4))
async def test_a_job_killed_between_any_two_operations_ends_as_if_nothing_had_happened(part: int) -> None:
    await sweep(first=2 * part + 1, stride=8)
