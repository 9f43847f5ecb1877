"""The referee process: has one problem validated, judges candidates, and answers its worker. It runs no submitted
code."""

from __future__ import annotations

import os
import socket

import torch

from services.domain.constraints import sentences
from services.domain.devices import DeviceSheet
from services.domain.errors import InfrastructureError
from services.domain.events import JsonValue
from services.domain.problems import ProblemAnalysis
from services.domain.validations import CompilerDraft, ProblemRefusal
from workers.ipc.messages import MessageError
from workers.ipc.placement import keep_freed_memory, place_of
from workers.ipc.wire import Channel, WireClosedError
from workers.referee.boundary import requests
from workers.referee.boundary.isolated_problem import IsolatedProblem
from workers.referee.boundary.worker_client import ProblemSpawner, WorkerLink
from workers.referee.boundary.worker_messages import QUESTIONS, StepBegun
from workers.referee.errors import Refused
from workers.referee.evaluation import evaluate
from workers.referee.inputs.distributions import OWN
from workers.referee.state import ReferenceState, ensure_set

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
        self._notes: list[str] = []
        """Of the problem, for every report on a candidate."""

    def run(self) -> None:
        """Answer until the worker goes away."""
        while True:
            try:
                body = self._channel.receive(timeout_s=IDLE_LIMIT_S).body
            except WireClosedError:
                return
            self._channel.send(requests.REPLIES.encode(self._reply(body)))

    def _reply(self, body: dict[str, JsonValue]) -> requests.RefereeReply:
        try:
            return self._done(requests.REQUESTS.decode(body))
        except Refused as refusal:
            found = ProblemRefusal(reason=refusal.reason, remedy=refusal.remedy, line=refusal.line)
            return requests.RequestRefused(refusal=found)
        except (InfrastructureError, MessageError) as error:
            return requests.RequestFailed(reason=str(error))

    def _done(self, request: requests.RefereeRequest) -> requests.RefereeReply:
        match request:
            case requests.PrepareProblem():
                return self._prepare(request)
            case requests.MeasureBaselines():
                return self._measure_baselines(request)
            case requests.DraftCandidate():
                return self._draft()
            case requests.ProfileModel():
                return self._profile_model()
            case requests.EvaluateCandidate():
                return self._evaluate(request)

    def _prepare(self, request: requests.PrepareProblem) -> requests.ProblemPrepared:
        """Load the problem; check and analyse it unless the worker knows the analysis from an earlier referee."""
        problem, device = request.problem, request.device
        place = self._link.place = place_of(device.name)
        place.prepare()
        place.check_health()
        threads = place.host_threads(device.units)
        self._end_problem()
        most_bytes = request.memory_bytes or place.free_bytes()
        processes = ProblemSpawner(self._link, self._progress, most_bytes)
        reference = IsolatedProblem(processes, problem, place, memory_bytes=request.memory_bytes, threads=threads)
        try:
            analysis = self._analysis(reference, device, request.analysis)
            note = reference.keep_state()
            threads = threads if _largest(analysis) >= PARALLEL_ELEMENTS else 1
            torch.set_num_threads(threads)
            reference.use_threads(threads)
        except BaseException:
            reference.close()
            raise
        self._state = ReferenceState(
            problem=reference,
            analysis=analysis,
            device=device,
            link=self._link,
            baselines=request.baselines,
            baselines_age_s=request.baselines_age_s,
        )
        self._notes = [] if note is None else [note]
        if reference.self_attested:
            self._notes.append(f"results are self-attested: {reference.self_attested}")
        if reference.limits:
            promised = "; ".join(sentences(reference.limits.constraints))
            self._notes.append(f"results hold within the problem's constraints: {promised}")
        return requests.ProblemPrepared(analysis=analysis, notes=(*reference.notes, *self._notes))

    def _measure_baselines(self, request: requests.MeasureBaselines) -> requests.BaselinesMeasured:
        """Measure baselines, and find out how exact the reference is, before the first candidate asks."""
        state = self._loaded()
        arguments = state.draw(0, OWN)
        state.bench.ensure(request.names, arguments, state.metas(0))
        state.bench.warm(request.names, arguments, state.metas(0))
        del arguments  # they may be large
        if state.is_large:
            state.bench.rest()
        for number in state.set_numbers:
            state.tried.usable(number)
        for number in state.set_numbers[1:]:
            ensure_set(state, request.names, number)
        return requests.BaselinesMeasured(baselines=state.bench.baselines, notes=tuple(state.bench.notes.values()))

    def _draft(self) -> requests.CandidateDrafted:
        """The compiler's own code as a candidate."""
        state = self._loaded()
        if state.problem.is_step:
            reason = "the compiler's code is drafted for a forward pass only, not for a backward"
            return requests.CandidateDrafted(draft=CompilerDraft(reason=reason))
        if state.is_large:
            state.bench.rest()
        numbers = list(state.set_numbers)[:DRAFTED_SETS]
        inputs = [(state.draw(number, OWN), state.metas(number)) for number in numbers]
        return requests.CandidateDrafted(draft=state.bench.draft(inputs, state.problem.library))

    def _profile_model(self) -> requests.ModelProfiled:
        """Where the loaded model's time goes, and its parts as problems."""
        state = self._loaded()
        return requests.ModelProfiled(profile=state.problem.profiled(state.device))

    def _evaluate(self, asked: requests.EvaluateCandidate) -> requests.CandidateEvaluated:
        state = self._loaded()
        stale = state.bench.refresh(asked.baselines_max_age_s)
        measured_again = [] if stale is None else [f"baselines measured again: {stale}"]
        report = evaluate(state, asked.request, asked.environment, notes=[*self._notes, *measured_again])
        return requests.CandidateEvaluated(report=report, baselines=state.bench.baselines)

    def _loaded(self) -> ReferenceState:
        if self._state is None:
            raise InfrastructureError("the referee was asked before it had a problem")
        return self._state

    def _analysis(
        self, reference: IsolatedProblem, device: DeviceSheet, known: ProblemAnalysis | None
    ) -> ProblemAnalysis:
        if known is not None:
            return known
        reference.examine()
        return reference.analysed(device)

    def _end_problem(self) -> None:
        """End the processes that hold the problem of before."""
        if self._state is not None:
            self._state.bench.restart()
            self._state.problem.close()
            self._state = None

    def _progress(self, what: str, line: int | None) -> None:
        self._channel.send(QUESTIONS.encode(StepBegun(what=what, line=line)))


def serve(connection: socket.socket) -> None:
    """Entry point of the referee's process."""
    keep_freed_memory()
    Referee(Channel(connection)).run()
    os._exit(0)
