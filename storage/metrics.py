"""What the database says of an installation, as Prometheus gauges: read at a scrape, at most every few seconds."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any

from prometheus_client import CollectorRegistry, Gauge, generate_latest
from sqlalchemy import Connection, func, select

from services.domain.jobs import LOCAL_TEAM
from services.domain.nodes import NODE_TTL_S, NodeState
from services.memory.effect import Effect
from services.ports.runtime import Clock
from storage.database import Database
from storage.tables import jobs, nodes, work_orders

_OPEN = ("queued", "running")
FRESH_S = 5.0
EFFECT_FRESH_S = 300.0
"""The memory's effect is a bootstrap over the whole log: computed seldom."""

Effects = Callable[[str], Awaitable[Effect]]


class DatabaseMetrics:
    """Counts rows: jobs by status, open orders by device, and nodes."""

    def __init__(self, database: Database, clock: Clock, effect: Effects | None = None) -> None:
        self._database = database
        self._clock = clock
        self._effect = effect
        self._text = b""
        self._read_at: float | None = None
        self._effect_text = b""
        self._effect_at: float | None = None

    async def exposition(self) -> bytes:
        """Prometheus's text format. Raises `StorageError`."""
        now = time.monotonic()
        if self._read_at is None or now - self._read_at > FRESH_S:
            counted = await self._database.read(self._count)
            self._text, self._read_at = _rendered(*counted), now
        return self._text + await self._effect_exposition(now)

    async def _effect_exposition(self, now: float) -> bytes:
        if self._effect is not None and (self._effect_at is None or now - self._effect_at > EFFECT_FRESH_S):
            self._effect_at = now
            self._effect_text = _rendered_effect(await self._effect(LOCAL_TEAM))
        return self._effect_text

    def _count(self, connection: Connection) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any], Sequence[Any]]:
        seen = self._clock.now() - timedelta(seconds=NODE_TTL_S)
        by_status = select(jobs.c.status, func.count()).group_by(jobs.c.status)
        orders = select(work_orders.c.device, work_orders.c.status, func.count())
        orders = orders.where(work_orders.c.status.in_(_OPEN)).group_by(work_orders.c.device, work_orders.c.status)
        living = select(nodes).where(nodes.c.seen_at > seen, nodes.c.state != NodeState.REFUSED)
        oldest = select(work_orders.c.device, func.min(work_orders.c.updated_at))
        oldest = oldest.where(work_orders.c.status == "queued").group_by(work_orders.c.device)
        now = self._clock.now()
        ages = [(device, (now - since).total_seconds()) for device, since in connection.execute(oldest)]
        return (
            connection.execute(by_status).all(),
            connection.execute(orders).all(),
            ages,
            connection.execute(living).all(),
        )


def _rendered(by_status: Sequence[Any], orders: Sequence[Any], ages: Sequence[Any], living: Sequence[Any]) -> bytes:
    registry = CollectorRegistry()
    job_gauge = Gauge("kernelwright_jobs", "Jobs by status.", ["status"], registry=registry)
    for job_row in by_status:
        job_gauge.labels(job_row[0]).set(job_row[1])
    depth = Gauge("kernelwright_orders", "Open work orders (queue depth).", ["device", "status"], registry=registry)
    for order in orders:
        depth.labels(order[0], order[1]).set(order[2])
    oldest = Gauge(
        "kernelwright_oldest_order_seconds", "Age of the order that waits longest.", ["device"], registry=registry
    )
    for device, age_s in ages:
        oldest.labels(device).set(age_s)
    present = Gauge("kernelwright_nodes", "Living nodes.", ["role", "device", "version", "state"], registry=registry)
    busy = Gauge(
        "kernelwright_worker_busy_seconds_total", "Seconds a worker spent on orders.", ["node"], registry=registry
    )
    done = Gauge("kernelwright_worker_orders_total", "Orders a worker ended.", ["node"], registry=registry)
    load = Gauge("kernelwright_node_load", "Load average of a node's host, a CPU.", ["node"], registry=registry)
    for node in living:
        present.labels(node.role, node.device or "", node.version, node.state).inc()
        load.labels(node.name).set(node.load)
        if node.device is not None:
            busy.labels(node.name).set(node.busy_s)
            done.labels(node.name).set(node.done)
    return generate_latest(registry)


def _rendered_effect(effect: Effect) -> bytes:
    registry = CollectorRegistry()
    steps = Gauge("kernelwright_memory_steps", "Steps the memory's effect rests on.", ["memory"], registry=registry)
    success = Gauge(
        "kernelwright_memory_success", "Share of drafting steps that were accepted.", ["memory"], registry=registry
    )
    for memory, count, share in (
        ("with", effect.steps_with, effect.success_with.estimate),
        ("without", effect.steps_without, effect.success_without.estimate),
    ):
        steps.labels(memory).set(count)
        if share is not None:
            success.labels(memory).set(share)
    return generate_latest(registry)
