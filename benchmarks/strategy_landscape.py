"""A simulated landscape with deceptive local optima, and agents that work on it, for `benchmarks.strategies`.

The landscape: a kernel is an algorithm (of three) and eight tuning choices of four values. The first algorithm is easy
and soon exhausted; the second starts slower and pays only when certain pairs of choices are made together (one of a
pair alone costs time); the third starts slowest, breaks most often and reaches furthest. So the way down from the first
draft ends in a local optimum. The agents: a Planner that sees three or four possible changes with a noisy idea of their
gain and takes the one that looks best; a Coder that breaks code more often the more it changes; crossover when the
strategy shows other candidates. The referee: latencies with 3 % noise, 2 % flaky refusals, 2 % lucky timings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random

from agents.strategies.lineage import is_accepted
from services.domain.chat import AttemptFact, HypothesisFact, MoveFact, PlanFact

GENES = 8
VALUES = 4
START_US = 1000.0
NOISE = 0.03
FLAKY = 0.02
LUCKY = 0.02
KNOWLEDGE = 0.35
"""Standard deviation of the Planner's idea of a change's log gain."""
DRAFTS = (0.75, 0.2, 0.05)
"""How often a fresh draft is of each algorithm."""
SLOWER = (0.0, 0.25, 0.6)
"""Log latency by which a plain kernel of each algorithm is slower."""
REACH = (0.9, 1.7, 2.3)
"""Log gain that all choices of an algorithm bring together."""
HARD = (0.0, 0.08, 0.18)
"""Chance that code breaks because of its algorithm."""


@dataclass(frozen=True)
class Genome:
    """One kernel."""

    algorithm: int
    genes: tuple[int, ...]

    def changes(self, other: Genome) -> int:
        """In how many places two kernels differ; another algorithm counts thrice."""
        return 3 * (self.algorithm != other.algorithm) + sum(
            mine != theirs for mine, theirs in zip(self.genes, other.genes, strict=True)
        )

    def source(self) -> str:
        """A text with the traits that strategies read from sources."""
        threads, lanes, tile, size = self.genes[0], self.genes[1], self.genes[2], self.genes[3]
        kernels = (3, 1, 5)[self.algorithm]
        lines = [f"# {self.algorithm} {self.genes}"]
        for number in range(kernels):
            lines.append(f'extern "C" void pass{number}(const float* x, float* y, int64_t n) {{')
            lines += ["#pragma omp parallel for"] * (threads > 1) + ["#pragma omp simd"] * (lanes > 1)
            lines += ["for (int64_t i = 0; i < n; i += BLOCK)"] * (tile > 1)
            lines += [f"y[{line}] = x[{line}];" for line in range(4 + 15 * size)] + ["}"]
        return "\n".join([*lines, "class ModelNew: ...", ""])


@dataclass(frozen=True)
class Landscape:
    """True latencies: what each choice brings under each algorithm, drawn from a seed."""

    seed: int
    single: dict[tuple[int, int, int], float]
    pairs: dict[tuple[int, int, int], tuple[int, int]]
    """By algorithm and two genes the values that pay together."""

    @classmethod
    def of(cls, seed: int) -> Landscape:
        """One landscape per seed."""
        dice = Random(f"{seed}/landscape")
        single: dict[tuple[int, int, int], float] = {}
        pairs: dict[tuple[int, int, int], tuple[int, int]] = {}
        for algorithm in range(3):
            order = dice.sample(range(GENES), GENES)
            if algorithm:
                for first, second in ((order[0], order[1]), (order[2], order[3])):
                    pairs[algorithm, first, second] = (dice.randint(1, VALUES - 1), dice.randint(1, VALUES - 1))
            paired = {gene for _, *genes in ((a, f, s) for a, f, s in pairs if a == algorithm) for gene in genes}
            weights = [dice.random() + 0.3 for _ in range(GENES)]
            for gene in range(GENES):
                best = dice.randint(1, VALUES - 1)
                share = REACH[algorithm] * weights[gene] / sum(weights)
                for value in range(VALUES):
                    fit = 1.0 if value == best else dice.uniform(-0.3, 0.6) if value else 0.0
                    single[algorithm, gene, value] = 0.0 if gene in paired else share * fit
        return cls(seed=seed, single=single, pairs=pairs)

    def latency_us(self, kernel: Genome) -> float:
        """True latency."""
        gain = sum(self.single[kernel.algorithm, gene, value] for gene, value in enumerate(kernel.genes))
        for (algorithm, first, second), (one, other) in self.pairs.items():
            if algorithm == kernel.algorithm:
                right = (kernel.genes[first] == one) + (kernel.genes[second] == other)
                gain += (0.0, -0.12, 0.3 * REACH[algorithm])[right]
        return START_US * math.exp(SLOWER[kernel.algorithm] - gain)


@dataclass(kw_only=True)
class Agents:
    """The simulated Planner and Coder."""

    world: Landscape
    dice: Random
    known: dict[str, Genome] = field(default_factory=dict)
    """Genomes by candidate."""
    ideas: dict[str, Genome] = field(default_factory=dict)
    """What hypotheses of the tree are about."""

    def plan(
        self, start: AttemptFact | None, others: Sequence[AttemptFact], brief: str, step: int
    ) -> tuple[Genome, PlanFact]:
        """The kernel to write, and the plan as the strategy will read it."""
        base = self.known.get(start.candidate_id or "") if start is not None else None
        if base is None:
            return self._draft(step)
        assert start is not None
        if not is_accepted(start) and self.dice.random() < 0.7:
            name = start.plan.hypothesis_id if start.plan is not None else None
            return base, _plan(start, name or f"repair-{step}", 1.0)
        proposals = [self._change(base, others) for _ in range(3)]
        told = {kernel: self._idea_of_gain(base, kernel) for kernel in proposals}
        if "Tree of hypotheses" not in brief:
            best = max(told, key=lambda kernel: told[kernel])
            return best, _plan(start, f"step-{step}", math.exp(told[best]))
        return self._from_tree(start, told, brief, step)

    def breaks(self, base: Genome | None, kernel: Genome, *, repair: bool) -> bool:
        """Whether the code does not pass the gates."""
        changed = 0 if base is None else kernel.changes(base)
        chance = 0.08 + 0.05 * changed + HARD[kernel.algorithm] * (1.0 if changed >= 3 or base is None else 0.5)
        return self.dice.random() < (0.5 * chance if repair else chance)

    def _draft(self, step: int) -> tuple[Genome, PlanFact]:
        algorithm = self.dice.choices(range(3), DRAFTS)[0]
        genes = tuple(self.dice.randint(0, VALUES - 1) if self.dice.random() < 0.15 else 0 for _ in range(GENES))
        return Genome(algorithm, genes), _plan(None, f"draft-{step}", 1.0)

    def _change(self, base: Genome, others: Sequence[AttemptFact]) -> Genome:
        kind = self.dice.random()
        mates = [self.known[item.candidate_id or ""] for item in others if item.candidate_id in self.known]
        if mates and kind < 0.25:
            mate = self.dice.choice(mates)
            mixed = tuple(self.dice.choice(pair) for pair in zip(base.genes, mate.genes, strict=True))
            return Genome(self.dice.choice((base.algorithm, mate.algorithm)), mixed)
        if kind > 0.93:
            return Genome(self.dice.choice([item for item in range(3) if item != base.algorithm]), base.genes)
        genes = list(base.genes)
        for gene in self.dice.sample(range(GENES), 2 if kind > 0.75 else 1):
            genes[gene] = self.dice.choice([value for value in range(VALUES) if value != genes[gene]])
        return Genome(base.algorithm, tuple(genes))

    def _idea_of_gain(self, base: Genome, kernel: Genome) -> float:
        true = math.log(self.world.latency_us(base) / self.world.latency_us(kernel))
        return true + self.dice.gauss(0.0, KNOWLEDGE)

    def _from_tree(
        self, start: AttemptFact, told: dict[Genome, float], brief: str, step: int
    ) -> tuple[Genome, PlanFact]:
        """New ideas go into the tree with their scores; the one worked on is the tree's choice while it has no code,
        else the best of the new ones."""
        above = start.plan.hypothesis_id if start.plan is not None else None
        updates = []
        for number, (kernel, gain) in enumerate(told.items()):
            name = f"h{step}.{number}"
            self.ideas[name] = kernel
            score = min(1.0, max(0.05, 0.5 + 0.5 * math.tanh(gain)))
            hard = min(1.0, 0.2 + HARD[kernel.algorithm] * 3)
            updates.append(HypothesisFact(id=name, parent=above, statement=name, difficulty=hard, score=score))
        chosen = brief.partition("Most promising now: ")[2].partition(". ")[0].strip()
        tried = start.plan is not None and start.plan.hypothesis_id == chosen and is_accepted(start)
        if chosen not in self.ideas or tried:
            chosen = max(updates, key=lambda item: item.score).id
        return self.ideas[chosen], replace(_plan(start, chosen, 1.0), hypotheses=tuple(updates))


def _plan(start: AttemptFact | None, name: str, gain: float) -> PlanFact:
    parent = start.candidate_id if start is not None else None
    move = MoveFact(name="change")
    return PlanFact(start_point=parent, hypothesis=name, moves=(move,), expected_gain=gain, hypothesis_id=name)
