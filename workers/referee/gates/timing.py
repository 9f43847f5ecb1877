"""The timing gate: figures from the interleaved measurement, or none where it was not stable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from services.domain.errors import InfrastructureError
from services.domain.evaluations import ShapeResult
from services.domain.gates import GateName
from services.domain.measurements import BASELINES, Baselines, Latency, Speedup
from services.domain.objectives import Objective, described, headline
from workers.referee.baselines.slowness import ReferenceCost
from workers.referee.gates.passes import WrongForwardError, times_of_passes
from workers.referee.reference_cost import reference_cost
from workers.referee.timing.single_calls import WIDEST_SPREAD_S, Samples
from workers.referee.timing.statistics import (
    NoFigureError,
    is_stable,
    is_told,
    latency,
    paired_ratio,
    reach_s,
    unpaired_ratio,
)
from workers.referee.trial import GateFinding, Measured, Trial, failed, passed, suspicious

UNSTEADY_SETS = 0.25
"""Share of the input sets, the first one aside, whose figures may be unsteady or lacking: of forty some are by chance.
Wide intervals are part of the objective's; sets without a figure are left out of it, and named."""


ASKED_FROM = 1.2
"""Speedup from which on it is asked whether the reference is slow: beside one that is, every kernel is faster."""
NO_STEADIER = 2.0
"""How many times as wide as that of the reference's calls the interval of a candidate's is on the same machine."""
WIDEST_OF_BATCHES_S = 2e-6
"""How well a call that computes nothing is known by batches, at worst, on a machine that is not too busy for them."""


class TimingGate:
    """Turns samples into latency and speedup."""

    name = GateName.TIMING

    def examine(self, trial: Trial) -> GateFinding:
        """Fails only where no stable measurement exists. Raises `InfrastructureError` where the reference's own calls,
        taken in turns with the candidate's, are no steadier, or a baseline has no figure: then it is the machine's
        doing."""
        _check_rivals(trial)
        unsteady = 0
        for measured in trial.measured:
            try:
                result = shape_result(measured, trial.state.bench.known(measured.number))
            except NoFigureError:
                unsteady += 1
                if _may_lack(trial, measured.number) and unsteady <= UNSTEADY_SETS * len(trial.measured):
                    name = trial.state.problem.set_names[measured.number]
                    trial.notes.append(f"left out: {name}, whose calls cannot be told from calls that compute nothing")
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
        notes += _why_not_the_medians(trial.measured[0], first)
        cost = _reference_cost(trial)
        if cost is not None and cost.is_slow:
            return suspicious("; ".join([*_told(trial), str(cost), *notes]))
        return passed("; ".join([*_told(trial), *notes]))


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


def _told(trial: Trial) -> list[str]:
    """The figures that count, and where the kernel collapses."""
    found = headline(trial.state.problem.objective, trial.shapes)
    low, high = found.speedup.ci95 or (0.0, 0.0)
    against = {one.baseline for one in trial.measured}
    rival = against.pop() if len(against) == 1 else "the fastest baseline"
    of = described(found.objective)
    text = f"{found.latency.median_us:.1f} µs, {found.speedup.best_baseline:.2f}× {rival} ({low:.2f}–{high:.2f})"
    with_held_out = headline(trial.state.problem.objective, trial.shapes, trial.held_out)
    collapse = with_held_out.objective.collapse
    told = [f"{text}, {of}" if of else text]
    return told if collapse is None else [*told, f"it collapses: {collapse}"]


def _without_figure(measured: Measured) -> GateFinding:
    """Why there is none: the candidate's doing only where all else could be measured.

    Raises `InfrastructureError` where that is not so: a machine that is too busy does not know what its own protocol
    takes, or cannot tell the reference's calls from none either."""
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
        f"too fast to be measured: a call cannot be told from one that computes nothing, whose cost is {known}; make "
        f"the problem larger"
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


def shape_result(measured: Measured, known: Baselines) -> ShapeResult:
    """Figures of one input set. Baselines outside the pair are scaled by the pair's, which was measured now. Raises
    `NoFigureError`."""
    samples = measured.samples
    ratio = (paired_ratio if samples.paired else unpaired_ratio)(samples.baseline, samples.candidate, samples.off)
    speedups = {name: _scaled(known, name, measured.baseline, ratio.value) for name in BASELINES}
    return ShapeResult(
        shapes=measured.shapes,
        latency=latency(samples.candidate, samples.off),
        baselines=page_baselines(known, measured),
        bytes=measured.bytes,
        speedup=Speedup(
            eager=speedups["eager"],
            compile=speedups["compile"],
            compile_max=speedups["compile_max"],
            best_baseline=ratio.value,
            ci95=ratio.ci95,
        ),
    )


def page_baselines(known: Baselines, measured: Measured) -> Baselines:
    """The baselines as a report shows them beside this measurement: the one in the pair as it was in the pair, the
    others at its pace, as they were measured beside it before. So ratios can be checked on the page. Raises
    `NoFigureError`."""
    beside: Latency | None = getattr(known, measured.baseline)
    now = latency(measured.samples.baseline, measured.samples.off)
    found: dict[str, Latency | None] = {measured.baseline: now}
    for name in BASELINES:
        own: Latency | None = getattr(known, name)
        if name != measured.baseline and own is not None and beside is not None:
            found[name] = _paced(own, now.median_us / beside.median_us)
    return Baselines(**found)


def _paced(figures: Latency, factor: float) -> Latency:
    low, high = figures.ci95_us
    return replace(
        figures,
        median_us=factor * figures.median_us,
        mean_us=factor * figures.mean_us,
        p10_us=factor * figures.p10_us,
        p90_us=factor * figures.p90_us,
        ci95_us=(factor * low, factor * high),
    )


def _why_not_the_medians(measured: Measured, result: ShapeResult) -> list[str]:
    """A note where the speedup is not what the medians of the page give."""
    of_medians = median(measured.samples.baseline) / (result.latency.median_us * 1e-6)
    value = result.speedup.best_baseline or 0.0
    if abs(of_medians - value) <= 0.01 * value:
        return []
    return [f"the speedup is the median of the pairs' ratios; that of the two medians is {of_medians:.2f}"]


def _scaled(known: Baselines, name: str, rival: str, ratio: float) -> float | None:
    own: Latency | None = getattr(known, name)
    reference: Latency | None = getattr(known, rival)
    if name == rival:
        return ratio
    if own is None or reference is None:
        return None
    return ratio * own.median_us / reference.median_us
