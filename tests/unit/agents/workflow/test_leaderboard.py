"""Which candidate leads, and when leaders are measured again."""

from __future__ import annotations

from dataclasses import replace

from agents.workflow.leaderboard import kept_rounds, leader, least_profiled_speedup, next_move, searched, unconfirmed
from services.domain.chat import AttemptFact
from services.domain.evaluations import Verdict
from services.domain.jobs import JobSpec
from services.domain.problems import Problem
from tests.doubles import a_report
from tests.doubles.builders import a_latency
from tests.unit.agents.some_facts import an_attempt


def at(step: int, median_us: float) -> AttemptFact:
    return an_attempt(step, a_report(median_us=median_us))


def again(step: int, of: AttemptFact, median_us: float | None) -> AttemptFact:
    report = a_report(Verdict.REJECTED) if median_us is None else a_report(median_us=median_us)
    return replace(an_attempt(step, report, parent=of.step), confirms=of.candidate_id)


def test_before_anything_is_measured_again_the_fastest_leads() -> None:
    slow, fast = at(0, 100.0), at(1, 90.0)
    assert leader((slow, fast, an_attempt(2, a_report(Verdict.REJECTED)))) == fast


def test_a_kernel_that_met_a_slow_minute_is_not_slower_for_it() -> None:
    usual = at(0, 90.0)
    better = an_attempt(1, replace(a_report(median_us=80.0), latency=a_latency(120.0)))
    assert leader((usual, better)) == better


def test_second_measurements_compete_among_themselves() -> None:
    lucky, steady = at(0, 70.0), at(1, 80.0)
    first, second = again(2, lucky, 95.0), again(3, steady, 82.0)
    assert leader((lucky, steady, first)) == first
    assert leader((lucky, steady, first, second)) == second


def test_what_would_lead_with_its_first_figure_is_measured_next() -> None:
    lucky, steady, slow = at(0, 70.0), at(1, 80.0), at(2, 99.0)
    attempts: tuple[AttemptFact, ...] = (lucky, steady, slow)
    assert unconfirmed(attempts) == lucky
    attempts += (again(3, lucky, 95.0),)
    assert unconfirmed(attempts) == steady
    attempts += (again(4, steady, 82.0),)
    assert unconfirmed(attempts) is None


def test_a_kernel_that_fails_the_second_time_does_not_lead() -> None:
    broken, sound = at(0, 70.0), at(1, 80.0)
    attempts = (broken, sound, again(2, broken, None))
    assert leader(attempts) == sound
    assert unconfirmed(attempts) == sound


def test_a_second_measurement_that_never_took_place_says_nothing() -> None:
    first = at(0, 70.0)
    assert leader((first, replace(an_attempt(1, failure="budget spent"), confirms=first.candidate_id))) == first


def test_the_last_rounds_of_a_budget_are_kept_for_second_measurements() -> None:
    assert [kept_rounds(rounds, 2) for rounds in (1, 3, 4, 7, 8, 100)] == [0, 0, 1, 1, 2, 2]
    attempts = tuple(at(step, 100.0 - step) for step in range(7))
    assert next_move(attempts, 10, None, 2) == (None, None)
    assert next_move((*attempts, at(7, 50.0)), 10, None, 0) == (None, None)
    attempts += (at(7, 50.0),)
    assert next_move(attempts, 10, None, 2) == (attempts[7], None)
    attempts += (again(8, attempts[7], 51.0),)
    assert next_move(attempts, 10, None, 2) == (None, "the best kernel of 8 rounds was measured again")


def test_a_strategy_that_stops_early_leaves_time_for_the_leaders_and_keeps_its_reason() -> None:
    attempts: tuple[AttemptFact, ...] = (at(0, 70.0), at(1, 80.0), at(2, 90.0))
    assert next_move(attempts, 10, "no gain", 2) == (attempts[0], None)
    attempts += (again(3, attempts[0], 85.0),)
    assert next_move(attempts, 10, "no gain", 2) == (attempts[1], None)
    attempts += (again(4, attempts[1], 81.0),)
    assert next_move(attempts, 10, "no gain", 2) == (None, "no gain")


def test_while_nothing_is_accepted_every_round_is_a_try() -> None:
    attempts = tuple(an_attempt(step, a_report(Verdict.REJECTED)) for step in range(9))
    assert next_move(attempts, 10, None, 2) == (None, None)
    assert next_move((*attempts, attempts[-1]), 10, None, 2) == (None, "all 10 rounds are used")
    assert next_move(attempts[:1], 1, None, 2) == (None, "the only round is used")


def test_the_search_is_over_what_came_before_the_first_second_measurement() -> None:
    first = at(0, 70.0)
    assert searched((first, again(1, first, 71.0))) == (first,)


def test_what_is_nearly_as_fast_as_the_leader_is_worth_a_profile() -> None:
    lead = at(0, 70.0)
    report = lead.report
    assert report is not None
    assert report.speedup.best_baseline is not None
    spec = JobSpec(problem=Problem(name="p", source="", path="p.py"))
    assert least_profiled_speedup((lead, at(1, 90.0)), spec) == 0.9 * report.speedup.best_baseline
    assert least_profiled_speedup((), spec) is None
    assert least_profiled_speedup((lead,), replace(spec, beam=2)) is None
