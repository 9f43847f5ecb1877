"""A team's memory as learned so far: values, recent trials and digested evidence, folded from the value log.

Storage keeps one `Learner` per team beside its log and feeds it new entries before each recall. Two processes that
have read the same log hold the same learner: every draw is seeded by what is digested, not by when.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from services.domain.jobs import Stage
from services.domain.practices import RewardedTrial
from services.domain.value_log import LogEntry, MergeEntry, OutcomeEntry, RetractionEntry
from services.memory.joint import JointPosterior
from services.memory.log import amendments
from services.memory.selection import (
    NO_EVIDENCE,
    Evidence,
    PoolItem,
    RewardedStep,
    SelectionRequest,
    SelectionRule,
)
from services.memory.values import AppliedOutcome, ValueRules, Values


@dataclass(kw_only=True)
class FamilyTrials:
    """What was tried in one family at one stage."""

    trials: deque[RewardedStep]
    evidence: Evidence = NO_EVIDENCE
    outcomes: int = 0


@dataclass(kw_only=True)
class Learner:
    """Fold of a value log for recall."""

    rule: SelectionRule = field(default_factory=JointPosterior)
    rules: ValueRules = field(default_factory=ValueRules)
    window: int = 512
    """Trials kept of each family and stage."""
    digest_every: int = 8
    """Trials of a family after which its evidence is digested anew."""
    values: Values = field(init=False)
    last_seq: int = field(default=0, init=False)
    """The last entry taken in."""
    outcomes: int = field(default=0, init=False)
    """Outcomes learned from, for schedules."""
    families: dict[tuple[Stage, str], FamilyTrials] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.values = Values(rules=self.rules)

    def rebuild(self, log: Iterable[LogEntry]) -> None:
        """Start again from the complete log, with its retractions and merges applied from the start.

        Raises `ValueError` at a gap.
        """
        entries = tuple(log)
        self.values = Values(rules=self.rules, amendments=amendments(entries))
        self.last_seq = self.outcomes = 0
        self.families = {}
        for entry in entries:
            self._take(entry)

    def restore(
        self, values: Values, families: dict[tuple[Stage, str], FamilyTrials], *, last_seq: int, outcomes: int
    ) -> None:
        """Go on from a state that a learner of the same rules was in after `last_seq` (`services.memory.snapshot`)."""
        self.values, self.families = values, families
        self.last_seq, self.outcomes = last_seq, outcomes

    def extend(self, entries: Sequence[LogEntry]) -> bool:
        """Take the next entries in; False, and nothing is taken, when they rewrite the past: then `rebuild`.

        Entries that were taken in before are passed over. Raises `ValueError` at a gap: learning around it would make
        values that no log gives.
        """
        if any(isinstance(entry, RetractionEntry | MergeEntry) for entry in entries):
            return False
        for entry in entries:
            if entry.seq > self.last_seq:
                self._take(entry)
        return True

    def request(
        self, stage: Stage, family: str, site: str, nearest: Sequence[tuple[str, float]], count: int
    ) -> SelectionRequest:
        """What the rule may know for a query; `nearest` holds (experience, similarity), most similar first."""
        pool = tuple(
            PoolItem(experience_id=name, similarity=similarity, value=self.values.value(stage, name, family, site))
            for name, similarity in nearest
        )
        known = self.families.get((stage, family))
        return SelectionRequest(
            stage=stage,
            pool=pool,
            count=count,
            step=self.outcomes,
            trials=tuple(known.trials) if known else (),
            own=known.evidence if known else NO_EVIDENCE,
            others=self._others(stage, family),
        )

    def choose(
        self, stage: Stage, family: str, site: str, nearest: Sequence[tuple[str, float]], count: int, seed: int
    ) -> tuple[str, ...]:
        """The experiences for the context, best first; the same for the same log, query and seed."""
        rng = np.random.default_rng([seed & 0xFFFFFFFF, self.last_seq, _number(f"{stage}/{family}")])
        return self.rule.choose(self.request(stage, family, site, nearest, count), rng)

    def children(self, start_point: str) -> tuple[str, ...]:
        """The start point's observable children: experiences about what was derived from it, oldest first."""
        return self.values.children.get(start_point, ())

    def trials(self) -> tuple[RewardedTrial, ...]:
        """The steps that are kept of every family, oldest first within each."""
        return tuple(
            RewardedTrial(stage=stage, items=step.items, reward=step.earned)
            for (stage, _), known in sorted(self.families.items())
            for step in known.trials
        )

    def _take(self, entry: LogEntry) -> None:
        if entry.seq != self.last_seq + 1:
            raise ValueError(f"the value log has a gap: entry {entry.seq} follows {self.last_seq}")
        self.last_seq = entry.seq
        if isinstance(entry, RetractionEntry | MergeEntry):
            return
        applied = self.values.apply(entry)
        if applied is not None and isinstance(entry, OutcomeEntry):
            self.outcomes += 1
            if applied.context:
                self._try(entry, applied)

    def _try(self, entry: OutcomeEntry, applied: AppliedOutcome) -> None:
        key = (applied.stage, entry.family)
        known = self.families.setdefault(key, FamilyTrials(trials=deque(maxlen=self.window)))
        known.trials.append(
            RewardedStep(
                items=tuple(item.experience_id for item in applied.context),
                similarities=tuple(item.similarity for item in applied.context),
                reward=applied.reward if applied.stage is Stage.DRAFT else applied.normalised,
                job_id=entry.job_id,
                earned=applied.reward,
            )
        )
        known.outcomes += 1
        if known.outcomes % self.digest_every == 0:
            rng = np.random.default_rng([known.outcomes, _number("/".join(key))])
            known.evidence = self.rule.digest(self.request(*key, entry.site, (), 0), rng)

    def _others(self, stage: Stage, family: str) -> tuple[Evidence, ...]:
        return tuple(
            known.evidence for (at, name), known in sorted(self.families.items()) if at is stage and name != family
        )


def _number(text: str) -> int:
    """A number that is the same in every process (`hash` is not)."""
    return zlib.crc32(text.encode())
