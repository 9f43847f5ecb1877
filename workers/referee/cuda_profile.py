"""The profile of a candidate on a GPU: one more process, below ncu, on inputs of the referee's. Never fails anybody."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from services.domain.profiles import Profile, ProfilerFile, Roofline
from services.domain.texts import percent
from workers.ipc.tensors import flatten
from workers.profilers import ncu
from workers.referee.boundary.exchange import TimeLimit
from workers.referee.boundary.slots import Slot
from workers.referee.boundary.worker_client import Runner
from workers.referee.errors import RunnerFault
from workers.referee.inputs.distributions import OWN
from workers.referee.trial import Trial
from workers.runner.answers import Acknowledged, KernelsTraced, ProfilerOutput
from workers.runner.protocol import CountKernels, QuitRunner, TraceKernels

LIMIT_S = 60.0
SEED = 1


def profile_on_gpu(trial: Trial, roof: Roofline) -> Profile:
    """Counters by ncu, else kernel times by torch's profiler, with the diagnosis. Raises what a runner may raise."""
    try:
        said = _counted(trial)
    except RunnerFault as fault:
        said = ProfilerOutput(counters=f"==ERROR== {fault}")
    text = said.counters
    metrics = ncu.summary(ncu.parse(text))
    if metrics:
        bottleneck, reason = ncu.diagnose(metrics)
        return Profile(
            source="ncu",
            metrics=metrics,
            bottleneck=bottleneck,
            reason=_with_share(metrics, reason),
            lines=ncu.line_shares(said.lines),
            file=_file(said),
        )
    why = ncu.explain(text)
    metrics = ncu.summary(_traced(trial))
    reason = f"{roof.bound} is the higher floor, and it reaches {percent(roof.fraction)} of it; no counters: {why}"
    return Profile(
        source="torch" if metrics else "none",
        metrics=metrics,
        bottleneck=roof.bound,
        reason=_with_share(metrics, reason) if metrics else reason,
    )


def _file(said: ProfilerOutput) -> ProfilerFile | None:
    """ncu's own record, as the runner sent it."""
    if said.record is None:
        return None
    note = "" if said.record else f"at {said.record_bytes >> 20} MiB it is too large to keep"
    return ProfilerFile(name="kernel.ncu-rep", bytes=said.record_bytes, hash=None, note=note, content=said.record)


def _counted(trial: Trial) -> ProfilerOutput:
    """What ncu wrote about one call."""
    runner = trial.state.link.spawn("counted", TimeLimit(left_s=LIMIT_S))
    try:
        with _prepared(trial, runner) as slot:
            runner.session.ask(CountKernels(slot=slot.number), Acknowledged, limit_s=LIMIT_S)
            runner.session.ask(QuitRunner(), Acknowledged, limit_s=LIMIT_S)
            return runner.session.profiler_output(limit_s=LIMIT_S)
    finally:
        trial.state.link.kill(runner)


def _traced(trial: Trial) -> list[ncu.KernelMetrics]:
    """Each kernel's time by torch's profiler, which needs no permission."""
    runner = trial.state.link.spawn("traced", TimeLimit(left_s=LIMIT_S))
    try:
        with _prepared(trial, runner) as slot:
            traced, _ = runner.session.ask(TraceKernels(slot=slot.number), KernelsTraced, limit_s=LIMIT_S)
    finally:
        trial.state.link.kill(runner)
    return [ncu.KernelMetrics(name=name, values={"duration_us": us}) for name, us in traced.kernels]


@contextlib.contextmanager
def _prepared(trial: Trial, runner: Runner) -> Iterator[Slot]:
    """Load the candidate as the load gate did, and give it one set of inputs."""
    arguments = trial.state.draw(0, OWN)
    trial.state.problem.build_in(
        runner.session, trial.request.source, seed=SEED, copy_state=True, threads=trial.state.threads, limit_s=LIMIT_S
    )
    slot = runner.session.open_slot(0, arguments, trial.state.metas(0))
    slot.write(flatten(arguments))
    try:
        yield slot
    finally:
        slot.close()


def _with_share(metrics: dict[str, float], reason: str) -> str:
    return f"{reason}; the candidate's own kernels take {metrics['custom_share']:.0%} of {metrics['total_us']:.1f} µs"
