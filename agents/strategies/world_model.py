"""World model as in K-Search: a tree of hypotheses with difficulty and score that the Planner keeps up to date.

Plans live apart from code: a hypothesis whose kernel did not compile or was refused stays open, and is tried again
from the last code that worked. A Planner that keeps no tree (the playbook) still gets one: each plan is a hypothesis
below the one that made its start point. What came of a plan moves its score; the Planner's next word overrules that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from agents.strategies.greedy import draft_start
from agents.strategies.lineage import is_accepted, median_us, pace, ranked
from agents.strategies.stop_rule import RuledStrategy, StopRule
from services.domain.chat import AttemptFact, HypothesisFact, SearchBrief
from services.ports.search import SearchState

_GIVE_UP = 3
"""Broken codes in a row after which a hypothesis is left alone (K-Search's stagnation limit)."""
_STALE = 3
"""Tries from a hypothesis's own code without a gain after which another one has its turn."""


@dataclass(kw_only=True)
class ScoredHypothesis:
    """One node with the evidence about it."""

    fact: HypothesisFact
    tries: int = 0
    broken: int = 0
    """Codes in a row that were not accepted."""
    stale: int = 0
    """Working codes made from its own without a gain, in a row; broken ones say nothing about it."""
    best: AttemptFact | None = None
    """Its fastest accepted code."""
    latest: AttemptFact | None = None
    """Its latest candidate."""

    @property
    def is_open(self) -> bool:
        """Whether it still wants a try: not refuted, not broken too often, not stale."""
        return not self.fact.refuted and self.broken < _GIVE_UP and self.stale < _STALE

    @property
    def priority(self) -> float:
        """Promise against difficulty, less for what has been tried in vain."""
        return self.fact.score * (1.0 - 0.5 * self.fact.difficulty) / (1.0 + 0.25 * self.broken + 0.5 * self.stale)


@dataclass(kw_only=True)
class WorldModel:
    """The tree, read from the attempts in order."""

    nodes: dict[str, ScoredHypothesis] = field(default_factory=dict)
    made_by: dict[str, str] = field(default_factory=dict)
    """ScoredHypothesis by the candidate it made."""
    best_us: float = math.inf

    def chain(self, name: str) -> list[ScoredHypothesis]:
        """A hypothesis and those it builds on, nearest first."""
        found: list[ScoredHypothesis] = []
        node = self.nodes.get(name)
        while node is not None and node not in found:
            found.append(node)
            node = self.nodes.get(node.fact.parent or "")
        return found

    def frontier(self) -> list[ScoredHypothesis]:
        """What may be tried next, most promising first: by priority, and by how fast the code is it starts from."""
        found = [node for node in self.nodes.values() if node.is_open]
        return sorted(found, key=lambda node: (-node.priority * self._level(node), node.fact.id))

    def _level(self, node: ScoredHypothesis) -> float:
        """How near the code it would start from is to the fastest, 0 to 1."""
        times = [pace(item.best) for item in self.chain(node.fact.id) if item.best is not None]
        return self.best_us / times[0] if times else 1.0

    def take(self, item: AttemptFact) -> None:
        """Take one attempt in: first what its Planner wrote, then what became of its code."""
        plan = item.plan
        if plan is None:
            return
        for update in plan.hypotheses:
            self._update(update)
        name = plan.hypothesis_id or f"step-{item.step}"
        if name not in self.nodes:
            above = self.made_by.get(item.parent_id or "")
            score = min(1.0, 0.5 + 0.25 * math.log2(max(plan.expected_gain, 0.25)))
            self._update(HypothesisFact(id=name, parent=above, statement=plan.hypothesis, score=max(0.1, score)))
        if item.candidate_id is not None:
            self.made_by[item.candidate_id] = name
        self._judge(self.nodes[name], item)

    def _update(self, fact: HypothesisFact) -> None:
        node = self.nodes.get(fact.id)
        if node is None:
            self.nodes[fact.id] = ScoredHypothesis(fact=fact)
        else:
            node.fact = fact

    def _judge(self, node: ScoredHypothesis, item: AttemptFact) -> None:
        """What the referee's word means for a hypothesis and for the one whose code it started from."""
        node.tries += 1
        if item.candidate_id is not None:
            node.latest = item
        if not is_accepted(item):
            node.broken += 1
            return
        source = self.nodes.get(self.made_by.get(item.parent_id or "", ""))
        median = pace(item)
        gained = median < self.best_us * 0.98
        if source is not None:
            source.stale = 0 if gained else source.stale + 1
        node.broken = 0
        if node.best is None or median < pace(node.best):
            node.best = item
        if self.best_us < math.inf:
            node.fact = _rescored(node.fact, self.best_us / median)
        self.best_us = min(self.best_us, median)


def read(attempts: tuple[AttemptFact, ...]) -> WorldModel:
    """The world model after these attempts."""
    model = WorldModel()
    for item in attempts:
        model.take(item)
    return model


class WorldModelSearch(RuledStrategy):
    """Works on the most promising open hypothesis; the plan survives when its code does not."""

    name = "world_model"

    def __init__(self, *, repairs: int = 2, drafts: int = 3) -> None:
        """`repairs`: broken codes of a hypothesis that are repaired before it is coded afresh. `drafts`: repairs of a
        line of drafts until something is accepted."""
        self._repairs = repairs
        self._drafts = drafts
        self._rule = StopRule(patience=10)

    def start_point(self, state: SearchState) -> AttemptFact | None:
        """Code of the chosen hypothesis: its own best, its broken code while it is worth repairing, else the code of
        the nearest hypothesis it builds on."""
        model = read(state.attempts)
        node = self._chosen(model, state)
        if node is None or model.best_us == math.inf:
            return next(iter(ranked(state.attempts)), None) or draft_start(state, self._drafts)
        if node.best is None and node.latest is not None and node.broken < self._repairs:
            return node.latest
        above = (item.best for item in model.chain(node.fact.id) if item.best is not None)
        return next(above, next(iter(ranked(state.attempts)), None))

    def brief(self, state: SearchState, start: AttemptFact | None) -> SearchBrief:
        """The tree with its evidence, and what is asked of the Planner."""
        model = read(state.attempts)
        node = self._chosen(model, state)
        lines = ["Tree of hypotheses (id, parent, difficulty, score, evidence):"]
        lines += [_line(item) for item in model.nodes.values()]
        if not model.nodes:
            lines.append("- empty: found it")
        if node is not None:
            lines.append(f"Most promising now: {node.fact.id}. Pursue it, or a better one built on it.")
        lines.append(
            "Keep the tree up to date: put new or rejudged hypotheses into `hypotheses` (score and difficulty 0 to 1, "
            "`refuted` where the evidence speaks against one) and name the one you try in `hypothesis_id`. Broken code "
            "does not refute a hypothesis."
        )
        best = [item for item in ranked(state.attempts)[:1] if start is None or item.step != start.step]
        return SearchBrief(text="\n".join(lines), inspirations=tuple(best))

    def _chosen(self, model: WorldModel, state: SearchState) -> ScoredHypothesis | None:
        """The branch-th of the frontier."""
        frontier = model.frontier()
        return frontier[state.branch % len(frontier)] if frontier else None


def _rescored(fact: HypothesisFact, gain: float) -> HypothesisFact:
    """A score moved half-way to what the measured gain over the best so far says."""
    seen = 0.5 + 0.5 * math.tanh(2.0 * math.log(gain))
    return replace(fact, score=0.5 * fact.score + 0.5 * seen)


def _line(node: ScoredHypothesis) -> str:
    fact = node.fact
    evidence = f"best {median_us(node.best):.1f} µs" if node.best is not None else "no working code yet"
    state = "refuted" if fact.refuted else f"{node.tries} tries, {node.broken} broken in a row, {evidence}"
    above = fact.parent or "the problem"
    judged = f"difficulty {fact.difficulty:.1f}, score {fact.score:.2f}"
    return f"- {fact.id} on {above}, {judged}: {fact.statement[:160]} ({state})"
