"""One evaluation in the referee: the gates in order, then the report."""

from __future__ import annotations

import contextlib
import dataclasses
import statistics
import time
from collections.abc import Sequence
from typing import Any

import torch

from services.domain.errors import InfrastructureError
from services.domain.evaluations import Environment, EvaluationReport, EvaluationRequest
from services.domain.gates import GateName, GateResult, GateStatus
from services.domain.objectives import Objective, headline
from services.domain.profiles import Profile, Roofline
from services.domain.tunables import described
from workers.ipc.wire import WireError
from workers.referee.boundary.exchange import TimeLimit
from workers.referee.boundary.worker_messages import Counters
from workers.referee.costs.roofline import diagnose, roofline
from workers.referee.errors import FaultKind, Refused, RunnerFault
from workers.referee.gates.checks.figures import page_baselines
from workers.referee.gates.checks.recovery import after_an_illegal_index
from workers.referee.gates.checks.stream_sync import unjoined_forks
from workers.referee.gates.finding import GateFinding, blamed_gate, failed
from workers.referee.gates.order import GATES, examine
from workers.referee.inputs.distributions import OWN
from workers.referee.report import Figures, compose, compose_infrastructure_error
from workers.referee.state import ReferenceState, ensure_set
from workers.referee.trial import Mode, Trial
from workers.referee.tuning import tune

PROFILE_S = 0.25
WITHOUT_DEVICE = (GateName.SCREEN, GateName.COMPILE)
BREAKDOWNS = (FaultKind.CRASHED, FaultKind.HUNG, FaultKind.MEMORY)
"""Ends of a candidate's process after which the device is tried before it is used again."""
BUSY = 3.0
"""How many times as long as it did the reference takes now where a time-out is the machine's doing."""
MACHINE_FAULTS: tuple[type[Exception], ...] = (
    InfrastructureError,
    WireError,
    Refused,
    OSError,
    MemoryError,
    torch.OutOfMemoryError,
    torch.AcceleratorError,
)
"""What is raised in the referee itself is never a candidate's fault."""
LEAST_CUSTOM_SHARE = 0.5
"""Of the device time in one call, by a profiler's account."""


def evaluate(
    state: ReferenceState,
    request: EvaluationRequest,
    environment: Environment,
    *,
    notes: Sequence[str] = (),
) -> EvaluationReport:
    """The report on one candidate. The machine's failures come back as verdict `infrastructure_error`."""
    started = time.monotonic()
    state.link.setting = None
    trial = Trial(request=request, state=state, time_limit=TimeLimit(left_s=request.timeout_s), notes=list(notes))
    results: list[GateResult] = []
    try:
        state.keep_weights_secret()
        interpreted = trial.mode is Mode.INTERPRETED
        with trial.phase("warm"):
            if not interpreted:
                _ensure_baselines(trial)
        if state.is_large:
            state.bench.rest()
        for gate in GATES:
            if gate not in WITHOUT_DEVICE:
                state.care.take()
            results.extend(_run(gate, trial))
            if results[-1].status is GateStatus.FAILED:
                break
            forged = _tune(trial) if gate is GateName.SCREEN and not interpreted else None
            if forged is not None:
                results.append(forged)
                break
        figures = _figures(trial)
        results.extend(_decoys(trial, figures))
        if request.every_gate and trial.shapes:
            results.extend(unjoined_forks(trial))
            results.extend(after_an_illegal_index(trial))
        trial.end_runner()
        if trial.printed_too_much and all(result.status is not GateStatus.FAILED for result in results):
            results.append(_printed_too_much())
        trial.phases["total"] = time.monotonic() - started
        report = compose(results, figures, environment, trial.phases)
        attested = state.problem.self_attested if report.accepted else None
        return dataclasses.replace(report, errors=trial.errors.entries(), self_attested=attested)
    except MACHINE_FAULTS as error:
        trial.phases["total"] = time.monotonic() - started
        reason = str(error).strip() or f"{type(error).__name__} without a message"
        return compose_infrastructure_error(reason, environment, trial.phases, results)
    finally:
        _clean_up(trial)


def _ensure_baselines(trial: Trial) -> None:
    state = trial.state
    names = trial.request.baselines
    wanted = tuple(name for name in names if getattr(state.bench.baselines, name, None) is None)
    if wanted:
        state.care.take()
        state.bench.ensure(wanted, state.draw(0, OWN), state.metas(0))
    if not trial.request.every_gate:
        return
    if trial.request.times_held_out:
        trial.timed_held_out = state.timed_held_out
    further = [*state.set_numbers[1:], *trial.timed_held_out]
    if any(state.bench.lacks(names, number) for number in further):
        state.care.take()
        for number in further:
            ensure_set(state, names, number)


def _run(gate: GateName, trial: Trial) -> list[GateResult]:
    """The gate's result; two when its evidence belongs to another gate."""
    started = time.monotonic()
    timing_before = trial.phases.get("timing", 0.0)
    trial.errors.gate = gate
    try:
        finding = examine(gate, trial)
    except RunnerFault as fault:
        trial.state.care.doubtful |= fault.kind in BREAKDOWNS
        _check_baseline(trial, fault)
        if fault.kind is FaultKind.HUNG:
            _check_machine(trial, fault)
        finding = failed(_blame(trial, fault), blamed_gate(fault, gate))
    finally:
        trial.errors.gate = None
    if trial.tuned is not None and finding.status is not GateStatus.PASSED:
        finding = dataclasses.replace(finding, detail=f"with {described(trial.tuned.parameters)}: {finding.detail}")
    timing = trial.phases.get("timing", 0.0) - timing_before
    seconds = time.monotonic() - started
    trial.phases[gate.value] = trial.phases.get(gate.value, 0.0) + seconds - timing
    return _results(gate, finding, seconds)


def _check_baseline(trial: Trial, fault: RunnerFault) -> None:
    """Raises `InfrastructureError` where the baselines' process failed, which is no candidate's doing: unless it lacked
    memory, which the candidate may have taken."""
    if not fault.of_baseline:
        return
    trial.state.bench.restart()
    if fault.kind is not FaultKind.MEMORY:
        raise InfrastructureError(f"the baselines' process failed: {fault}")


def _check_machine(trial: Trial, fault: RunnerFault) -> None:
    """Raises `InfrastructureError` where the reference takes much longer than it did: the machine is busy. A card whose
    clocks have fallen while a process ended is measured again."""
    trial.end_runner()
    state = trial.state
    try:
        slowdown = state.bench.slowdown(state.draw(0, OWN), state.metas(0))
        if slowdown > BUSY and state.place.is_gpu:
            slowdown = state.bench.slowdown(state.draw(0, OWN), state.metas(0))
    except RunnerFault as of_baseline:
        raise InfrastructureError(f"{fault}, and the reference fails as well: {of_baseline}") from None
    if slowdown > BUSY:
        raise InfrastructureError(
            f"the machine is too busy: {fault}, and the reference takes {slowdown:.1f} times as long as it did; try "
            f"again when it is quieter"
        )


def _blame(trial: Trial, fault: RunnerFault) -> str:
    """The fault as evidence. Raises `InfrastructureError` where the device's memory was too full for anybody."""
    if fault.kind is not FaultKind.MEMORY or not trial.state.place.is_gpu or "CUDA" not in str(fault):
        return str(fault)
    trial.end_runner()
    free, needed = trial.state.place.free_bytes() or 0, trial.state.reference_bytes
    if free < needed:
        raise InfrastructureError(
            f"{free >> 20} MiB of device memory are free, and the reference itself takes {needed >> 20} MiB"
        )
    return f"out of memory: the reference takes {needed >> 20} MiB, {free >> 20} MiB were free for it. {fault}"


def _tune(trial: Trial) -> GateResult | None:
    """Put the best of the candidate's declared settings in its place; evidence against it where one is a forgery."""
    try:
        trial.tuned = tune(trial)
    except RunnerFault as fault:
        return GateResult(name=GateName.INTEGRITY, status=GateStatus.FAILED, detail=str(fault), seconds=0.0)
    return None


def _results(gate: GateName, finding: GateFinding, seconds: float) -> list[GateResult]:
    if finding.gate is None or finding.gate is gate:
        return [GateResult(name=gate, status=finding.status, detail=finding.detail, seconds=seconds)]
    stopped = f"stopped by {finding.gate.value}"
    return [
        GateResult(name=gate, status=GateStatus.SKIPPED, detail=stopped, seconds=seconds),
        GateResult(name=finding.gate, status=finding.status, detail=finding.detail, seconds=0.0),
    ]


def _figures(trial: Trial) -> Figures:
    state = trial.state
    if not trial.shapes:
        return Figures(baselines=state.bench.baselines, tuned=trial.tuned)
    with trial.phase("profile"):
        roof = roofline(state.analysis, state.device, trial.shapes[0].latency.median_us)
        profile = _on_gpu(trial, roof) if state.place.is_gpu else _on_cpu(trial, roof)
    known = state.bench.baselines
    return Figures(
        baselines=page_baselines(known, trial.measured[0]) if trial.measured else known,
        passes=trial.passes,
        shapes=tuple(trial.shapes),
        held_out=tuple(trial.held_out),
        objective=_objective(trial),
        roofline=roof,
        profile=profile,
        tuned=trial.tuned,
    )


def _objective(trial: Trial) -> Objective:
    return trial.state.problem.objective if trial.request.every_gate else Objective()


def _on_cpu(trial: Trial, roof: Roofline) -> Profile:
    if not trial.request.every_gate:
        return diagnose(roof, "none", {}, "a quick look counts nothing")
    counted = _counters(trial)
    return diagnose(roof, counted.source, counted.metrics, counted.why)


def _on_gpu(trial: Trial, roof: Roofline) -> Profile:
    """The profile of a run of its own, where one is wanted; it never fails."""
    if not (trial.request.profile and trial.request.every_gate):
        return diagnose(roof, "none", {}, "no profile was asked for")
    least = trial.request.least_profiled_speedup
    speedup = headline(_objective(trial), tuple(trial.shapes), tuple(trial.held_out)).speedup.best_baseline
    if least is not None and speedup is not None and speedup < least:
        return diagnose(roof, "none", {}, f"not profiled: at {speedup:.2f}× it is slower than the leader")
    from workers.referee.cuda_profile import profile_on_gpu

    try:
        if trial.state.is_large:
            trial.rest()
            trial.state.bench.rest()
        return profile_on_gpu(trial, roof)
    except (InfrastructureError, RunnerFault, WireError) as error:
        return diagnose(roof, "none", {}, str(error)[:300])


def _decoys(trial: Trial, figures: Figures) -> list[GateResult]:
    """A hint where most of the device's time goes to kernels of libraries that the problem does not permit."""
    metrics = figures.profile.metrics if figures.profile is not None else {}
    share = metrics.get("custom_share", 1.0)
    if share >= LEAST_CUSTOM_SHARE or trial.state.problem.library:
        return []
    detail = f"only {share:.0%} of the device's time is spent in kernels of the candidate's own"
    return [GateResult(name=GateName.INTEGRITY, status=GateStatus.SUSPICIOUS, detail=detail, seconds=0.0)]


def _counters(trial: Trial) -> Counters:
    """Hardware counters while the candidate runs; a profile never fails."""
    try:
        assert trial.runner is not None
        return trial.state.link.profile(trial.runner, lambda: _keep_busy(trial), PROFILE_S)
    except (InfrastructureError, RunnerFault, WireError) as error:
        return Counters(source="none", metrics={}, why=str(error))


def _keep_busy(trial: Trial) -> None:
    typical = statistics.median(trial.measured[0].samples.candidate)
    until = time.monotonic() + max(PROFILE_S, 2 * typical)
    arguments: Any = trial.draw(0, OWN)
    slot = trial.slot(0, arguments)
    while time.monotonic() < until:
        trial.session.call(slot)


def _printed_too_much() -> GateResult:
    detail = "it printed more than the output limit; a kernel prints nothing"
    return GateResult(name=GateName.INTEGRITY, status=GateStatus.FAILED, detail=detail, seconds=0.0)


def _clean_up(trial: Trial) -> None:
    trial.close_slots()
    with contextlib.suppress(InfrastructureError, WireError):
        trial.end_runner()
