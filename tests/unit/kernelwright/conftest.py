"""What holds for every test of the commands."""

from __future__ import annotations

import pytest

from kernelwright.wiring import workbench


@pytest.fixture(autouse=True)
def _no_backends_of_other_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command would look for them in everything that is installed, which takes longer than most of these tests."""
    monkeypatch.setattr(workbench, "plugged_in", dict)
