"""One orchestrator's life: each operation on a port passes here, and some go wrong."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar, cast

from langgraph.checkpoint.memory import InMemorySaver

from services.domain.errors import QueueError, StorageError
from services.domain.evaluations import EvaluationReport, EvaluationRequest, Verdict
from services.domain.validations import ValidationReport, ValidationRequest
from services.ports.work import EvaluationQueue
from tests.doubles import FrozenClock, InMemoryDatabase, a_report
from tests.random_faults.schedule import PORTS, Fault, Kind
from tests.unit.orchestrator.world import KilledError

T = TypeVar("T")


class Life:
    """Counts operations and lets faults happen."""

    def __init__(self, faults: tuple[Fault, ...], clock: FrozenClock) -> None:
        self._left = {fault: fault.times for fault in faults}
        self._clock = clock
        self._done = 0
        self._dead = False
        self.stalled = asyncio.Event()
        """Set while the process is suspended."""
        self._awake = asyncio.Event()
        self._awake.set()
        self.happened: Counter[Kind] = Counter()

    def wake(self) -> None:
        """Let a suspended process go on."""
        self._awake.set()

    async def operate(self, port: str, call: Callable[[], Any]) -> Any:
        """One operation, and what goes wrong before or after it."""
        await self._awake.wait()
        self._done += 1
        fault = self._due(port)
        if self._dead:
            raise KilledError
        if fault is not None and fault.kind is not Kind.LOST_ANSWER:
            await self._happen(fault)
        result = await call()
        if self._dead:
            raise KilledError
        if fault is not None and fault.kind is Kind.LOST_ANSWER:
            raise StorageError("the connection broke while it committed")
        return result

    def _due(self, port: str) -> Fault | None:
        for fault, left in self._left.items():
            if left and self._done > fault.at and port in PORTS.get(fault.kind, {port}):
                self._left[fault] = left - 1
                self.happened[fault.kind] += 1
                return fault
        return None

    async def _happen(self, fault: Fault) -> None:
        if fault.kind is Kind.KILL:
            self._dead = True
            raise KilledError
        if fault.kind is Kind.CLOCK:
            self._clock.advance(fault.seconds)
        if fault.kind is Kind.STALL:
            self._awake.clear()
            self.stalled.set()
            await self._awake.wait()
        if fault.kind is Kind.BROKER:
            raise QueueError("the message broker cannot be reached")
        if fault.kind in {Kind.DATABASE, Kind.DISK}:
            raise StorageError("out of reach" if fault.kind is Kind.DATABASE else "no space left on device")


def within(life: Life, name: str, port: T) -> T:
    """A port as an orchestrator of that life reaches it."""
    return cast("T", _Reached(life, name, port))


class _Reached:
    def __init__(self, life: Life, name: str, port: object) -> None:
        self._life, self._name, self._port = life, name, port

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        if not inspect.iscoroutinefunction(found):
            return found

        async def call(*args: Any, **kwargs: Any) -> Any:
            return await self._life.operate(self._name, lambda: found(*args, **kwargs))

        return call


class QueueWithin(EvaluationQueue):
    """The queue as an orchestrator of a life reaches it: its broker's faults are what the port says of them."""

    def __init__(self, life: Life, queue: EvaluationQueue) -> None:
        self._queue = within(life, "queue", queue)

    async def validate(self, request: ValidationRequest) -> ValidationReport:
        return await self._queue.validate(request)

    async def evaluate(self, request: EvaluationRequest) -> EvaluationReport:
        try:
            return await self._queue.evaluate(request)
        except QueueError:
            return a_report(Verdict.INFRASTRUCTURE_ERROR)

    async def cancel(self, job_id: str) -> None:
        with contextlib.suppress(QueueError):
            await self._queue.cancel(job_id)

    async def close(self) -> None:
        await self._queue.close()


class FencedSaver(InMemorySaver):
    """Checkpoints of one life, over the storage of all, refused under a stale lease as the database refuses them."""

    def __init__(self, kept: InMemorySaver, database: InMemoryDatabase, life: Life) -> None:
        super().__init__()
        self.storage, self.writes, self.blobs = kept.storage, kept.writes, kept.blobs
        self._database, self._life = database, life

    async def aput(self, config: Any, *args: Any, **kwargs: Any) -> Any:
        async def put() -> Any:
            self._database.check(config["configurable"]["lease"])
            return await super(FencedSaver, self).aput(config, *args, **kwargs)

        return await self._life.operate("checkpoints", put)

    async def aput_writes(self, config: Any, *args: Any, **kwargs: Any) -> None:
        async def put() -> None:
            self._database.check(config["configurable"]["lease"])
            await super(FencedSaver, self).aput_writes(config, *args, **kwargs)

        await self._life.operate("checkpoints", put)

    async def adelete_thread(self, thread_id: str) -> None:
        async def delete() -> None:
            await super(FencedSaver, self).adelete_thread(thread_id)

        await self._life.operate("checkpoints", delete)
