"""The worker's hold on one referee process and on the runners it asked for. Runs nobody's code."""

from __future__ import annotations

import os
import select
import time

from services.domain.errors import InfrastructureError
from services.domain.texts import visible
from services.domain.validations import ProblemRefusal
from services.ports.sandboxes import ExitStatus, Sandbox
from workers.devices.gpu_lock import DeviceLock
from workers.evaluation.runners import EXIT_WAIT_S, RunnerProcesses
from workers.evaluation.terms import Terms
from workers.evaluation.work import POLL_S, CancelledError, Work
from workers.ipc.messages import MessageError
from workers.ipc.wire import Channel, Message, WireError, WireTimeoutError
from workers.profilers.perf_counters import PerfProfiler
from workers.referee.boundary import requests
from workers.referee.boundary import worker_messages as messages
from workers.referee.boundary.problem_end import refused_end

USES_DEVICE = (requests.PrepareProblem, requests.MeasureBaselines, requests.ProfileModel)
"""Requests that use the device from their beginning; an evaluation asks for it once its candidate is built."""
SAID = 2000
"""Characters of what a referee wrote last that its end is explained with."""


class RefereeLostError(InfrastructureError):
    """The referee process ended or does not answer. Attributes `status`: how it ended, if it did; `doing`: what it had
    begun, if it said so."""

    def __init__(self, reason: str, status: ExitStatus | None, doing: messages.StepBegun | None) -> None:
        self.status = status
        self.doing = doing
        super().__init__(reason)


def refusal_of(lost: RefereeLostError, limit_s: float) -> ProblemRefusal | None:
    """A refusal when the problem brought its referee down (its draws are too large), or took all of the `limit_s`
    seconds; None when the machine may have done it."""
    if lost.doing is not None:
        what, line = visible(lost.doing.what), lost.doing.line
    elif lost.status is not None and lost.status.out_of_memory:
        what, line = "judging it", None
    else:
        return None
    if lost.status is None:
        reason = f"validating it did not end within {limit_s:.0f} s; the last step was {what}"
        remedy = "Make the problem smaller, or give it fewer input sets."
        return ProblemRefusal(reason=reason, remedy=remedy, line=line)
    refused = refused_end(lost.status, what, line)
    return None if refused is None else ProblemRefusal(reason=refused.reason, remedy=refused.remedy, line=refused.line)


class RefereeProcess:
    """One referee with its runners. Not thread-safe: one conversation at a time. Raises `InfrastructureError`s."""

    def __init__(self, sandbox: Sandbox, terms: Terms, profiler: PerfProfiler, lock: DeviceLock | None = None) -> None:
        self._terms = terms
        self._lock = lock
        self._runners = RunnerProcesses(sandbox, terms, profiler)
        self._doing: messages.StepBegun | None = None
        self._process = sandbox.fork(
            "workers.referee.server:serve", terms.referee, mounts=terms.mounts, environment=terms.environment
        )
        self._channel = Channel(self._process.socket)

    def ask(self, request: requests.RefereeRequest, work: Work, *, limit_s: float) -> requests.RefereeReply:
        """One request and the conversation it takes. Raises `RefereeLostError`, `CancelledError`, and
        `InfrastructureError` for a reply that is none."""
        self._doing = None
        try:
            if isinstance(request, USES_DEVICE):
                self._hold(work)
            deadline = time.monotonic() + limit_s
            self._channel.send(requests.REQUESTS.encode(request))
            while True:
                message = self._next(work, deadline)
                message.close()
                if requests.REPLIES.holds(message.body):
                    return requests.REPLIES.decode(message.body)
                deadline += self._serve(message, work)
        except MessageError as error:
            raise InfrastructureError(f"the referee sent something else than was asked for: {error}") from None
        except WireTimeoutError as error:
            raise self._lost(str(error), lives=True) from None
        except WireError as error:
            raise self._lost(str(error)) from None
        finally:
            self._runners.end_candidates()
            if self._lock is not None:
                self._lock.release()

    def close(self) -> None:
        """Kill the referee and everything it asked for."""
        self._runners.close()
        self._process.kill()
        self._channel.close()

    def _next(self, work: Work, deadline: float) -> Message:
        """The next message; polls for cancellation and for the end of the time while there is none."""
        while True:
            readable, _, _ = select.select([self._channel.connection], [], [], POLL_S)
            if not readable:
                self._runners.drain()
            if work.cancelled():
                raise CancelledError("cancelled")
            if time.monotonic() > deadline:  # looked at for every message: a flood of them must not keep us
                raise self._lost("the referee did not answer in time", lives=True)
            if readable:
                return self._channel.receive(timeout_s=self._terms.answer_s)

    def _lost(self, reason: str, *, lives: bool = False) -> RefereeLostError:
        """`lives`: it was only silent, so there is no end to wait for."""
        status = None if lives else self._process.wait(EXIT_WAIT_S)
        return RefereeLostError(f"the referee is gone: {reason}{_ended(status)}", status, self._doing)

    def _hold(self, work: Work) -> float:
        """Have the device to ourselves until the conversation ends; the seconds that took to get."""
        waited = 0.0 if self._lock is None else self._lock.acquire(work.cancelled)
        if waited is None:
            raise CancelledError("cancelled")
        return waited

    def _serve(self, message: Message, work: Work) -> float:
        """Do what the referee asks; the seconds that the device was waited for."""
        descriptors: list[int] = []
        answer: messages.WorkerAnswer
        try:
            question = messages.QUESTIONS.decode(message.body)
            if isinstance(question, messages.StepBegun):
                self._doing = question
                return 0.0
            answer = self._answer(question, work, descriptors)
        except CancelledError:
            raise
        except (InfrastructureError, MessageError, TypeError, ValueError) as error:
            answer = messages.Declined(error=str(error))
        try:
            self._channel.send(messages.ANSWERS.encode(answer), descriptors, timeout_s=self._terms.answer_s)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        return answer.waited_s if isinstance(answer, messages.DeviceHeld) else 0.0

    def _answer(self, question: messages.Asked, work: Work, descriptors: list[int]) -> messages.WorkerAnswer:
        match question:
            case messages.HoldDevice():
                return messages.DeviceHeld(waited_s=self._hold(work))
            case messages.BeginBuild():
                work.begin(question.setting or {})
                return messages.Done()
            case messages.AwaitBuild():
                return _build(work, question)
            case messages.SpawnRunner():
                return self._runners.spawn(question, work, descriptors)
            case _:
                return self._runners.answer(question, work)


def _build(work: Work, question: messages.AwaitBuild) -> messages.Build:
    """The build's outcome, once there is one."""
    built = work.finished(question.setting or {})
    return messages.Build(
        ok=built.ok,
        messages=built.messages,
        seconds=built.seconds,
        libraries=len(built.artefacts),
        sources=tuple(built.sources),
        built=tuple(built.libraries),
        reached=tuple(built.reached),
    )


def _ended(status: ExitStatus | None) -> str:
    """How a process ended, and the last that it wrote, as the end of a sentence."""
    if status is None:
        return ""
    end = f"signal {status.signal}" if status.signal is not None else f"exit code {status.code}"
    why = " (out of memory)" if status.out_of_memory else " (out of time)" if status.timed_out else ""
    why = f" (it {status.exhaustion})" if status.exhaustion is not None else why
    said = visible(status.output.strip()[-SAID:])
    return f"; it ended with {end}{why}" + (f" and wrote:\n{said}" if said else "")
