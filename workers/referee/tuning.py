"""The search over a candidate's `TUNABLES` inside its evaluation: compile, one cheap check, successive halving.

Only the winner is judged, by every gate and in a fresh process, so a setting that cheats gains nothing by winning.
"""

from __future__ import annotations

import contextlib
import dataclasses
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from services.domain.errors import InfrastructureError
from services.domain.evaluations import EvaluationRequest, Tuned, TunedSetting
from services.domain.tunables import Plain, combinations, declared, described, settings, with_values
from workers.ipc.tensors import flatten
from workers.ipc.wire import WireError
from workers.referee.contract import Answer
from workers.referee.draws import OWN
from workers.referee.errors import FaultKind, RunnerFault
from workers.referee.gates.load import LoadGate
from workers.referee.timing import ProtocolCost, SamplingBudget
from workers.referee.trial import Trial, judge_inputs, judge_outputs

MOST_SETTINGS = 32
SHARE = 0.4
"""Of the evaluation's time."""
BUILD_SHARE = 0.5
"""Of the search's time."""
BUILDS_AT_ONCE = 4
FINALISTS = 4
"""Settings whose processes are kept; fewer than a worker lets a referee hold."""
FIRST_LOOK = SamplingBudget(seconds=0.06, least=3, most=12)
CLOSER_LOOKS = (SamplingBudget(seconds=0.15, least=7, most=30), SamplingBudget(seconds=0.3, least=11, most=60))


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
        waited = self._state.care.take()
        self._until, self._trial.deadline = self._until + waited, self._trial.deadline + waited
        self._arguments = self._state.draw(0, OWN)
        with self._trial.phase("timing"):
            for setting in built:
                if self._over() and self._entrants:
                    break
                self._admit(setting)
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

    def _admit(self, setting: dict[str, Plain]) -> None:
        """Start a setting, look whether it is right and how fast, and keep it while it is among the fastest."""
        state = self._state
        state.link.setting = setting
        trial = Trial(request=_with(self._trial, setting), state=state, deadline=self._trial.deadline)
        kept = False
        try:
            LoadGate().examine(trial)
            if self._is_right(trial):
                median = self._medians[described(setting)] = self._median(trial, FIRST_LOOK)
                self._entrants.append(Entrant(setting=setting, trial=trial, median_s=median))
                kept = True
        except RunnerFault as fault:
            if fault.kind is FaultKind.FORGED:
                raise
        finally:
            if not kept:
                self._wrong += 1
                _end(trial)
        self._keep(self._ranked()[:FINALISTS])

    def _is_right(self, trial: Trial) -> bool:
        """Whether one call on the problem's own values is right."""
        slot, tensors = trial.slot(0, self._arguments), flatten(self._arguments)
        slot.write(tensors)
        trial.session.call(slot)
        fetched = trial.session.fetch(slot)
        if self._expected is None:
            self._expected = self._state.expected(self._arguments)
        if judge_inputs(trial, slot, tensors, self._expected, "tuning") is not None:
            return False
        return judge_outputs(trial, fetched, self._expected, self._state.scales(0, OWN) or (), "tuning") is None

    def _median(self, trial: Trial, budget: SamplingBudget) -> float:
        side = trial.side(0, self._arguments)
        return statistics.median(self._state.stopwatch.solo(side, flatten(self._arguments), budget, ProtocolCost()))

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
