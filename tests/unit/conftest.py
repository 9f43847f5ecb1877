"""Unit tests know nothing of the machine's settings, wait for nothing and start nothing."""

from __future__ import annotations

import os
import re

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")
"""A machine that does other work besides is no fault of what is tested: no test fails by the clock."""

_SETTINGS = re.compile(r"KERNELWRIGHT_|OPENAI_|ANTHROPIC_")


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key or an address in the developer's environment changes no outcome."""
    for name in os.environ:
        if _SETTINGS.match(name):
            monkeypatch.delenv(name)
