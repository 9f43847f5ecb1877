"""The baselines' process as a thread of the test, and the problem's beside it."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Any, cast

from services.domain.measurements import Baselines
from tests.doubles.builders import a_device, an_analysis
from tests.isolated import isolated
from workers.ipc.tensors import TensorMeta
from workers.ipc.wire import Channel
from workers.referee.baselines.measurement import BaselineBench
from workers.referee.baselines.process import BaselineSession
from workers.referee.boundary.exchange import TimeLimit
from workers.referee.boundary.runner_client import RunnerSession
from workers.referee.boundary.worker_client import Runner, WorkerLink
from workers.referee.errors import FaultKind, RunnerFault
from workers.referee.state import ReferenceState


class Link:
    """Starts baselines in threads."""

    def __init__(self, kind: type[BaselineSession] = BaselineSession) -> None:
        self.started: list[RunnerSession] = []
        self._threads: list[threading.Thread] = []
        self._kind = kind
        self.problems = contextlib.ExitStack()

    def spawn(self, _role: str, time_limit: TimeLimit) -> Runner:
        """A baselines' process."""
        ours, theirs = socket.socketpair()
        self._threads.append(threading.Thread(target=self._serve, args=(theirs,)))
        self._threads[-1].start()
        session = RunnerSession(
            Channel(ours), lambda: RunnerFault(FaultKind.CRASHED, "it ended"), time_limit=time_limit
        )
        self.started.append(session)
        return Runner(handle=len(self.started), session=session)

    def kill(self, runner: Runner) -> bool:
        """End it."""
        runner.session.close()
        self._threads[runner.handle - 1].join()
        return False

    def hold_device(self) -> float:
        """It is nobody else's."""
        return 0.0

    def close(self) -> None:
        """End all."""
        for handle, session in enumerate(self.started, start=1):
            self.kill(Runner(handle=handle, session=session))
        self.problems.close()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            self._kind(Channel(connection)).run()


def a_bench(link: Link, source: str, known: Baselines | None = None) -> tuple[BaselineBench, ReferenceState]:
    """The baselines of a problem, and what judges them."""
    problem = link.problems.enter_context(isolated(source))
    its = cast("WorkerLink", link)
    state = ReferenceState(problem=problem, analysis=an_analysis(), device=a_device(), link=its, baselines=Baselines())
    state.bench = BaselineBench(its, problem, known or Baselines(), 1, reference=state)
    return state.bench, state


def asked(state: ReferenceState, number: int = 0) -> tuple[list[Any], list[TensorMeta]]:
    """Arguments of an input set, and what its outputs are."""
    arguments = state.problem.make_inputs(number, 1)
    return arguments, state.metas(number)
