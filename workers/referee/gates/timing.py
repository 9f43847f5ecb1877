"""The timing gate: figures from the interleaved measurement, or none where it was not stable."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

from services.domain.errors import InfrastructureError
from services.domain.evaluations import ShapeResult
from services.domain.gates import GateName
from services.domain.measurements import BASELINES, Baselines, Latency, Speedup
from services.domain.objectives import described, headline
from workers.referee.gates.passes import WrongForwardError, times_of_passes
from workers.referee.statistics import is_stable, latency, paired_ratio, unpaired_ratio
from workers.referee.trial import GateFinding, Measured, Trial, failed, passed

UNSTEADY_SETS = 0.25
"""Share of the input sets, the first one aside, whose figures may be unsteady: of forty some are by chance, and their
wide intervals are part of the objective's."""


class TimingGate:
    """Turns samples into latency and speedup."""

    name = GateName.TIMING

    def examine(self, trial: Trial) -> GateFinding:
        """Fails only where no stable measurement exists. Raises `InfrastructureError` where the reference's own calls,
        taken in turns with the candidate's, are no steadier: then it is the machine's doing."""
        unsteady = 0
        for measured in trial.measured:
            result = trial.named(shape_result(measured, trial.state.bench.known(measured.number)), measured.number)
            trial.shapes.append(result)
            typical, resolution = median(measured.samples.candidate), measured.samples.resolution_s
            if typical <= resolution:
                return failed(
                    f"too fast to be measured: a call cannot be told from one that computes nothing (steps of "
                    f"{1e6 * resolution:.1f} µs); make the problem larger"
                )
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
        return passed("; ".join([*_told(trial), *notes]))


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


def _blame_the_machine(measured: Measured) -> None:
    if is_stable(measured.samples.baseline):
        return
    low, high = latency(measured.samples.baseline).ci95_us
    raise InfrastructureError(
        f"the machine is too busy to time anything: the median of {measured.baseline}, which is the reference's own "
        f"code, lies between {low:.0f} and {high:.0f} µs; try again when less runs beside it"
    )


def shape_result(measured: Measured, known: Baselines) -> ShapeResult:
    """Figures of one input set. Baselines outside the pair are scaled by the pair's, which was measured now."""
    samples = measured.samples
    ratio = (paired_ratio if samples.paired else unpaired_ratio)(samples.baseline, samples.candidate)
    speedups = {name: _scaled(known, name, measured.baseline, ratio.value) for name in BASELINES}
    return ShapeResult(
        shapes=measured.shapes,
        latency=latency(samples.candidate),
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
    others at its pace, as they were measured beside it before. So ratios can be checked on the page."""
    beside: Latency | None = getattr(known, measured.baseline)
    now = latency(measured.samples.baseline)
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
    of_medians = median(measured.samples.baseline) / max(result.latency.median_us * 1e-6, 1e-12)
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
