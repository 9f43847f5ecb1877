"""The processes that the fault suite kills: the program's own parts, with a scripted model and kernels that do nothing.

    python -m tests.faults.processes orchestrator|worker|node|nursery

`FAULT_LOG` names the file where every model call and every phase of an evaluation is written down before it happens.
`FAULT_AT=operation:number:before|during|after` makes an orchestrator kill itself (SIGKILL) at the n-th call of an
operation. The nursery forks an orchestrator for each line it reads: a JSON object of more settings.
"""

from __future__ import annotations

import asyncio
import dataclasses
import importlib
import inspect
import json
import os
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from celery import signals

from agents.roles.replies import InspectionReply
from kernelwright.admission import acquire_slot
from kernelwright.cli.server import _observe
from kernelwright.settings import Settings, load_settings
from kernelwright.wiring.installation import open_installation
from kernelwright.wiring.node import work_for_server
from kernelwright.wiring.queues import open_queue
from kernelwright.wiring.workers import celery_settings, open_registry, present, worker_node
from services.domain.chat import ChatReply, ChatRequest
from services.domain.errors import SandboxError
from services.domain.evaluations import EvaluationReport, EvaluationRequest, Verdict
from services.domain.nodes import Offer
from services.domain.usage import Usage
from services.domain.validations import ValidationReport, ValidationRequest
from services.ports.sandboxes import SandboxLimits
from services.ports.work import Workbench, WorkClaims
from services.runtime.clock import SystemClock
from tests.doubles import ScriptedModel, a_device, a_report, agreeable_answers, an_analysis
from workers.ipc.wire import Channel, WireError
from workers.queue.orders import WorkerContext

PHASES = ("compile", "correctness", "timing")
EARLY = (
    "agents.playbook.model",
    "services.adapters.llm.registry",
    "services.telemetry.observed",
    "storage.jobs.checkpoints",
    "storage.memory.store",
    "orchestrator",
    "workers.queue.tasks",
)
"""Modules that an orchestrator imports when it comes to them."""
PRICE = Usage(calls=1, input_tokens=100, output_tokens=50, dollars=0.001)
"""Of each call of the scripted model."""
AMID_S = 0.15
"""From the beginning of a call to its middle."""


def note(line: str) -> None:
    """One line, whole, however many processes write at once."""
    descriptor = os.open(os.environ["FAULT_LOG"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(descriptor, f"{time.time():.3f} {os.getpid()} {line}\n".encode())
    os.close(descriptor)


class Trap:
    """Kills this process at a chosen moment."""

    def __init__(self, at: str | None) -> None:
        self._operation, number, self._when = (at or "::").split(":")
        self._number = int(number or 0)
        self._seen: Counter[str] = Counter()

    def around(self, target: object, *names: str) -> None:
        """Set the trap around some coroutine methods of an object."""
        for name in names:
            setattr(target, name, self._trapped(getattr(target, name), name))

    def _spring(self) -> None:
        note(f"struck {self._operation} {self._number} {self._when}")
        os.kill(os.getpid(), signal.SIGKILL)

    def _trapped(self, method: Callable[..., Any], name: str) -> Callable[..., Any]:
        assert inspect.iscoroutinefunction(method), name

        async def call(*args: Any, **kwargs: Any) -> Any:
            self._seen[name] += 1
            now = name == self._operation and self._seen[name] == self._number
            if now and self._when == "before":
                self._spring()
            if now and self._when == "during":
                asyncio.get_running_loop().call_later(AMID_S, self._spring)
            result = await method(*args, **kwargs)
            if now:
                self._spring()
            return result

        return call


class NotedModel(ScriptedModel):
    """Writes each call down. Its calls cost something: accepted candidates are inspected."""

    def ceiling(self, request: ChatRequest) -> Usage:
        """What the script says of every call."""
        return self._usage

    async def complete(self, request: ChatRequest) -> ChatReply:
        note(f"model {request.key}")
        return await super().complete(request)


def answers(request: ChatRequest) -> str:
    """A valid reply for any role; nobody cheats."""
    if request.schema_name == InspectionReply.__name__:
        return InspectionReply(cheating=False, reason="plain code").model_dump_json()
    return agreeable_answers(request)


class NoopWorkbench(Workbench):
    """Goes through the phases of an evaluation, and accepts; the first candidate not, where `FAULT_REJECTS` is set."""

    def __init__(self, phase_s: float) -> None:
        self._phase_s = phase_s
        self._rejects = "FAULT_REJECTS" in os.environ

    def validate(self, request: ValidationRequest, cancelled: Callable[[], bool] = lambda: False) -> ValidationReport:
        note(f"validate {request.job_id}")
        return ValidationReport(analysis=an_analysis(), refusal=None, device=a_device())

    def evaluate(self, request: EvaluationRequest, cancelled: Callable[[], bool]) -> EvaluationReport:
        for phase in PHASES:
            note(f"{phase} {request.evaluation_id}")
            deadline = time.monotonic() + self._phase_s
            while time.monotonic() < deadline:
                if cancelled():
                    note(f"stopped {request.evaluation_id}")
                    return a_report(median_us=900.0)
                time.sleep(0.01)
        note(f"judged {request.evaluation_id}")
        if self._rejects:
            self._rejects = False
            return a_report(Verdict.REJECTED)
        return a_report(median_us=900.0 - int(request.candidate_id[-4:], 16) % 100)

    def close_job(self, job_id: str) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """Nothing is held."""


class ContainedWorkbench(NoopWorkbench):
    """The same, and a process in a container of its own for each candidate."""

    def __init__(self, phase_s: float) -> None:
        from workers.sandboxes.docker.container_spec import ContainerSpec
        from workers.sandboxes.docker.sandbox import DockerSandbox

        super().__init__(phase_s)
        spec = ContainerSpec(image=os.environ["FAULT_IMAGE"], host_python=True)
        sockets, address = Path(os.environ["FAULT_SOCKETS"]), os.environ["FAULT_DOCKER"]
        self._sandbox = DockerSandbox(spec, sockets, address=address, warm=1)
        self._sandbox.start()

    def evaluate(self, request: EvaluationRequest, cancelled: Callable[[], bool]) -> EvaluationReport:
        self._sandbox.dedicate(request.job_id)
        process = self._sandbox.fork("workers.sandboxes.probe:describe", SandboxLimits(wall_s=60.0))
        channel = Channel(process.socket)
        try:
            channel.receive(timeout_s=60.0)
        except WireError as error:
            raise SandboxError(f"the container went away: {error}") from None
        finally:
            process.kill()
            channel.close()
        return super().evaluate(request, cancelled)

    def close(self) -> None:
        """Remove the containers."""
        self._sandbox.close()


def worker(settings: Settings, device: str, evaluator: str) -> None:
    from storage.database import Database
    from storage.jobs.work_orders import SqlWorkStore
    from workers.queue.heartbeat import Heartbeat
    from workers.queue.tasks import create_app, worker_options

    slot = acquire_slot(device)
    bench = ContainedWorkbench if "FAULT_DOCKER" in os.environ else NoopWorkbench

    def open_context() -> WorkerContext:
        return WorkerContext(
            orders=SqlWorkStore(Database(settings.database), SystemClock()),
            workbench=bench(float(os.environ.get("FAULT_PHASE_S", "0"))),
            offer=Offer(device=device, backends=("cpp",), evaluator=evaluator),
        )

    def open_heartbeat() -> Heartbeat:
        return Heartbeat(worker_node(device, slot.name), lambda: open_registry(settings))

    app = create_app(celery_settings(settings), open_context, open_heartbeat)
    signals.worker_ready.connect(lambda **_: note("worker ready"), weak=False)
    app.worker_main(["worker", *worker_options(device, slot.name), "--loglevel", "INFO"])


async def node(settings: Settings, device: str, evaluator: str) -> None:
    """The same worker without database and broker, at the server that `FAULT_SERVER` names."""

    def open_context(orders: WorkClaims) -> WorkerContext:
        note("worker ready")
        return WorkerContext(
            orders=orders,
            workbench=NoopWorkbench(float(os.environ.get("FAULT_PHASE_S", "0"))),
            offer=Offer(device=device, backends=("cpp",), evaluator=evaluator),
        )

    await work_for_server(settings, os.environ["FAULT_SERVER"], device, open_context)


async def orchestrator(settings: Settings) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with open_installation(settings) as opened:
        await _serve(opened, settings, stop)


async def _serve(opened: Any, settings: Settings, stop: asyncio.Event) -> None:
    from kernelwright.orchestrator_names import own_name
    from kernelwright.wiring import installation as wired

    trap = Trap(os.environ.get("FAULT_AT"))
    model = NotedModel(answers, name="playbook", usage=PRICE, latency_s=float(os.environ.get("FAULT_MODEL_S", "0")))
    trap.around(model, "complete")
    installation = dataclasses.replace(opened, models=_Only(model))
    stores = installation.stores
    trap.around(stores.jobs, "record_step", "set_status")
    trap.around(stores.candidates, "add", "finish")
    trap.around(stores.memory, "recall")
    trap.around(stores.artefacts, "put")
    name = own_name()
    async with open_queue(installation) as queue, present(installation.nodes, installation.clock, name):
        trap.around(queue, "evaluate", "validate")
        made = wired.make_orchestrator(installation, queue, name)
        trap.around(made._with.graph.checkpointer, "aput")
        note("orchestrator ready")
        await made.serve(stop, settings.concurrency, drain_s=settings.drain_s)


def nursery() -> None:
    """Import what an orchestrator needs, then fork one for each line that is read, and say its process id."""
    for name in EARLY:
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    while line := sys.stdin.buffer.readline():
        born = os.fork()
        if born == 0:
            _grow_up(json.loads(line))
        os.write(1, f"{born}\n".encode())


def _grow_up(more: dict[str, str]) -> NoReturn:
    """From here on a process as if it had been started by itself."""
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(2, 1)
        os.environ.update(more)
        asyncio.run(orchestrator(load_settings()))
        code = 0
    except BaseException:  # noqa: BLE001 -- it must not come back to the nursery's loop
        traceback.print_exc()
    finally:
        os._exit(code)


class _Only:
    """The models of this installation: one."""

    def __init__(self, model: NotedModel) -> None:
        self._model = model

    def resolve(self, name: str) -> NotedModel:
        """That one."""
        del name
        return self._model

    async def aclose(self) -> None:
        """Nothing is open."""


if __name__ == "__main__":
    loaded = load_settings()
    os.environ.setdefault("FAULT_LOG", str(Path("faults.log")))
    _observe(loaded, sys.argv[1])
    if sys.argv[1] == "worker":
        worker(loaded, "cpu", os.environ.get("FAULT_EVALUATOR", "noop 1"))
    elif sys.argv[1] == "node":
        asyncio.run(node(loaded, "cpu", os.environ.get("FAULT_EVALUATOR", "noop 1")))
    elif sys.argv[1] == "nursery":
        nursery()
    else:
        asyncio.run(orchestrator(loaded))
