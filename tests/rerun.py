"""Runs pytest, then every test that failed once more: alone, in a fresh process, after all others have finished.

`python -m tests.rerun [pytest's arguments]`. A test that passes the second time was disturbed or depends on chance: it
is listed with its first failure, and does not fail the run. A test that does not pass alone fails it, and so do more
than a few that failed once.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

MOST_FLAKY = 5
"""A run with more tests that fail once fails: they are defects by then, not bad luck."""
MOST_RERUNS = 10
"""More failures than these are no accident, and running each alone would take hours."""
MOST_EXPENSIVE = 30
"""Files whose costs are listed."""
DESIGNS = ("tests/adversary/test_designs.py", "tests/integrity/test_candidates.py")
"""Tests of kernels before the referee, whose verdicts may depend on chance."""

Rerun = Callable[[str], bool]
"""Runs the test with a node id once more, and says whether it passed."""


@dataclass(eq=False)  # pytest keeps plugins in sets
class Recorder:
    """A pytest plugin that keeps what failed, with its report, why tests were skipped, and what each tier cost."""

    failures: dict[str, str] = field(default_factory=dict)
    """The text of the first failure, by node id."""
    skips: Counter[str] = field(default_factory=Counter)
    """How many tests were skipped, by reason."""
    tests: Counter[str] = field(default_factory=Counter)
    """How many tests ran, by file."""
    cpu_s: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """What these and the programs they waited for computed, in seconds of user and system time, by file."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failures.setdefault(report.nodeid, report.longreprtext)
            sys.stdout.write(f"\nfailed so far: {report.nodeid}\n")  # a run that is cut off has said so
        elif report.skipped and isinstance(report.longrepr, tuple):
            self.skips[report.longrepr[2].removeprefix("Skipped: ")] += 1
        if report.when == "teardown":
            file = report.nodeid.partition("::")[0]
            self.tests[file] += 1
            self.cpu_s[file] += sum(float(str(value)) for name, value in report.user_properties if name == "cpu_s")


def tier_of(file: str) -> str:
    """The folder of a file under tests/; the file itself where it lies in none."""
    folders = file.split("/")
    return folders[1] if len(folders) > 2 else folders[-1]


@dataclass(frozen=True)
class Outcome:
    """What became of the tests that failed at first, by node id."""

    flaky: tuple[str, ...] = ()
    by_chance: tuple[str, ...] = ()
    """Designs, cheats and honest kernels, that were judged right the second time."""
    failed: tuple[str, ...] = ()
    not_rerun: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return not self.failed and not self.not_rerun and len(self.flaky) + len(self.by_chance) <= MOST_FLAKY


def rerun_all(failures: Sequence[str], rerun: Rerun) -> Outcome:
    """Run what failed once more, and sort it by what came of that."""
    if len(failures) > MOST_RERUNS:
        return Outcome(not_rerun=tuple(failures))
    passed = [test for test in failures if rerun(test)]
    return Outcome(
        flaky=tuple(test for test in passed if not test.startswith(DESIGNS)),
        by_chance=tuple(test for test in passed if test.startswith(DESIGNS)),
        failed=tuple(test for test in failures if test not in passed),
    )


def summary(outcome: Outcome, recorder: Recorder) -> str:
    """The end of the log: the first failure, in full, of each test that passed alone; the others; the counts."""
    lines = costs(recorder)
    for heading, tests in (
        ("flaky: failed in the run, passed alone", outcome.flaky),
        ("depends on chance: judged wrongly in the run, rightly alone", outcome.by_chance),
    ):
        for test in tests:
            lines += [f"==== {heading}: {test}", recorder.failures[test]]
    lines += [f"not run again, because more than {MOST_RERUNS} failed: {test}" for test in outcome.not_rerun]
    lines += [f"failed, and did not pass alone: {test}" for test in outcome.failed]
    lines += [f"skipped: {count:4}  {reason}" for reason, count in recorder.skips.most_common()]
    lines.append(
        f"{'passed' if outcome.passed else 'FAILED'}: {len(outcome.failed) + len(outcome.not_rerun)} failed, "
        f"{len(outcome.flaky)} flaky, {len(outcome.by_chance)} by chance (at most {MOST_FLAKY} of both), "
        f"{recorder.skips.total()} skipped"
    )
    return "\n".join(lines)


def costs(recorder: Recorder) -> list[str]:
    """What each tier cost, and each of the most expensive files."""
    tests: Counter[str] = Counter()
    cpu_s: dict[str, float] = defaultdict(float)
    for file, count in recorder.tests.items():
        tests[tier_of(file)] += count
        cpu_s[tier_of(file)] += recorder.cpu_s[file]
    expensive = sorted(recorder.tests, key=lambda file: -recorder.cpu_s[file])[:MOST_EXPENSIVE]
    return [
        *(f"tier:    {count:5} tests {cpu_s[tier]:7.0f} s of CPU  {tier}" for tier, count in sorted(tests.items())),
        *(
            f"file:    {recorder.tests[file]:5} tests {recorder.cpu_s[file]:7.0f} s of CPU  {file}"
            for file in expensive
        ),
    ]


def alone(test: str) -> bool:
    """Run one test in a process of its own, and say whether it passed: one that is skipped there did not."""
    sys.stdout.write(f"\n==== once more, alone: {test}\n")
    sys.stdout.flush()
    ran = subprocess.run([sys.executable, "-m", "pytest", test], stdout=subprocess.PIPE, text=True, check=False)
    sys.stdout.write(ran.stdout)
    return ran.returncode == 0 and " 1 passed" in ran.stdout


def main(arguments: Sequence[str]) -> int:
    """Run the suite; the exit code is pytest's, 0 where everything passed at last."""
    recorder = Recorder()
    code = int(pytest.main([*arguments, "--durations=40"], plugins=[recorder]))
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) or bool(code) != bool(recorder.failures):
        return code or int(pytest.ExitCode.TESTS_FAILED)  # interrupted, a wrong argument, a plugin's own failure
    outcome = rerun_all(tuple(recorder.failures), alone)
    sys.stdout.write(f"\n{summary(outcome, recorder)}\n")
    return int(pytest.ExitCode.OK if outcome.passed else pytest.ExitCode.TESTS_FAILED)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
