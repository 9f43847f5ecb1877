"""Does the memory learn which experiences help? A simulation that needs no model and drives the product's own code.

    python -m benchmarks.memory_simulation                  # the table, the drift check and the plot
    python -m benchmarks.memory_simulation --ablate         # each part of the default rule taken away in turn (longer)

Eight operator families. Each has 3 experiences that help and D that do not but are *more* similar to its problems.
Four go into a context; a try succeeds with probability 0.05 + 0.25 per helpful one, at most 0.85; a problem gets at
most ten tries, and problems cycle through the families. The similarity pool grows from 16 to 48 over the first 30 % of
the steps. Nothing but what a real job knows reaches the rules: keys, vectors, and the log of outcomes. The figure is
the share of the gap between recall by similarity (0) and an oracle (1) that is closed in the last quarter of the steps.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.selection_rules import BySimilarity, EpsilonGreedy, ThompsonBeta
from services.domain.jobs import Stage
from services.domain.value_log import ContextItem, OutcomeEntry
from services.memory.drift import Forgetting
from services.memory.joint import JointPosterior
from services.memory.keys import Keys
from services.memory.learner import Learner
from services.memory.recall import Recall, VectorTable
from services.memory.selection import (
    EpsilonSchedule,
    PoolSchedule,
    SelectionRule,
)
from services.memory.values import ValueRules

FAMILIES, HELPFUL, COUNT, TRIES, DIMENSIONS = 8, 3, 4, 10, 32
SITE = "cpu/simulated"
PAPER_VALUES = ValueRules(levels=("family",))
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One column of the table."""

    distractors: int
    steps: int
    drift: bool = False
    """Whether other experiences of each family become the helpful ones at half time."""

    @property
    def title(self) -> str:
        return f"D = {self.distractors}, {self.steps:,} steps"


@dataclass(frozen=True, kw_only=True)
class Contender:
    """One row of the table."""

    title: str
    rule: Callable[[Setting], SelectionRule]
    filtered: bool = True
    """Whether the operator family filters before vectors rank."""
    values: ValueRules = field(default_factory=ValueRules)
    learns: bool = True


SETTINGS = (
    Setting(distractors=37, steps=600),
    Setting(distractors=37, steps=1800),
    Setting(distractors=9, steps=1800),
)
DRIFTING = Setting(distractors=37, steps=3600, drift=True)

SIMILARITY = Contender(title="similarity only", rule=lambda _: BySimilarity(), filtered=False, learns=False)
ORACLE = Contender(title="oracle", rule=lambda _: BySimilarity(), learns=False)
PAPER = Contender(
    title="ε-greedy over Q (the paper's)",
    rule=lambda setting: EpsilonGreedy(schedule=EpsilonSchedule(decay_steps=int(0.7 * setting.steps))),
    filtered=False,
    values=PAPER_VALUES,
)
THOMPSON = Contender(title="Thompson, Beta per item", rule=lambda _: ThompsonBeta(), filtered=False)
DEFAULT = Contender(title="joint posterior (default)", rule=lambda _: JointPosterior())
CONTENDERS = (PAPER, THOMPSON, DEFAULT)
UNFORGETTING = Contender(
    title="default without forgetting",
    rule=lambda _: JointPosterior(forgetting=Forgetting(half_life=1e9, discount=1.0)),
)
UNDRAWN = Contender(
    title="default without explicit draws (places by chance)", rule=lambda _: JointPosterior(burn_in=4, draws=0)
)
ABLATIONS = (
    Contender(title="default without joint credit (Beta per item)", rule=lambda _: ThompsonBeta()),
    UNDRAWN,
    Contender(title="default without the family filter", rule=lambda _: JointPosterior(), filtered=False),
    Contender(title="default without the similarity prior", rule=lambda _: JointPosterior(bands=1)),
    UNFORGETTING,
    Contender(title="the paper's with the family filter", rule=PAPER.rule, values=PAPER_VALUES),
    Contender(title="the paper's with filter and hierarchical values", rule=PAPER.rule),
)


class World:
    """The experiences, which of them help, and the problems that come."""

    def __init__(self, setting: Setting, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._setting = setting
        centres = self._rng.normal(size=(FAMILIES, DIMENSIONS))
        self._centres = centres / np.linalg.norm(centres, axis=1, keepdims=True)
        size = HELPFUL + setting.distractors
        spread = np.tile(np.repeat([0.11, 0.06], [HELPFUL, setting.distractors]), FAMILIES)
        vectors = np.repeat(self._centres, size, axis=0) + self._noise(len(spread)) * spread[:, None]
        self.vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
        self.family = np.repeat(np.arange(FAMILIES), size)
        self.helps = np.tile(np.arange(size) < HELPFUL, FAMILIES)

    def drift(self) -> None:
        """Other experiences of each family become the helpful ones."""
        helped = self.helps.copy()
        self.helps[:] = False
        for family in range(FAMILIES):
            others = np.flatnonzero((self.family == family) & ~helped)
            self.helps[self._rng.choice(others, HELPFUL, replace=False)] = True

    def problem(self, family: int) -> NDArray[np.float32]:
        """A query vector of the family."""
        query = self._centres[family] + self._noise(1)[0] * 0.05
        unit: NDArray[np.float32] = (query / np.linalg.norm(query)).astype(np.float32)
        return unit

    def helpful(self, family: int) -> list[str]:
        """What an oracle would choose."""
        return [str(row) for row in np.flatnonzero(self.helps & (self.family == family))[:COUNT]]

    def succeeds(self, family: int, chosen: Sequence[str]) -> bool:
        """Try a context."""
        helpful = sum(bool(self.helps[int(name)]) and self.family[int(name)] == family for name in chosen)
        return bool(self._rng.random() < min(0.85, 0.05 + 0.25 * helpful))

    def _noise(self, rows: int) -> Floats:
        return self._rng.normal(size=(rows, DIMENSIONS))


def simulate(contender: Contender, setting: Setting, seed: int) -> Floats:
    """Success of every step, shape (steps,)."""
    world = World(setting, seed)
    table = VectorTable(DIMENSIONS)
    names = [f"family-{family}" for family in world.family]
    table.append([str(row) for row in range(len(names))], [Keys(family=name) for name in names], world.vectors)
    learner = Learner(rule=contender.rule(setting), rules=contender.values)
    schedule = PoolSchedule(ramp_steps=int(0.3 * setting.steps))
    results = np.zeros(setting.steps)
    problem, tries, query = 0, 0, world.problem(0)
    for step in range(setting.steps):
        if setting.drift and step == setting.steps // 2:
            world.drift()
        family = problem % FAMILIES
        name = f"family-{family}"
        ask = Recall(
            stage=Stage.DRAFT,
            keys=Keys(family=name),
            site=SITE,
            count=COUNT,
            seed=seed,
            schedule=schedule,
            filtered=contender.filtered,
        )
        chosen = {item.experience_id: item.similarity for item in ask.choose(table, query, learner)}
        if contender is ORACLE:
            chosen = dict.fromkeys(world.helpful(family), 0.0)
        results[step] = accepted = world.succeeds(family, tuple(chosen))
        if contender.learns:
            learner.extend([_entry(step, problem, name, accepted, chosen)])
        tries += 1
        if accepted or tries == TRIES:
            problem, tries = problem + 1, 0
            query = world.problem(problem % FAMILIES)
    return results


def _entry(step: int, problem: int, family: str, accepted: bool, context: dict[str, float]) -> OutcomeEntry:
    return OutcomeEntry(
        seq=step + 1,
        evaluation_id=str(step),
        job_id=str(problem),
        step=step,
        family=family,
        site=SITE,
        accepted=accepted,
        median_us=1.0 if accepted else None,
        context=tuple(ContextItem(experience_id=name, similarity=similarity) for name, similarity in context.items()),
    )


def _job(arguments: tuple[int, int, int]) -> Floats:
    row, column, seed = arguments
    return simulate(ALL[row], EVERY_SETTING[column], seed)


ALL = (SIMILARITY, ORACLE, *CONTENDERS, *ABLATIONS)
EVERY_SETTING = (*SETTINGS, DRIFTING)


def run(contenders: Sequence[Contender], setting: Setting, seeds: range, processes: int) -> dict[str, Floats]:
    """Success by contender's title, each of shape (seeds, steps)."""
    work = [(ALL.index(one), EVERY_SETTING.index(setting), seed) for one in contenders for seed in seeds]
    if processes > 1:
        with ProcessPoolExecutor(processes) as pool:
            results = list(pool.map(_job, work))
    else:
        results = [_job(one) for one in work]
    return {
        one.title: np.array(results[index * len(seeds) : (index + 1) * len(seeds)])
        for index, one in enumerate(contenders)
    }


def closed_gap(results: dict[str, Floats], title: str, window: slice) -> tuple[float, float, float]:
    """Share of the gap closed in a window of steps, with a 95 % bootstrap interval over the seeds."""
    means = {name: results[name][:, window].mean(axis=1) for name in (SIMILARITY.title, ORACLE.title, title)}
    floor, top, own = means[SIMILARITY.title], means[ORACLE.title], means[title]
    draws = np.random.default_rng(0).integers(len(own), size=(4000, len(own)))
    shares = (own[draws].mean(axis=1) - floor[draws].mean(axis=1)) / (top[draws] - floor[draws]).mean(axis=1)
    share = (own.mean() - floor.mean()) / (top.mean() - floor.mean())
    low, high = np.quantile(shares, [0.025, 0.975])
    return float(share), float(low), float(high)


def steps_to_follow(results: dict[str, Floats], title: str, *, share: float = 0.8, window: int = 150) -> int | None:
    """Steps after the drift until a moving average over seeds and `window` steps has closed `share` of the gap."""
    curve = _gap_curve(results, title, window)
    drifted = results[title].shape[1] // 2
    reached = np.flatnonzero(curve[drifted:] >= share)
    return int(reached[0]) + window if len(reached) else None


def _gap_curve(results: dict[str, Floats], title: str, window: int) -> Floats:
    """Share of the gap closed, averaged over seeds and the `window` steps that begin at each step."""
    mean = {name: results[name].mean(axis=0) for name in (SIMILARITY.title, ORACLE.title, title)}
    smooth = {name: np.convolve(values, np.ones(window) / window, mode="valid") for name, values in mean.items()}
    gap = smooth[ORACLE.title].mean() - smooth[SIMILARITY.title].mean()
    curve: Floats = (smooth[title] - smooth[SIMILARITY.title]) / gap
    return curve


def print_table(contenders: Sequence[Contender], seeds: range, processes: int) -> dict[str, dict[str, Floats]]:
    """The table of the last quarter; returns the raw results by setting."""
    print(f"Share of the gap closed in the last quarter of the steps [95 % interval], seeds {seeds}\n")
    print(f"| {'rule':48} | {' | '.join(f'{setting.title:20}' for setting in SETTINGS)} |")
    print(f"|{'-' * 50}|{'|'.join('-' * 22 for _ in SETTINGS)}|", flush=True)
    everything = {setting.title: run((SIMILARITY, ORACLE), setting, seeds, processes) for setting in SETTINGS}
    for one in contenders:
        cells = []
        for setting in SETTINGS:
            results = everything[setting.title]
            results |= run((one,), setting, seeds, processes)
            last = slice(-setting.steps // 4, None)
            cells.append("{:.2f} [{:.2f}, {:.2f}]".format(*closed_gap(results, one.title, last)))
        print(f"| {one.title:48} | {' | '.join(f'{cell:20}' for cell in cells)} |", flush=True)
    return everything


def print_drift(contenders: Sequence[Contender], seeds: range, processes: int) -> dict[str, Floats]:
    """How fast values follow when helpfulness changes at half time."""
    results = run((SIMILARITY, ORACLE, *contenders), DRIFTING, seeds, processes)
    print(f"\nDrift: D = {DRIFTING.distractors}, {DRIFTING.steps:,} steps, other experiences help from half time on\n")
    for one in contenders:
        before = closed_gap(results, one.title, slice(DRIFTING.steps // 2 - 150, DRIFTING.steps // 2))[0]
        after = closed_gap(results, one.title, slice(-DRIFTING.steps // 4, None))[0]
        needed = {share: steps_to_follow(results, one.title, share=share) for share in (0.5, 0.8)}
        said = ", ".join(f"{share:.0%} after {steps or 'never'} steps" for share, steps in needed.items())
        print(f"  {one.title:48} before {before:.2f}, last quarter {after:.2f}; gap closed again: {said}", flush=True)
    return results


def plot(everything: dict[str, dict[str, Floats]], drift: dict[str, Floats], path: Path) -> bool:
    """Learning curves; False where matplotlib is not installed (extra `benchmark`)."""
    try:
        import matplotlib as mpl
    except ImportError:
        return False
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    panels = [*everything.items(), (f"drift at half time, {DRIFTING.title}", drift)]
    figure, axes = plt.subplots(1, len(panels), figsize=(5 * len(panels), 4), sharey=True, layout="constrained")
    for axis, (title, results) in zip(axes, panels, strict=True):
        for name in results:
            if name not in (SIMILARITY.title, ORACLE.title):
                axis.plot(_gap_curve(results, name, 100), label=name)
        axis.set(title=title, xlabel="step", ylim=(-0.3, 1.15))
        axis.axhline(0, color="grey", linewidth=0.5)
        axis.axhline(1, color="grey", linewidth=0.5)
    axes[0].set_ylabel("gap closed (similarity 0, oracle 1)")
    axes[0].legend(loc="upper left", fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return True


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--only", default="", help="part of a rule's title: run that rule alone")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--ablate", action="store_true")
    parser.add_argument("--plot", type=Path, default=Path("docs/images/memory-simulation.png"))
    options = parser.parse_args(arguments)
    started = time.monotonic()
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    if options.ablate:
        print_table(ABLATIONS, seeds, options.processes)
        print_drift((DEFAULT, UNDRAWN, UNFORGETTING), seeds, options.processes)
        return
    contenders = [one for one in CONTENDERS if options.only in one.title]
    everything = print_table(contenders, seeds, options.processes)
    drift = print_drift(contenders, seeds, options.processes)
    if plot(everything, drift, options.plot):
        print(f"\nplot: {options.plot}")
    else:
        print("\nno plot: matplotlib is not installed (pip install 'kernelwright[benchmark]')")
    print(f"{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
