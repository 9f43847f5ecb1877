"""Log entries and requests for the tests of the memory's core."""

from __future__ import annotations

import math
from collections.abc import Sequence

from services.domain.experiences import Embedded
from services.domain.jobs import Stage
from services.domain.value_log import ContextItem, OutcomeEntry
from services.memory.selection import NO_EVIDENCE, Evidence, PoolItem, RewardedStep, SelectionRequest

SITE = "cpu/g++ 12.2"


def outcome(
    seq: int,
    *used: str,
    accepted: bool = True,
    us: float | None = None,
    job: str | None = None,
    family: str = "softmax",
    site: str = SITE,
    start: str | None = None,
    made: tuple[str, ...] = (),
    holdout: bool = False,
    speedup: float | None = None,
) -> OutcomeEntry:
    """An outcome of a job of its own unless `job` is given; an accepted one takes 100 µs unless told otherwise."""
    return OutcomeEntry(
        seq=seq,
        evaluation_id=f"eval-{seq}",
        job_id=job or f"job-{seq}",
        step=seq,
        family=family,
        site=site,
        accepted=accepted,
        median_us=(us or 100.0) if accepted else None,
        speedup=speedup,
        context=tuple(ContextItem(experience_id=name, similarity=0.5) for name in used),
        start_point=start,
        made=made,
        holdout=holdout,
    )


def pool(
    *names: str, similarity: Sequence[float] | None = None, value: Sequence[float] | None = None
) -> list[PoolItem]:
    """Items of falling similarity and no value unless given."""
    return [
        PoolItem(
            experience_id=name,
            similarity=similarity[index] if similarity else 0.9 - 0.01 * index,
            value=value[index] if value else 0.0,
        )
        for index, name in enumerate(names)
    ]


def request(
    items: Sequence[PoolItem],
    *,
    trials: Sequence[RewardedStep] = (),
    count: int = 2,
    stage: Stage = Stage.DRAFT,
    step: int = 10_000,
    own: Evidence = NO_EVIDENCE,
    others: Sequence[Evidence] = (),
) -> SelectionRequest:
    """A request late in the schedules."""
    return SelectionRequest(stage=stage, pool=items, count=count, step=step, trials=trials, own=own, others=others)


class PlainEmbedder:
    """An embedder that always works: two dimensions, by length."""

    name = "plain"
    dimensions = 2
    note = None

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Unit vectors whose angle is the text's length."""
        return Embedded(space=self.name, vectors=[[math.cos(len(text)), math.sin(len(text))] for text in texts])
