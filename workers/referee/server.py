"""The referee process: holds one problem, validates it, judges candidates, and answers its worker."""

from __future__ import annotations

import os
import socket
from typing import Any

import torch

from services.domain.codec import from_data, to_data
from services.domain.errors import InfrastructureError
from services.domain.evaluations import Baselines, DeviceSheet, Environment, EvaluationRequest, ProblemRefusal
from services.domain.problems import Problem, ProblemAnalysis
from workers.ipc.placement import keep_freed_memory, place_of
from workers.ipc.wire import Channel, WireClosedError
from workers.referee.draws import OWN
from workers.referee.errors import Refused
from workers.referee.evaluation import evaluate
from workers.referee.model_profile import profiled
from workers.referee.problem import ReferenceProblem
from workers.referee.state import ReferenceState, ensure_set
from workers.referee.validation import analysed, examine, load
from workers.referee.watchdog import Watchdog
from workers.referee.worker_client import WorkerLink

IDLE_LIMIT_S = 86400.0
DRAFTED_SETS = 3
"""Open input sets for which a compiler's draft has code of their own; its code for any size serves the others."""


PARALLEL_ELEMENTS = 1 << 21
"""Largest tensor from which on the referee's own work pays for more than one thread."""


def _largest(analysis: ProblemAnalysis) -> int:
    return max((spec.elements for spec in analysis.inputs), default=0)


class Referee:
    """Serves one worker."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._link = WorkerLink(channel)
        self._state: ReferenceState | None = None
        self._watchdog = Watchdog(channel)

    def run(self) -> None:
        """Answer until the worker goes away."""
        while True:
            try:
                body = self._channel.receive(timeout_s=IDLE_LIMIT_S).body
            except WireClosedError:
                return
            answer: dict[str, Any]
            try:
                answer = getattr(self, f"_do_{body['op']}")(body)
            except Refused as refusal:
                answer = {
                    "refusal": to_data(ProblemRefusal(reason=refusal.reason, remedy=refusal.remedy, line=refusal.line))
                }
            except InfrastructureError as error:
                answer = {"broken": str(error)}
            self._channel.send({"done": True, **answer})

    def _do_prepare(self, body: dict[str, Any]) -> dict[str, Any]:
        """Load the problem; check and analyse it unless the worker knows the analysis from an earlier referee."""
        problem = from_data(Problem, body["problem"])
        device = from_data(DeviceSheet, body["device"])
        place = self._link.place = place_of(device.name)
        place.prepare()
        place.check_health()
        threads = place.host_threads(device.units)
        torch.set_num_threads(threads)
        with self._watchdog.watching(problem.path):
            reference = load(problem, self._progress, place, memory_bytes=body.get("memory_bytes"))
            analysis = self._analysis(reference, device, body["analysis"])
        torch.set_num_threads(threads if _largest(analysis) >= PARALLEL_ELEMENTS else 1)
        self._state = ReferenceState(
            problem=reference,
            analysis=analysis,
            device=device,
            link=self._link,
            baselines=from_data(Baselines, body["baselines"]),
            baselines_age_s=float(body["baselines_age_s"]),
        )
        return {"analysis": to_data(analysis), "notes": list(reference.notes)}

    def _do_baselines(self, body: dict[str, Any]) -> dict[str, Any]:
        """Measure baselines, and find out how exact the reference is, before the first candidate asks."""
        state = self._loaded()
        arguments = state.draw(0, OWN)
        names = tuple(str(name) for name in body["names"])
        baselines = state.bench.ensure(names, arguments, state.metas(0))
        state.bench.warm(names, arguments, state.metas(0))
        for number in state.set_numbers:
            state.usable(number)
        for number in state.set_numbers[1:]:
            ensure_set(state, names, number)
        return {"baselines": to_data(baselines), "notes": list(state.bench.notes.values())}

    def _do_draft(self, body: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002 -- every request has one
        """The compiler's own code as a candidate."""
        state = self._loaded()
        if state.problem.step is not None:
            return {"draft": {"reason": "the compiler's code is drafted for a forward pass only, not for a backward"}}
        numbers = list(state.set_numbers)[:DRAFTED_SETS]
        inputs = [(state.draw(number, OWN), state.metas(number)) for number in numbers]
        return {"draft": state.bench.draft(inputs, state.problem.library)}

    def _do_model(self, body: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002 -- every request has one
        """Where the loaded model's time goes, and its parts as problems."""
        state = self._loaded()
        threads = torch.get_num_threads()
        torch.set_num_threads(state.place.host_threads(state.device.units))
        try:
            with self._watchdog.watching(state.problem.problem.path):
                return {"profile": to_data(profiled(state.problem, state.device, self._progress))}
        finally:
            torch.set_num_threads(threads)

    def _do_evaluate(self, body: dict[str, Any]) -> dict[str, Any]:
        request = from_data(EvaluationRequest, body["request"])
        state = self._loaded()
        stale = state.bench.refresh(float(body["baselines_max_age_s"]))
        notes = [] if stale is None else [f"baselines measured again: {stale}"]
        report = evaluate(state, request, from_data(Environment, body["environment"]), notes=notes)
        return {"report": to_data(report), "baselines": to_data(state.bench.baselines)}

    def _loaded(self) -> ReferenceState:
        if self._state is None:
            raise InfrastructureError("the referee was asked before it had a problem")
        return self._state

    def _analysis(self, reference: ReferenceProblem, device: DeviceSheet, known: Any) -> ProblemAnalysis:
        if known is not None:
            return from_data(ProblemAnalysis, known)
        examine(reference, self._progress)
        return analysed(reference, device, self._progress)

    def _progress(self, what: str, line: int | None) -> None:
        self._watchdog.restart(what)
        self._channel.send({"progress": what, "line": line})


def serve(connection: socket.socket) -> None:
    """Entry point of the referee's process."""
    keep_freed_memory()
    Referee(Channel(connection)).run()
    os._exit(0)
