"""The nearest solved example for a draft: the fastest kernel that the team knows for the most similar problem.

Draft values say what leads to an accepted kernel, not to a fast one (EvoKernel section 3.3), so a context filtered by
them can leave out the one kernel that solved this very problem. It gets a place of its own, as fast variants do when
refining.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from services.domain.evaluations import Verdict
from services.domain.experiences import Experience, ExperienceKind, RecalledExperience
from services.team_memory.reward import Setting

NEAREST = 80
"""Experiences looked through: some jobs' worth of traces."""
ALIKE = 0.05
"""How far below the nearest job's similarity another one still counts as being about the same problem."""


def nearest_example(
    found: Iterable[RecalledExperience], setting: Setting, backend: str, subject: str
) -> RecalledExperience | None:
    """The fastest accepted trace of this very problem, else of the jobs nearest to it in shapes of the same class, else
    in any; else of another backend. None where memory has none of its kind.

    `subject` is the problem's, which its own traces begin with: another problem's kernel may be faster against another
    baseline, and that says little where this problem's own figures are known. A job is as similar as its most similar
    trace. Speedups are compared, since they hold across shapes."""
    known = list(found)
    traces = [item for item in known if _fits(item.experience, setting, backend)]
    own = [item for item in traces if item.experience.text.startswith(subject)]
    if own:
        return max(own, key=_speed)
    same = [item for item in traces if item.experience.shape_class == setting.shape_class]
    others = [item for item in known if _is_elsewhere(item.experience, setting, backend)]
    return _fastest_near(same) or _fastest_near(traces) or _fastest_near(others)


def is_own_kernel(item: RecalledExperience, setting: Setting, backend: str, subject: str) -> bool:
    """Whether it is a kernel for this very problem, backend and device: a start point for the job that asks."""
    return _fits(item.experience, setting, backend) and item.experience.text.startswith(subject)


def _fastest_near(traces: Sequence[RecalledExperience]) -> RecalledExperience | None:
    """The fastest of the jobs that are most similar."""
    nearest: dict[str, float] = {}
    for item in traces:
        job = item.experience.job_id or item.experience.id
        nearest[job] = max(nearest.get(job, -1.0), item.similarity)
    least = max(nearest.values(), default=0.0) - ALIKE
    near = [item for item in traces if nearest[item.experience.job_id or item.experience.id] >= least]
    return max(near, key=_speed, default=None)


def with_nearest_example(
    recalled: Sequence[RecalledExperience], found: RecalledExperience | None, limit: int
) -> tuple[RecalledExperience, ...]:
    """A context with the example in its first place; the last one makes room where the context is full."""
    if found is None:
        return tuple(recalled)
    others = [item for item in recalled if item.experience.id != found.experience.id]
    own = next((item for item in recalled if item.experience.id == found.experience.id), found)
    return (own, *others[: max(0, limit - 1)])


def _is_proven(experience: Experience) -> bool:
    accepted = experience.kind is ExperienceKind.TRACE and experience.verdict is Verdict.ACCEPTED
    return accepted and experience.speedup is not None


def _fits(experience: Experience, setting: Setting, backend: str) -> bool:
    return (
        _is_proven(experience)
        and (experience.backend, experience.family) == (backend, setting.family)
        and (experience.device, experience.dtype) == (setting.device, setting.dtype)
    )


def _is_elsewhere(experience: Experience, setting: Setting, backend: str) -> bool:
    """Whether it is a kernel of the family in another language: its idea travels, its text does not."""
    return (
        _is_proven(experience)
        and experience.backend != backend
        and (experience.family, experience.dtype) == (setting.family, setting.dtype)
    )


def _speed(item: RecalledExperience) -> tuple[float, str]:
    return item.experience.speedup or 0.0, item.experience.id
