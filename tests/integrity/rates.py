"""Prints how many cheats pass and how many honest kernels do not: `python -m tests.integrity.rates [docker]`."""

from __future__ import annotations

import sys
import time
from collections import Counter

from services.domain.evaluations import EvaluationReport, Verdict
from tests.contracts.sandboxes import docker_sandbox
from tests.integrity.conftest import an_evaluator
from tests.integrity.test_candidates import Declared, all_declared, explain, judge
from workers.evaluation.evaluator import Evaluator


def main() -> int:
    """Judge the whole corpus; 1 when a cheat is accepted, an honest kernel rejected, or fewer than 95 % accepted."""
    started = time.monotonic()
    with an_evaluator(docker_sandbox() if "docker" in sys.argv[1:] else None) as evaluator:
        cheats = _verdicts(evaluator, all_declared("cheats"), Verdict.REJECTED)
        honest = _verdicts(evaluator, all_declared("honest"), Verdict.ACCEPTED)
    _say(f"cheats: {cheats.total()}, accepted {cheats[Verdict.ACCEPTED]}, {_counts(cheats)}")
    _say(f"honest: {honest.total()}, accepted {honest[Verdict.ACCEPTED] / honest.total():.1%}, {_counts(honest)}")
    _say(f"{time.monotonic() - started:.0f} s")
    wrong = cheats[Verdict.ACCEPTED] or honest[Verdict.REJECTED]
    return 1 if wrong or honest[Verdict.ACCEPTED] < 0.95 * honest.total() else 0


def _verdicts(evaluator: Evaluator, candidates: list[Declared], wanted: Verdict) -> Counter[Verdict]:
    found: Counter[Verdict] = Counter()
    for one in candidates:
        report: EvaluationReport = judge(evaluator, one)
        found[report.verdict] += 1
        if report.verdict is not wanted:
            sys.stderr.write(f"{one.name}: {report.verdict}\n{explain(report)}\n")
    return found


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _counts(found: Counter[Verdict]) -> str:
    return ", ".join(f"{verdict.value} {count}" for verdict, count in sorted(found.items()))


if __name__ == "__main__":
    sys.exit(main())
