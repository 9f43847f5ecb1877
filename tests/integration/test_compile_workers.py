"""Compile workers build for device workers, which take what is there and build the rest themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from services.adapters.queues.compile_ahead import CompileAhead
from services.domain.errors import InfrastructureError, ToolchainError
from services.domain.evaluations import EvaluationRequest
from services.domain.nodes import NodeRole, NodeState, Offer, ServiceNode
from services.domain.work import COMPILE, CompileReport, CompileRequest, WorkOrder, WorkStatus, order_of
from services.ports.sandboxes import Sandbox
from storage.database import Database
from storage.jobs.work_orders import SqlWorkStore
from storage.nodes import SqlNodeRegistry
from tests.doubles import FrozenClock, a_candidate, a_device, an_evaluation_request
from workers.backends.cpp import CppBackend
from workers.queue.compile_worker import CompileBench
from workers.sandboxes.process import ProcessSandbox

pytestmark = pytest.mark.integration

SOURCE = '''
import kernelwright_rt
library = kernelwright_rt.compile_cpp("""
extern "C" void twice(float* x, long n) { for (long i = 0; i < n; ++i) x[i] *= 2; }
""")
'''
REQUEST = CompileRequest(id="cmp-1", job_id="job-1", team_id="local", source=SOURCE, backend="cpp")


class NoCompiler:
    """A sandbox in which nothing may run."""

    isolation = "namespaces"

    def fork(self, *_arguments: Any, **_more: Any) -> Any:
        raise AssertionError("nothing is imported where everything was built before")

    run = fork


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    made = ProcessSandbox()
    yield made
    made.close()


@pytest.fixture
async def database(tmp_path: Path) -> Any:
    made = Database(f"sqlite:///{tmp_path / 'k.db'}")
    await made.upgrade()
    yield made
    await made.close()


def test_what_a_compile_worker_built_needs_no_compiler_on_the_device(sandbox: Sandbox, tmp_path: Path) -> None:
    bench = CompileBench(sandbox, {"cpp": CppBackend(sandbox, tmp_path / "compiled")})
    assert bench.offer.device == COMPILE
    report = bench.compile(REQUEST, lambda: False)
    assert (report.ok, report.libraries) == (True, 1)
    before = contents(tmp_path / "compiled")

    device = CppBackend(NoCompiler(), tmp_path / "device")  # type: ignore[arg-type]
    device.read_ahead(tmp_path / "compiled")
    result = device.build(SOURCE)
    assert result.ok
    assert [path.is_relative_to(tmp_path / "device") for path in result.artefacts] == [True]
    assert result.sources
    assert contents(tmp_path / "compiled") == before, "device workers only read"


def test_a_device_worker_compiles_what_is_missing_or_damaged(sandbox: Sandbox, tmp_path: Path) -> None:
    ahead = tmp_path / "compiled"
    CompileBench(sandbox, {"cpp": CppBackend(sandbox, ahead)}).compile(REQUEST, lambda: False)
    for path in ahead.rglob("*.so"):
        path.unlink()
    device = CppBackend(sandbox, tmp_path / "device")
    device.read_ahead(ahead)
    assert device.build(SOURCE).ok
    other = CppBackend(sandbox, tmp_path / "other")
    other.read_ahead(tmp_path / "nobody-compiled-here")
    assert other.build(SOURCE).ok


def test_a_candidate_that_does_not_compile_is_told_and_not_kept(sandbox: Sandbox, tmp_path: Path) -> None:
    bench = CompileBench(sandbox, {"cpp": CppBackend(sandbox, tmp_path)})
    broken = replace(REQUEST, source=SOURCE.replace("x[i] *= 2", "y[i] *= 2"))
    assert not bench.compile(broken, lambda: False).ok
    assert not list(tmp_path.rglob("build-*.json"))


def test_a_compile_worker_judges_nothing_and_wants_a_compiler(sandbox: Sandbox, tmp_path: Path) -> None:
    bench = CompileBench(sandbox, {"cpp": CppBackend(sandbox, tmp_path)})
    with pytest.raises(InfrastructureError, match="judges no candidate"):
        bench.evaluate(an_evaluation_request(a_candidate()), lambda: False)
    with pytest.raises(ToolchainError, match="needs a compiler"):
        CompileBench(sandbox, {})


async def test_a_compilation_is_an_order_that_mixes_with_no_evaluator(database: Database) -> None:
    orders = SqlWorkStore(database, FrozenClock())
    request = an_evaluation_request(a_candidate())
    await orders.place(order_of(replace(REQUEST, job_id=request.job_id)))
    await orders.place(order_of(request))
    offer = Offer(device=COMPILE, backends=("cpp",), evaluator="g++")
    claim = await orders.take("compiler", 30, offer)
    assert claim is not None
    assert claim.order.request == replace(REQUEST, job_id=request.job_id)
    assert await orders.finish(claim, CompileReport(ok=True, libraries=1, seconds=0.5))
    state = await orders.state("cmp-1")
    assert (state.status, state.result) == (WorkStatus.DONE, CompileReport(ok=True, libraries=1, seconds=0.5))
    assert await orders.take("compiler", 30, offer) is None, "it has no device"
    device = Offer(device="cpu", backends=("cpp",), evaluator="referee 2")
    taken = await orders.take("device", 30, device)
    assert taken is not None
    assert taken.order.id == order_of(request).id


async def test_nothing_is_compiled_ahead_where_no_compile_worker_lives(database: Database) -> None:
    ahead = CompileAhead(SqlNodeRegistry(database, FrozenClock()))

    async def done(_order: WorkOrder) -> object:
        raise AssertionError("nobody would do it")

    assert not await ahead.compiled(an_evaluation_request(a_candidate()), done)


async def test_an_evaluation_goes_on_when_its_compile_worker_fails_hangs_or_goes(database: Database) -> None:
    clock = FrozenClock()
    nodes = SqlNodeRegistry(database, clock)
    await nodes.register(a_compile_worker(clock.now()))
    ahead, request = CompileAhead(nodes, look_s=0.02, most_s=0.3), an_evaluation_request(a_candidate())
    asked: list[str] = []

    async def built(order: WorkOrder) -> object:
        asked.append(order.id)
        return None

    async def fails(_order: WorkOrder) -> object:
        raise InfrastructureError("the worker died 3 times on it")

    async def hangs(_order: WorkOrder) -> object:
        return await asyncio.Event().wait()

    async def goes(_order: WorkOrder) -> object:
        await nodes.leave("compiler")
        return await asyncio.Event().wait()

    assert await ahead.compiled(request, built)
    assert asked == [f"cmp-{request.evaluation_id}"]
    assert not await ahead.compiled(request, fails)
    assert not await ahead.compiled(request, hangs)
    assert not await CompileAhead(nodes, look_s=0.02, most_s=3600).compiled(request, goes)


async def test_cuda_is_compiled_for_the_gpus_that_are_registered(database: Database) -> None:
    clock = FrozenClock()
    nodes = SqlNodeRegistry(database, clock)
    await nodes.register(replace(a_compile_worker(clock.now()), backends=("cpp", "cuda")))
    orders: list[WorkOrder] = []

    async def built(order: WorkOrder) -> object:
        orders.append(order)
        return None

    def request(device: str) -> EvaluationRequest:
        return replace(an_evaluation_request(a_candidate()), backend="cuda", device=device)

    for device, architecture in (("a100", "sm_80"), ("h100", "sm_90")):
        sheet = replace(a_device(), name=device, instruction_set=(architecture,))
        await nodes.register(
            replace(a_compile_worker(clock.now()), name=f"{device}-1", device=device, backends=("cuda",), sheet=sheet)
        )
    ahead = CompileAhead(nodes)
    assert await ahead.compiled(request("a100"), built)
    assert await ahead.compiled(request("h100"), built)
    assert not await ahead.compiled(request("rtx4090"), built), "no worker says what it would be compiled for"
    asked = [order.request for order in orders]
    assert [one.architecture for one in asked if isinstance(one, CompileRequest)] == ["sm_80", "sm_90"]


def test_a_compile_worker_has_a_backend_for_each_gpu(sandbox: Sandbox, tmp_path: Path) -> None:
    made: list[str] = []

    def cuda_for(architecture: str) -> CppBackend:
        made.append(architecture)
        return CppBackend(sandbox, tmp_path / architecture)

    bench = CompileBench(sandbox, {"cpp": CppBackend(sandbox, tmp_path)}, cuda_for=cuda_for)
    for name in ("sm_90", "sm_80", "sm_90", "sm_120"):
        assert bench.compile(replace(REQUEST, backend="cuda", architecture=name), lambda: False).ok
    assert made == ["90a", "80", "120a"]
    assert list((tmp_path / "80").rglob("*.so"))
    with pytest.raises(InfrastructureError, match="not a GPU architecture"):
        bench.compile(replace(REQUEST, backend="cuda", architecture="../../etc"), lambda: False)


def a_compile_worker(now: datetime) -> ServiceNode:
    return ServiceNode(
        name="compiler",
        role=NodeRole.WORKER,
        version="1",
        state=NodeState.READY,
        device=COMPILE,
        backends=("cpp",),
        started_at=now.astimezone(UTC),
        seen_at=now,
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
