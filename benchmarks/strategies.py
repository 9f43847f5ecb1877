"""Compares the search strategies on a simulated landscape: `python -m benchmarks.strategies [--seeds 64] [--json]`.

The strategies are the product's own objects and are asked exactly as the workflow asks them; only the agents and the
referee are simulated. Nothing here measures a kernel: the table says which strategy copes with which difficulty, and
`docs/strategies.md` says what that is worth.

The landscape and the agents: `benchmarks/strategy_landscape.py`.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from random import Random

from agents.strategies.lineage import is_accepted, median_us
from agents.strategies.registry import STRATEGIES
from benchmarks.strategy_landscape import FLAKY, LUCKY, NOISE, START_US, Agents, Landscape
from services.domain.candidates import candidate_id
from services.domain.chat import AttemptFact
from services.domain.evaluations import Verdict
from services.domain.experiences import StartValues
from services.domain.jobs import Stage
from services.domain.measurements import Baselines
from services.memory.values import refine_reward
from services.ports.search import SearchState, Strategy
from tests.doubles import a_report


@dataclass(kw_only=True)
class StartMemory:
    """Q₂ of start points as memory learns it: a constant step towards the reward of each refinement."""

    values: dict[str, float] = field(default_factory=dict)
    mean: float = 0.0
    outcomes: int = 0

    def learn(self, attempt: AttemptFact, best_us: float) -> None:
        """Take one refinement in."""
        median = median_us(attempt)
        reward = refine_reward(
            accepted=is_accepted(attempt), best_us=best_us, median_us=median if median < math.inf else None
        )
        self.outcomes += 1
        self.mean += (reward - self.mean) / self.outcomes
        if attempt.parent_id is not None:
            before = self.values.get(attempt.parent_id, self.mean)
            self.values[attempt.parent_id] = before + 0.15 * (reward - before)
        if is_accepted(attempt):
            self.values.setdefault(attempt.candidate_id or "", self.mean)

    def known(self) -> StartValues:
        """As a strategy gets them."""
        return StartValues(values=dict(self.values), outcomes=self.outcomes)


@dataclass(frozen=True, kw_only=True)
class Search:
    """One run."""

    curve: tuple[float, ...]
    """After each evaluation the true speedup, over the plain first algorithm, of the candidate measured fastest."""
    stopped: int
    """Evaluations after which the strategy would have ended the job."""


def search(strategy: Strategy, seed: int, evaluations: int, width: int) -> Search:
    """One job with a fixed number of evaluations; early stops are noted and not obeyed."""
    world = Landscape.of(seed)
    agents = Agents(world=world, dice=Random(f"{seed}/agents"))
    memory = StartMemory()
    attempts: list[AttemptFact] = []
    curve: list[float] = []
    stopped = evaluations
    while len(attempts) < evaluations:
        state = _state(attempts, seed, memory)
        if stopped == evaluations and strategy.stop(replace(state, width=width)) is not None:
            stopped = len(attempts)
        count = min(width, evaluations - len(attempts))
        made = [_attempt(strategy, _branch(state, branch, count), agents) for branch in range(count)]
        best = min(map(median_us, attempts), default=math.inf)
        for attempt in made:
            if best < math.inf:
                memory.learn(attempt, best)
            elif is_accepted(attempt):
                memory.values[attempt.candidate_id or ""] = memory.mean
            attempts.append(attempt)
            curve.append(_true_speedup(attempts, agents))
    return Search(curve=tuple(curve), stopped=stopped)


def _state(attempts: list[AttemptFact], seed: int, memory: StartMemory) -> SearchState:
    best = min(filter(is_accepted, attempts), key=median_us, default=None)
    return SearchState(
        attempts=tuple(attempts),
        best_candidate_id=best.candidate_id if best is not None else None,
        baselines=Baselines(),
        floor_us=1.0,
        seed=seed,
        start_values=memory.known() if best is not None else None,
    )


def _branch(state: SearchState, branch: int, width: int) -> SearchState:
    return replace(state, branch=branch, width=width, seed=state.seed + branch * 104_729)


def _attempt(strategy: Strategy, state: SearchState, agents: Agents) -> AttemptFact:
    """One step: start point, plan, code, verdict."""
    start = strategy.start_point(state)
    brief = strategy.brief(state, start)
    kernel, plan = agents.plan(start, brief.inspirations, brief.text, state.step)
    name = candidate_id("job", state.step)
    agents.known[name] = kernel
    base = agents.known.get(start.candidate_id or "") if start is not None else None
    broken = agents.breaks(base, kernel, repair=start is not None and not is_accepted(start))
    refused = broken or agents.dice.random() < FLAKY
    measured = agents.world.latency_us(kernel) * math.exp(agents.dice.gauss(0.0, NOISE))
    if agents.dice.random() < LUCKY:
        measured *= 0.85
    report = a_report(Verdict.REJECTED) if refused else a_report(median_us=measured, eager_us=START_US)
    if report.roofline is not None:
        report = replace(report, roofline=replace(report.roofline, floor_us=1.0, fraction=1.0 / measured))
    return AttemptFact(
        step=state.step,
        stage=Stage.DRAFT if state.best_candidate_id is None else Stage.REFINE,
        candidate_id=name,
        parent_id=start.candidate_id if start is not None else None,
        plan=plan,
        source=kernel.source(),
        report=report,
    )


def _true_speedup(attempts: list[AttemptFact], agents: Agents) -> float:
    """Of the candidate that the job would hand out: the one measured fastest."""
    best = min(filter(is_accepted, attempts), key=median_us, default=None)
    if best is None:
        return 0.0
    return START_US / agents.world.latency_us(agents.known[best.candidate_id or ""])


@dataclass(frozen=True, kw_only=True)
class Row:
    """One strategy at one budget, over all seeds."""

    strategy: str
    width: int
    evaluations: int
    best: float
    """Geometric mean of the true speedup of the job's best candidate."""
    best_ci: tuple[float, float]
    area: float
    """Mean over the evaluations of the best speedup so far (nothing accepted counts as 1)."""
    area_ci: tuple[float, float]
    against_greedy: float
    """Geometric mean of the ratio of best speedups, seed by seed."""
    against_greedy_ci: tuple[float, float]
    stopped: float
    """Mean number of evaluations after which it would have ended the job."""
    stopped_best: float
    """Geometric mean of the best speedup at that moment."""


def compare(seeds: Sequence[int], budgets: Sequence[int], widths: Sequence[int], names: Sequence[str]) -> list[Row]:
    """All strategies on the same landscapes with the same budgets."""
    rows: list[Row] = []
    for width in widths:
        runs: dict[str, list[Search]] = defaultdict(list)
        for name in names:
            runs[name] = [search(STRATEGIES[name](), seed, max(budgets), width) for seed in seeds]
        greedy = runs.get("greedy")
        rows += [_row(name, width, budget, runs[name], greedy) for budget in budgets for name in names]
    return rows


def _row(name: str, width: int, budget: int, runs: list[Search], greedy: list[Search] | None) -> Row:
    best = [_log_best(run, budget) for run in runs]
    area = [statistics.fmean(max(value, 1.0) for value in run.curve[:budget]) for run in runs]
    rival = best if greedy is None else [_log_best(run, budget) for run in greedy]
    ratio = [mine - theirs for mine, theirs in zip(best, rival, strict=True)]
    low, high = _interval(best)
    worse, better = _interval(ratio)
    return Row(
        strategy=name,
        width=width,
        evaluations=budget,
        best=math.exp(statistics.fmean(best)),
        best_ci=(math.exp(low), math.exp(high)),
        area=statistics.fmean(area),
        area_ci=_interval(area),
        against_greedy=math.exp(statistics.fmean(ratio)),
        against_greedy_ci=(math.exp(worse), math.exp(better)),
        stopped=statistics.fmean(min(run.stopped, budget) for run in runs),
        stopped_best=math.exp(statistics.fmean(_log_best(run, min(run.stopped, budget)) for run in runs)),
    )


def _log_best(run: Search, budget: int) -> float:
    """Without an accepted kernel, or with a slower one, the reference stays in place: no gain."""
    return math.log(max(run.curve[budget - 1], 1.0))


def _interval(values: Sequence[float], draws: int = 1000) -> tuple[float, float]:
    """Bootstrap 95 % confidence interval of the mean."""
    dice = Random(0)
    means = sorted(statistics.fmean(dice.choices(values, k=len(values))) for _ in range(draws))
    return means[int(0.025 * draws)], means[int(0.975 * draws)]


def markdown(rows: Sequence[Row]) -> str:
    """The rows as the table of the docs."""
    lines = [
        "| beam | evaluations | strategy | best found | area under the curve | against greedy | would stop after |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        versus = "–" if row.strategy == "greedy" else f"{row.against_greedy:.2f} {_range(row.against_greedy_ci)}"
        lines.append(
            f"| {row.width} | {row.evaluations} | `{row.strategy}` | {row.best:.2f}× {_range(row.best_ci)} "
            f"| {row.area:.2f} {_range(row.area_ci)} | {versus} | {row.stopped:.0f} ({row.stopped_best:.2f}×) |"
        )
    return "\n".join(lines)


def _range(interval: tuple[float, float]) -> str:
    return f"({interval[0]:.2f} to {interval[1]:.2f})"


def main(arguments: Sequence[str] | None = None, say: Callable[[str], object] = sys.stdout.write) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=64)
    parser.add_argument("--first-seed", type=int, default=0, help="constants are tuned on seeds from 1000 on")
    parser.add_argument("--budgets", type=int, nargs="+", default=[10, 30, 100])
    parser.add_argument("--widths", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--strategies", nargs="+", default=sorted(STRATEGIES), choices=sorted(STRATEGIES))
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    rows = compare(seeds, given.budgets, given.widths, given.strategies)
    say((json.dumps([asdict(row) for row in rows], indent=1) if given.json else markdown(rows)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
