"""The profile of a candidate on a GPU: one more process, below ncu, on inputs of the referee's. Never fails anybody."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from typing import Any

from services.domain.evaluations import Profile, ProfilerFile, Roofline
from workers.ipc.tensors import flatten
from workers.profilers import ncu
from workers.referee.draws import OWN
from workers.referee.errors import RunnerFault
from workers.referee.problem import cloned
from workers.referee.runner_client import Slot
from workers.referee.trial import Trial
from workers.referee.worker_client import Runner

LIMIT_S = 60.0
SEED = 1


def profile_on_gpu(trial: Trial, roof: Roofline) -> Profile:
    """Counters by ncu, else kernel times by torch's profiler, with the diagnosis. Raises what a runner may raise."""
    try:
        said = _counted(trial)
    except RunnerFault as fault:
        said = {"counters": f"==ERROR== {fault}"}
    text = str(said.get("counters"))
    metrics = ncu.summary(ncu.parse(text))
    if metrics:
        bottleneck, reason = ncu.diagnose(metrics)
        return Profile(
            source="ncu",
            metrics=metrics,
            bottleneck=bottleneck,
            reason=_with_share(metrics, reason),
            lines=ncu.line_shares(str(said.get("lines", ""))),
            file=_file(said),
        )
    why = ncu.explain(text)
    metrics = ncu.summary(_traced(trial))
    reason = f"{roof.bound} is the higher floor, and it reaches {roof.fraction:.0%} of it; no counters: {why}"
    return Profile(
        source="torch" if metrics else "none",
        metrics=metrics,
        bottleneck=roof.bound,
        reason=_with_share(metrics, reason) if metrics else reason,
    )


def _file(said: Mapping[str, Any]) -> ProfilerFile | None:
    """ncu's own record, as the runner sent it."""
    content, size = said.get("record"), said.get("record_bytes")
    if not isinstance(content, str) or not isinstance(size, int):
        return None
    note = "" if content else f"at {size >> 20} MiB it is too large to keep"
    return ProfilerFile(name="kernel.ncu-rep", bytes=size, hash=None, note=note, content=content)


def _counted(trial: Trial) -> Mapping[str, Any]:
    """What ncu wrote about one call."""
    runner = trial.state.link.spawn("counted", deadline=time.monotonic() + LIMIT_S)
    try:
        with _prepared(trial, runner) as slot:
            runner.session.ask({"op": "count", "slot": slot.number}, limit_s=LIMIT_S)
            runner.session.ask({"op": "quit"}, limit_s=LIMIT_S)
            return runner.session.receive(limit_s=LIMIT_S)
    finally:
        trial.state.link.kill(runner)


def _traced(trial: Trial) -> list[ncu.KernelMetrics]:
    """Each kernel's time by torch's profiler, which needs no permission."""
    runner = trial.state.link.spawn("traced", deadline=time.monotonic() + LIMIT_S)
    try:
        with _prepared(trial, runner) as slot:
            answer, _ = runner.session.ask({"op": "trace", "slot": slot.number}, limit_s=LIMIT_S)
    finally:
        trial.state.link.kill(runner)
    rows: Any = answer.get("kernels")
    if not isinstance(rows, list):
        return []
    return [
        ncu.KernelMetrics(name=str(row[0]), values={"duration_us": float(row[1])})
        for row in rows
        if isinstance(row, list) and len(row) == 2 and isinstance(row[1], int | float)
    ]


@contextlib.contextmanager
def _prepared(trial: Trial, runner: Runner) -> Iterator[Slot]:
    """Load the candidate as the load gate did, and give it one set of inputs."""
    problem = trial.state.problem
    arguments = trial.state.draw(0, OWN)
    runner.session.load(
        trial.request.source,
        cloned(problem.init_inputs),
        problem.state(),
        seed=SEED,
        copy_state=True,
        threads=trial.state.threads,
        limit_s=LIMIT_S,
        step=problem.step_data,
    )
    slot = runner.session.open_slot(0, arguments, trial.state.metas(0))
    slot.write(flatten(arguments))
    try:
        yield slot
    finally:
        slot.close()


def _with_share(metrics: dict[str, float], reason: str) -> str:
    return f"{reason}; the candidate's own kernels take {metrics['custom_share']:.0%} of {metrics['total_us']:.1f} µs"
