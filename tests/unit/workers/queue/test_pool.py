"""The death of a worker's child is seen at once."""

from __future__ import annotations

from celery.concurrency import get_implementation

from workers.queue.pool import PromptPool, TaskPool
from workers.queue.tasks import CelerySettings, create_app


class Dying:
    """A process whose files are closed, and that can be waited for a few looks later."""

    looks = 0

    @property
    def exitcode(self) -> int | None:
        self.looks += 1
        return None if self.looks < 5 else -9


class Watched(PromptPool):
    """Only the part that hears of ends."""

    def __init__(self, child: Dying) -> None:
        self._child = child
        self.found: list[int | None] = []

    def maintain_pool(self) -> None:
        self.found.append(self._child.exitcode)


def test_a_child_is_looked_for_until_it_is_gone() -> None:
    child = Dying()
    pool = Watched(child)
    pool._event_process_exit(None, child)
    assert pool.found == [-9]


def test_workers_use_this_pool() -> None:
    app = create_app(CelerySettings(broker_url="redis://127.0.0.1:1/0"))
    assert get_implementation(app.conf.worker_pool) is TaskPool
