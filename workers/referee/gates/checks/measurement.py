"""The candidate's calls, timed in turns with the fastest baseline's and watched meanwhile."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from services.domain.gates import GateName
from workers.ipc.tensors import flatten
from workers.referee.boundary.slots import Slot
from workers.referee.gates.checks.attribution import library_work, watched_calls
from workers.referee.gates.checks.background_work import work_outside
from workers.referee.gates.checks.calls import answer_of, judge_inputs, judge_on_values, try_draw
from workers.referee.gates.checks.deferred_work import hides, put_off, read_again
from workers.referee.gates.finding import GateFinding, failed
from workers.referee.inputs.distributions import OWN, rebuilt
from workers.referee.timing import stopwatch
from workers.referee.timing.output_checks import Beside
from workers.referee.timing.parameter_steps import UNCHANGED, ParameterSteps, stepping
from workers.referee.timing.single_calls import Checked, Samples, SamplingBudget, Side
from workers.referee.timing.statistics import is_stable, is_told
from workers.referee.trial import UNCHANGING, Measured, Trial

POOL = 3
ONE_DRAW_BYTES = 2 << 30
"""Inputs of a call from which on one draw is mixed with itself: the device holds a dozen sets of them besides."""
REPEATS = 3
NO_FIGURE_S = 8.0
"""How long sittings continue that leave a measurement without a figure, beyond the first `REPEATS`."""
FIRST_BUDGET = SamplingBudget(seconds=0.5)
OTHER_BUDGET = SamplingBudget(seconds=0.2)
ONE_OF_MANY_BUDGET = SamplingBudget(seconds=0.1, most=30)
THOROUGH_BUDGET = SamplingBudget(seconds=4.0, most=400, enough=200)
"""For figures that a job reports: long enough that a machine's drift, which lasts for seconds, is averaged."""


class CheatFoundError(Exception):
    """Evidence against a candidate, found while its calls were timed."""

    def __init__(self, finding: GateFinding) -> None:
        self.finding = finding
        super().__init__(finding.detail)


def measured_steadily(trial: Trial, number: int) -> Measured:
    """The measurement. It is taken again, the protocol's cost too, while a busy machine leaves it without a figure
    (then all samples count together), and in a new process while it speaks against the candidate by its times alone: a
    process that was given a slow core or slow memory pays for that all its life, a cheat does in each what it does. So
    it is with the baseline's process, which may have been lucky: the last sitting has another one."""
    measured = _with_figure(trial, number)
    many = number != 0 and trial.state.is_one_of_many  # a single set of many is no evidence
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
    measured = read_again(trial, measure(trial, number))
    while not _has_figure(measured.samples) and (sittings < REPEATS or time.monotonic() - began < NO_FIGURE_S):
        later = read_again(trial, measure(trial, number))
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
    if one.batched != two.batched or earlier.baseline != later.baseline:
        return later
    samples = replace(
        two,
        candidate=one.candidate + two.candidate,
        baseline=one.baseline + two.baseline,
        claimed=one.claimed + two.claimed,
        fresh=one.fresh + two.fresh,
        each=one.each + two.each,
        candidate_fetch=one.candidate_fetch + two.candidate_fetch,
        baseline_fetch=one.baseline_fetch + two.baseline_fetch,
        off=one.off.pooled(len(one.baseline), two.off, len(two.baseline)),
    )
    return replace(later, samples=samples)


def _has_figure(samples: Samples) -> bool:
    """Whether both sides' times can be distinguished from zero, and the candidate's are stable."""
    if not is_stable(samples.candidate):
        return False
    return is_told(samples.candidate, samples.off) and is_told(samples.baseline, samples.off)


def _speaks_against(measured: Measured) -> bool:
    return (measured.number == 0 and hides(measured.samples)) or put_off(measured) is not None


def _start_again(trial: Trial) -> None:
    """Examine the candidate in a new process: what it did in the old one says nothing about this one."""
    trial.load_again()
    evidence = try_draw(trial, 0, OWN, trial.draw(0, OWN), observe=True) or library_work(trial) or work_outside(trial)
    if evidence is not None:
        raise CheatFoundError(evidence)


def measure(trial: Trial, number: int) -> Measured:
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
    with steps_of(trial, [side, rival]) as steps:
        samples = stopwatch.interleaved(
            side,
            rival,
            values,
            _budget(trial, number),
            cost=state.bench.cost(rival),
            check=_checker(trial, number, side.slot, arguments[0], steps),
            beside=Beside(state.problem.tolerances),
            steps=steps,
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


@contextlib.contextmanager
def steps_of(trial: Trial, sides: Sequence[Side]) -> Iterator[ParameterSteps]:
    """Parameters that change between the timed calls of some sides, the candidate's among them: where gradients are
    judged, and on CPUs unless the candidate lacks some or is remarked on for not seeing that they change."""
    keeps_them = trial.missing or any(note.startswith(UNCHANGING) for note in trial.notes)
    if not trial.state.problem.is_step and (trial.state.place.is_gpu or keeps_them):
        yield UNCHANGED
        return
    sessions = list(dict.fromkeys(side.session for side in sides))

    def is_fit() -> bool:
        return trial.state.problem.is_step or answer_of(trial, trial.draw(0, OWN)) is not None

    with stepping(trial.state.problem, sessions, [side.slot for side in sides], is_fit=is_fit) as steps:
        yield steps


def _checker(
    trial: Trial, number: int, slot: Slot, like: list[object], steps: ParameterSteps
) -> Callable[[Checked], None]:
    trial.state.scales(number, OWN)  # of the parameters as they were built

    def check(checked: Checked) -> None:
        with steps.judging(checked.slot or slot):
            look(checked)

    def look(checked: Checked) -> None:
        where = "a timed call chosen at random"
        arguments = list(rebuilt(like, checked.inputs))
        answer = trial.state.expected(arguments)
        scales = trial.state.scales(number, OWN) or ()
        finding = judge_inputs(trial, checked.slot or slot, arguments, answer, OWN, where) or judge_on_values(
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
