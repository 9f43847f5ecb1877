"""The search over a candidate's `TUNABLES` inside its evaluation: compile, one cheap check, successive halving.

Only the winner is judged, by every gate and in a fresh process, so a setting that cheats gains nothing by winning.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import statistics
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from services.domain.errors import InfrastructureError
from services.domain.evaluations import EvaluationRequest, Tuned, TunedSetting
from services.domain.tunables import Plain, combinations, declared, described, settings, with_values
from workers.ipc.tensors import flatten
from workers.ipc.wire import WireError
from workers.referee.boundary.runner_client import TimedCall
from workers.referee.boundary.slots import Slot
from workers.referee.comparison.output_structure import Answer
from workers.referee.errors import FaultKind, RunnerFault
from workers.referee.gates.checks.calls import judge_inputs, judge_outputs
from workers.referee.inputs.distributions import OWN
from workers.referee.timing import stopwatch
from workers.referee.timing.single_calls import ProtocolCost, SamplingBudget
from workers.referee.trial import Trial

MOST_SETTINGS = 32
SHARE = 0.4
"""Of the evaluation's time."""
BUILD_SHARE = 0.5
"""Of the search's time."""
BUILDS_AT_ONCE = 4
FIRST_CALLS_AT_ONCE = 6
"""On a GPU, where a first call compiles (Triton does). With the finalists, fewer than a worker lets a referee hold."""
FREE_SHARE = 0.5
"""Of a GPU's free memory, for settings whose first calls run at once."""
FINALISTS = 4
"""Settings whose processes are kept."""
FIRST_LOOK = SamplingBudget(seconds=0.06, least=3, most=12)
CLOSER_LOOKS = (SamplingBudget(seconds=0.15, least=7, most=30), SamplingBudget(seconds=0.3, least=11, most=60))


@dataclass(frozen=True, kw_only=True)
class Started:
    """One setting whose process makes its first call."""

    setting: dict[str, Plain]
    trial: Trial
    slot: Slot
    first_call: Future[TimedCall]


@dataclass(kw_only=True)
class Entrant:
    """One setting that runs and is right so far."""

    setting: dict[str, Plain]
    trial: Trial
    median_s: float


def tune(trial: Trial) -> Tuned | None:
    """Search the candidate's declared parameters and put the winner in its place; None where nothing is to search.

    The trial's request and the worker link then stand for the winning setting: the one of all first values where none
    could be run. Raises `RunnerFault` where a setting forges messages."""
    values = declared(trial.request.source)
    if values is None or combinations(values) == 1:
        return None
    chosen = settings(values, MOST_SETTINGS)
    search = _Search(trial, time.monotonic() + SHARE * trial.request.timeout_s)
    try:
        winner = search.best_of(chosen) or chosen[0]
    finally:
        search.close()
    trial.notes.append(search.summary(combinations(values), winner))
    trial.state.link.setting = winner
    trial.request = _with(trial, winner)
    return Tuned(parameters=winner, tried=search.tried, settings=search.table())


class _Search:
    def __init__(self, trial: Trial, until: float) -> None:
        self._trial = trial
        self._state = trial.state
        self._until = until
        self._arguments: list[Any] = []
        self._expected: Answer | None = None
        self._entrants: list[Entrant] = []
        self.tried = 0
        self._wrong = 0
        self._medians: dict[str, float] = {}
        self._seen: list[dict[str, Plain]] = []

    def best_of(self, chosen: Sequence[dict[str, Plain]]) -> dict[str, Plain] | None:
        """The fastest setting that is right; None where none is."""
        with self._trial.phase("compile"):
            built = self._built(chosen)
        self._until += self._state.care.take()
        self._arguments = self._state.draw(0, OWN)
        with self._trial.phase("timing"):
            self._admit_all(built)
            self._expected = None  # it may be large, and is of no more use
            for budget in CLOSER_LOOKS:
                self._halve(budget)
        return self._entrants[0].setting if self._entrants else None

    def summary(self, total: int, winner: dict[str, Plain]) -> str:
        """What was done, in one sentence."""
        failed = f", {self._wrong} failed" if self._wrong else ""
        return f"TUNABLES: {self.tried} of {total} settings tried{failed}; {described(winner)}"

    def table(self) -> tuple[TunedSetting, ...]:
        """Each setting that was tried, with its latest median."""
        return tuple(
            TunedSetting(parameters=setting, median_us=_microseconds(self._medians.get(described(setting))))
            for setting in self._seen
        )

    def close(self) -> None:
        """End what still runs."""
        self._keep(())

    def _built(self, chosen: Sequence[dict[str, Plain]]) -> list[dict[str, Plain]]:
        """The settings that compile. Nothing is measured meanwhile, so several are compiled at once."""
        link, built = self._state.link, []
        until = time.monotonic() + BUILD_SHARE * (self._until - time.monotonic())
        for start in range(0, len(chosen), BUILDS_AT_ONCE):
            if time.monotonic() > until:
                break
            together = chosen[start : start + BUILDS_AT_ONCE]
            for setting in together:
                link.setting = setting
                link.begin_build()
            for setting in together:
                link.setting = setting
                self.tried += 1
                self._seen.append(setting)
                if link.build().ok:
                    built.append(setting)
                else:
                    self._wrong += 1
        return built

    def _admit_all(self, built: Sequence[dict[str, Plain]]) -> None:
        """Look at the settings in their order, some of them together, until the search's time is over."""
        at_once = self._at_once()
        with ThreadPoolExecutor(at_once) as pool:
            for start in range(0, len(built), at_once):
                if self._over() and self._entrants:
                    return
                self._admit(built[start : start + at_once], pool)

    def _at_once(self) -> int:
        """How many settings make their first calls side by side. On a CPU they are compiled before, and would only
        wait for one another."""
        place = self._state.place
        if not place.is_gpu or self._state.is_large:
            return 1
        self._expected = self._state.expected(self._arguments)
        each = sum(tensor.nbytes for tensor in flatten(self._arguments)) + self._state.reference_bytes
        fitting = int(FREE_SHARE * (place.free_bytes() or 0) / max(1, each))
        return max(1, min(FIRST_CALLS_AT_ONCE, fitting, len(os.sched_getaffinity(0)) // 2))

    def _admit(self, together: Sequence[dict[str, Plain]], pool: ThreadPoolExecutor) -> None:
        """Have settings make their first calls; when all have ended, look whether each is right and how fast, and
        keep those among the fastest."""
        started: list[Started] = []
        try:
            for setting in together:
                self._start(setting, pool, started)
            wait(each.first_call for each in started)
            while started:
                self._examine(started.pop(0))
        finally:
            wait(each.first_call for each in started)
            for each in started:
                _end(each.trial)
        self._keep(self._ranked()[:FINALISTS])

    def _start(self, setting: dict[str, Plain], pool: ThreadPoolExecutor, started: list[Started]) -> None:
        self._state.link.setting = setting
        trial = Trial(request=_with(self._trial, setting), state=self._state, time_limit=self._trial.time_limit)
        with self._dismissing(trial):
            trial.load()
            slot = trial.slot(0, self._arguments)
            slot.write(flatten(self._arguments))
            call = pool.submit(trial.session.call, slot)
            started.append(Started(setting=setting, trial=trial, slot=slot, first_call=call))

    def _examine(self, started: Started) -> None:
        trial = started.trial
        with self._dismissing(trial):
            started.first_call.result()
            if not self._is_right(started):
                self._dismiss(trial)
                return
            median = self._medians[described(started.setting)] = self._median(trial, FIRST_LOOK)
            self._entrants.append(Entrant(setting=started.setting, trial=trial, median_s=median))

    @contextlib.contextmanager
    def _dismissing(self, trial: Trial) -> Iterator[None]:
        """End a setting that breaks down within. Raises `RunnerFault` where it forges messages."""
        try:
            yield
        except RunnerFault as fault:
            self._dismiss(trial)
            if fault.kind is FaultKind.FORGED:
                raise
        except BaseException:
            _end(trial)
            raise

    def _dismiss(self, trial: Trial) -> None:
        self._wrong += 1
        _end(trial)

    def _is_right(self, started: Started) -> bool:
        """Whether the first call, on the problem's own values, was right."""
        trial = started.trial
        fetched = trial.session.fetch(started.slot)
        if self._expected is None:
            self._expected = self._state.expected(self._arguments)
        if judge_inputs(trial, started.slot, self._arguments, self._expected, OWN, "tuning") is not None:
            return False
        return judge_outputs(trial, fetched, self._expected, self._state.scales(0, OWN) or (), "tuning") is None

    def _median(self, trial: Trial, budget: SamplingBudget) -> float:
        side = trial.side(0, self._arguments)
        timed = stopwatch.solo(side, flatten(self._arguments), budget, ProtocolCost())
        if self._state.is_large:
            trial.rest()  # others are timed before it is again
        return statistics.median(timed.seconds)

    def _halve(self, budget: SamplingBudget) -> None:
        """Look longer at those that are left, and keep the better half."""
        if len(self._entrants) < 2:
            return
        for entrant in list(self._entrants):
            try:
                entrant.median_s = self._median(entrant.trial, budget)
                self._medians[described(entrant.setting)] = entrant.median_s
            except RunnerFault as fault:
                if fault.kind is FaultKind.FORGED:
                    raise
                self._wrong += 1
                self._medians.pop(described(entrant.setting), None)
                entrant.median_s = float("inf")
        ranked = [entrant for entrant in self._ranked() if entrant.median_s != float("inf")]
        self._keep(ranked[: max(1, len(ranked) // 2)])

    def _ranked(self) -> list[Entrant]:
        return sorted(self._entrants, key=lambda entrant: entrant.median_s)

    def _keep(self, kept: Sequence[Entrant]) -> None:
        for entrant in self._entrants:
            if not any(entrant is other for other in kept):
                _end(entrant.trial)
        self._entrants = list(kept)

    def _over(self) -> bool:
        return time.monotonic() > self._until


def _microseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e6


def _with(trial: Trial, setting: dict[str, Plain]) -> EvaluationRequest:
    return dataclasses.replace(trial.request, source=with_values(trial.request.source, setting))


def _end(trial: Trial) -> None:
    """End a setting's process and give its memory back."""
    trial.close_slots()
    with contextlib.suppress(InfrastructureError, WireError):
        trial.end_runner()
