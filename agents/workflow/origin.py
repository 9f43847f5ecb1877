"""Where a step's kernel comes from, and which parts of the step it goes through for that reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agents.workflow.state import WorkflowState
from services.domain.candidates import Origin


@dataclass(frozen=True, kw_only=True)
class Course:
    """What a step does beside having its kernel measured."""

    written: bool = False
    """Memory is asked, and Planner and Coder write the kernel; a source that was judged before is not judged again."""
    inspected: bool = False
    """The Judge may be asked for a second opinion."""
    diagnosed: bool = False
    """Profiler and Judge say what limits the kernel or is wrong with it."""
    learned: bool = False
    """The step has a reward, and memory learns from it."""


COURSES: Mapping[Origin | None, Course] = {
    None: Course(written=True, inspected=True, diagnosed=True, learned=True),
    Origin.SEED: Course(diagnosed=True, learned=True),
    Origin.COMPILER: Course(inspected=True),  # every job has it anyway: nobody learns from it
    Origin.RECALLED: Course(learned=True),
    Origin.CONFIRMATION: Course(),  # no news: memory learned from the first measurement
}
"""By the origin of a kernel that comes ready; None stands for what the agents write."""


def origin_of(state: WorkflowState) -> Origin | None:
    """The origin of the step's kernel where it comes ready; None where the agents write one."""
    origin = state.get("origin")
    return None if origin is None else Origin(origin)


def course_of(state: WorkflowState) -> Course:
    """What the step does."""
    return COURSES[origin_of(state)]
