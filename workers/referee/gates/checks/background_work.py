"""Does a candidate work without a request: between calls, before one, or after it returned?

Three signs, none of which a busy machine produces: processor time, threads that want a processor (they show even when
they get none), and threads that wake up again and again (to watch memory for new inputs). An honest process sleeps
until it is asked, a pool such as OpenMP's included. One quiet look acquits; a finding needs work in every look. While
figures are taken, a candidate is stopped between calls and can do none of this; here it is let run, to see what it
would do.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from workers.ipc.tensors import flatten
from workers.profilers.usage import Activity
from workers.referee.boundary.slots import Slot
from workers.referee.gates.finding import GateFinding, failed, suspicious
from workers.referee.inputs.distributions import OWN
from workers.referee.trial import Trial

GRACE_S = 0.015
"""A pool such as OpenMP's may spin so long after a call."""
WINDOW_S = 0.04
LOOKS = 6
ROUNDS = 5
"""Together longer than any common pool spins (200 ms)."""
IDLE_CPU_S = 0.004
QUIET_CPU_S = 0.0005
QUIET_TURNS = 4
RESTLESS_TURNS = 25
AT_WORK_SHARE = 0.5
BEFORE_LEAST_S = 0.002
BEFORE_SHARE = 0.2


@dataclass(frozen=True, kw_only=True)
class Window:
    """What was seen of a process that had nothing to do."""

    cpu_s: float
    turns: int
    running_share: float
    """Share of the looks at which a thread ran or waited for a processor."""

    @property
    def quiet(self) -> bool:
        """Nothing moved."""
        return self.cpu_s <= QUIET_CPU_S and self.turns <= QUIET_TURNS and self.running_share == 0.0

    @property
    def at_work(self) -> bool:
        """Somebody worked, or wanted to."""
        return self.cpu_s > IDLE_CPU_S or self.running_share >= AT_WORK_SHARE


def judge_windows(windows: Sequence[Window]) -> GateFinding | None:
    """What idle windows in a row amount to; the last one is not quiet."""
    if all(window.at_work for window in windows):
        used = 1e3 * statistics.median(window.cpu_s for window in windows)
        share = statistics.median(window.running_share for window in windows)
        return failed(
            f"it continues to work after the call has returned: {used:.1f} ms of processor time in "
            f"{1e3 * WINDOW_S:.0f} ms without a call, a thread wanted a processor {share:.0%} of the time"
        )
    if min(window.turns for window in windows) > RESTLESS_TURNS:
        turns = statistics.median(window.turns for window in windows)
        return suspicious(f"something in it wakes up {turns:.0f} times in {1e3 * WINDOW_S:.0f} ms after the call")
    return None


def work_outside(trial: Trial) -> GateFinding | None:
    """Work before a call was asked for, or after it returned."""
    arguments = trial.draw(0, OWN)
    slot, tensors = trial.slot(0, arguments), flatten(arguments)
    with trial.session.awake():
        return _work_outside(trial, slot, tensors)


def _work_outside(trial: Trial, slot: Slot, tensors: Sequence[torch.Tensor]) -> GateFinding | None:
    windows: list[Window] = []
    early: list[tuple[float, float]] = []
    for _ in range(ROUNDS):
        idle = _activity(trial)
        slot.write(tensors)
        asked = _activity(trial)
        if idle is None or asked is None:
            note = "processor time of the runner cannot be read here: work outside calls was not looked for"
            trial.notes.append(note)
            return None
        trial.session.call(slot)
        trial.session.fetch(slot)
        done = _activity(trial) or asked
        early.append((asked.cpu_s - idle.cpu_s, done.cpu_s - asked.cpu_s))
        windows.append(_window(trial))
        if windows[-1].quiet and not _too_early(*early[-1]):
            return None
    if not windows[-1].quiet and (finding := judge_windows(windows)) is not None:
        return finding
    return _worked_early(early)


def still_working(trial: Trial) -> GateFinding | None:
    """Work after the last call; for what starts only once a candidate has been called often."""
    windows: list[Window] = []
    with trial.session.awake():
        while len(windows) < ROUNDS:
            if _activity(trial) is None:
                return None
            windows.append(_window(trial))
            if windows[-1].quiet:
                return None
    return judge_windows(windows)


def _worked_early(early: Sequence[tuple[float, float]]) -> GateFinding | None:
    if not all(_too_early(before, inside) for before, inside in early):
        return None
    least = 1e3 * min(before for before, _ in early)
    return failed(f"{least:.1f} ms of processor time were used before the call was asked for")


def _too_early(before_s: float, inside_s: float) -> bool:
    return before_s > max(BEFORE_LEAST_S, BEFORE_SHARE * inside_s)


def _window(trial: Trial) -> Window:
    time.sleep(GRACE_S)
    first = last = _activity(trial) or Activity(cpu_s=0.0, turns=0, running=0)
    running = 0
    for _ in range(LOOKS):
        time.sleep(WINDOW_S / LOOKS)
        last = _activity(trial) or last
        running += last.running > 0
    return Window(
        cpu_s=max(0.0, last.cpu_s - first.cpu_s),
        turns=max(0, last.turns - first.turns),
        running_share=running / LOOKS,
    )


def _activity(trial: Trial) -> Activity | None:
    assert trial.runner is not None
    return trial.state.link.activity(trial.runner)
