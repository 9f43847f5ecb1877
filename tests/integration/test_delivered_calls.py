"""Exported kernels, in every form, called as they were not proven: right or an exception, never a crash."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.integration.delivered_calls import KERNELS
from tests.selection import with_full

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
SHORT = ("softsign", "rmsnorm_by_hand_draft")


@pytest.mark.parametrize("kernels", with_full([SHORT, *((name,) for name in KERNELS if name not in SHORT)], [SHORT]))
def test_calls_that_were_not_proven_are_right_or_raise_and_some_are_wrong_bare(kernels: tuple[str, ...]) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}  # its processes are forked off
    line = [sys.executable, "-m", "tests.integration.delivered_calls", "--twice", *kernels]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
