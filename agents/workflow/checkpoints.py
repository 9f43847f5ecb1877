"""Checkpoints of a graph that runs one node at a time."""

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
        """The other saver's."""
        return await self._saver.aget_tuple(config)

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
