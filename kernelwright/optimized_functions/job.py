"""`kernelwright.solve`: a job for a plain function, in this process."""

from __future__ import annotations

import asyncio
import hashlib
import sys
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import torch

from kernelwright.local_job import Solver, SolveResult, open_solver
from kernelwright.optimized_functions.problem import make_problem
from kernelwright.optimized_functions.solution import Solution
from kernelwright.settings import Settings, load_settings
from services.domain.jobs import LOCAL_TEAM, Budget, Job, JobFilter, JobSpec, JobStatus
from services.domain.measurements import default_baselines

T = TypeVar("T")
_USABLE = frozenset({JobStatus.SOLVED, JobStatus.NO_GAIN})


def solve(
    function: Callable[..., Any],
    example_inputs: Sequence[Any],
    *,
    held_out: Sequence[Any] = (),
    backend: str | None = None,
    device: str = "cpu",
    model: str = "playbook",
    rounds: int = 10,
    wall_s: float | None = None,
    allow_library: Sequence[str] = (),
    constraints: Mapping[str, Any] | None = None,
    out: Path | None = None,
    reuse: bool = True,
    progress: bool = True,
) -> Solution:
    """Search for a faster, proven kernel that computes what `function` computes; takes seconds to minutes.

    `example_inputs` are the positional arguments of one call, `(x, weight)`, or a list of such tuples, one for each
    shape to be proven; `held_out` are further ones whose shapes no agent sees. Values are drawn anew like the examples.
    `constraints` says what kernels may rely on, `{"x": {"range": (0.0, 1.0)}, "mask": "fixed"}` as in a problem's
    `CONSTRAINTS`: the values of calls are not checked for it. `backend` is cpp on the CPU and triton elsewhere unless
    given. With `reuse`, an earlier job of this installation for the same text, examples and options is returned instead
    of a new one. `progress` prints what happens on standard error. Raises `ProblemError` where the function does not
    stand by itself, changes its arguments or cannot be traced, and `UserError`, `InfrastructureError` as
    `kernelwright run`.
    """
    settings = load_settings()
    made = make_problem(function, example_inputs, held_out, allow_library=tuple(allow_library), constraints=constraints)
    spec = JobSpec(
        problem=made.problem,
        backend=backend or ("cpp" if device == "cpu" else "triton"),
        device=device,
        model=model,
        budget=Budget(rounds=rounds, wall_s=wall_s),
        baselines=default_baselines(device),
        compiler_draft=settings.compiler_draft,
    )
    result = _finished(_run(settings, spec, out=out, reuse=reuse, progress=progress))
    place = torch.device("cpu") if device == "cpu" else torch.device("cuda", 0)
    return Solution(made=made, result=result, device=place)


async def _run(settings: Settings, spec: JobSpec, *, out: Path | None, reuse: bool, progress: bool) -> SolveResult:
    tagged = _tagged(spec)
    async with open_solver(settings, tagged) as solver:
        if reuse:
            wanted = JobFilter(statuses=_USABLE, tags=tagged.tags)
            page = await solver.here.service.list(LOCAL_TEAM, wanted=wanted, limit=1)
            for job in page.jobs:
                return await solver.outcome(job.id, out)
        job = await solver.submit(tagged)
        return await _watched(solver, job, out) if progress else await solver.finish(job.id, out=out)


async def _watched(solver: Solver, job: Job, out: Path | None) -> SolveResult:
    from rich.console import Console

    from kernelwright.progress import Progress

    console = Console(file=sys.stderr, highlight=False, soft_wrap=not sys.stderr.isatty())
    console.print(f"job {job.id}")
    with Progress(console) as shown:
        return await solver.finish(job.id, out=out, listener=shown.listen)


def _tagged(spec: JobSpec) -> JobSpec:
    """The spec with a tag by which the same request finds its job again, on this toolchain and processor only."""
    import kernelwright_rt
    from services.domain.referees import REFEREE_VERSION

    toolchain = kernelwright_rt.toolchain() if spec.backend == "cpp" else torch.version.cuda
    named = (spec, torch.__version__, toolchain, REFEREE_VERSION)
    return replace(spec, tags=(f"function:{hashlib.sha256(repr(named).encode()).hexdigest()[:16]}",))


def _finished(work: Coroutine[Any, Any, T]) -> T:
    """What a coroutine returns; in a thread of its own where this one has an event loop already, as in notebooks."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    return _in_thread(work)


def _in_thread(work: Coroutine[Any, Any, T]) -> T:
    """Interrupting the wait cancels the work, and waits until it has cleaned up."""
    loop = asyncio.new_event_loop()
    task = loop.create_task(work)
    answer: Future[T] = Future()
    thread = threading.Thread(target=_complete, args=(loop, task, answer), name="kernelwright-solve")
    thread.start()
    try:
        return answer.result()
    except KeyboardInterrupt:
        loop.call_soon_threadsafe(task.cancel)
        raise
    finally:
        thread.join()


def _complete(loop: asyncio.AbstractEventLoop, task: asyncio.Task[T], answer: Future[T]) -> None:
    try:
        found = loop.run_until_complete(task)
        loop.run_until_complete(loop.shutdown_default_executor())
        answer.set_result(found)
    except BaseException as error:  # noqa: BLE001 - belongs to whoever waits
        answer.set_exception(error)
    finally:
        loop.close()
