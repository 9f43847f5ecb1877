"""Practices that a job teaches: their evidence is looked up in the job's own measurements, never believed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import permutations

from services.domain.candidates import content_hash
from services.domain.chat import AttemptFact
from services.domain.evaluations import EvaluationReport
from services.domain.experiences import EVIDENCE, Experience, ExperienceKind, experience_id
from services.domain.jobs import Job, Stage
from services.domain.practices import Contrast, KeptPractice, ProposedPractice
from services.domain.ratios import seed_figures, with_seed
from services.team_memory.reward import Setting

MOST_CONTRASTS = 6
"""Contrasts that an agent is shown."""


def contrasts(attempts: Sequence[AttemptFact]) -> tuple[Contrast, ...]:
    """What changes of code surely brought or cost in a job: each candidate against the one it was made from, the
    largest differences first, at most `MOST_CONTRASTS`."""
    known = _reports(attempts)
    found = []
    for item in attempts:
        own, parent = item.candidate_id, item.parent_id
        if own is not None and parent is not None and item.confirms is None:
            found += [held for pair in permutations((own, parent)) if (held := contrast(known, *pair)) is not None]
    return tuple(sorted(found, key=lambda one: (-one.ci95[0], one.faster))[:MOST_CONTRASTS])


def contrast(reports: Mapping[str, EvaluationReport], faster: str, slower: str) -> Contrast | None:
    """The two as our measurements have them; None unless the first is surely the faster one."""
    before = seed_figures(reports.get(slower))
    own = reports.get(faster)
    if own is None or before is None or not own.accepted:
        return None
    compared = with_seed(own, before).speedup
    if compared.seed is None or compared.seed_ci95 is None or compared.seed_ci95[0] <= 1.0:
        return None
    return Contrast(faster=faster, slower=slower, ratio=compared.seed, ci95=compared.seed_ci95)


def checked(proposal: ProposedPractice, attempts: Sequence[AttemptFact]) -> KeptPractice | str:
    """The practice with what its evidence measured, or why it is not kept."""
    known = _reports(attempts)
    held = []
    for faster, slower in dict.fromkeys(proposal.pairs):
        for name in (faster, slower):
            if name not in known:
                return f"{name or 'an empty id'} is no accepted candidate of this job"
        found = contrast(known, faster, slower)
        if found is None:
            return f"{faster} is not surely faster than {slower}: their interval holds 1"
        held.append(found)
    if not held:
        return "it names no pair of candidates as evidence"
    return KeptPractice(statement=proposal.statement, applies=proposal.applies, contrasts=tuple(held))


def experience_of(kept: KeptPractice, job: Job, setting: Setting, at: datetime) -> Experience:
    """A kept practice as memory holds it: for the job's family and backend, without any value yet.

    The same on every resume: its id comes from the job and its words."""
    named = dict.fromkeys(name for one in kept.contrasts for name in (one.faster, one.slower))
    return Experience(
        id=f"exp-{content_hash(f'{job.id}/practice/{kept.statement}')[:20]}",
        team_id=job.team_id,
        kind=ExperienceKind.BEST_PRACTICE,
        stage=Stage.REFINE,
        family=setting.family,
        backend=job.spec.backend,
        device=setting.device,
        toolchain=setting.toolchain,
        title=kept.statement,
        text=f"Applies when: {kept.applies}\n{EVIDENCE}{told(kept.contrasts)}; on {setting.device}, {at:%Y-%m-%d}",
        code=None,
        dtype=setting.dtype,
        job_id=job.id,
        used=tuple(experience_id(name, ExperienceKind.TRACE) for name in named),
        created_at=at,
    )


def told(found: Sequence[Contrast]) -> str:
    """Contrasts in words: `cand-a is 1.30× (1.20 to 1.40) as fast as cand-b`."""
    return "; ".join(
        f"{one.faster} is {one.ratio:.2f}× ({one.ci95[0]:.2f} to {one.ci95[1]:.2f}) as fast as {one.slower}"
        for one in found
    )


def _reports(attempts: Sequence[AttemptFact]) -> dict[str, EvaluationReport]:
    """Accepted and timed candidates that the job's agents made or started from."""
    return {
        item.candidate_id: item.report
        for item in attempts
        if item.candidate_id is not None and item.report is not None and item.report.accepted and item.report.latency
    }
