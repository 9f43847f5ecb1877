"""LangGraph checkpoints in our database: the newest of each thread, and only under the job's lease.

LangGraph itself lets two writers fork a thread. Here a write carries the job's lease, and a stale one is refused with
`LeaseLostError` before anything is stored. Only what resuming needs is kept: the newest checkpoint of a thread and the
writes that are pending on it; the history of a job is in its steps.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from sqlalchemy import Connection, Row, bindparam, delete, select
from sqlalchemy.dialects import postgresql

from services.domain.errors import LeaseLostError
from services.domain.jobs import LOCAL_TEAM, Lease
from storage.database import Database
from storage.db.statements import insert_new, upsert
from storage.db.transactions import writes
from storage.tables import checkpoint_writes, checkpoints, jobs

LEASE_KEY = "lease"
"""Key under `configurable` where a run may carry its `Lease`."""

_HELD = (
    select(jobs.c.id)
    .where(
        jobs.c.id == bindparam("thread"),
        jobs.c.id == bindparam("job"),
        jobs.c.team_id == bindparam("team"),
        jobs.c.lease_token == bindparam("token"),
        jobs.c.lease_owner == bindparam("owner"),
    )
    .with_for_update(key_share=True)
)
_NEWEST = select(checkpoints.c.checkpoint_id).where(
    checkpoints.c.thread_id == bindparam("thread"), checkpoints.c.namespace == bindparam("space")
)
_OLDER = delete(checkpoint_writes).where(
    checkpoint_writes.c.thread_id == bindparam("thread"),
    checkpoint_writes.c.namespace == bindparam("space"),
    checkpoint_writes.c.checkpoint_id != bindparam("newest"),
)
_held = _HELD.cte("held")
_given = {column.name: bindparam(column.name, type_=column.type) for column in checkpoints.c}
_new = postgresql.insert(checkpoints).from_select(list(_given), select(*_given.values()).select_from(_held))
_PUT = _new.on_conflict_do_update(
    index_elements=list(checkpoints.primary_key),
    set_={name: _new.excluded[name] for name in _given if name not in checkpoints.primary_key.columns},
).returning(checkpoints.c.thread_id)
"""Fences and replaces a checkpoint by one statement, as PostgreSQL can: a step writes eight of them."""


class SqlCheckpointSaver(BaseCheckpointSaver[int]):
    """A saver for runs with `durability="sync"`; the thread id is the job id.

    The lease comes from the constructor or from the run's configuration (`configurable["lease"]`); without one, writes
    are not fenced. Only plain data and the types in `allowed` (module, name) are read back, whatever the environment
    says: a checkpoint is data, not code. Asynchronous methods only.
    """

    def __init__(
        self, database: Database, *, lease: Lease | None = None, allowed: Sequence[tuple[str, str]] = ()
    ) -> None:
        super().__init__(serde=JsonPlusSerializer(allowed_msgpack_modules=list(allowed) or None))
        self._database = database
        self._lease = lease
        self._pending: set[str] = set()
        """Threads whose tasks' writes were kept here: a checkpoint removes those, which one statement cannot, since it
        would not see what was committed while it waited for the job's row."""

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The newest checkpoint with its pending writes; None where there is none, or not the one asked for."""
        thread, namespace = _thread(config)
        one = (checkpoints.c.thread_id == thread) & (checkpoints.c.namespace == namespace)
        mine = (checkpoint_writes.c.thread_id == thread) & (checkpoint_writes.c.namespace == namespace)
        order = (checkpoint_writes.c.task_path, checkpoint_writes.c.task_id, checkpoint_writes.c.position)

        def work(connection: Connection) -> tuple[Row[Any], Sequence[Row[Any]]] | None:
            row = connection.execute(select(checkpoints).where(one)).one_or_none()
            if row is None:
                return None
            pending = select(checkpoint_writes).where(mine, checkpoint_writes.c.checkpoint_id == row.checkpoint_id)
            return row, connection.execute(pending.order_by(*order)).all()

        found = await self._database.read(work)
        wanted = get_checkpoint_id(config)
        if found is None or (wanted is not None and found[0].checkpoint_id != wanted):
            return None
        return self._tuple(*found)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - the base class names it
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """The one checkpoint that is kept, if it fits."""
        found = await self.aget_tuple(config) if config is not None and before is None and limit != 0 else None
        if found is not None and all(found.metadata.get(key) == value for key, value in (filter or {}).items()):
            yield found

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,  # noqa: ARG002 - the whole state is one value: it holds references, not logs
    ) -> RunnableConfig:
        """Replace the thread's checkpoint; the writes that led to it go. Raises `LeaseLostError`."""
        thread, namespace = _thread(config)
        lease = self._lease_of(config)
        kind, data = self.serde.dumps_typed(checkpoint)
        metadata_kind, metadata_data = self.serde.dumps_typed(get_checkpoint_metadata(config, metadata))
        row = {
            "thread_id": thread,
            "namespace": namespace,
            "team_id": lease.team_id if lease else LOCAL_TEAM,
            "checkpoint_id": checkpoint["id"],
            "type": kind,
            "checkpoint": data,
            "metadata_type": metadata_kind,
            "metadata": metadata_data,
            "lease_token": lease.token if lease else None,
        }
        older = {"thread": thread, "space": namespace, "newest": checkpoint["id"]}

        def put_held(connection: Connection, held: Lease) -> None:
            if connection.execute(_PUT, row | _holder(thread, held)).first() is None:
                raise _lost(held)

        def work(connection: Connection) -> None:
            _fence(connection, thread, lease)
            upsert(connection, checkpoints, [row])
            connection.execute(_OLDER, older)

        if lease is not None and self._database.is_postgres and thread not in self._pending:
            await self._database.write_one(lambda connection: put_held(connection, lease))
        else:
            await self._database.write(work)
        return {"configurable": {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": checkpoint["id"]}}

    @writes
    def aput_writes(
        self,
        connection: Connection,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Keep what a task wrote, pending on its checkpoint. Raises `LeaseLostError`."""
        thread, namespace = _thread(config)
        self._pending.add(thread)
        lease = self._lease_of(config)
        rows = []
        for index, (channel, value) in enumerate(writes):
            kind, data = self.serde.dumps_typed(value)
            rows.append(
                {
                    "thread_id": thread,
                    "namespace": namespace,
                    "checkpoint_id": config["configurable"]["checkpoint_id"],
                    "task_id": task_id,
                    "position": WRITES_IDX_MAP.get(channel, index),
                    "team_id": lease.team_id if lease else LOCAL_TEAM,
                    "task_path": task_path,
                    "channel": channel,
                    "type": kind,
                    "value": data,
                }
            )

        place = {"thread": thread, "space": namespace}
        _fence(connection, thread, lease)
        newest = connection.execute(_NEWEST, place).scalar_one_or_none()
        if newest is not None and newest > config["configurable"]["checkpoint_id"]:
            return  # LangGraph stores writes beside the checkpoint that makes them history; it came first
        # A task's own writes are kept as first written; errors and interrupts (negative) are replaced.
        insert_new(connection, checkpoint_writes, [row for row in rows if row["position"] >= 0])
        if special := [row for row in rows if row["position"] < 0]:
            upsert(connection, checkpoint_writes, special)

    async def adelete_thread(self, thread_id: str) -> None:
        """Drop a thread: its job has ended."""

        def work(connection: Connection) -> None:
            connection.execute(delete(checkpoint_writes).where(checkpoint_writes.c.thread_id == thread_id))
            connection.execute(delete(checkpoints).where(checkpoints.c.thread_id == thread_id))

        await self._database.write(work)
        self._pending.discard(thread_id)

    def get_next_version(self, current: int | None, channel: None) -> int:  # noqa: ARG002 - deprecated there
        """Versions count upwards."""
        return 1 if current is None else current + 1

    def _lease_of(self, config: RunnableConfig) -> Lease | None:
        lease: Lease | None = config["configurable"].get(LEASE_KEY, self._lease)
        return lease

    def _tuple(self, row: Row[Any], writes: Sequence[Row[Any]]) -> CheckpointTuple:
        configurable = {
            "thread_id": row.thread_id,
            "checkpoint_ns": row.namespace,
            "checkpoint_id": row.checkpoint_id,
        }
        return CheckpointTuple(
            config={"configurable": configurable},
            checkpoint=self.serde.loads_typed((row.type, row.checkpoint)),
            metadata=self.serde.loads_typed((row.metadata_type, row.metadata)),
            parent_config=None,
            pending_writes=[
                (write.task_id, write.channel, self.serde.loads_typed((write.type, write.value))) for write in writes
            ],
        )


def _thread(config: RunnableConfig) -> tuple[str, str]:
    configurable = config["configurable"]
    return str(configurable["thread_id"]), str(configurable.get("checkpoint_ns", ""))


def _fence(connection: Connection, thread: str, lease: Lease | None) -> None:
    """Lock the job's row. Raises `LeaseLostError` unless the lease is the current one and for this thread."""
    if lease is not None and connection.execute(_HELD, _holder(thread, lease)).first() is None:
        raise _lost(lease)


def _holder(thread: str, lease: Lease) -> dict[str, object]:
    return {"thread": thread, "job": lease.job_id, "team": lease.team_id, "token": lease.token, "owner": lease.owner}


def _lost(lease: Lease) -> LeaseLostError:
    return LeaseLostError(f"{lease.owner} no longer holds job {lease.job_id}: its checkpoint was not written")
