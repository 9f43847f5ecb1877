"""Gates of a quick look: right on a few draws, and how fast. Nobody looks for cheats, so nothing is accepted by it."""

from __future__ import annotations

from services.domain.evaluations import ShapeResult
from services.domain.gates import GateName
from services.domain.measurements import BASELINES, Latency, Speedup
from workers.ipc.tensors import flatten
from workers.referee.gates.correctness import try_draw
from workers.referee.inputs.draws import OWN
from workers.referee.timing.single_calls import SamplingBudget
from workers.referee.timing.statistics import NoFigureError, latency
from workers.referee.trial import GateFinding, Trial, passed, suspicious

DRAWS = 5
TRIALS = SamplingBudget(seconds=1.0, least=30, most=100)


class QuickCorrectnessGate:
    """The problem's own draws of its first input set."""

    name = GateName.CORRECTNESS

    def examine(self, trial: Trial) -> GateFinding:
        """Fails with the first mismatch."""
        for _ in range(DRAWS):
            finding = try_draw(trial, 0, OWN, trial.draw(0, OWN), observe=False)
            if finding is not None:
                return finding
        return passed(f"{DRAWS} draws agree with the reference")


class UnexaminedGate:
    """Stands for a gate that was left out."""

    def __init__(self, name: GateName) -> None:
        self.name = name

    def examine(self, trial: Trial) -> GateFinding:  # noqa: ARG002 - it does not look
        """A hint in itself."""
        return suspicious("not examined: only a quick look was asked for")


class QuickTimingGate:
    """The candidate's calls alone, beside what is known of the baselines."""

    name = GateName.TIMING

    def examine(self, trial: Trial) -> GateFinding:
        """Never fails."""
        arguments = trial.draw(0, OWN)
        with trial.phase("timing"):
            cost = trial.state.bench.own_cost(0, arguments, trial.state.metas(0))
            timed = trial.state.stopwatch.solo(trial.side(0, arguments), flatten(arguments), TRIALS, cost)
        try:
            found = latency(timed.seconds, timed.off)
        except NoFigureError as error:
            return suspicious(f"too fast to be measured one call at a time, as a quick look does: {error}")
        shapes = trial.shapes_of(arguments)
        trial.shapes.append(
            ShapeResult(
                shapes=shapes,
                latency=found,
                speedup=_speedup(trial, found),
                name=trial.state.problem.set_names[0],
                baselines=trial.state.bench.baselines,
                bytes=trial.bytes_of(arguments),
            )
        )
        return passed(f"{found.median_us:.1f} µs")


def _speedup(trial: Trial, found: Latency) -> Speedup:
    known = trial.state.bench.baselines
    ratios = {
        name: getattr(known, name).median_us / found.median_us for name in BASELINES if getattr(known, name) is not None
    }
    return Speedup(**ratios, best_baseline=min(ratios.values(), default=None))
