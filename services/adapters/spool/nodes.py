"""Who is at a spool: nodes say so in signed files, and those who read them judge by their own clock."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

from services.adapters.spool.files import UnusableFileError, names_in, read_whole, remove, storing, write_whole
from services.adapters.spool.layout import SpoolLayout, part_of
from services.adapters.spool.messages import IncompleteError, SealError, SpoolKey, SpoolKind, SpoolMessage, check_timely
from services.adapters.spool.probe import LEAST_FREE_BYTES
from services.adapters.spool.reader import Watch
from services.domain.codec import CodecError, from_data, to_data
from services.domain.errors import StorageError
from services.domain.nodes import FAULT_TTL_S, NODE_TTL_S, NodeRole, NodeState, ServiceNode
from services.ports.runtime import Clock
from services.ports.work import NodeRegistry

log = logging.getLogger(__name__)
BEAT_S = 5.0


class SpoolPresence:
    """Says in a spool that a node is there, from a thread of its own: the work blocks for minutes."""

    def __init__(self, layout: SpoolLayout, key: SpoolKey, clock: Clock, node: ServiceNode) -> None:
        self._path = layout.nodes / part_of(node.name)
        self._key = key
        self._clock = clock
        self._node = node
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="presence", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def worked(self, seconds: float) -> None:
        """Count an order."""
        self._node = replace(self._node, busy_s=self._node.busy_s + seconds, done=self._node.done + 1)

    def troubled(self, fault: str | None) -> None:
        """Why the node leaves orders lie; None where it leaves none."""
        self._node = replace(self._node, fault=fault)

    def refuse(self, fault: str) -> None:
        """Say, instead of beginning, why the node takes nothing. Raises `StorageError`."""
        self._node = replace(self._node, state=NodeState.REFUSED, fault=fault)
        self._say()

    def stop(self) -> None:
        """Leave; waits a moment for the file to go."""
        self._stopped.set()
        self._thread.join(BEAT_S)
        try:
            remove(self._path)
        except StorageError as error:
            log.warning("could not say that this node has left: %s", error)

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._say()
            except StorageError as error:
                log.warning("could not say that this node is there: %s", error)
            self._stopped.wait(BEAT_S)

    def _say(self) -> None:
        now = self._clock.now()
        node = replace(self._node, seen_at=now, load=os.getloadavg()[0] / (os.cpu_count() or 1))
        message = SpoolMessage(
            kind=SpoolKind.NODE,
            about=node.name,
            version=node.version,
            sender=node.name,
            made_at=now,
            body=to_data(node),
        )
        write_whole(self._path, self._key.seal(message))


class SpoolNodes:
    """The nodes of a spool as this process sees them. A file that does not change for a while is a node that is gone:
    the clocks of two machines are never compared."""

    def __init__(
        self,
        layout: SpoolLayout,
        key: SpoolKey,
        clock: Clock,
        version: str,
        *,
        least_free_bytes: int = LEAST_FREE_BYTES,
    ) -> None:
        """`least_free_bytes`: below that the spool's disk counts as nearly full."""
        self._layout = layout
        self._key = key
        self._clock = clock
        self._version = version
        self._least_free_bytes = least_free_bytes
        self._watch = Watch(clock)

    def living(self) -> tuple[ServiceNode, ...]:
        """Nodes seen lately, by name; `seen_at` is by this process's clock. Raises `StorageError`."""
        names = names_in(self._layout.nodes)
        self._watch.keep(set(names))
        return tuple(node for name in names if (node := self._read(name)) is not None)

    def troubled(self) -> ServiceNode | None:
        """The spool itself as an entry beside its nodes, where something is wrong with it: on a full disk nodes cannot
        even say so."""
        try:
            faults = list(self._faults())
        except StorageError as error:
            faults = [str(error)]
        return self.as_node("; ".join(faults)) if faults else None

    def as_node(self, fault: str) -> ServiceNode:
        """The spool as an entry that says what is wrong with it."""
        now = self._clock.now()
        return ServiceNode(
            name=f"spool {self._layout.root}",
            role=NodeRole.WORKER,
            version=self._version,
            state=NodeState.DRAINING,
            fault=fault,
            started_at=now,
            seen_at=now,
        )

    def _faults(self) -> Iterator[str]:
        with storing(self._layout.nodes / "."):
            free = shutil.disk_usage(self._layout.root).free
        if free < self._least_free_bytes:
            yield f"{free >> 20} MiB free on its disk: orders and answers wait when it is full, and none is lost"
        refused = [name for name in names_in(self._layout.refused) if not name.endswith(".txt")]
        if refused:
            yield f"{len(refused)} refused, such as {refused[-1]}: {self._layout.why_refused(refused[-1])}"

    def _read(self, name: str) -> ServiceNode | None:
        path = self._layout.nodes / name
        try:
            message = self._key.open(read_whole(path))
            node = self._node(message, name)
        except (FileNotFoundError, IncompleteError):
            return None
        except (SealError, UnusableFileError) as error:
            self._layout.refuse(path, str(error))
            return None
        except OSError as error:
            raise StorageError(f"the spool cannot be read ({path}): {error.strerror or error}") from None
        silent_s = self._watch.unchanged_s(name, message.made_at)
        if silent_s > (NODE_TTL_S if node.fault is None else FAULT_TTL_S):
            return None
        return replace(node, seen_at=self._clock.now() - timedelta(seconds=silent_s))

    def _node(self, message: SpoolMessage, name: str) -> ServiceNode:
        """The node that a message speaks of. Raises `SealError`."""
        if message.kind is not SpoolKind.NODE or part_of(message.about) != name:
            raise SealError(
                f"it is of the kind {message.kind.value!r} about {message.about or 'nobody'}, and no word of this node"
            )
        try:
            node = from_data(ServiceNode, message.body)
        except CodecError as error:
            raise SealError(f"its content does not fit: {error}") from None
        try:
            check_timely(message, self._version, self._clock.now())
        except SealError as error:
            return replace(node, fault=f"its orders and reports are refused: {error}")
        return node


class SpoolNodeRegistry(NodeRegistry):
    """A registry of nodes that lists those of a spool too."""

    def __init__(self, registry: NodeRegistry, nodes: SpoolNodes) -> None:
        self._registry = registry
        self._nodes = nodes

    async def register(self, node: ServiceNode) -> None:
        """Write a node's row."""
        await self._registry.register(node)

    async def beat(self, name: str, *, load: float = 0.0, busy_s: float = 0.0, done: int = 0) -> bool:
        """Say that a node is there; False when its row is gone."""
        return await self._registry.beat(name, load=load, busy_s=busy_s, done=done)

    async def drain(self, name: str) -> None:
        """Mark a node that takes nothing new."""
        await self._registry.drain(name)

    async def leave(self, name: str) -> None:
        """Remove a node's row."""
        await self._registry.leave(name)

    async def refuse(self, node: ServiceNode, fault: str) -> None:
        """List a worker that could not begin, with the reason."""
        await self._registry.refuse(node, fault)

    async def living(self, role: NodeRole | None = None) -> tuple[ServiceNode, ...]:
        """Nodes seen lately or refused, by name, and the spool itself where something is wrong with it."""
        found = list(await self._registry.living(role))
        if role in (None, NodeRole.WORKER):
            found += await asyncio.to_thread(self._at_spool)
        return tuple(sorted(found, key=lambda node: node.name))

    def _at_spool(self) -> list[ServiceNode]:
        try:
            nodes = list(self._nodes.living())
        except StorageError as error:
            log.warning("the nodes of the spool are not listed: %s", error)
            return [self._nodes.as_node(str(error))]
        trouble = self._nodes.troubled()
        return nodes if trouble is None else [*nodes, trouble]
