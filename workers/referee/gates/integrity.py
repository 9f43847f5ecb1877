"""The integrity gate: is the work done by the candidate's own kernel, within the call, on every call?"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import replace

from services.domain.gates import GateName
from workers.ipc.tensors import flatten
from workers.referee.costs.roofline import cheating_floor_s
from workers.referee.gates.attribution import foreign_time, sampling, seen_time, still_right, watched_calls
from workers.referee.gates.correctness import try_draw
from workers.referee.gates.idleness import still_working, work_outside
from workers.referee.gates.joining import late_streams
from workers.referee.gates.keeping import called_on
from workers.referee.gates.load import load_again
from workers.referee.gates.remembering import remembered
from workers.referee.inputs.draws import OWN, rebuilt
from workers.referee.screening.rules import CHEAP_OPERATORS, permitted
from workers.referee.session.slots import Slot
from workers.referee.timing.beside import Beside
from workers.referee.timing.single_calls import Checked, Samples, SamplingBudget, timed_fetch
from workers.referee.timing.statistics import is_stable, is_told
from workers.referee.trial import (
    GateFinding,
    Measured,
    Trial,
    failed,
    judge_inputs,
    judge_on_values,
    judge_outputs,
    passed,
    suspicious,
)

POOL = 3
ONE_DRAW_BYTES = 2 << 30
"""Inputs of a call from which on one draw is mixed with itself: the device holds a dozen sets of them besides."""
REPEATS = 3
UNTOLD_S = 8.0
"""How long sittings go on that leave a measurement without a figure, beyond the first `REPEATS`."""
FIRST_BUDGET = SamplingBudget(seconds=0.5)
OTHER_BUDGET = SamplingBudget(seconds=0.2)
ONE_OF_MANY_BUDGET = SamplingBudget(seconds=0.1, most=30)
THOROUGH_BUDGET = SamplingBudget(seconds=4.0, most=400, enough=200)
"""For figures that a job reports: long enough that a machine's moods, which last for seconds, are averaged."""
LIBRARY_SHARE = 8
"""A library operator that touches an eighth of the largest tensor does the main work."""
PUT_OFF_SHARE = 0.25
PUT_OFF_LEAST_S = 300e-6
PUT_OFF_SETS = 0.25
"""Share of many input sets on which reading the outputs must take longer to be evidence. On a busy machine it does on
one of forty by chance; a long read counts as part of the call in any case, so putting work off gains nothing there."""
SECOND_LOOK = 12
HIDDEN_SHARE = 0.3
HIDDEN_LEAST_S = 15e-6
CLOCK_SHARE = 0.5
CLOCK_LEAST_S = 500e-6


class CheatFoundError(Exception):
    """Evidence against a candidate, found while its calls were timed."""

    def __init__(self, finding: GateFinding) -> None:
        self.finding = finding
        super().__init__(finding.detail)


class IntegrityGate:
    """Judges what ran, times the calls while watching them, and looks for work outside of them."""

    name = GateName.INTEGRITY

    def examine(self, trial: Trial) -> GateFinding:
        """Fails on evidence, suspects where figures are too good."""
        evidence = library_work(trial) or work_outside(trial)
        if evidence is not None:
            return evidence
        timed_from = time.perf_counter()
        put_off: list[GateFinding] = []
        try:
            for number in trial.state.set_numbers:
                with trial.phase("timing"):
                    sampling(trial, on=False)
                    measured = measured_steadily(trial, number)
                trial.measured.append(measured)
                if number == 0 and is_told(measured.samples.baseline, measured.samples.off):
                    trial.state.bench.observe(measured.baseline, statistics.median(measured.samples.baseline))
                one_of_many = number != 0 and trial.state.is_one_of_many
                found = _put_off(measured)
                put_off += [found] if found is not None and one_of_many else []
                evidence = (
                    still_right(trial, number) or (None if one_of_many else found) or _remembered(trial, measured)
                )
                if evidence is None and len(put_off) > PUT_OFF_SETS * len(trial.state.set_numbers):
                    evidence = put_off[0]
                if evidence is not None:
                    return evidence
                if one_of_many:
                    trial.close_slot(number)
                    trial.state.bench.release(number)
        except CheatFoundError as found:
            return found.finding
        if trial.state.is_large:
            trial.timed.clear()
            trial.state.bench.rest()
        trial.seen_time = seen_time(trial, timed_from)
        return (
            called_on(trial)
            or changed_later(trial)
            or late_streams(trial)
            or _foreign_time(trial)
            or still_working(trial)
            or _too_good(trial)
            or passed(f"inputs untouched, work done within each call, outputs of timed calls right{_unseen(trial)}")
        )


def changed_later(trial: Trial) -> GateFinding | None:
    """An early call's outputs, which were held all the time, are not what they were: later calls wrote into them."""
    held = trial.held
    if held is None or held.session is not trial.session or trial.state.place.is_gpu:
        return None
    fetched = trial.session.held(held.slot)
    return judge_outputs(trial, fetched, held.answer, held.scales, "what an early call returned, read after later ones")


def _foreign_time(trial: Trial) -> GateFinding | None:
    return None if trial.seen_time is None else foreign_time(trial.seen_time, trial.state.problem.library)


def _unseen(trial: Trial) -> str:
    """What the gate could not see here, as the end of its sentence."""
    why = "" if trial.seen_time is None else trial.seen_time.whole_life.why
    return f"; NOT SEEN: whose code did the work, since this machine lets nobody sample it ({why})" if why else ""


def library_work(trial: Trial) -> GateFinding | None:
    """PyTorch operators that did the main work in the observed call."""
    state = trial.state
    sizes = [spec.elements for spec in state.analysis.inputs]
    sizes += [max(1, meta.nbytes // meta.torch_dtype.itemsize) for meta in state.metas(0)]
    threshold = max([*sizes, LIBRARY_SHARE]) // LIBRARY_SHARE
    for operator, elements in trial.operators.items():
        name = operator.rsplit("::", 1)[-1]
        if name in CHEAP_OPERATORS or permitted(name, state.problem.library):
            continue
        if elements >= max(threshold, 1):
            return failed(f"torch's `{name}` worked on {elements} elements: the library does the candidate's work")
    return None


def measured_steadily(trial: Trial, number: int) -> Measured:
    """The measurement. It is taken again, the protocol's cost too, while a busy machine leaves it without a figure
    (then all samples count together), and in a new process while it speaks against the candidate by its times alone: a
    process that was given a slow core or slow memory pays for that all its life, a cheat does in each what it does. So
    it is with the baseline's process, which may have been lucky: the last sitting has another one."""
    measured = _with_figure(trial, number)
    many = number != 0 and trial.state.is_one_of_many  # single sets of many accuse nobody
    for sitting in range(1, REPEATS):
        if many or not _speaks_against(measured):
            break
        if sitting == REPEATS - 1:
            _change_rival(trial, measured)
        _start_again(trial)
        measured = _with_figure(trial, number)
    return measured


def _with_figure(trial: Trial, number: int) -> Measured:
    """A measurement in as many sittings as it takes to have a figure, within reason."""
    began, sittings = time.monotonic(), 1
    measured = _read_again(trial, _measure(trial, number))
    while not _has_figure(measured.samples) and (sittings < REPEATS or time.monotonic() - began < UNTOLD_S):
        later = _read_again(trial, _measure(trial, number))
        sittings += 1
        measured = later if _has_figure(later.samples) else together(measured, later)
    return measured


def _change_rival(trial: Trial, measured: Measured) -> None:
    """Have the baseline in a new process, compiled."""
    trial.state.bench.restart()
    number = measured.number
    trial.state.bench.side(measured.baseline, number, trial.draw(number, OWN), trial.state.metas(number))


def together(earlier: Measured, later: Measured) -> Measured:
    """Samples of the same candidate, taken in two sittings; the later ones alone where they are of another kind."""
    one, two = earlier.samples, later.samples
    if one.batched != two.batched or not two.paired or earlier.baseline != later.baseline:
        return later
    samples = replace(
        two,
        candidate=one.candidate + two.candidate,
        baseline=one.baseline + two.baseline,
        claimed=one.claimed + two.claimed,
        fresh=one.fresh + two.fresh,
        candidate_fetch=one.candidate_fetch + two.candidate_fetch,
        baseline_fetch=one.baseline_fetch + two.baseline_fetch,
        off=one.off.pooled(len(one.baseline), two.off, len(two.baseline)),
    )
    return replace(later, samples=samples)


def _has_figure(samples: Samples) -> bool:
    """Whether both sides' times can be told from none, and the candidate's mean anything."""
    if not is_stable(samples.candidate):
        return False
    return is_told(samples.candidate, samples.off) and is_told(samples.baseline, samples.off)


def _speaks_against(measured: Measured) -> bool:
    return (measured.number == 0 and _hides(measured.samples)) or _put_off(measured) is not None


def _start_again(trial: Trial) -> None:
    """Examine the candidate in a new process: what it did in the old one says nothing about this one."""
    load_again(trial)
    evidence = try_draw(trial, 0, OWN, trial.draw(0, OWN), observe=True) or library_work(trial) or work_outside(trial)
    if evidence is not None:
        raise CheatFoundError(evidence)


def _hides(samples: Samples) -> bool:
    """Whether the referee's clock saw more than the events did and a busy host explains."""
    return samples.hidden_s > max(HIDDEN_SHARE * statistics.median(samples.candidate), HIDDEN_LEAST_S)


def _measure(trial: Trial, number: int) -> Measured:
    """The interleaved measurement with the fastest baseline, on inputs that are new for every call."""
    state = trial.state
    arguments = [trial.draw(number, OWN)]
    few = sum(tensor.nbytes for tensor in flatten(arguments)) > ONE_DRAW_BYTES
    arguments += [trial.draw(number, OWN) for _ in range(0 if few else POOL - 1)]
    names = tuple(trial.request.baselines) or ("eager",)
    baseline = state.bench.fastest(names, number)
    rival = replace(state.bench.side(baseline, number, arguments[0], state.metas(number)), trusted=not state.mutates)
    if state.is_large and rival.trusted:  # it keeps its inputs: the referee needs no copy of them
        arguments = [list(rebuilt(arguments[0], rival.slot.inputs.tensors))]
    side = trial.side(number, arguments[0])
    values = state.values(number, [flatten(item) for item in arguments], lambda: flatten(trial.draw(number, OWN)))
    trial.timed[number] = arguments[0], values
    samples = state.stopwatch.interleaved(
        side,
        rival,
        values,
        _budget(trial, number),
        cost=state.bench.cost(rival),
        check=_checker(trial, number, side.slot, arguments[0]),
        beside=Beside(state.problem.tolerances),
    )
    return Measured(
        number=number,
        baseline=baseline,
        samples=samples,
        shapes=trial.shapes_of(arguments[0]),
        bytes=trial.bytes_of(arguments[0]),
    )


def _budget(trial: Trial, number: int) -> SamplingBudget:
    if number:
        return ONE_OF_MANY_BUDGET if trial.state.is_one_of_many else OTHER_BUDGET
    return THOROUGH_BUDGET if trial.request.thorough else FIRST_BUDGET


def _checker(trial: Trial, number: int, slot: Slot, like: list[object]) -> Callable[[Checked], None]:
    def check(checked: Checked) -> None:
        where = "a timed call chosen at random"
        arguments = list(rebuilt(like, checked.inputs))
        answer = trial.state.expected(arguments)
        scales = trial.state.scales(number, OWN) or ()
        finding = judge_inputs(trial, checked.slot or slot, checked.inputs, answer, where) or judge_on_values(
            trial, checked.fetched, arguments, answer, OWN, scales, where
        )
        if finding is not None:
            raise CheatFoundError(failed(f"{finding.detail} (earlier calls were right)", GateName.INTEGRITY))
        if checked.brief or (trial.state.place.is_gpu and not checked.others):
            return
        slots = checked.others or [checked.slot or slot]
        del checked, arguments, answer  # further calls follow, and tensors may be large
        finding = watched_calls(trial, number, slots)
        if finding is not None:
            raise CheatFoundError(failed(f"among the timed calls: {finding.detail} (earlier calls were right)"))

    return check


def _remembered(trial: Trial, measured: Measured) -> GateFinding | None:
    """Slower on values that it cannot have seen: results of earlier calls are used."""

    def again() -> Measured:
        with trial.phase("timing"):
            return _measure(trial, measured.number)

    return remembered(measured, again)


def _put_off(measured: Measured) -> GateFinding | None:
    """Work that happens while the outputs are read instead of within the call: the fastest read of each side counts."""
    samples = measured.samples
    if _put_off_s(samples) <= 0.0:
        return None
    extra = 1e6 * (min(samples.candidate_fetch) - min(samples.baseline_fetch))
    return failed(f"reading the outputs took {extra:.0f} µs longer than for the reference: work was put off")


def _read_again(trial: Trial, measured: Measured) -> Measured:
    """The measurement, with more reads of both sides where the candidate's took longer: a busy machine delays single
    ones."""
    samples = measured.samples
    state = trial.state
    if _put_off_s(samples) <= 0.0 or state.is_large:  # the reference's outputs are not read there
        return measured
    arguments = trial.draw(measured.number, OWN)
    rival = trial.state.bench.side(measured.baseline, measured.number, arguments, trial.state.metas(measured.number))
    sides = ((trial.side(measured.number, arguments), samples.candidate_fetch), (rival, samples.baseline_fetch))
    for _ in range(SECOND_LOOK):
        for side, seen in sides:
            seen.append(timed_fetch(side, flatten(arguments)))
        if _put_off_s(samples) <= 0.0:
            break
    return measured


def _put_off_s(samples: Samples) -> float:
    """Seconds by which reading the outputs exceeds what is allowed; none in batches, whose time holds that."""
    if not (samples.candidate_fetch and samples.baseline_fetch):
        return 0.0
    call = statistics.median(samples.candidate)
    limit = max(PUT_OFF_LEAST_S, PUT_OFF_SHARE * call) + 0.5 * min(samples.baseline_fetch)
    return min(samples.candidate_fetch) - min(samples.baseline_fetch) - limit


def _too_good(trial: Trial) -> GateFinding | None:
    first = trial.measured[0].samples
    call = statistics.median(first.candidate)
    floor = cheating_floor_s(trial.state.analysis, trial.state.device)
    if call < floor:
        return suspicious(f"a call takes {1e6 * call:.1f} µs, below {1e6 * floor:.1f} µs that the hardware needs")
    if first.overclaimed_s > max(HIDDEN_SHARE * call, HIDDEN_LEAST_S):
        return suspicious(
            f"the events claim {1e6 * first.overclaimed_s:.0f} µs a call more than the referee's clock saw: they are "
            f"not those of the calls"
        )
    if _hides(first):
        return suspicious(
            f"the referee's clock saw {1e6 * first.hidden_s:.0f} µs a call beyond the {1e6 * call:.0f} µs of the events"
        )
    if first.batched:  # the runner's clock is asked of single calls only
        return None
    disagreement = min(abs(claimed - own) for claimed, own in zip(first.claimed, first.candidate, strict=True))
    if disagreement > max(CLOCK_SHARE * call, CLOCK_LEAST_S):
        return suspicious(f"the runner's clock and the referee's never agree better than {1e6 * disagreement:.0f} µs")
    return None
