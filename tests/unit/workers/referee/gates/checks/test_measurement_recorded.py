"""What the referee measured of candidates on two CPU cores, replayed before its rules.

`recorded/calls.jsonl` has one evaluation a line (`tests/recording.py`): of honest kernels and of cheats, on a machine
that was quiet or computed on twice as many processes as it has cores. The rules are functions of these samples.
"""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from services.domain.gates import GateStatus
from services.domain.measurements import Baselines
from workers.referee.baselines.measurement import DRIFT
from workers.referee.gates.checks.background_work import ROUNDS, Window, judge_windows
from workers.referee.gates.checks.deferred_work import put_off
from workers.referee.gates.checks.figures import shape_result
from workers.referee.gates.checks.memoization import remembered
from workers.referee.timing.single_calls import Samples
from workers.referee.timing.statistics import Uncertainty, is_stable
from workers.referee.trial import Measured

RECORDED = [json.loads(line) for line in (Path(__file__).parent / "recorded" / "calls.jsonl").read_text().splitlines()]
HONEST = [one for one in RECORDED if one["kind"] == "honest"]
LOADS = ("quiet", "loaded")
ACCUSED = {"quiet": 0.95, "loaded": 0.8}
"""Share of kernels, twice as fast on values that they have seen, that the rule accuses at least. On the busy machine it
misses 3 of the 23 that were recorded: other processes hide the difference."""
HELD = {"quiet": 0.9, "loaded": 0.6}
"""Share of the 95 % intervals that hold the median of all measurements under the same load, at least. On the busy
machine 17 of 28 do: its load changes between two measurements."""


def measured(recorded: dict[str, Any]) -> Measured:
    """One measurement as it was recorded."""
    shorter_s, longer_s, by_chance = recorded["off"]
    lists = ("candidate", "baseline", "claimed", "fresh", "candidate_fetch", "baseline_fetch")
    samples = Samples(
        batched=recorded["batched"],
        off=Uncertainty(shorter_s=shorter_s, longer_s=longer_s, by_chance=by_chance),
        **{name: recorded[name] for name in lists},
    )
    return Measured(number=recorded["input_set"], baseline="eager", samples=samples, shapes=())


def measurements(load: str) -> dict[tuple[str, int], list[Measured]]:
    """All measurements of honest kernels, by kernel and input set."""
    found = defaultdict(list)
    for one in HONEST:
        if one["load"] == load:
            for call in one["calls"]:
                found[one["name"], call["input_set"]].append(measured(call))
    return found


def name_of(one: dict[str, Any]) -> str:
    return f"{one['name']}-{one['load']}-{one['turn']}"


def test_cheats_and_honest_kernels_are_recorded_under_both_loads() -> None:
    assert {(one["kind"], one["load"]) for one in RECORDED} == {
        (kind, load) for kind in ("honest", "cheats") for load in LOADS
    }


@pytest.mark.parametrize("one", RECORDED, ids=name_of)
def test_work_outside_the_calls_is_the_cheats_alone(one: dict[str, Any]) -> None:
    """One quiet look acquits; looks go on as long as none is."""
    accused = []
    for looks in one["windows"]:
        windows = [Window(cpu_s=cpu_s, turns=turns, running_share=share) for cpu_s, turns, share in looks]
        assert len(windows) == ROUNDS or windows[-1].quiet
        accused.append(None if windows[-1].quiet else judge_windows(windows))
    if one["kind"] == "honest":
        assert accused == [None] * len(accused)
    else:
        assert accused[-1] is not None
        assert accused[-1].status is GateStatus.FAILED


@pytest.mark.parametrize("one", HONEST, ids=name_of)
def test_no_honest_kernel_is_accused_by_its_times(one: dict[str, Any]) -> None:
    """Nor where the first measurement gives cause to look again: then the same evaluation has another."""
    for call in one["calls"]:
        found = measured(call)
        assert put_off(found) is None
        assert remembered(found, lambda found=found: found) is None  # type: ignore[misc]
        assert is_stable(found.samples.candidate)


@pytest.mark.parametrize("load", LOADS)
def test_a_kernel_that_knows_earlier_values_is_accused(load: str) -> None:
    """The same samples, but calls on values that were seen before take half the time."""
    accused = []
    for one in HONEST:
        for call in one["calls"]:
            if one["load"] != load or all(call["fresh"]):
                continue
            quicker = [own if fresh else own / 2 for own, fresh in zip(call["candidate"], call["fresh"], strict=True)]
            cheat = measured({**call, "candidate": quicker})
            accused.append(remembered(cheat, lambda cheat=cheat: cheat) is not None)  # type: ignore[misc]
    assert sum(accused) >= ACCUSED[load] * len(accused), f"{sum(accused)} of {len(accused)}"


@pytest.mark.parametrize("load", LOADS)
def test_intervals_hold_what_all_measurements_together_give(load: str) -> None:
    held = []
    for of_one in measurements(load).values():
        speedups = [shape_result(found, Baselines()).speedup for found in of_one]
        true = statistics.median(speedup.best_baseline or 0.0 for speedup in speedups)
        for speedup in speedups:
            low, high = speedup.ci95 or (0.0, 0.0)
            held.append(low <= true <= high)
    assert sum(held) >= HELD[load] * len(held), f"{sum(held)} of {len(held)}"


def test_a_machine_that_becomes_busy_is_seen_to_drift() -> None:
    """By the reference's own calls, as `Bench.observe` compares them with the first measurement."""
    drifted = dict.fromkeys(LOADS, 0)
    for key, quiet in measurements("quiet").items():
        first = statistics.median(quiet[0].samples.baseline)
        for load in LOADS:
            medians = [statistics.median(found.samples.baseline) for found in measurements(load)[key]]
            drifted[load] += sum(not 1 / DRIFT <= median / first <= DRIFT for median in medians)
    assert drifted["quiet"] < drifted["loaded"]
