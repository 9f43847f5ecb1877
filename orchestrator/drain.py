"""Letting go of jobs at a checkpoint: what a drained orchestrator has begun is not done twice."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, ChannelVersions, Checkpoint, CheckpointMetadata

from agents.workflow.checkpoints import OneNodeSaver


class Drain:
    """Once it has begun, the task of a job ends as soon as the job's next checkpoint is written."""

    def __init__(self) -> None:
        self.begun = False
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def add(self, job_id: str, task: asyncio.Task[None]) -> None:
        """A job that runs in a task."""
        self._tasks[job_id] = task
        task.add_done_callback(lambda ended: self._remove(job_id, ended))

    def _remove(self, job_id: str, ended: asyncio.Task[None]) -> None:
        """Forget a task, unless the job was taken again meanwhile."""
        if self._tasks.get(job_id) is ended:
            del self._tasks[job_id]

    @property
    def running(self) -> set[asyncio.Task[None]]:
        """The tasks that have not ended."""
        return set(self._tasks.values())

    @property
    def jobs(self) -> tuple[str, ...]:
        """The jobs that have not ended."""
        return tuple(self._tasks)

    def reached(self, job_id: str) -> None:
        """A checkpoint of a job was written."""
        task = self._tasks.get(job_id)
        if self.begun and task is not None:
            task.cancel()

    async def finish(self, grace_s: float) -> None:
        """Give jobs some time to reach a checkpoint, then end them where they are."""
        self.begun = True
        if grace_s > 0 and self.running:
            await asyncio.wait(self.running, timeout=grace_s)
        left = self.running
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


class DrainingSaver(OneNodeSaver):
    """Another saver that tells a drain of each checkpoint."""

    def __init__(self, saver: BaseCheckpointSaver[Any], drain: Drain) -> None:
        super().__init__(saver)
        self._drain = drain

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Write the checkpoint, then tell."""
        written = await super().aput(config, checkpoint, metadata, new_versions)
        self._drain.reached(str(config["configurable"]["thread_id"]))
        return written
