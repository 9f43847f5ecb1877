"""One evaluator for all candidates, as a worker would have it."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kernelwright.wiring.workbench import make_sandbox
from services.domain.devices import DeviceSheet
from services.ports.sandboxes import Sandbox
from workers.backends.cpp import CppBackend, runtime_view
from workers.evaluation.evaluator import Evaluator

SHEET = DeviceSheet(
    name="cpu",
    model="test machine",
    units=2,
    copy_bandwidth_gb_s=15.0,
    cache_bandwidth_gb_s=200.0,
    cache_bytes=32 << 20,
    peak_gflop_s=150.0,
    launch_us=2.0,
    instruction_set=(),
    toolchain="test",
)


@contextmanager
def an_evaluator(sandbox: Sandbox | None = None) -> Iterator[Evaluator]:
    """One for C++ on this machine's cores, as a worker would have it."""
    sandbox = sandbox or make_sandbox()
    with tempfile.TemporaryDirectory() as state:
        backends = {"cpp": CppBackend(sandbox, Path(state))}
        one = Evaluator(sandbox, backends, SHEET, views={"cpp": runtime_view}, memory_bytes=2 << 30)
        try:
            yield one
        finally:
            one.close()
            sandbox.close()


@pytest.fixture(scope="session")
def evaluator() -> Iterator[Evaluator]:
    with an_evaluator() as one:
        yield one
