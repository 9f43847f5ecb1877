"""What becomes of tests that fail, once or twice."""

from __future__ import annotations

import pytest

from tests.rerun import MOST_FLAKY, MOST_RERUNS, Outcome, Recorder, rerun_all, summary

TEST = "tests/unit/test_a.py::test_a"
DESIGN = "tests/adversary/test_designs.py::test_a_cheat_gains_nothing[family/cheat]"


def test_what_passes_alone_is_flaky_and_fails_nothing() -> None:
    outcome = rerun_all([TEST, DESIGN], lambda _: True)
    assert outcome == Outcome(flaky=(TEST,), by_chance=(DESIGN,))
    assert outcome.passed


@pytest.mark.parametrize("test", [TEST, DESIGN])
def test_what_fails_twice_fails_the_run(test: str) -> None:
    outcome = rerun_all([test], lambda _: False)
    assert outcome == Outcome(failed=(test,))
    assert not outcome.passed


@pytest.mark.parametrize(("count", "passes"), [(MOST_FLAKY, True), (MOST_FLAKY + 1, False)])
def test_many_flaky_tests_fail_the_run(count: int, passes: bool) -> None:
    assert rerun_all([f"{TEST}[{number}]" for number in range(count)], lambda _: True).passed is passes


def test_a_broken_suite_is_not_run_again() -> None:
    tests = tuple(f"{TEST}[{number}]" for number in range(MOST_RERUNS + 1))
    outcome = rerun_all(tests, lambda _: pytest.fail("it was run again"))
    assert outcome == Outcome(not_rerun=tests)
    assert not outcome.passed


def test_the_summary_has_each_first_failure_in_full_the_costs_and_the_skips() -> None:
    recorder = Recorder(failures={TEST: "E   assert 1 == 2", DESIGN: "accepted at 0.26x"})
    recorder.skips.update(["no Docker"] * 2 + ["no GPU"])
    for file, tests, cpu_s in (("tests/unit/test_a.py", 3, 2.4), ("tests/unit/deep/test_b.py", 4, 10.0)):
        recorder.tests[file], recorder.cpu_s[file] = tests, cpu_s
    lines = summary(Outcome(flaky=(TEST,), by_chance=(DESIGN,)), recorder).splitlines()
    assert lines == [
        "tier:        7 tests      12 s of CPU  unit",
        "file:        4 tests      10 s of CPU  tests/unit/deep/test_b.py",
        "file:        3 tests       2 s of CPU  tests/unit/test_a.py",
        f"==== flaky: failed in the run, passed alone: {TEST}",
        "E   assert 1 == 2",
        f"==== depends on chance: judged wrongly in the run, rightly alone: {DESIGN}",
        "accepted at 0.26x",
        "skipped:    2  no Docker",
        "skipped:    1  no GPU",
        "passed: 0 failed, 1 flaky, 1 by chance (at most 5 of both), 3 skipped",
    ]
