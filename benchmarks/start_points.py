"""Which strategy refines from the right start points? A simulation that drives the product's strategies and values.

    python -m benchmarks.start_points [--jobs 400] [--seeds 8]

A job searches among sets of moves. Each move multiplies the latency by a factor of its own; some pairs of moves shut
one another's gain off, so that the fastest candidate can be a dead end and a slower one the better start. A step takes
a start point, adds one move that it lacks (some attempts fail), and the outcome goes into the value log. Printed is the
mean speedup (geometric) over the first draft after a number of rounds, against always refining the fastest (greedy).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from agents.strategies.greedy import Greedy
from agents.strategies.value_driven import ValueDriven
from services.domain.chat import AttemptFact
from services.domain.evaluations import Verdict
from services.domain.experiences import StartValues
from services.domain.jobs import Stage
from services.domain.measurements import Baselines
from services.domain.value_log import OutcomeEntry
from services.memory.learner import Learner
from services.memory.selection import EpsilonSchedule
from services.ports.search import SearchState, Strategy
from tests.doubles import a_report

ROUNDS = (4, 8, 16, 30)
MOVES = 12
SITE, FAMILY = "cpu/simulated", "norm"

STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "greedy": Greedy,
    "value_driven, as in the paper": lambda: ValueDriven(rebased=False, temperature=math.inf),
    "value_driven, rebased, even exploration": lambda: ValueDriven(temperature=math.inf),
    "value_driven, rebased, without a margin": lambda: ValueDriven(margin=0.0),
    "value_driven (default)": ValueDriven,
    "value_driven, a margin of 0.4": lambda: ValueDriven(margin=0.4),
    "value_driven, never exploring": lambda: ValueDriven(exploration=EpsilonSchedule(start=0.0)),
}


@dataclass(frozen=True, kw_only=True)
class Landscape:
    """What moves do to one problem."""

    factor: np.ndarray
    """Latency factor of each move alone, shape (moves,)."""
    blocks: np.ndarray
    """Whether a move (row) takes the gain of another one (column), shape (moves, moves)."""
    failing: float

    @classmethod
    def draw(cls, random: np.random.Generator, dead_ends: float) -> Landscape:
        helpful = random.random(MOVES) < 0.5
        factor = np.where(helpful, np.exp(-random.exponential(0.3, MOVES)), np.exp(random.exponential(0.1, MOVES)))
        blocks = random.random((MOVES, MOVES)) < dead_ends
        return cls(factor=factor, blocks=blocks & ~np.eye(MOVES, dtype=bool), failing=0.25)

    def latency(self, moves: frozenset[int]) -> float:
        total = 100.0
        for move in moves:
            blocked = any(self.blocks[other, move] for other in moves)
            total *= 1.0 if blocked and self.factor[move] < 1 else float(self.factor[move])
        return total


def run_job(
    strategy: Strategy, landscape: Landscape, learner: Learner, job: str, random: np.random.Generator
) -> list[float]:
    """Best latency after each round."""
    attempts: list[AttemptFact] = []
    made: dict[str, frozenset[int]] = {}
    best: list[float] = []
    for step in range(max(ROUNDS) + 1):
        traces = {name: f"trace-{name}" for name in made}
        values = {name: learner.values.value(Stage.REFINE, trace, FAMILY, SITE) for name, trace in traces.items()}
        fastest = min(made, key=lambda name: landscape.latency(made[name]), default=None)
        state = SearchState(
            attempts=tuple(attempts),
            best_candidate_id=fastest,
            baselines=Baselines(),
            floor_us=1.0,
            seed=int(random.integers(1 << 30)),
            start_values=StartValues(values=values, outcomes=learner.outcomes) if made else None,
        )
        start = strategy.start_point(state) if made else None
        known = made[start.candidate_id or ""] if start is not None else frozenset()
        left = [move for move in range(MOVES) if move not in known]
        moves = known | ({int(random.choice(left))} if made and left else frozenset())
        accepted = not made or bool(random.random() >= landscape.failing)
        name = f"{job}-{step}"
        median = landscape.latency(moves)
        verdict = Verdict.ACCEPTED if accepted else Verdict.REJECTED
        attempts.append(
            AttemptFact(
                step=step,
                stage=Stage.REFINE,
                candidate_id=name,
                parent_id=None,
                plan=None,
                source="",
                report=a_report(verdict, median_us=median),
                failure=None,
                critique=None,
            )
        )
        entry = OutcomeEntry(
            seq=learner.last_seq + 1,
            evaluation_id=name,
            job_id=job,
            step=step,
            family=FAMILY,
            site=SITE,
            accepted=accepted,
            median_us=median if accepted else None,
            start_point=None if start is None else traces[start.candidate_id or ""],
            made=(f"trace-{name}",) if accepted else (),
        )
        learner.extend([entry])
        if accepted:
            made[name] = moves
        best.append(min(landscape.latency(one) for one in made.values()))
    return best


def measure(make: Callable[[], Strategy], dead_ends: float, jobs: int, seeds: int) -> np.ndarray:
    """Log speedup over the first draft, shape (seeds, jobs, rounds)."""
    found = np.zeros((seeds, jobs, len(ROUNDS)))
    for seed in range(seeds):
        learner, strategy = Learner(), make()
        for job in range(jobs):
            landscape = Landscape.draw(np.random.default_rng([seed, job]), dead_ends)
            best = run_job(strategy, landscape, learner, f"job-{job}", np.random.default_rng([7, seed, job]))
            found[seed, job] = [math.log(best[0] / best[rounds]) for rounds in ROUNDS]
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=8)
    options = parser.parse_args(arguments)
    for dead_ends in (0.0, 0.15, 0.4):
        print(f"\nchance that a move shuts off another one: {dead_ends:.0%}; speedup over the first draft after rounds")
        print(f"| {'strategy':42} | {' | '.join(f'{rounds:5}' for rounds in ROUNDS)} | against greedy after 30 |")
        greedy = measure(Greedy, dead_ends, options.jobs, options.seeds)
        for title, make in STRATEGIES.items():
            found = greedy if title == "greedy" else measure(make, dead_ends, options.jobs, options.seeds)
            means = np.exp(found.mean(axis=(0, 1)))
            gain = (found - greedy)[:, :, -1].reshape(-1)
            error = 1.96 * gain.std() / math.sqrt(gain.size)
            bounds = [math.exp(gain.mean() + sign * error) for sign in (0, -1, 1)]
            ratio = "{:.3f} [{:.3f}, {:.3f}]".format(*bounds)
            print(f"| {title:42} | {' | '.join(f'{mean:5.2f}' for mean in means)} | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
