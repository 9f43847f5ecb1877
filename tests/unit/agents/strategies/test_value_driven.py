"""Where value-driven search starts from."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from agents.strategies.value_driven import ValueDriven
from services.domain.chat import AttemptFact
from services.domain.evaluations import Verdict
from services.domain.experiences import StartValues
from services.domain.jobs import Stage
from services.domain.measurements import Baselines
from services.memory.selection import EpsilonSchedule
from services.ports.search import SearchState
from tests.doubles import a_report

NEVER = EpsilonSchedule(start=0.0)


def attempt(step: int, verdict: Verdict = Verdict.ACCEPTED, median_us: float = 100.0) -> AttemptFact:
    return AttemptFact(
        step=step,
        stage=Stage.REFINE,
        candidate_id=f"cand-{step}",
        parent_id=None,
        plan=None,
        source="class ModelNew: ...",
        report=a_report(verdict, median_us=median_us),
        failure=None,
        critique=None,
    )


ATTEMPTS = (
    attempt(0, median_us=100.0),
    attempt(1, Verdict.REJECTED),
    attempt(2, median_us=60.0),
    attempt(3, Verdict.SUSPICIOUS, median_us=1.0),
    attempt(4, median_us=80.0),
)


def state(
    values: dict[str, float] | None, *, attempts: tuple[AttemptFact, ...] = ATTEMPTS, seed: int = 0
) -> SearchState:
    return SearchState(
        attempts=attempts,
        best_candidate_id="cand-2",
        baselines=Baselines(),
        floor_us=10.0,
        seed=seed,
        start_values=None if values is None else StartValues(values=values),
    )


def chosen(strategy: ValueDriven, known: SearchState) -> str | None:
    start = strategy.start_point(known)
    return None if start is None else start.candidate_id


def test_a_slower_candidate_is_refined_where_it_promises_more_than_it_lacks() -> None:
    """From 80 µs a gain of atanh 0.6 (to 40 µs) beats one of atanh 0.1 from 60 µs (to 54 µs); 0.4 from 100 µs not."""
    values = {"cand-0": 0.4, "cand-2": 0.1, "cand-4": 0.6, "cand-3": 0.9}
    assert chosen(ValueDriven(exploration=NEVER), state(values)) == "cand-4"


def test_an_early_easy_gain_does_not_hold_the_search_at_a_slow_candidate() -> None:
    values = {"cand-0": 0.4, "cand-2": 0.05, "cand-4": 0.05}
    assert chosen(ValueDriven(exploration=NEVER), state(values)) == "cand-2"
    assert chosen(ValueDriven(exploration=NEVER, rebased=False), state(values)) == "cand-0", "the paper's rule"


def test_one_failed_attempt_does_not_drive_the_search_from_the_fastest_candidate() -> None:
    values = {"cand-0": 0.0, "cand-2": -0.15, "cand-4": 0.0}
    near = (attempt(0), attempt(2, median_us=60.0), attempt(4, median_us=63.0))
    assert chosen(ValueDriven(exploration=NEVER), state(values, attempts=near)) == "cand-2"
    assert chosen(ValueDriven(exploration=NEVER, margin=0.0), state(values, attempts=near)) == "cand-4"


def test_values_at_the_ends_of_their_range_can_be_compared() -> None:
    values = {"cand-0": 1.0, "cand-2": -1.0, "cand-4": -1.0}
    assert chosen(ValueDriven(exploration=NEVER), state(values)) == "cand-0"


def test_exploration_leans_to_the_better_start_points() -> None:
    always = ValueDriven(exploration=EpsilonSchedule(start=10.0))
    seen = Counter(
        chosen(always, state(dict.fromkeys(("cand-0", "cand-2", "cand-4"), 0.0), seed=n)) for n in range(400)
    )
    assert seen["cand-2"] > 1.5 * seen["cand-4"] > 1.5 * seen["cand-0"] > 0


def test_equal_values_go_to_the_faster_candidate() -> None:
    assert chosen(ValueDriven(exploration=NEVER), state(dict.fromkeys(("cand-0", "cand-2", "cand-4"), 0.0))) == "cand-2"


def test_without_memory_it_is_greedy() -> None:
    assert chosen(ValueDriven(), state(None)) == "cand-2"


def test_exploration_reaches_every_accepted_candidate_and_no_other() -> None:
    always = ValueDriven(exploration=EpsilonSchedule(start=1.0))
    values = {"cand-0": 1.0, "cand-2": 0.0, "cand-4": 0.0}
    seen = Counter(chosen(always, state(values, seed=seed)) for seed in range(200))
    assert set(seen) == {"cand-0", "cand-2", "cand-4"}
    assert chosen(always, state(values, seed=7)) == chosen(always, state(values, seed=7))


def test_a_failed_draft_is_repaired_as_by_greedy() -> None:
    known = replace(state({}, attempts=(attempt(0, Verdict.REJECTED),)), best_candidate_id=None)
    assert chosen(ValueDriven(), known) == "cand-0"
