"""Values are a fold over the log: recomputable by hand, undone exactly, shared along provenance."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from services.domain.codec import dumps, loads
from services.domain.jobs import Stage
from services.domain.value_log import LogEntry, MergeEntry, OutcomeEntry, PriorEntry, RetractionEntry
from services.memory.values import ValueRules, Values, ValueScope, draft_reward, history, read, refine_reward
from tests.unit.services.memory.builders import SITE, outcome

EXACT = 1e-12
FAMILY_ONLY = ValueRules(levels=("family",), provenance_depth=0)


def test_the_rewards_are_those_of_the_paper() -> None:
    assert draft_reward(accepted=True) == 1.0
    assert draft_reward(accepted=False) == -1.0
    assert refine_reward(accepted=False, best_us=100.0, median_us=None) == -1.0
    assert refine_reward(accepted=True, best_us=100.0, median_us=50.0) == pytest.approx(math.tanh(math.log(2)))
    assert refine_reward(accepted=True, best_us=100.0, median_us=200.0) == pytest.approx(-math.tanh(math.log(2)))


def test_a_draft_value_moves_by_a_constant_step_towards_each_reward() -> None:
    values = read([outcome(1, "a"), outcome(2, "a", accepted=False), outcome(3, "a")], FAMILY_ONLY)
    by_hand = 0.0
    for reward in (1.0, -1.0, 1.0):
        by_hand += 0.15 * (reward - by_hand)
    estimate = values.estimates[Stage.DRAFT, "a", ValueScope(family="softmax")]
    assert estimate.value == pytest.approx(by_hand, abs=EXACT)
    assert estimate.visits == 3


def test_a_job_drafts_until_its_first_accepted_candidate_and_refines_after_it() -> None:
    values = Values()
    stages = []
    for entry in (
        outcome(1, "a", accepted=False, job="j"),
        outcome(2, "a", us=100.0, job="j"),
        outcome(3, "a", us=80.0, job="j"),
        outcome(4, "a", us=90.0, job="j"),
    ):
        applied = values.apply(entry)
        assert applied is not None
        stages.append((applied.stage, round(applied.reward, 6)))
    assert stages == [
        (Stage.DRAFT, -1.0),
        (Stage.DRAFT, 1.0),
        (Stage.REFINE, round(math.tanh(math.log(100 / 80)), 6)),
        (Stage.REFINE, round(math.tanh(math.log(80 / 90)), 6)),
    ]


def test_an_evaluation_that_is_logged_twice_counts_once() -> None:
    once = read([outcome(1, "a"), outcome(2, "b")])
    twice = read([outcome(1, "a"), outcome(1, "a"), outcome(2, "b"), outcome(1, "a")])
    assert twice.estimates == once.estimates
    assert twice.moments == once.moments


def test_a_family_estimate_is_shrunk_to_the_overall_one_while_its_count_is_small() -> None:
    rules = ValueRules(levels=("overall", "family"), prior_count=4.0)
    log = [outcome(n, "a", family="norm") for n in range(1, 11)] + [outcome(11, "a", accepted=False)]
    values = read(log, rules)
    overall = values.estimates[Stage.DRAFT, "a", ValueScope()].value
    own = values.estimates[Stage.DRAFT, "a", ValueScope(family="softmax")].value
    assert own == pytest.approx(-0.15)
    assert values.value(Stage.DRAFT, "a", "softmax") == pytest.approx(overall + (1 / 5) * (own - overall), abs=EXACT)
    assert values.value(Stage.DRAFT, "a", "scan") == overall


def test_a_value_learned_on_another_device_is_a_prior_and_not_a_fact() -> None:
    values = read([outcome(n, "a", site="h200/nvcc 13") for n in range(1, 9)] + [outcome(9, "a", accepted=False)])
    there = values.value(Stage.DRAFT, "a", "softmax", "h200/nvcc 13")
    here = values.value(Stage.DRAFT, "a", "softmax", SITE)
    unknown = values.value(Stage.DRAFT, "a", "softmax", "mi300/hip")
    assert here < unknown < there


def test_an_unvisited_experience_is_worth_the_running_mean_when_refining() -> None:
    log = [outcome(1, job="j"), *(outcome(n, "a", us=100.0 * 0.9**n, job="j") for n in range(2, 12))]
    values = read(log)
    mean = values.moment(Stage.REFINE, ValueScope(family="softmax")).mean
    assert mean > 0
    assert values.value(Stage.REFINE, "never used", "softmax") == pytest.approx(mean)
    assert values.normalised(Stage.REFINE, "never used", "softmax") == pytest.approx(0.0)


def test_storing_raw_refine_values_equals_normalising_and_rescaling_them() -> None:
    """PopArt by hand: values kept normalised, 0 before the first visit, rescaled whenever the moments move."""
    rng = random.Random(3)
    rules = ValueRules(levels=("family",), provenance_depth=0)
    values = Values(rules=rules)
    normalised: dict[str, float] = {}
    values.apply(outcome(1, job="j"))
    for seq in range(2, 200):
        name = rng.choice(["a", "b"])
        before = values.moment(Stage.REFINE, ValueScope(family="softmax"))
        mean, deviation = before.mean, before.deviation
        applied = values.apply(outcome(seq, name, us=rng.uniform(20, 300), accepted=rng.random() < 0.8, job="j"))
        assert applied is not None
        known = normalised.get(name, 0.0)
        normalised[name] = known + rules.alpha * ((applied.reward - mean) / deviation - known)
        after = values.moment(Stage.REFINE, ValueScope(family="softmax"))
        normalised = {key: (deviation * q + mean - after.mean) / after.deviation for key, q in normalised.items()}
    for name, value in normalised.items():
        key = (Stage.REFINE, name, ValueScope(family="softmax"))
        raw = values.moment(Stage.REFINE, ValueScope(family="softmax")).normalise(values.estimates[key].value)
        assert raw == pytest.approx(value, abs=1e-9)


def test_the_start_point_is_credited_beside_the_context() -> None:
    log = [outcome(1, job="j", made=("first",)), outcome(2, "a", us=50.0, job="j", start="first")]
    values = read(log)
    assert values.visits(Stage.REFINE, "first") == 1
    assert values.value(Stage.REFINE, "first", "softmax") == values.value(Stage.REFINE, "a", "softmax")


def test_credit_flows_back_along_provenance_and_fades_with_depth() -> None:
    log = [
        outcome(1, "root", made=("child",)),
        outcome(2, "child", made=("grandchild",)),
        outcome(3, "grandchild"),
    ]
    values = Values(rules=ValueRules(gamma=0.9, trace=0.5))
    values.apply(log[0])
    values.apply(log[1])
    applied = values.apply(log[2])
    assert applied is not None
    weights = {change.experience_id: change.weight for change in applied.changes}
    assert weights == {"grandchild": 1.0, "child": pytest.approx(0.45), "root": pytest.approx(0.45**2)}


def test_an_experience_reached_twice_is_credited_once_at_its_shortest_way() -> None:
    log = [outcome(1, "root", made=("a",)), outcome(2, "a", "root", made=("b",)), outcome(3, "b", "a")]
    changes = [change for change in history(log, "root") if change.seq == 3 and change.scope == ValueScope()]
    assert [change.weight for change in changes] == [pytest.approx(0.45)]


def a_random_log(seed: int, length: int = 150) -> list[LogEntry]:
    """Jobs of several steps that use, start from and make experiences."""
    rng = random.Random(seed)
    log: list[LogEntry] = []
    made: list[str] = ["seed-1", "seed-2", "seed-3"]
    for seq in range(1, length + 1):
        accepted = rng.random() < 0.6
        entry = outcome(
            seq,
            *rng.sample(made, min(3, len(made))),
            accepted=accepted,
            us=rng.uniform(10, 200),
            job=f"job-{seq // 6}",
            family=rng.choice(["softmax", "norm"]),
            site=rng.choice([SITE, "h200/nvcc"]),
            start=rng.choice(made),
            made=(f"exp-{seq}",) if rng.random() < 0.5 else (),
        )
        made += entry.made
        log.append(entry)
    return log


def without(log: list[LogEntry], evaluation: str) -> list[LogEntry]:
    """The log as it would have been: neither the evaluation nor the experiences it made ever existed."""
    gone = {name for e in log if isinstance(e, OutcomeEntry) and e.evaluation_id == evaluation for name in e.made}
    kept: list[LogEntry] = []
    for entry in log:
        assert isinstance(entry, OutcomeEntry)
        if entry.evaluation_id == evaluation:
            continue
        document = dumps(entry)
        clean = loads(OutcomeEntry, document)
        kept.append(
            OutcomeEntry(
                **{
                    **clean.__dict__,
                    "context": tuple(item for item in clean.context if item.experience_id not in gone),
                    "start_point": None if clean.start_point in gone else clean.start_point,
                }
            )
        )
    return kept


@pytest.mark.parametrize("seed", range(5))
def test_a_retraction_returns_every_value_to_what_it_would_have_been(seed: int) -> None:
    log = a_random_log(seed)
    cheat = next(entry for entry in log if isinstance(entry, OutcomeEntry) and entry.made and entry.seq > 20)
    assert isinstance(cheat, OutcomeEntry)
    retraction = RetractionEntry(seq=len(log) + 1, evaluation_id=cheat.evaluation_id, reason="cheats", actor="ana")
    undone, never = read([*log, retraction]), read(without(log, cheat.evaluation_id))
    assert undone.estimates == never.estimates
    assert undone.moments == never.moments
    assert undone.estimates != read(log).estimates
    assert not [key for key in undone.estimates if key[1] in cheat.made]


def test_a_cheats_latency_stops_counting_as_the_jobs_best() -> None:
    log: list[LogEntry] = [
        outcome(1, "a", us=100.0, job="j"),
        outcome(2, "b", us=1.0, job="j"),
        outcome(3, "c", us=50.0, job="j"),
    ]
    assert history(log, "c")[0].reward == pytest.approx(-math.tanh(math.log(50)))
    retraction = RetractionEntry(seq=4, evaluation_id="eval-2", reason="cheats", actor="ana")
    assert history([*log, retraction], "c")[0].reward == pytest.approx(math.tanh(math.log(2)))


def test_a_job_whose_only_accepted_candidate_is_retracted_was_drafting_all_along() -> None:
    log = [outcome(1, "a", job="j"), outcome(2, "b", us=50.0, job="j")]
    values = read([*log, RetractionEntry(seq=3, evaluation_id="eval-1", reason="cheats", actor="ana")])
    assert {stage for stage, _, _ in values.estimates} == {Stage.DRAFT}
    assert values.value(Stage.DRAFT, "b", "softmax") > 0


def test_merged_experiences_have_the_history_of_both() -> None:
    log = [outcome(1, "a"), outcome(2, "b"), outcome(3, "a", "b", accepted=False)]
    merged = read([*log, MergeEntry(seq=4, kept="a", absorbed="b")])
    as_one = read([outcome(1, "a"), outcome(2, "a"), outcome(3, "a", accepted=False)])
    assert merged.estimates == as_one.estimates


def test_a_merge_into_a_retracted_experience_is_void() -> None:
    log = [outcome(1, "x", made=("cheat",)), outcome(2, "b")]
    rest: list[LogEntry] = [
        MergeEntry(seq=3, kept="cheat", absorbed="b"),
        RetractionEntry(seq=4, evaluation_id="eval-1", reason="cheats", actor="ana"),
    ]
    assert read([*log, *rest]).value(Stage.DRAFT, "b", "softmax") > 0


def test_merges_in_a_circle_leave_one_survivor() -> None:
    log: list[LogEntry] = [outcome(1, "a"), outcome(2, "b"), MergeEntry(seq=3, kept="a", absorbed="b")]
    values = read([*log, MergeEntry(seq=4, kept="b", absorbed="a")])
    assert {name for _, name, _ in values.estimates} == {"a"}


def test_an_imported_value_is_where_learning_starts() -> None:
    prior = PriorEntry(seq=1, experience_id="a", stage=Stage.DRAFT, value=0.8, visits=1000.0, source="team b")
    values = read([prior])
    assert values.value(Stage.DRAFT, "a", "softmax") == 0.8
    assert values.visits(Stage.DRAFT, "a") == 1000
    failures = [outcome(seq, "a", accepted=False) for seq in range(2, 40)]
    assert read([prior, *failures]).value(Stage.DRAFT, "a", "softmax") < -0.9


def test_an_import_does_not_overwrite_what_was_learned_here() -> None:
    prior = PriorEntry(seq=2, experience_id="a", stage=Stage.DRAFT, value=-1.0, visits=1000.0, source="team b")
    assert read([outcome(1, "a"), prior]).estimates == read([outcome(1, "a")]).estimates


def test_the_value_history_explains_the_value() -> None:
    log = a_random_log(1)
    values = read(log)
    changes = [c for c in history(log, "seed-1") if c.stage is Stage.DRAFT and c.scope == ValueScope()]
    assert changes[0].before == 0.0
    assert all(a.after == b.before for a, b in itertools.pairwise(changes))
    assert all(c.after == c.before + 0.15 * c.weight * (c.reward - c.before) for c in changes)
    assert changes[-1].after == values.estimates[Stage.DRAFT, "seed-1", ValueScope()].value
