"""How `make test` spreads the suite over processes: what belongs together stays together, what lasts long comes first.

pytest-xdist's own groups (`--dist loadgroup`) do nothing with pytest 9.2, whose node ids can no longer be renamed.
"""

from __future__ import annotations

import os

from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

MOST_PROCESSES = 6
FIRST = (
    "docker",
    "tests/faults/",
    "tests/integrity/test_candidates.py",
    "tests/adversary/",
    "tests/e2e/test_web_ui.py",
    "tests/e2e/",
    "tests/integration/",
    "tests/integrity/",
    "tests/contracts/",
    "tests/model_faults/",
)
"""Beginnings of groups' names in the order in which they are handed out, so that no process waits for another at the
end: the many short ones fill up."""


def processes() -> int:
    """One more than there are cores: many tests wait for processes, leases and pages."""
    return min(len(os.sched_getaffinity(0)) + 1, MOST_PROCESSES)


def group_of(test: str) -> str:
    """What one process does in one go: a file with its fixtures; and all tests that share the pool of containers."""
    file, _, name = test.partition("::")
    if file.startswith("tests/integration/test_docker_") or (file.startswith("tests/contracts/") and "docker" in name):
        return "docker"
    return file


def turn_of(group: str) -> int:
    """When a group is handed out."""
    return next((turn for turn, name in enumerate(FIRST) if group.startswith(name)), len(FIRST))


class Groups(LoadScopeScheduling):  # type: ignore[misc]  # pytest-xdist has no types
    """Hands out groups, those first that last long."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        self.workqueue.move_to_end(min(self.workqueue, key=turn_of), last=False)
        super()._assign_work_unit(node)
