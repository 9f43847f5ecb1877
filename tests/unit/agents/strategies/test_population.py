"""Where a job's accepted candidates are in its strategy's eyes."""

from __future__ import annotations

from dataclasses import replace

from agents.strategies.population import population
from services.domain.candidates import EvaluatedCandidate
from services.domain.evaluations import Verdict
from tests.doubles import a_candidate, a_report

LOOP = 'extern "C" void k(float* x) { for (int i = 0; i < 8; ++i) x[i] += 1; }'
THREADS = 'extern "C" void k(float* x) {\n#pragma omp parallel for\nfor (int i = 0; i < 8; ++i) x[i] += 1; }'


def judged(step: int, source: str, speedup: float, verdict: Verdict = Verdict.ACCEPTED) -> EvaluatedCandidate:
    report = a_report(verdict)
    if verdict is Verdict.ACCEPTED:
        report = replace(report, speedup=replace(report.speedup, best_baseline=speedup))
    candidate = replace(a_candidate(), id=f"cand-{step}", step=step, source=source)
    return EvaluatedCandidate(candidate=candidate, report=report)


def test_the_fastest_of_each_behaviour_is_its_elite_and_rejected_ones_have_no_place() -> None:
    entries = [
        judged(0, LOOP, 1.0),
        judged(1, LOOP, 2.0),
        judged(2, THREADS, 0.5),
        judged(3, THREADS, 9.0, Verdict.REJECTED),
    ]
    found = population("map_elites", entries)
    assert found.islands == 0
    assert [(one.candidate_id, one.parallelism, one.elite, one.island) for one in found.members] == [
        ("cand-0", "serial", False, None),
        ("cand-1", "serial", True, None),
        ("cand-2", "threads", True, None),
    ]


def test_steps_go_round_the_islands() -> None:
    found = population("islands", [judged(step, LOOP, 1.0 + step) for step in range(4)])
    assert found.islands == 3
    assert [one.island for one in found.members] == [0, 1, 2, 0]


def test_a_job_that_has_nothing_yet_has_an_empty_population() -> None:
    assert population("greedy", []).members == ()
