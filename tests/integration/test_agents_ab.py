"""The mechanics of matched experiments with agents, by scripted model and referee: no claim about models."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from benchmarks.ab.arms import ARMS
from benchmarks.ab.figures import JobFigures
from benchmarks.ab.folder_model import FolderModel
from benchmarks.ab.statistics import compare
from benchmarks.agents_ab import Experiment, main, read, run, table
from kernelwright.settings import Settings
from services.domain.chat import AgentRole, ChatMessage, ChatRequest
from services.domain.errors import ModelError
from services.domain.usage import Usage
from services.runtime.clock import SystemClock
from tests.doubles import FakeQueue, ScriptedModel, a_problem, a_report, agreeable_answers
from tests.unit.agents.some_facts import some_facts

pytestmark = pytest.mark.integration

MEDIANS = [180.0, 150.0, 100.0, 120.0]


class PricedModel(ScriptedModel):
    """Costs something, as chat models do."""

    def ceiling(self, request: ChatRequest) -> Usage:
        return Usage(calls=1, input_tokens=200, output_tokens=request.max_output_tokens)


def a_request(text: str = "write it") -> ChatRequest:
    return ChatRequest(
        key="k",
        role=AgentRole.CODER,
        messages=(ChatMessage(role="user", content=text),),
        schema_name="CoderReply",
        schema={},
        facts=some_facts(),
    )


def answers(request: ChatRequest) -> str:
    if request.schema_name == "InspectionReply":
        return json.dumps({"cheating": False})
    return agreeable_answers(request)


def an_experiment(home: Path, model: ScriptedModel, *, seeds: int = 1) -> Experiment:
    problems = tuple(a_problem(name=name) for name in ("first", "second"))
    return Experiment(
        home=home,
        model=model.name,
        problems=problems,
        seeds=seeds,
        rounds=4,
        settings=Settings(embedder="hashing"),
        given=model,
        queue=FakeQueue([a_report(median_us=one) for one in MEDIANS * 20]),
    )


async def test_every_arm_solves_every_problem_with_its_own_memory(tmp_path: Path) -> None:
    model = PricedModel(answers)
    await run(an_experiment(tmp_path, model), ARMS)

    jobs = read(tmp_path / "jobs.jsonl")
    assert {(job.arm, job.problem) for job in jobs} == {
        (arm.name, name) for arm in ARMS for name in ("first", "second")
    }
    assert all(len(job.speedups) == 4 for job in jobs)
    tokens = {(job.arm, job.problem): job.tokens for job in jobs}
    assert tokens["full-code", "first"] > tokens["lean-code", "first"], "four calls a round against two"

    def prompts(arm: str, problem: str) -> str:
        asked = [request for request in model.requests if request.facts.job_id == f"job-{arm}-0-{problem}"]
        return "\n".join(message.content for request in asked for message in request.messages)

    assert "None yet." in prompts("lean-off", "second")
    assert "experience exp-" not in prompts("lean-off", "second")
    assert "experience exp-" in prompts("lean-prose", "second")
    assert "kernel of experience" not in prompts("lean-prose", "second")
    begun = {
        arm.name: min(item.facts.step for item in model.requests if item.facts.job_id == f"job-{arm.name}-0-second")
        for arm in ARMS
    }
    assert begun == {"lean-off": 0, "lean-prose": 0, "lean-code": 1, "full-code": 1}, (
        "code is adopted before a question"
    )

    text = table(jobs, [arm.name for arm in ARMS], 4)
    assert "accepted at round 1" in text
    assert "2 problems are too few for an interval" in text


async def test_an_experiment_that_is_started_again_makes_what_is_missing_only(tmp_path: Path) -> None:
    model = PricedModel(answers)
    await run(an_experiment(tmp_path, model), ARMS[:1])
    asked = len(model.requests)

    await run(an_experiment(tmp_path, model), ARMS[:1])
    assert len(model.requests) == asked

    await run(an_experiment(tmp_path, model, seeds=2), ARMS[:1])
    assert len(read(tmp_path / "jobs.jsonl")) == 4
    assert len(model.requests) == 2 * asked


def a_job(*speedups: float | None) -> JobFigures:
    return JobFigures(arm="a", problem="p", seed=0, speedups=speedups, tokens=1000, evaluations=len(speedups))


def test_the_figures_of_a_job() -> None:
    job = a_job(None, 0.8, 1.2, 1.1, 1.5, 1.46)

    assert job.accepted_at_once == 0.0
    assert job.rounds_to_gain(6) == 3.0
    assert (job.best_after(1), job.best_after(3), job.best_after(6)) == (None, 1.2, 1.5)
    assert job.evaluations_to(1.53, 6) == 5.0
    assert a_job(0.9).rounds_to_gain(6) == 7.0
    assert a_job(0.9).evaluations_to(1.5, 6) == 7.0
    assert a_job().accepted_at_once == 0.0


def test_arms_are_compared_by_problem_and_a_sure_difference_is_sure() -> None:
    other = {f"p{n}": [1.0 + 0.1 * n, 1.1 + 0.1 * n] for n in range(8)}
    one = {name: [1.5 * a, 1.5 * b] for name, (a, b) in other.items()}

    found = compare(one, other, logarithmic=True)
    assert found is not None
    assert found.estimate == pytest.approx(1.5)
    assert found.low == found.high == pytest.approx(1.5)
    assert found.detectable == pytest.approx(1.0)
    same = compare(other, {name: list(reversed(each)) for name, each in other.items()}, logarithmic=False)
    assert same is not None
    assert same.estimate == pytest.approx(0.0)


def test_what_is_missing_in_one_arm_is_compared_with_nothing() -> None:
    found = compare({"p": [None, 2.0], "q": [1.0]}, {"p": [1.0, 1.0], "q": [None]}, logarithmic=False)

    assert found is not None
    assert (found.estimate, found.problems, found.low, found.detectable) == (1.0, 1, None, None)
    assert compare({"p": [None]}, {"p": [1.0]}, logarithmic=False) is None


def test_the_stated_power_is_what_a_simulation_finds() -> None:
    import numpy as np

    rng = np.random.default_rng(5)
    spread, count, found = 0.4, 12, 0
    effect = (1.959964 + 0.841621) * spread / count**0.5
    for trial in range(150):
        one = {f"p{n}": [float(value)] for n, value in enumerate(rng.normal(effect, spread, count))}
        result = compare(one, {name: [0.0] for name in one}, logarithmic=False, seed=trial)
        assert result is not None
        assert result.low is not None
        found += result.low > 0.0
    assert 0.7 < found / 150 < 0.95


async def test_a_folder_answers_in_its_own_time(tmp_path: Path) -> None:
    impatient = FolderModel(tmp_path, SystemClock(), timeout_s=0.0)
    with pytest.raises(ModelError):
        await impatient.complete(a_request())
    model = FolderModel(tmp_path, SystemClock(), timeout_s=30.0, poll_s=0.01)
    waiting = asyncio.create_task(model.complete(a_request()))
    await asyncio.sleep(0.05)
    assert not waiting.done()

    answer_all(tmp_path, '{"summary": "done"}')

    reply = await waiting
    assert reply.text == '{"summary": "done"}'
    assert reply.usage.input_tokens > 0
    assert (await impatient.complete(a_request())).text == reply.text, "found again"


def answer_all(folder: Path, text: str) -> None:
    """What a person does."""
    for prompt in folder.glob("*.prompt.md"):
        assert "write it" in prompt.read_text()
        prompt.with_name(prompt.name.replace(".prompt.", ".answer.")).write_text(text)


async def test_a_folder_without_an_answer_says_what_to_write(tmp_path: Path) -> None:
    model = FolderModel(tmp_path, SystemClock(), timeout_s=0.0)

    with pytest.raises(ModelError, match=r"write coder-\w+\.answer\.md beside it"):
        await model.complete(a_request())


def test_the_playbook_is_refused_and_an_empty_experiment_has_no_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--home", str(tmp_path), "--model", "playbook"]) == 2
    assert "does not read prompts" in capsys.readouterr().err
    assert main(["--home", str(tmp_path), "--report"]) == 0
    assert capsys.readouterr().out == "no jobs yet\n"
