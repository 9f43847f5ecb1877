"""The timing gate: figures from the interleaved measurement, or none where it was not stable."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from services.domain.errors import InfrastructureError
from services.domain.evaluations import ShapeResult
from services.domain.measurements import BASELINES, Latency, Speedup
from services.domain.objectives import Objective, described, headline
from workers.ipc.tensors import flatten
from workers.referee.baselines.overhead import ReferenceCost
from workers.referee.gates.checks.backward_timing import WrongForwardError, times_of_passes
from workers.referee.gates.checks.figures import page_baselines, shape_result, why_not_the_medians
from workers.referee.gates.checks.reference_cost import reference_cost
from workers.referee.gates.finding import GateFinding, failed, passed, suspicious
from workers.referee.inputs.distributions import OWN
from workers.referee.timing import stopwatch
from workers.referee.timing.single_calls import WIDEST_SPREAD_S, Samples, SamplingBudget
from workers.referee.timing.statistics import (
    NoFigureError,
    is_stable,
    is_told,
    latency,
    reach_s,
)
from workers.referee.trial import Measured, Mode, Trial

UNSTEADY_SETS = 0.25
"""Share of the input sets, the first one aside, whose figures may be unsteady or lacking: of forty some are by chance.
Wide intervals are part of the objective's; sets without a figure are left out of it, and named."""
ASKED_FROM = 1.2
"""Speedup from which on it is asked whether the reference is slow: next to one that is, every kernel is faster."""
QUICK_LOOK = SamplingBudget(seconds=1.0, least=30, most=100)
"""For the candidate alone."""
NO_STEADIER = 2.0
"""How many times as wide as that of the reference's calls the interval of a candidate's is on the same machine."""
WIDEST_OF_BATCHES_S = 2e-6
"""How well a call that computes nothing is known by batches, at worst, on a machine that is not too busy for them."""


def examine(trial: Trial) -> GateFinding:
    """Turns samples into latency and speedup. A candidate without figures must not count as best."""
    if trial.mode is Mode.INTERPRETED:
        return suspicious("run by Triton's interpreter on the CPU: checked, not timed. Judge it on a GPU for figures")
    return _alone(trial) if trial.mode is Mode.QUICK else _in_turns(trial)


def _alone(trial: Trial) -> GateFinding:
    """The candidate's calls alone, with what is known of the baselines. Never fails."""
    arguments = trial.draw(0, OWN)
    with trial.phase("timing"):
        cost = trial.state.bench.own_cost(0, arguments, trial.state.metas(0))
        timed = stopwatch.solo(trial.side(0, arguments), flatten(arguments), QUICK_LOOK, cost)
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


def _in_turns(trial: Trial) -> GateFinding:
    """The figures of the interleaved measurement. Fails only where no stable measurement exists.

    Raises `InfrastructureError` where the reference's own calls, taken in turns with the candidate's, are no steadier,
    or a baseline has no figure: then it is the machine's doing."""
    _check_rivals(trial)
    unsteady = 0
    for measured in trial.measured:
        try:
            result = shape_result(measured, trial.state.bench.known(measured.number))
        except NoFigureError:
            unsteady += 1
            if _may_lack(trial, measured.number) and unsteady <= UNSTEADY_SETS * len(trial.measured):
                name = trial.state.problem.set_names[measured.number]
                trial.notes.append(
                    f"left out: {name}, whose calls cannot be distinguished from calls that compute nothing"
                )
                continue
            return _without_figure(measured)
        trial.shapes.append(trial.named(result, measured.number))
        low, high = result.latency.ci95_us
        if not is_stable(measured.samples.candidate):
            unsteady += 1
            if measured.number and unsteady <= UNSTEADY_SETS * len(trial.measured):
                continue
            _blame_the_machine(measured)
            return failed(f"no stable measurement: the median lies between {low:.0f} and {high:.0f} µs")
    try:
        with trial.phase("timing"):
            page = page_baselines(trial.state.bench.baselines, trial.measured[0])
            trial.passes = times_of_passes(trial, trial.measured[0], page)
    except WrongForwardError as error:
        return error.finding
    first = trial.shapes[0]
    notes = [*trial.state.bench.notes.values(), *trial.notes]
    if trial.measured[0].samples.batched:
        notes.append("timed in batches: single calls are too short")
    if not trial.session.is_stopped_between_calls:
        notes.append("not protected: this sandbox cannot stop a candidate between its calls")
    notes += why_not_the_medians(trial.measured[0], first)
    cost = _reference_cost(trial)
    if cost is not None and cost.is_slow:
        return suspicious("; ".join([*_figures(trial), str(cost), *notes]))
    return passed("; ".join([*_figures(trial), *notes]))


def _reference_cost(trial: Trial) -> ReferenceCost | None:
    """What the reference and its operators take, where the kernel is so much faster that it matters."""
    if max(shape.speedup.best_baseline or 0.0 for shape in trial.shapes) < ASKED_FROM:
        return None
    return reference_cost(trial.state, trial.measured[0].baseline)


def _check_rivals(trial: Trial) -> None:
    """Raises `InfrastructureError` where a baseline, which might have been the fastest, has no figure on the first set:
    on others the fastest of the first takes its turns."""
    untold = trial.state.bench.untold
    for without in (untold[name, 0] for name in trial.request.baselines if (name, 0) in untold):
        raise InfrastructureError(f"the machine is too busy: {without}; try again when it is quieter")


def _may_lack(trial: Trial, number: int) -> bool:
    """Whether an input set may be without a figure: one of many whose mean counts, all alike. Slow kernels have one."""
    return number != 0 and trial.state.is_one_of_many and trial.state.problem.objective == Objective()


def _figures(trial: Trial) -> list[str]:
    """The figures that count, and where the kernel collapses."""
    found = headline(trial.state.problem.objective, trial.shapes)
    low, high = found.speedup.ci95 or (0.0, 0.0)
    against = {one.baseline for one in trial.measured}
    rival = against.pop() if len(against) == 1 else "the fastest baseline"
    of = described(found.objective)
    text = f"{found.latency.median_us:.1f} µs, {found.speedup.best_baseline:.2f}× {rival} ({low:.2f}–{high:.2f})"
    with_held_out = headline(trial.state.problem.objective, trial.shapes, trial.held_out)
    collapse = with_held_out.objective.collapse
    figures = [f"{text}, {of}" if of else text]
    return figures if collapse is None else [*figures, f"it collapses: {collapse}"]


def _without_figure(measured: Measured) -> GateFinding:
    """Why there is none: the candidate's doing only where all else could be measured.

    Raises `InfrastructureError` where that is not so: a machine that is too busy does not know what its own protocol
    takes, or cannot distinguish the reference's calls from empty ones either."""
    samples = measured.samples
    known = f"known only to within {1e6 * samples.off.shorter_s:.1f} µs"
    if samples.off.shorter_s > widest(samples) or not is_told(samples.baseline, samples.off):
        raise InfrastructureError(
            f"the machine is too busy to time calls this short: the cost of a call that computes nothing is {known}, "
            f"calls of the kernel take {_in_us(samples.candidate)} µs and calls of {measured.baseline} "
            f"{_in_us(samples.baseline)} µs; try again when it is quieter"
        )
    if is_told(samples.candidate, samples.off) or not is_stable(samples.candidate):
        _blame_the_machine(measured)
        return failed(f"no stable measurement: calls of about {_in_us(samples.candidate)} µs vary too much")
    return failed(
        f"too fast to be measured: a call cannot be distinguished from one that computes nothing, whose cost is "
        f"{known}; make the problem larger"
    )


def widest(samples: Samples) -> float:
    """How well a call that computes nothing is known, at worst, where the machine is quiet enough."""
    return WIDEST_OF_BATCHES_S if samples.batched else WIDEST_SPREAD_S


def _in_us(seconds: Sequence[float]) -> str:
    return f"{1e6 * median(seconds):.1f}"


def _blame_the_machine(measured: Measured) -> None:
    """Raises `InfrastructureError` where the reference's own calls, taken in turns with the candidate's, were no
    steadier: by what they take themselves, or by the seconds between them, which weigh less in longer calls."""
    samples = measured.samples
    if is_stable(samples.baseline) and reach_s(samples.candidate) > NO_STEADIER * reach_s(samples.baseline):
        return
    raise InfrastructureError(
        f"the machine is too busy to time anything: calls of {measured.baseline}, which is the reference's own code, "
        f"vary too much around their median of {_in_us(measured.samples.baseline)} µs; try again when it is quieter"
    )
