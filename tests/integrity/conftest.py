"""One evaluator for all candidates, as a worker would have it."""

from collections.abc import Iterator

import pytest

from kernelwright.wiring.workbench import make_sandbox
from services.domain.devices import DeviceSheet
from workers.backends.cpp import CppBackend, runtime_view
from workers.judging.evaluator import Evaluator

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


@pytest.fixture(scope="session")
def evaluator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evaluator]:
    state = tmp_path_factory.mktemp("state")
    sandbox = make_sandbox()
    one = Evaluator(
        sandbox, {"cpp": CppBackend(sandbox, state)}, SHEET, views={"cpp": runtime_view}, memory_bytes=2 << 30
    )
    try:
        yield one
    finally:
        one.close()
        sandbox.close()
