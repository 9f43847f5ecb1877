"""The orchestrator: claims jobs and runs many at once in one event loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from agents.workflow.context import LeaseHolder, Stores
from agents.workflow.graph import build_graph
from agents.workflow.nodes import Workflow
from agents.workflow.rules import JobRules
from orchestrator.drain import Drain, DrainingSaver
from orchestrator.job_monitor import PollingIntervals
from orchestrator.job_run import Collaborators, run_to_its_end
from orchestrator.lease_renewal import LeaseRenewal
from services.domain.errors import ConflictError, KernelwrightError, LeaseLostError, StorageError
from services.domain.jobs import LOCAL_TEAM, Job, JobStatus, Lease
from services.domain.problems import Problem
from services.ports.models import ChatModel
from services.ports.runtime import Clock
from services.ports.work import EvaluationQueue
from services.telemetry.logs import log_context
from services.telemetry.metrics import JOBS_ENDED, LEASES_LOST
from services.telemetry.traces import job_span

log = logging.getLogger(__name__)
DEAD_LOOK_S = 1.0
"""How often an orchestrator looks for others on its machine that have ended."""


class Orchestrator:
    """Runs jobs: one by name, or all there are. Killed at any point, another one continues from the checkpoint."""

    def __init__(
        self,
        *,
        stores: Stores,
        queue: EvaluationQueue,
        models: Callable[[str], ChatModel],
        public_source: Callable[[Problem], str],
        checkpoints: BaseCheckpointSaver[Any],
        clock: Clock,
        owner: str,
        is_gone: Callable[[str], bool] = lambda _owner: False,
        rules: JobRules | None = None,
        polling: PollingIntervals | None = None,
        after_job: Callable[[str], Awaitable[object]] | None = None,
    ) -> None:
        """`owner` names this orchestrator and must be unique: host, process and a random part. `is_gone` says whether
        the orchestrator of a name has certainly ended: its lease is then not waited for. `after_job` is called with the
        team's id when a job has ended; it must not raise."""
        rules, polling = rules or JobRules(), polling or PollingIntervals()
        workflow = Workflow(queue, clock, rules)
        self._owner = owner
        self._is_gone = is_gone
        self._looked_at = float("-inf")
        self._drain = Drain()
        self._with = Collaborators(
            stores=stores,
            queue=queue,
            models=models,
            public_source=public_source,
            graph=build_graph(workflow, DrainingSaver(checkpoints, self._drain)),
            checkpoints=checkpoints,
            clock=clock,
            rules=rules,
            polling=polling,
            renewal=LeaseRenewal(
                stores.jobs, clock, owner, fresh_s=polling.poll_s / 2, lease_ttl_s=polling.lease_ttl_s
            ),
            drain=self._drain,
            after_job=after_job,
        )

    async def run_job(self, job_id: str, team_id: str = LOCAL_TEAM) -> Job:
        """Take a job to its end and return it; a final job is returned as it is.

        Waits as long as a dead orchestrator's lease may hold, unless it is known to be dead. Raises `NotFoundError`,
        `ConflictError` when a living orchestrator holds the job, `LeaseLostError` when one takes it meanwhile."""
        job = await self._with.stores.jobs.get(team_id, job_id)
        clock, polling = self._with.clock, self._with.polling
        waits_since: float | None = None
        while not job.status.is_final:
            lease = await self._acquire(job_id)
            if lease is not None:
                return await self._run(lease)
            if await self._release_dead_lease(job_id):
                continue
            if waits_since is None:
                log.info("job %s is held by another orchestrator: waiting for its lease", job_id)
                waits_since = clock.monotonic()
            if clock.monotonic() - waits_since > polling.lease_ttl_s * 1.2:
                raise ConflictError(f"job {job_id} is run by another orchestrator: watch it, or stop that one")
            await clock.sleep(polling.poll_s)
            job = await self._with.stores.jobs.get(team_id, job_id)
        if job.status is not JobStatus.FAILED:  # a failed one may go on from where it stopped
            await self._with.checkpoints.adelete_thread(job.id)
        return job

    async def serve(self, stop: asyncio.Event, concurrency: int = 200, *, drain_s: float = 0.0) -> None:
        """Claim and run jobs until `stop` is set; then let go of those that run, to be resumed later: at their next
        checkpoint, or after `drain_s`. What workers do for them goes on."""
        stopping = asyncio.create_task(stop.wait())
        try:
            while not stop.is_set():
                if len(self._drain.running) < concurrency and (lease := await self._claim()) is not None:
                    self._drain.add(lease.job_id, asyncio.create_task(self._run_quietly(lease)))
                    continue
                pause = asyncio.ensure_future(self._with.clock.sleep(self._with.polling.poll_s))
                await asyncio.wait({pause, stopping}, return_when=asyncio.FIRST_COMPLETED)
                pause.cancel()
        finally:
            stopping.cancel()
            await self._drain.finish(drain_s)

    async def _acquire(self, job_id: str | None) -> Lease | None:
        ttl_s = self._with.polling.lease_ttl_s
        return await self._with.stores.jobs.acquire(
            self._owner, ttl_s, job_id, team_cap=self._with.rules.team_cap, busy=self._drain.jobs
        )

    async def _release_dead_lease(self, job_id: str) -> bool:
        """Free a job that an orchestrator holds which has certainly ended; whether it was so."""
        lease = await self._with.stores.jobs.holder(job_id)
        if lease is None or not self._is_gone(lease.owner):
            return False
        await self._with.stores.jobs.release(lease)
        return True

    async def _release_dead_owners(self) -> None:
        """Free what orchestrators hold that have certainly ended (those of this machine, killed): nobody need wait for
        their leases."""
        now = self._with.clock.monotonic()
        if now - self._looked_at < DEAD_LOOK_S:
            return
        self._looked_at, jobs = now, self._with.stores.jobs
        for owner in await jobs.holders():
            if owner != self._owner and self._is_gone(owner):
                freed = await jobs.release_all(owner)
                log.warning("orchestrator %s has ended: %d jobs that it held go on here or elsewhere", owner, freed)

    async def _claim(self) -> Lease | None:
        """The next job there is. A database out of reach means none for now."""
        try:
            await self._release_dead_owners()
            return await self._acquire(None)
        except StorageError as error:
            log.warning("cannot claim jobs: %s", error)
            return None
        except Exception:  # must not end what runs all jobs, in silence
            log.exception("cannot claim jobs: a fault of this program, trying again")
            return None

    async def _run(self, lease: Lease) -> Job:
        """One leased job to its end; the lease is given back whatever happens."""
        jobs = self._with.stores.jobs
        holder = LeaseHolder(lease, jobs, self._with.clock, self._with.polling.lease_ttl_s)
        try:
            with (
                self._with.renewal.holding(holder),
                log_context(job=lease.job_id),
                job_span(lease.job_id, "orchestrate"),
            ):
                how = "taken over" if lease.token > 1 else "claimed"
                log.info("the job of team %s was %s by %s (token %d)", lease.team_id, how, lease.owner, lease.token)
                job = await run_to_its_end(holder, self._with)
        finally:
            await jobs.release(holder.current)
        JOBS_ENDED.labels(job.status.value).inc()
        return job

    async def _run_quietly(self, lease: Lease) -> None:
        try:
            await self._run(lease)
        except LeaseLostError as error:
            LEASES_LOST.inc()
            self._let_go(lease, error)
        except StorageError as error:
            self._let_go(lease, error)

    def _let_go(self, lease: Lease, error: KernelwrightError) -> None:
        with log_context(job=lease.job_id):
            log.warning("job %s was let go: %s", lease.job_id, error)
