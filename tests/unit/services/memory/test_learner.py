"""A learner is a fold of the log: the same log gives the same choices in every process."""

from __future__ import annotations

import pytest

from benchmarks.selection_rules import EpsilonGreedy
from services.domain.jobs import Stage
from services.domain.value_log import LogEntry, RetractionEntry
from services.memory.learner import Learner
from tests.unit.services.memory.builders import SITE, outcome

NEAREST = [(f"item-{n}", 0.9 - 0.01 * n) for n in range(12)]


def a_log(length: int = 100) -> list[LogEntry]:
    return [
        outcome(
            seq,
            f"item-{seq % 12}",
            f"item-{(seq * 5 + 1) % 12}",
            accepted=seq % 3 == 0,
            family="softmax" if seq % 2 else "norm",
            made=(f"made-{seq}",),
        )
        for seq in range(1, length + 1)
    ]


def choices(learner: Learner) -> list[tuple[str, ...]]:
    return [learner.choose(Stage.DRAFT, "softmax", SITE, NEAREST, 4, seed) for seed in range(5)]


def test_the_same_log_gives_the_same_choices_whether_read_at_once_or_in_pieces() -> None:
    log = a_log()
    at_once, in_pieces = Learner(), Learner()
    at_once.rebuild(log)
    for start in range(0, len(log), 7):
        assert in_pieces.extend(log[start : start + 7])
    assert choices(at_once) == choices(in_pieces)
    assert at_once.values.estimates == in_pieces.values.estimates


def test_choices_differ_between_seeds_while_nothing_is_known() -> None:
    assert len(set(choices(Learner()))) > 1


def test_entries_that_were_taken_in_before_change_nothing() -> None:
    learner = Learner()
    learner.extend(a_log(20))
    before = dict(learner.values.estimates)
    learner.extend(a_log(20))
    assert learner.values.estimates == before
    assert (learner.last_seq, learner.outcomes) == (20, 20)


def test_a_gap_in_the_log_is_an_error() -> None:
    learner = Learner()
    with pytest.raises(ValueError, match="entry 3 follows 1"):
        learner.extend([outcome(1, "a"), outcome(3, "a")])


def test_a_retraction_needs_the_complete_log() -> None:
    log = a_log(20)
    learner = Learner()
    learner.extend(log)
    retraction = RetractionEntry(seq=21, evaluation_id="eval-3", reason="cheats", actor="ana")
    assert not learner.extend([retraction])
    assert learner.last_seq == 20
    learner.rebuild([*log, retraction])
    assert (learner.last_seq, learner.outcomes) == (21, 19)
    trials = learner.request(Stage.DRAFT, "softmax", SITE, NEAREST, 4).trials
    assert "job-3" not in {trial.job_id for trial in trials}


def test_a_request_holds_the_familys_trials_and_the_others_evidence() -> None:
    learner = Learner(digest_every=4)
    learner.rebuild(a_log(40))
    request = learner.request(Stage.DRAFT, "softmax", SITE, NEAREST[:3], 2)
    assert len(request.trials) == 20
    assert len(request.others) == 1
    assert request.own.helpful.keys() <= {name for trial in request.trials for name in trial.items}
    assert [item.experience_id for item in request.pool] == ["item-0", "item-1", "item-2"]


def test_a_holdout_step_moves_the_jobs_state_and_credits_nobody() -> None:
    learner = Learner()
    learner.rebuild([outcome(1, job="j", holdout=True), outcome(2, "a", us=50.0, job="j")])
    assert learner.values.visits(Stage.REFINE, "a") == 1
    assert learner.request(Stage.DRAFT, "softmax", SITE, (), 2).trials == ()


def test_trials_are_kept_within_a_window() -> None:
    learner = Learner(window=10, rule=EpsilonGreedy())
    learner.rebuild(a_log(100))
    assert len(learner.request(Stage.DRAFT, "norm", SITE, (), 2).trials) == 10


def test_an_empty_pool_gives_nothing() -> None:
    assert Learner().choose(Stage.REFINE, "softmax", SITE, [], 4, 0) == ()
