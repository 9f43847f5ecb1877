"""How the Celery application reaches its broker: workers come back soon after it does, who rings never waits for it."""

from __future__ import annotations

from typing import Any, Self

from kombu import Connection

RETRY_S = 2.0
"""So often a worker looks whether a broker that is away has come back. Celery's own pauses grow to 30 s, and to 16 s
within a minute: orders would wait in the database for a broker that is there."""
ANSWER_S = 5.0
"""So long an answer of the broker is waited for by those who ring."""


class SteadyConnection(Connection):
    """Looks for its broker at a steady pace, and lets a worker outlive the loss of a connection.

    Celery closes a lost connection twice, and work that was begun under it is acknowledged when it ends. By then kombu
    (5.7) has taken the address away from the lost connection's transport: its channel fails with an `AttributeError`
    that nobody expects, and a worker that was busy when its broker went away ends as "unrecoverable".
    """

    def ensure_connection(self, *args: Any, **kwargs: Any) -> Self:
        """As kombu's, but for the pauses."""
        steady = {"interval_start": RETRY_S, "interval_step": 0, "interval_max": RETRY_S}
        return super().ensure_connection(*args, **{**steady, **kwargs})

    def _do_close_transport(self) -> None:
        """Part with the transport, but leave it its address."""
        self._transport = None


def transport_options(broker_url: str, *, visibility_s: float, key_prefix: str, works: bool) -> dict[str, object]:
    """Celery's `broker_transport_options`: for a worker, or for one that only rings."""
    if broker_url.startswith("amqp"):
        return _rabbitmq_options(works=works)
    options: dict[str, object] = {
        # Longer than any task: what is still running would be delivered a second time.
        "visibility_timeout": visibility_s,
        "unacked_restore_throttle": 1,
        "socket_keepalive": True,
        "health_check_interval": 10,
        "socket_connect_timeout": ANSWER_S,
        "global_keyprefix": key_prefix,
    }
    if works:
        return options
    # A wake-up that cannot be sent is sent later, by those who keep it: nobody waits in a thread meanwhile (kombu tries
    # for six seconds; a broker that hangs is never given up).
    return {**options, "max_retries": 0, "socket_timeout": ANSWER_S}


def _rabbitmq_options(*, works: bool) -> dict[str, object]:
    """RabbitMQ delivers again what a lost connection has not acknowledged, and its virtual hosts are the prefixes."""
    options: dict[str, object] = {"connect_timeout": ANSWER_S}
    return options if works else {**options, "max_retries": 0, "read_timeout": ANSWER_S, "write_timeout": ANSWER_S}
