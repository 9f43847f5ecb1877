"""What one conversation with a referee is about: how to build the candidate, and what has been seen of it."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TypeVar

from services.domain.errors import InfrastructureError
from services.domain.tunables import Setting
from services.ports.devices import BuildResult
from services.ports.sandboxes import Mount
from workers.sampler.attribution import Attribution

T = TypeVar("T")
POLL_S = 0.1
MAX_BUILDS = 64
"""Of one candidate: its settings."""


class CancelledError(InfrastructureError):
    """The caller does not want the result any more."""


@dataclass(kw_only=True)
class Work:
    """What the current conversation is about: how to build, and what a build lets its runner see."""

    build: Callable[[Setting], BuildResult] | None = None
    """Compiles the candidate with values of its `TUNABLES`; with none, as it stands."""
    view: Callable[[BuildResult], tuple[Sequence[Mount], Mapping[str, str]]] | None = None
    cancelled: Callable[[], bool] = field(default=lambda: False)
    builds: dict[str, Future[BuildResult]] = field(default_factory=dict)
    """What was begun, by setting."""
    attribution: Attribution | None = None
    """Where the judged candidate's time went, once the referee has asked."""
    faults: list[tuple[int, int]] = field(default_factory=list)
    """Whenever the referee asked: how many calls there had been, and how many page faults."""

    def begin(self, setting: Setting) -> Future[BuildResult]:
        """Build in a thread: so the referee can go on, and a cancellation is noticed meanwhile."""
        build, key = self.build, _key(setting)
        if build is None:
            raise InfrastructureError("there is nothing to build")
        if key not in self.builds:
            if len(self.builds) >= MAX_BUILDS:
                raise InfrastructureError(f"the referee asked for more than {MAX_BUILDS} builds of one candidate")
            self.builds[key] = in_thread(lambda: build(setting))
        return self.builds[key]

    def finished(self, setting: Setting) -> BuildResult:
        """The build of a setting, once it has ended. Raises `CancelledError`, and what the build raised."""
        future = self.begin(setting)
        while not future.done():
            if self.cancelled():
                raise CancelledError("cancelled")
            with contextlib.suppress(TimeoutError):
                future.exception(timeout=POLL_S)
        return future.result()

    def built(self, setting: Setting) -> BuildResult | None:
        """The finished build of a setting, if there is one."""
        future = self.builds.get(_key(setting))
        done = future is not None and future.done() and future.exception() is None
        return future.result() if future is not None and done else None


def in_thread(function: Callable[[], T]) -> Future[T]:
    """Run in a thread that does not hold up the end of the program."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as error:  # noqa: BLE001 - carried to whoever asks for the result
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def _key(setting: Setting) -> str:
    return json.dumps(dict(setting), sort_keys=True)
