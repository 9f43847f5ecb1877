"""How `make test` spreads the suite over processes: what belongs together stays together, what lasts long comes first.

pytest-xdist's own groups (`--dist loadgroup`) do nothing with pytest 9.2, whose node ids can no longer be renamed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

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
JUDGING = (
    "tests/adversary/",
    "tests/integrity/",
    "tests/integration/test_compiler_drafts.py",
    "tests/integration/test_cpu_causes.py",
    "tests/integration/test_evaluator.py",
    "tests/integration/test_input_sets.py",
)
"""Beginnings of the names of groups that time one kernel after the other, on all cores: two of them beside each other
leave neither a figure."""


def processes() -> int:
    """One more than there are cores: many tests wait for processes, leases and pages."""
    return min(len(os.sched_getaffinity(0)) + 1, MOST_PROCESSES)


def group_of(test: str) -> str:
    """What one process does in one go: a file with its fixtures, a family of the adversary's designs, or all tests that
    share the pool of containers."""
    file, _, name = test.partition("::")
    if file.startswith("tests/integration/test_docker_") or (file.startswith("tests/contracts/") and "docker" in name):
        return "docker"
    if file == "tests/adversary/test_designs.py":
        return f"{file}::{name.partition('[')[2].partition('/')[0]}"
    return file


def turn_of(group: str) -> int:
    """When a group is handed out."""
    return next((turn for turn, name in enumerate(FIRST) if group.startswith(name)), len(FIRST))


def judges(group: str) -> bool:
    """Whether a group times kernels all the while."""
    return group.startswith(JUDGING)


def next_group(waiting: Iterable[str], beside: Iterable[str]) -> str:
    """Which group a process gets while others run those `beside` it: one that times kernels only when there is no other
    left, where one of those does."""
    judged = any(map(judges, beside))
    return min(waiting, key=lambda group: (judged and judges(group), turn_of(group)))


class Groups(LoadScopeScheduling):  # type: ignore[misc]  # pytest-xdist has no types
    """Hands out groups, those first that last long."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        others = (groups for other, groups in self.assigned_work.items() if other is not node)
        beside = [name for groups in others for name, tests in groups.items() if not all(tests.values())]
        self.workqueue.move_to_end(next_group(self.workqueue, beside), last=False)
        super()._assign_work_unit(node)
