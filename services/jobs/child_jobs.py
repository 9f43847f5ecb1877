"""Jobs that share a budget: a parent that waits for what its children make, and the children."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TypeVar

from services.domain.digests import JobCosts
from services.domain.errors import ConflictError
from services.domain.jobs import EVALUATE_ONLY, Budget, Job, JobSpec, JobStatus
from services.jobs.service import JobService
from services.ports.jobs import JobStore
from services.ports.runtime import Clock

N = TypeVar("N", int, float)
KEPT_ROUNDS = 1
"""For judging what the parent is handed in the end."""
KEPT_WALL = 0.2
"""Share of the wall time that is kept for the same."""


class ChildJobService:
    """The use cases of a parent with children."""

    def __init__(self, jobs: JobStore, service: JobService, clock: Clock, *, kept_device_s: float) -> None:
        """`kept_device_s`: ceiling of one evaluation, kept for judging what the parent is handed."""
        self._jobs = jobs
        self._service = service
        self._clock = clock
        self._kept_device_s = kept_device_s

    async def open(self, team_id: str, spec: JobSpec) -> Job:
        """Store a parent, paused until a kernel is handed in; its wall time runs from here on. Raises `UserError`."""
        return await self._service.store(
            team_id,
            replace(spec, seed_candidate=None, tags=(*spec.tags, EVALUATE_ONLY)),
            lambda job: replace(
                job,
                status=JobStatus.PAUSED,
                pause_requested=True,
                started_at=job.created_at,
                message="waits for its parts",
            ),
        )

    async def add(self, team_id: str, parent_id: str, spec: JobSpec, turns: int) -> Job | None:
        """Store a child with an equal part of what is left of the parent's budget, `turns` children being still to
        come with this one; None where nothing is left. Raises `UserError`."""
        parent = await self._jobs.get(team_id, parent_id)
        if not parent.awaits_parts or parent.status is not JobStatus.PAUSED:
            raise ConflictError(f"job {parent_id} takes no children: it is {parent.status}")
        budget = await self.left(parent)
        shared = None if budget is None else _part(budget, max(1, turns))
        if shared is None:
            return None
        adopted: Callable[[Job], Job] = lambda job: replace(job, parent_id=parent_id)  # noqa: E731
        return await self._service.store(team_id, replace(spec, budget=shared), adopted)

    async def left(self, parent: Job) -> Budget | None:
        """What children may still spend together, what is kept for the parent's own end taken off; None for nothing.

        A child that has not ended counts with its whole budget."""
        budget = parent.spec.budget
        used = [await self._used(child) for child in await self._jobs.children(parent.team_id, parent.id)]
        wall_s = None
        if budget.wall_s is not None:
            gone = self._clock.now() - (parent.started_at or parent.created_at)
            wall_s = budget.wall_s * (1 - KEPT_WALL) - gone / timedelta(seconds=1)
        left = Budget(
            rounds=budget.rounds - KEPT_ROUNDS - sum(item.rounds for item in used),
            wall_s=wall_s,
            tokens=_less(budget.tokens, [item.tokens for item in used]),
            dollars=_less(budget.dollars, [item.dollars for item in used]),
            device_s=_less(budget.device_s, [self._kept_device_s, *(item.device_s for item in used)]),
        )
        limits = (left.rounds, left.wall_s, left.tokens, left.dollars, left.device_s)
        return left if all(limit is None or limit > 0 for limit in limits) else None

    async def hand_in(self, team_id: str, parent_id: str, source: str, allow_library: Sequence[str]) -> Job:
        """Give the parent what was made of the children's results, to be judged. Raises `NotFoundError`,
        `ConflictError`."""
        return await self._jobs.hand_in(team_id, parent_id, source, allow_library)

    async def give_up(self, parent_id: str, owner: str, reason: str) -> Job:
        """End a parent that there is nothing to hand in to. Raises `NotFoundError`, `ConflictError`."""
        lease = await self._jobs.acquire(owner, 60.0, parent_id)
        if lease is None:
            raise ConflictError(f"job {parent_id} is held by another orchestrator, or has ended")
        try:
            return await self._jobs.set_status(lease, JobStatus.UNSOLVED, message=reason)
        finally:
            await self._jobs.release(lease)

    async def _used(self, child: Job) -> Budget:
        if not child.status.is_final:
            return child.spec.budget
        costs: JobCosts = await self._service.costs(child.team_id, child.id)
        total = costs.total
        return Budget(
            rounds=child.steps_done,
            tokens=total.input_tokens + total.output_tokens,
            dollars=total.dollars if total.dollars is not None else child.spec.budget.dollars,
            device_s=costs.device_s,
        )


def _less(limit: N | None, used: Sequence[N | None]) -> N | None:
    return None if limit is None else limit - sum(item for item in used if item is not None)


def _part(budget: Budget, turns: int) -> Budget | None:
    """One of so many equal parts; at least a round, as long as there is one."""
    tokens = None if budget.tokens is None else budget.tokens // turns
    if tokens == 0:
        return None
    return Budget(
        rounds=max(1, budget.rounds // turns),
        wall_s=_divided(budget.wall_s, turns),
        tokens=tokens,
        dollars=_divided(budget.dollars, turns),
        device_s=_divided(budget.device_s, turns),
    )


def _divided(limit: float | None, turns: int) -> float | None:
    return None if limit is None else limit / turns
