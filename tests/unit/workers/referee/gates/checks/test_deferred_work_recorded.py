"""What batches of calls took on a GPU, replayed: the rule on hidden work accuses a cheat and nobody else.

`recorded/device_batches.jsonl` has one measurement a line, taken on an H200 whose host was quiet or computed on twice
as many processes as it has cores.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from workers.referee.gates.checks.deferred_work import hides
from workers.referee.timing.cuda_events import _Batches, hidden_s
from workers.referee.timing.single_calls import Samples

RECORDED = [
    json.loads(line) for line in (Path(__file__).parent / "recorded" / "device_batches.jsonl").read_text().splitlines()
]
CHEATS = {"silu_all_on_side_stream"}
FALSELY_ACCUSED = ("tiny", "quiet", 2)
"""Seen in 1 of 20 measurements of a kernel of 4 µs (H200, quiet host) that `tests/recording.py` took in a row, and in
3 of 13 on another day: what Triton's launcher does on the host counts as hidden."""


def batches(recorded: dict[str, Any]) -> _Batches:
    """One side's batches as they were recorded."""
    return _Batches(
        side=None,  # type: ignore[arg-type]  # nothing is asked of it any more
        slots=[None] * recorded["slots"],  # type: ignore[list-item]
        means=recorded["means"],
        long_walls=recorded["long_walls"],
        pairs=[(short, long) for short, long in recorded["pairs"]],
    )


def accused(recorded: dict[str, Any]) -> bool:
    """Whether the gate would call the candidate suspicious."""
    ours, theirs = batches(recorded["candidate"]), batches(recorded["baseline"])
    return hides(Samples(candidate=ours.means, baseline=theirs.means, hidden_s=hidden_s(ours, theirs)))


def parameters() -> list[Any]:
    found = []
    for one in RECORDED:
        key = (one["name"], one["load"], one["turn"])
        marks = [pytest.mark.xfail(strict=True, reason="a false accusation")] if key == FALSELY_ACCUSED else []
        found.append(pytest.param(one, id=f"{one['name']}-{one['load']}-{one['turn']}", marks=marks))
    return found


@pytest.mark.parametrize("recorded", parameters())
def test_hidden_work_is_the_cheats_alone(recorded: dict[str, Any]) -> None:
    assert accused(recorded) is (recorded["name"] in CHEATS)


def test_both_kinds_and_both_loads_are_recorded() -> None:
    assert {(one["kind"], one["load"]) for one in RECORDED} >= {
        ("honest", "quiet"),
        ("honest", "loaded"),
        ("cheats", "quiet"),
    }
