"""An orchestrator whose process ended is known to be gone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kernelwright.orchestrator_names import is_gone

pytestmark = pytest.mark.integration


ROOT = Path(__file__).parents[3]


def test_a_process_that_ended_is_gone() -> None:
    script = "from kernelwright.orchestrator_names import own_name; print(own_name())"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    assert is_gone(done.stdout.strip())
