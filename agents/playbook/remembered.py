"""What recalled experiences tell the search: which schedule to start from, which moves to prefer, what not to repeat.

The playbook reads the experiences of its request's facts with their values, as a chat model reads them in its prompt.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from agents.playbook.schedule import Schedule, read
from services.domain.chat import Facts
from services.domain.evaluations import Verdict
from services.domain.experiences import Experience, RecalledExperience

ALIKE = 0.15
"""How far below the nearest experience's similarity another one still counts as being about the same thing."""
SLOWER = 1.03
"""A remembered variant this much slower than its job's best remembered one is not worth another evaluation."""


@dataclass(frozen=True, kw_only=True)
class Known:
    """A recalled kernel of ours."""

    item: RecalledExperience
    schedule: Schedule


def known(facts: Facts) -> tuple[Known, ...]:
    """The accepted kernels among the experiences, of the problem's family and backend, made by a readable schedule."""
    found = []
    for item in facts.experiences:
        schedule = read(item.experience.code) if usable(facts, item.experience) else None
        if schedule is not None:
            found.append(Known(item=item, schedule=schedule))
    return tuple(found)


def experienced(facts: Facts, faster_than: float = 0.0) -> Schedule | None:
    """The schedule of the fastest kernel, with more than a speedup, of this very problem, else of the nearest ones; the
    learned value breaks ties."""
    slow = outpaced(facts)
    found = [
        entry
        for entry in known(facts)
        if (entry.item.experience.speedup or 0.0) >= faster_than and entry.schedule not in slow
    ]
    own = [entry for entry in found if entry.item.experience.text.startswith(facts.analysis.subject)]
    if own:
        return max(own, key=_rank).schedule
    nearest = max((entry.item.similarity for entry in found), default=0.0)
    near = [entry for entry in found if entry.item.similarity >= nearest - ALIKE]
    return max(near, key=_rank).schedule if near else None


def outpaced(facts: Facts) -> frozenset[Schedule]:
    """Schedules that were slower than another remembered one on the same problem: latencies compare within a job."""
    jobs: dict[str, list[Known]] = defaultdict(list)
    for entry in known(facts):
        if entry.item.experience.job_id is not None and entry.item.experience.median_us:
            jobs[entry.item.experience.job_id].append(entry)
    slow: set[Schedule] = set()
    for entries in jobs.values():
        best = min(entry.item.experience.median_us or 0.0 for entry in entries)
        slow |= {entry.schedule for entry in entries if (entry.item.experience.median_us or 0.0) > SLOWER * best}
    return frozenset(slow)


def worth(facts: Facts) -> dict[str, float]:
    """The learned value of each move: the mean over the experiences of the family that made it; unvalued moves lack."""
    values: dict[str, list[float]] = defaultdict(list)
    for item in facts.experiences:
        experience = item.experience
        if item.value is not None and experience.family == facts.analysis.family:
            for move in experience.moves:
                values[move].append(item.value)
    return {move: sum(found) / len(found) for move, found in values.items()}


def usable(facts: Facts, experience: Experience) -> bool:
    """Whether it tells of an accepted kernel of the problem's family and backend."""
    own = (experience.backend, experience.family) == (facts.backend, facts.analysis.family)
    return own and experience.verdict is Verdict.ACCEPTED


def _rank(entry: Known) -> tuple[float, float, str]:
    experience = entry.item.experience
    return experience.speedup or 0.0, entry.item.value or 0.0, experience.id
