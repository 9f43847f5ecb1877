"""The containers of one worker: some kept warm, each given to one process at a time, none shared between jobs."""

from __future__ import annotations

import itertools
import logging
import re
import threading
import time
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from services.domain.errors import SandboxError

log = logging.getLogger(__name__)

WAIT_S = 120.0


class PooledContainer(Protocol):
    """What a pool gives out: a container."""

    owner: str | None
    """The job it serves; None while it is new."""

    @property
    def is_alive(self) -> bool:
        """Whether it can serve (again)."""

    def suits(self, need: object) -> bool:
        """Whether it has what a process needs already."""

    def dedicate(self, owner: str, name: str) -> None:
        """Let it serve a job, under a name. Raises `SandboxError`."""

    def destroy(self) -> None:
        """Remove it; may take a while."""


C = TypeVar("C", bound=PooledContainer)


class ContainerPool(Generic[C]):
    """`make(name)` gives a warm container, from any thread. `warm` are kept ready, `limit` exist at most.

    `one_shot`: a container that was used is never used again; else it serves further processes of the same job.
    """

    def __init__(self, make: Callable[[str], C], *, prefix: str, warm: int, limit: int, one_shot: bool) -> None:
        self._make = make
        self._prefix = prefix
        self._warm = warm
        self._limit = limit
        self._one_shot = one_shot
        self._numbers = itertools.count(1)
        self._idle: list[C] = []
        """Longest unused first."""
        self._taken: set[C] = set()
        self._starting = 0
        self._fault: tuple[float, SandboxError] | None = None
        """When the last start that failed was begun, and why it failed."""
        self._closed = False
        self._changed = threading.Condition()
        self._threads: set[threading.Thread] = set()

    def fill(self) -> None:
        """Start what is missing, without waiting."""
        with self._changed:
            self._refill()

    def wait_warm(self) -> None:
        """Wait until as many containers are idle as are kept warm. Raises `SandboxError` when one does not start."""
        began = time.monotonic()
        with self._changed:
            self._refill()
            while len(self._idle) < self._warm:
                self._wait(began, began + WAIT_S)
                self._refill()

    def take(self, owner: str, need: object = None) -> C:
        """A container for one process of a job, if possible one that suits. Raises `SandboxError`."""
        began = time.monotonic()
        with self._changed:
            while (container := self._pick(owner, need)) is None:
                self._start_another()
                self._wait(began, began + WAIT_S)
            self._taken.add(container)
        try:
            container.dedicate(owner, self._name(owner))
        except SandboxError:
            self.give_back(container, usable=False)
            raise
        return container

    def give_back(self, container: C, *, usable: bool) -> None:
        """Its process has ended; `usable` where it may serve the same job again."""
        with self._changed:
            self._taken.discard(container)
            if usable and not self._one_shot and not self._closed and container.is_alive:
                self._idle.append(container)
            else:
                self._discard(container)
            if not self._closed:
                self._refill()
            self._changed.notify_all()

    def close(self) -> None:
        """Remove all containers and wait until they are gone."""
        with self._changed:
            self._closed = True
            for container in [*self._idle, *self._taken]:
                self._discard(container)
            self._idle.clear()
            self._taken.clear()
            self._changed.notify_all()
        for thread in list(self._threads):
            thread.join(30.0)

    def _pick(self, owner: str, need: object) -> C | None:
        """An idle container: one that served this job and suits, else a new one, else one that must be changed."""
        for container in [container for container in self._idle if not container.is_alive]:
            self._idle.remove(container)
            self._discard(container)
        own = [container for container in self._idle if container.owner == owner]
        new = [container for container in self._idle if container.owner is None]
        for container in [*(container for container in own if container.suits(need)), *new, *own]:
            self._idle.remove(container)
            return container
        return None

    def _start_another(self) -> None:
        """See that a container is on its way, at the cost of another job's idle one where there are too many."""
        if self._starting:
            return
        if self._living() >= self._limit:
            if not self._idle:
                raise SandboxError(f"all {self._limit} sandbox containers of this worker are in use")
            self._discard(self._idle.pop(0))
        self._start()

    def _refill(self) -> None:
        while len(self._idle) + self._starting < self._warm and self._living() < self._limit:
            self._start()

    def _living(self) -> int:
        return len(self._idle) + len(self._taken) + self._starting

    def _start(self) -> None:
        self._starting += 1
        self._in_thread(self._open)

    def _open(self) -> None:
        """In a thread: make a container and put it among the idle ones."""
        began, container, fault = time.monotonic(), None, None
        try:
            container = self._make(self._name("warm"))
        except SandboxError as error:
            fault = error
        except Exception as error:
            log.exception("a sandbox container did not start")
            fault = SandboxError(f"a sandbox container did not start: {error}")
        with self._changed:
            self._starting -= 1
            self._fault = None if fault is None else (began, fault)
            if container is not None and self._closed:
                self._discard(container)
            elif container is not None:
                self._idle.append(container)
            self._changed.notify_all()

    def _wait(self, began: float, deadline: float) -> None:
        """Wait for a change. A start that was under way before the caller came may fail: it will see another one."""
        if self._closed:
            raise SandboxError("the sandbox is closed")
        if self._fault is not None and self._fault[0] >= began:
            raise self._fault[1]
        if not self._changed.wait(max(0.0, deadline - time.monotonic())):
            raise SandboxError("no sandbox container became warm in time")

    def _discard(self, container: C) -> None:
        self._in_thread(container.destroy)

    def _in_thread(self, act: Callable[[], object]) -> None:
        """Talk to the daemon in a thread: it takes a good part of a second to remove a container."""

        def run() -> None:
            try:
                act()
            finally:
                self._threads.discard(threading.current_thread())

        thread = threading.Thread(target=run, name="kernelwright-container", daemon=True)
        self._threads.add(thread)
        thread.start()

    def _name(self, purpose: str) -> str:
        """For example `kernelwright-3f2a-job-1c2d-7`: what a container is for, as `docker ps` shows it."""
        words = re.sub(r"[^a-zA-Z0-9_.-]+", "-", purpose or "shared")[:60]
        return f"{self._prefix}-{words}-{next(self._numbers)}"
