"""A learner from a snapshot is the learner that read the whole log, to the last bit."""

from __future__ import annotations

import random

import numpy as np
import pytest

from benchmarks.selection_rules import EpsilonGreedy
from services.domain.jobs import Stage
from services.domain.value_log import LogEntry, MergeEntry, OutcomeEntry, PriorEntry, RetractionEntry
from services.memory.joint import JointPosterior
from services.memory.learner import Learner
from services.memory.snapshot import SnapshotError, dump, fingerprint, load
from services.memory.values import ValueRules
from tests.unit.services.memory.builders import SITE, outcome

NEAREST = [(f"item-{n}", 0.9 - 0.01 * n) for n in range(20)]
FAMILIES = ("softmax", "norm")


def a_log(count: int, first: int = 1) -> list[OutcomeEntry]:
    """Jobs of five steps with provenance: each accepted candidate is used by later steps."""
    draw = random.Random(first)
    entries: list[OutcomeEntry] = []
    made: list[str] = []
    for seq in range(first, first + count):
        used = [f"item-{n}" for n in draw.sample(range(20), 3)] + draw.sample(made[-9:], min(1, len(made)))
        accepted = draw.random() < 0.5
        names = (f"made-{seq}",) if accepted else ()
        start = made[-1] if made and draw.random() < 0.5 else None
        entries.append(
            outcome(
                seq, *used, accepted=accepted, us=draw.uniform(10, 90), job=f"job-{seq // 5}",
                family=FAMILIES[seq // 5 % 2], start=start, made=names,
            )
        )  # fmt: skip
        made += names
    return entries


def folded(count: int = 300) -> Learner:
    learner = Learner()
    learner.rebuild([PriorEntry(seq=1, experience_id="item-3", stage=Stage.DRAFT, value=0.5, visits=9, source="x")])
    learner.extend(a_log(count, 2))
    return learner


def again(learner: Learner) -> Learner:
    other = Learner()
    load(other, dump(learner))
    return other


def all_values(learner: Learner) -> list[float]:
    names = [name for name, _ in NEAREST] + [f"made-{seq}" for seq in range(500)]
    return [
        learner.values.value(stage, name, family, site)
        for stage in Stage for name in names for family in (*FAMILIES, "other") for site in (SITE, "elsewhere")
    ]  # fmt: skip


def choices(learner: Learner) -> list[tuple[str, ...]]:
    return [
        learner.choose(stage, family, SITE, NEAREST, 4, seed) for stage in Stage for family in FAMILIES
        for seed in range(5)
    ]  # fmt: skip


def test_values_choices_and_provenance_are_those_of_the_fold() -> None:
    learner = folded()
    other = again(learner)
    assert all_values(other) == all_values(learner)
    assert choices(other) == choices(learner)
    assert (other.last_seq, other.outcomes) == (learner.last_seq, learner.outcomes)
    parents = {name: learner.children(name) for name in learner.values.children}
    assert parents
    assert {name: other.children(name) for name in parents} == parents


def test_what_is_learned_afterwards_is_learned_alike() -> None:
    learner, more = folded(), a_log(100, 302)
    other = again(learner)
    assert learner.extend(more)
    assert other.extend(more)
    assert all_values(other) == all_values(learner)
    assert choices(other) == choices(learner)
    third = again(again(other))
    assert all_values(third) == all_values(learner)
    assert not other.extend([outcome(other.last_seq)]) or other.outcomes == learner.outcomes, "an old one counts once"


def test_retractions_and_merges_before_the_snapshot_stay_in_force() -> None:
    log = a_log(60)
    cheat = next(entry for entry in log if entry.made)
    amended: list[LogEntry] = [
        *log,
        RetractionEntry(seq=61, evaluation_id=cheat.evaluation_id, reason="cheats", actor="ada"),
        MergeEntry(seq=62, kept="item-1", absorbed="item-2"),
    ]
    learner = Learner()
    learner.rebuild(amended)
    other = again(learner)
    late = outcome(63, "item-2", cheat.made[0], job="late")
    assert learner.extend([late])
    assert other.extend([late])
    assert all_values(other) == all_values(learner)
    assert other.values.visits(Stage.DRAFT, cheat.made[0]) == 0


@pytest.mark.parametrize(
    "other",
    [
        Learner(rule=EpsilonGreedy()),
        Learner(rule=JointPosterior(draws=0)),
        Learner(rules=ValueRules(alpha=0.2)),
        Learner(window=64),
    ],
    ids=["rule", "parameter", "step", "window"],
)
def test_a_snapshot_of_other_rules_is_refused(other: Learner) -> None:
    assert fingerprint(other) != fingerprint(Learner())
    with pytest.raises(SnapshotError, match="other rules"):
        load(other, dump(folded(20)))
    assert other.last_seq == 0


def test_bytes_that_are_no_snapshot_are_refused_and_change_nothing() -> None:
    content = dump(folded(20))
    evil = np.array([{"a": 1}], dtype=object)
    for bad in (b"", b"no", content[: len(content) // 2], content.replace(b'"last_seq"', b'"last_xxx"'), pickled(evil)):
        learner = Learner()
        with pytest.raises(SnapshotError):
            load(learner, bad)
        assert learner.last_seq == 0


def pickled(array: np.ndarray[tuple[int], np.dtype[np.object_]]) -> bytes:
    import io

    file = io.BytesIO()
    np.savez(file, meta=array)
    return file.getvalue()
