"""Learned values of experiences, computed by reading the value log (EvoKernel sections 3.3-3.5; MemQ for provenance).

One Q per (stage, experience), kept overall, per operator family, and per family and site. Constant-step Monte-Carlo:
Q ← Q + α·(r − Q). Refine values are stored on the reward's own scale: PopArt's normalise-and-rescale gives the same
numbers for a constant step, so only an experience without visits needs care (it is worth the running mean), and
normalising is left to where values of different stages, families or sites are compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from services.domain.jobs import Stage
from services.domain.value_log import ContextItem, LogEntry, OutcomeEntry, PriorEntry
from services.memory.log import NO_AMENDMENTS, Amendments, amendments

EVERYWHERE = "*"


@dataclass(frozen=True, kw_only=True)
class ValueRules:
    """Constants of learning."""

    alpha: float = 0.15
    """Constant step."""
    prior_count: float = 4.0
    """n₀: visits after which a narrower estimate weighs as much as the wider one it is shrunk to."""
    levels: tuple[str, ...] = ("overall", "family", "site")
    """Estimates used, widest first; `("family",)` is the paper's setting."""
    gamma: float = 0.9
    """Discount of one provenance edge."""
    trace: float = 0.5
    """λ of the provenance trace; an ancestor at depth d gets the step α·(γλ)^d."""
    provenance_depth: int = 2
    """Edges that credit follows at most; a third would move a hundred ancestors by 1 % of the reward each."""
    moment_rate: float = 0.01
    """Step of the running mean and deviation once 1/n is below it."""


def draft_reward(*, accepted: bool) -> float:
    """r₁: +1 when all gates pass, else -1."""
    return 1.0 if accepted else -1.0


def refine_reward(*, accepted: bool, best_us: float, median_us: float | None) -> float:
    """r₂: -1 when infeasible, else tanh(log b - log ℓ) with b the job's best latency so far and ℓ the new one."""
    if not accepted or median_us is None:
        return -1.0
    return math.tanh(math.log(best_us) - math.log(median_us))


@dataclass(kw_only=True)
class Moments:
    """Running mean and deviation of rewards."""

    count: int = 0
    mean: float = 0.0
    square: float = 0.0
    """Running mean of the squared reward."""

    @property
    def deviation(self) -> float:
        """Standard deviation, at least 0.05 so that equal rewards do not blow up."""
        return max(math.sqrt(max(self.square - self.mean**2, 0.0)), 0.05)

    def normalise(self, reward: float) -> float:
        """r̂ = (r − μ)/σ."""
        return (reward - self.mean) / self.deviation

    def add(self, reward: float, rate: float) -> None:
        """Take one reward in."""
        self.count += 1
        step = max(rate, 1.0 / self.count)
        self.mean += step * (reward - self.mean)
        self.square += step * (reward**2 - self.square)


@dataclass(kw_only=True)
class Estimate:
    """One learned value."""

    value: float
    visits: float = 0.0
    """Rewards taken in; a provenance credit counts with its weight."""


class ValueScope(NamedTuple):
    """Where an estimate holds (a tuple, because it is hashed millions of times)."""

    family: str = EVERYWHERE
    site: str = EVERYWHERE


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One estimate that an entry moved; what a value history shows."""

    seq: int
    experience_id: str
    stage: Stage
    scope: ValueScope
    reward: float
    weight: float
    """1 for the context and the start point, (γλ)^depth for an ancestor."""
    before: float
    after: float
    visits: float


@dataclass(frozen=True, kw_only=True)
class AppliedOutcome:
    """What an outcome meant when it was read."""

    stage: Stage
    reward: float
    normalised: float
    """(r − μ)/σ of its stage and family, with the moments before it."""
    context: Sequence[ContextItem]
    """As it counts today."""
    changes: tuple[Change, ...]


@dataclass(kw_only=True)
class Values:
    """All values of a team: a fold over its log. `read(entries)` makes one; `apply` takes one more outcome in."""

    rules: ValueRules = field(default_factory=ValueRules)
    amendments: Amendments = NO_AMENDMENTS
    estimates: dict[tuple[Stage, str, ValueScope], Estimate] = field(default_factory=dict)
    moments: dict[tuple[Stage, ValueScope], Moments] = field(default_factory=dict)
    best_us: dict[str, float] = field(default_factory=dict)
    """Best latency so far by job; a job that has one is refining."""
    parents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Provenance by experience."""
    children: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Experiences about the candidates derived from a start point, by the start point's experience."""
    seen: set[str] = field(default_factory=set)
    """Evaluations taken in."""

    def apply(self, entry: OutcomeEntry | PriorEntry) -> AppliedOutcome | None:
        """Take one entry in; None when it changes no reward (a prior, a retracted or an already known evaluation)."""
        if isinstance(entry, PriorEntry):
            self._start_from(entry)
            return None
        if entry.evaluation_id in self.seen or entry.evaluation_id in self.amendments.evaluations:
            return None
        self.seen.add(entry.evaluation_id)
        stage, reward = self._judge(entry)
        context = self.amendments.amend(entry)
        normalised = self.moment(stage, ValueScope(family=entry.family)).normalise(reward)
        changes = self._credit(entry, stage, reward, self._weights(entry, context))
        for scope in self._scopes(entry.family, entry.site):
            self.moments.setdefault((stage, scope), Moments()).add(reward, self.rules.moment_rate)
        self._record_provenance(entry, context)
        return AppliedOutcome(stage=stage, reward=reward, normalised=normalised, context=context, changes=changes)

    def value(self, stage: Stage, experience_id: str, family: str, site: str = EVERYWHERE) -> float:
        """Learned value on the reward's own scale, narrower estimates shrunk to wider ones by n/(n + n₀)."""
        scopes = self._scopes(family, site)
        value = self.moment(stage, ValueScope(family=family)).mean if stage is Stage.REFINE else 0.0
        for index, scope in enumerate(scopes):
            estimate = self.estimates.get((stage, experience_id, scope))
            if estimate is not None:
                share = 1.0 if index == 0 else estimate.visits / (estimate.visits + self.rules.prior_count)
                value += share * (estimate.value - value)
        return value

    def visits(self, stage: Stage, experience_id: str) -> float:
        """How many rewards an experience has taken in."""
        scope = self._scopes(EVERYWHERE, EVERYWHERE)[0]
        estimate = self.estimates.get((stage, experience_id, scope))
        return 0.0 if estimate is None else estimate.visits

    def normalised(self, stage: Stage, experience_id: str, family: str, site: str = EVERYWHERE) -> float:
        """The value in deviations from its stage's and family's running mean: comparable across stages and families."""
        return self.moment(stage, ValueScope(family=family)).normalise(self.value(stage, experience_id, family, site))

    def moment(self, stage: Stage, scope: ValueScope) -> Moments:
        """Running moments of a scope, of the stage overall while the scope has none, (0, 1) while there are none."""
        overall = self.moments.get((stage, ValueScope()), Moments(square=1.0))
        return self.moments.get((stage, scope), overall)

    def _judge(self, entry: OutcomeEntry) -> tuple[Stage, float]:
        best = self.best_us.get(entry.job_id)
        if entry.accepted and entry.median_us is not None:
            self.best_us[entry.job_id] = min(entry.median_us, best if best is not None else math.inf)
        if best is None:
            return Stage.DRAFT, draft_reward(accepted=entry.accepted)
        return Stage.REFINE, refine_reward(accepted=entry.accepted, best_us=best, median_us=entry.median_us)

    def _scopes(self, family: str, site: str) -> list[ValueScope]:
        known = {
            "overall": ValueScope(),
            "family": ValueScope(family=family),
            "site": ValueScope(family=family, site=site),
        }
        return [known[level] for level in self.rules.levels]

    def _weights(self, entry: OutcomeEntry, context: Sequence[ContextItem]) -> dict[str, float]:
        """Whom the outcome credits: context and start point fully, ancestors by (γλ)^depth (shortest way)."""
        weights = {item.experience_id: 1.0 for item in context}
        start = self.amendments.current(entry.start_point) if entry.start_point else None
        if start is not None:
            weights[start] = 1.0
        frontier = list(weights)
        for depth in range(1, self.rules.provenance_depth + 1):
            following = [parent for name in frontier for parent in self.parents.get(name, ())]
            frontier = [name for name in dict.fromkeys(following) if name not in weights]
            weights.update(dict.fromkeys(frontier, (self.rules.gamma * self.rules.trace) ** depth))
        return weights

    def _credit(
        self, entry: OutcomeEntry, stage: Stage, reward: float, weights: dict[str, float]
    ) -> tuple[Change, ...]:
        changes = []
        scopes = self._scopes(entry.family, entry.site)
        for name, weight in weights.items():
            for scope in scopes:
                estimate = self._estimate(stage, name, scope)
                before = estimate.value
                estimate.value += self.rules.alpha * weight * (reward - before)
                estimate.visits += weight
                changes.append(
                    Change(
                        seq=entry.seq,
                        experience_id=name,
                        stage=stage,
                        scope=scope,
                        reward=reward,
                        weight=weight,
                        before=before,
                        after=estimate.value,
                        visits=estimate.visits,
                    )
                )
        return tuple(changes)

    def _estimate(self, stage: Stage, name: str, scope: ValueScope) -> Estimate:
        key = (stage, name, scope)
        known = self.estimates.get(key)
        if known is None:
            start = self.moment(stage, scope).mean if stage is Stage.REFINE else 0.0
            known = self.estimates[key] = Estimate(value=start)
        return known

    def _record_provenance(self, entry: OutcomeEntry, context: Sequence[ContextItem]) -> None:
        start = self.amendments.current(entry.start_point) if entry.start_point else None
        sources = [item.experience_id for item in context] + ([start] if start is not None else [])
        made = [current for name in entry.made if (current := self.amendments.current(name)) is not None]
        for name in made:
            _add(self.parents, name, [source for source in sources if source != name])
        if start is not None:
            _add(self.children, start, [name for name in made if name != start])

    def _start_from(self, entry: PriorEntry) -> None:
        name = self.amendments.current(entry.experience_id)
        if name is None:
            return
        scope = self._scopes(EVERYWHERE, EVERYWHERE)[0]
        self.estimates.setdefault((entry.stage, name, scope), Estimate(value=entry.value, visits=entry.visits))


def _add(edges: dict[str, tuple[str, ...]], name: str, ends: Sequence[str]) -> None:
    edges[name] = tuple(dict.fromkeys((*edges.get(name, ()), *ends)))


def read(entries: Iterable[LogEntry], rules: ValueRules | None = None) -> Values:
    """The values that a complete log gives, retracted entries left out and merged experiences taken as one."""
    log = tuple(entries)
    values = Values(rules=rules or ValueRules(), amendments=amendments(log))
    for entry in log:
        if isinstance(entry, OutcomeEntry | PriorEntry):
            values.apply(entry)
    return values


def history(entries: Iterable[LogEntry], experience_id: str) -> tuple[Change, ...]:
    """Every change of one experience's values, in the order of the log."""
    log = tuple(entries)
    values = Values(amendments=amendments(log))
    changes: list[Change] = []
    for entry in log:
        if isinstance(entry, OutcomeEntry | PriorEntry) and (applied := values.apply(entry)) is not None:
            changes += [change for change in applied.changes if change.experience_id == experience_id]
    return tuple(changes)
