"""Who judges an entry: a server over REST, or this machine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Protocol

from kernelwright.ci.plan import CiPlan, Task
from kernelwright.ci.rules import Judged
from kernelwright.settings import Settings
from services.client import Client
from services.domain import codec
from services.domain.errors import InfrastructureError, NotFoundError
from services.domain.evaluations import EvaluationReport
from services.domain.jobs import FINAL_STATUSES, JobStatus

POLL_S = 1.0


class TaskJudge(Protocol):
    """Judges entries. Raises `UserError` for what the user must change, `InfrastructureError` for the machine."""

    def evaluate(self, task: Task) -> Judged:
        """The report of the entry's kernel."""
        ...

    def search(self, task: Task) -> Judged:
        """The report of the best kernel that a job finds."""
        ...


def judge(by: TaskJudge, task: Task) -> Judged:
    """One entry's outcome; a failure of the machine is part of it."""
    try:
        return by.search(task) if task.kernel is None else by.evaluate(task)
    except InfrastructureError as error:
        return Judged(report=None, message=str(error), failed=True)


class ServerJudge:
    """Asks a server; each entry is a job there, to be looked at later."""

    def __init__(self, client: Client, address: str, plan: CiPlan) -> None:
        self._client = client
        self._address = address.rstrip("/")
        self._wait_s = plan.wait_s

    def evaluate(self, task: Task) -> Judged:
        """Submit the kernel, wait, read."""
        evaluation_id = str(self._client.evaluate(_body(task))["id"])
        return self._outcome(evaluation_id, self._awaited(self._client.evaluation, evaluation_id))

    def search(self, task: Task) -> Judged:
        """Submit a job, wait, read its best."""
        job_id = str(self._client.submit(_body(task))["id"])
        ended = self._awaited(self._client.job, job_id)
        try:
            ended["report"] = self._client.best(job_id)["report"]
        except NotFoundError:
            ended["report"] = None
        return self._outcome(job_id, ended)

    def _awaited(self, read: Callable[[str], dict[str, Any]], name: str) -> dict[str, Any]:
        until = time.monotonic() + self._wait_s
        while (found := read(name))["status"] not in FINAL_STATUSES:
            if time.monotonic() > until:
                raise InfrastructureError(f"job {name} did not end within {self._wait_s:.0f} s: raise wait_s")
            time.sleep(POLL_S)
        return found

    def _outcome(self, job_id: str, ended: dict[str, Any]) -> Judged:
        link = f"{self._address}/jobs/{job_id}"
        if ended["report"] is not None:
            return Judged(report=codec.from_data(EvaluationReport, ended["report"]), link=link)
        message = f"{ended['status']}: {ended.get('message') or 'no accepted kernel'}"
        return Judged(report=None, link=link, message=message, failed=ended["status"] == JobStatus.FAILED.value)


class LocalJudge:
    """Judges in this process, with the embedded service."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def evaluate(self, task: Task) -> Judged:
        """Judge the kernel here."""
        from kernelwright import evaluate as evaluation
        from kernelwright.problem_files import read_problem, read_source
        from kernelwright.wiring.sandboxes import sandbox_maker

        assert task.kernel is not None
        report = evaluation.evaluate(
            read_problem(task.problem, task.allow_library),
            read_source(task.kernel, "candidate"),
            backend=task.backend,
            device=task.device,
            baselines=task.baselines,
            directory=self._settings.directory,
            make=sandbox_maker(self._settings),
        )
        return Judged(report=report)

    def search(self, task: Task) -> Judged:
        """Run a job here."""
        from kernelwright.local_job import open_solver
        from kernelwright.problem_files import read_problem
        from services.domain.jobs import JobSpec

        spec = JobSpec(
            problem=read_problem(task.problem, task.allow_library),
            backend=task.backend,
            device=task.device,
            model=task.model,
            strategy=task.strategy,
            baselines=task.baselines,
            agents=task.agents,
            budget=task.budget,
            compiler_draft=self._settings.compiler_draft,
            tags=("ci",),
        )

        async def work() -> Judged:
            async with open_solver(self._settings, spec) as solver:
                job = await solver.submit(spec)
                outcome = await solver.finish(job.id, out=None, listener=lambda _event, _report: None)
                return Judged(report=outcome.report, message=f"{outcome.job.status.value}: {outcome.job.message}")

        return asyncio.run(work())


def _body(task: Task) -> dict[str, Any]:
    from kernelwright.problem_files import read_problem, read_source

    problem = read_problem(task.problem, task.allow_library)
    shared: dict[str, Any] = {
        "problem": asdict(problem),
        "backend": task.backend,
        "device": task.device,
        "baselines": list(task.baselines),
        "tags": ["ci"],
    }
    if task.kernel is not None:
        return {**shared, "candidate": read_source(task.kernel, "candidate")}
    search = {"model": task.model, "strategy": task.strategy, "agents": task.agents.value}
    return {**shared, **search, "budget": asdict(task.budget)}
