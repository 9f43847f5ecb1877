"""What must hold before a worker may join an installation. Each rule says what to do about it."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from services.domain.errors import ConfigurationError, QueueError
from services.domain.nodes import ServiceNode

MOST_SKEW_S = 5.0
"""Claims and leases are given for some tens of seconds: clocks that differ by more than this break them."""
MOST_SLOTS = 256


@dataclass(frozen=True, kw_only=True)
class WorkerSlot:
    """A worker's name, kept for as long as the process and its children live."""

    name: str
    socket: socket.socket


def acquire_slot(device: str, host: str | None = None) -> WorkerSlot:
    """The first free name of this device's workers on this host: two of them never share one, and one that starts again
    gets its old name, so that it may take up at once what it was doing. Raises `ConfigurationError`."""
    host = host or socket.gethostname()
    for slot in range(1, MOST_SLOTS + 1):
        # Linux's abstract sockets vanish with the last process that holds them, however it ends (unix(7)).
        held = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            held.bind(f"\0kernelwright-worker/{device}/{slot}")
        except OSError:
            held.close()
            continue
        return WorkerSlot(name=f"kernelwright-{device}-{slot}@{host}", socket=held)
    raise ConfigurationError(f"{MOST_SLOTS} workers of the device {device} run on this host already")


def check_version(version: str, orchestrators: Sequence[ServiceNode]) -> None:
    """Raise `ConfigurationError` for a worker of another version than every living orchestrator."""
    running = sorted({node.version for node in orchestrators})
    if running and version not in running:
        raise ConfigurationError(
            f"this worker is version {version}, and the installation's orchestrators are {', '.join(running)}: "
            "install the same version here (upgrade orchestrators first, then workers)"
        )


def check_clock(own: datetime, other: datetime, whose: str) -> None:
    """Raise `ConfigurationError` where two clocks differ too much for claims to mean anything."""
    skew_s = (own - other).total_seconds()
    if abs(skew_s) > MOST_SKEW_S:
        ahead = "ahead of" if skew_s > 0 else "behind"
        raise ConfigurationError(
            f"this machine's clock is {abs(skew_s):.0f} s {ahead} {whose}: set it (NTP), at most {MOST_SKEW_S:.0f} s "
            "are tolerated"
        )


def broker_time(url: str, attempts_s: float = 20.0) -> datetime | None:
    """The broker's clock; None for RabbitMQ, which tells no time. Raises `QueueError` when it stays out of reach."""
    deadline = time.monotonic() + attempts_s
    while True:
        try:
            return _rabbitmq_time(url) if url.startswith("amqp") else _redis_time(url)
        except (OSError, QueueError) as error:
            if time.monotonic() > deadline:
                raise QueueError(
                    f"the message broker cannot be reached: {error}; start it, or set KERNELWRIGHT_REDIS_URL "
                    "(KERNELWRIGHT_BROKER_URL for RabbitMQ)"
                ) from None
        time.sleep(0.5)


def _redis_time(url: str) -> datetime:
    import redis

    try:
        with redis.Redis.from_url(url, socket_connect_timeout=2, socket_timeout=2) as client:
            seconds, micros = client.time()
    except redis.RedisError as error:
        raise QueueError(str(error)) from None
    except ValueError as error:
        raise ConfigurationError(f"the message broker's address: {error}; set KERNELWRIGHT_REDIS_URL") from None
    return datetime.fromtimestamp(seconds + micros / 1e6, UTC)


def _rabbitmq_time(url: str) -> datetime | None:
    """None once it answers: it tells no time."""
    from amqp.exceptions import AMQPError
    from kombu import Connection

    try:
        with Connection(url, connect_timeout=2) as connection:
            connection.connect()
    except AMQPError as error:
        raise QueueError(str(error)) from None
    return None
