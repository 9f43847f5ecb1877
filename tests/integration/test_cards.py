"""What is read of an nvidia-smi that fails halfway."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.workers.devices.test_cards import row
from workers.devices import cards

pytestmark = pytest.mark.integration


def test_a_card_that_fell_off_the_bus_does_not_hide_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(
        f"#!/bin/sh\necho 'Unable to determine the device handle for GPU0'\necho '{', '.join(row(1))}'\nexit 15"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert cards.query(*cards.FACTS) == [row(1)]
