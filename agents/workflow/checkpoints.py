"""Checkpoints of a graph that runs one node at a time, and of jobs that an earlier version began."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)

from services.domain.candidates import Origin

_FLAGS = {
    "seeded": Origin.SEED,
    "drafted": Origin.COMPILER,
    "confirms": Origin.CONFIRMATION,
    "adopts": Origin.RECALLED,
}


def with_origin(checkpoint: Checkpoint) -> Checkpoint:
    """The checkpoint with the step's `origin`: in jobs begun under an earlier version there are `seeded`, `drafted`,
    `confirms` and `adopts` in its place, and `evaluate_only`, which the job's tags say."""
    values, versions = checkpoint["channel_values"], checkpoint["channel_versions"]
    if "origin" in values or "seeded" not in versions:
        return checkpoint
    origin = next((origin.value for flag, origin in _FLAGS.items() if values.get(flag)), None)
    changed = checkpoint.copy()
    changed["channel_values"] = {**values, "origin": origin}
    changed["channel_versions"] = {**versions, "origin": versions["seeded"]}  # LangGraph keeps nothing without one
    return changed


class OneNodeSaver(BaseCheckpointSaver[Any]):
    """Another saver without its pending writes.

    LangGraph keeps what each node of a superstep wrote, so that a crash in one of several parallel nodes does not
    repeat the others, and right after that writes the checkpoint that holds it all. Our supersteps have one node: the
    first of the two writes would only narrow a window that idempotent nodes do not mind, at the price of a third of
    the job's transactions.
    """

    def __init__(self, saver: BaseCheckpointSaver[Any]) -> None:
        super().__init__(serde=saver.serde)
        self._saver = saver

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The other saver's, with the step's origin."""
        found = await self._saver.aget_tuple(config)
        return None if found is None else found._replace(checkpoint=with_origin(found.checkpoint))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 -- the base class names it
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """The other saver's."""
        async for found in self._saver.alist(config, filter=filter, before=before, limit=limit):
            yield found

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Write the checkpoint."""
        return await self._saver.aput(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Nothing: see the class."""

    async def adelete_thread(self, thread_id: str) -> None:
        """Drop a thread."""
        await self._saver.adelete_thread(thread_id)

    def get_next_version(self, current: Any, channel: None) -> Any:
        """The other saver's."""
        return self._saver.get_next_version(current, channel)
