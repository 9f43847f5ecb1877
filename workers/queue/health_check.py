"""Proof that a worker does tasks: one that does nothing goes through the queue and its answer must come back."""

from __future__ import annotations

import uuid
from queue import Empty
from typing import Any

from amqp.exceptions import AMQPError
from celery import Celery, Task
from kombu import Queue
from kombu.exceptions import OperationalError

from services.adapters.queues.notifier import device_queue
from services.domain.errors import QueueError

TASK = "kernelwright.answer"
INSPECTION_S = 3.0


def register(app: Celery) -> None:
    """Let a worker answer."""

    def answer(task: Task[Any, Any], reply_to: str) -> None:
        with task.app.connection_for_write() as connection:
            connection.Producer().publish({"worker": task.request.hostname}, routing_key=reply_to)

    app.task(name=TASK, bind=True)(answer)


def ask(app: Celery, device: str, timeout_s: float) -> str | None:
    """The name of a worker of a device that did the task, or of one that is at work on another; None where nobody is.

    Raises `QueueError` when the broker cannot be reached."""
    # In the default exchange: kombu would keep a binding to any other in Redis for good.
    reply_to: Any = Queue(f"kernelwright.answers.{uuid.uuid4().hex}", auto_delete=True)
    try:
        with (
            app.connection_for_write() as connection,
            connection.SimpleQueue(reply_to, no_ack=True) as replies,
        ):
            app.send_task(TASK, args=[reply_to.name], queue=device_queue(device), expires=timeout_s)
            try:
                return str(replies.get(timeout=timeout_s).payload["worker"])
            except Empty:
                return _busy(app, device)
    except (OperationalError, AMQPError, OSError) as error:
        raise QueueError(f"the message broker cannot be reached: {error}") from None


def _busy(app: Celery, device: str) -> str | None:
    inspection = app.control.inspect(timeout=INSPECTION_S)
    queues = inspection.active_queues() or {}
    for worker, tasks in (inspection.active() or {}).items():
        if tasks and device_queue(device) in {queue["name"] for queue in queues.get(worker, ())}:
            return f"{worker} (at work)"
    return None
