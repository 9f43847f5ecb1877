"""Exported kernels, in every form, called as they were not proven: right or an exception, never a crash."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.integration.delivered_calls import BY_HAND, KERNELS
from tests.selection import with_full

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]


@pytest.mark.parametrize("kernel", with_full(KERNELS, ["softsign", BY_HAND]))
def test_calls_that_were_not_proven_are_right_or_raise(kernel: str) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}  # its processes are forked off
    line = [sys.executable, "-m", "tests.integration.delivered_calls", kernel]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
