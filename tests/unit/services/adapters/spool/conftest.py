"""A spool for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.services.adapters.spool.setup import Spool, a_spool


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return a_spool(tmp_path / "spool")
