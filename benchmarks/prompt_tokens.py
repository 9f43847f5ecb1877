"""How long the prompts of a round are, and what a second job reads of the first: no paid model, no measurement.

    python -m benchmarks.prompt_tokens [--rounds 4] [--agents lean] [--show FILE]

Solves the ten examples with the playbook's kernels as the model's recorded answers and scripted reports, through the
real agents, prompts, stores and memory: first each problem in `full` and in `lean` for a new team, then each again in a
team that has solved all ten. Printed are input tokens of the Planner, Coder, Judge and Profiler and calls of a round in
refine, second opinions on new leaders apart. Tokens are counted at four bytes each; at three, as docs/prompts counts to
be on the safe side, they are a third more. Below each table stands what the prompts' sections take of it, the dearest
first. `--show` keeps the Coder's last prompt of a second, similar job.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import statistics
import sys
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

import torch

from agents.playbook.model import answer
from benchmarks.prompt_sections import by_section, table
from kernelwright.wiring.database import bring_up
from orchestrator import Orchestrator, Stores
from services.adapters.embeddings.hashing import HashingEmbedder
from services.domain.chat import AgentRole, ChatRequest
from services.domain.evaluations import EvaluationReport, EvaluationRequest
from services.domain.jobs import LOCAL_TEAM, AgentsMode, Budget, Job, Stage
from services.domain.measurements import Baselines
from services.domain.problems import Problem
from services.domain.steps import Step
from services.domain.usage import Usage
from services.domain.validations import ValidationReport
from services.runtime.clock import SystemClock
from services.team_memory.seeds import seed_experiences
from storage.contents.blobs import SqlArtefactStore
from storage.contents.files import Directory
from storage.database import Database
from storage.jobs.candidates import SqlCandidateStore
from storage.jobs.checkpoints import SqlCheckpointSaver
from storage.jobs.events import SqlEventLog
from storage.jobs.store import SqlJobStore
from storage.memory.store import SqlMemory
from tests.doubles import FakeQueue, ScriptedModel, a_device, a_job, a_latency, a_report
from workers.referee.costs.analysis import analyse

BYTES_PER_TOKEN = 4
OPINION = "second opinion"
EXAMPLES = Path(__file__).parents[1] / "examples" / "problems"
FIRST, SECOND = "rmsnorm", "layernorm_silu"
"""The first of them is solved before the second one's prompt is shown."""


class MeteredPlaybook(ScriptedModel):
    """The playbook's answers from a model that costs something, so that it is asked all that a chat model is."""

    def __init__(self) -> None:
        super().__init__(lambda request: answer(request).model_dump_json())

    def ceiling(self, request: ChatRequest) -> Usage:
        """Nothing that a budget would stop."""
        return Usage(calls=1, input_tokens=1, output_tokens=request.max_output_tokens)


@dataclass(frozen=True, kw_only=True)
class RoundCost:
    """What the rounds of one job in refine took, each."""

    problem: str
    input_tokens: float
    calls: float
    opinions: float
    """Second opinions a round; every candidate of these jobs takes the lead."""
    sections: Mapping[tuple[str, str], float]
    """Input tokens by role and section; together `input_tokens`."""


class Team:
    """A team's database, and jobs in it."""

    def __init__(self, folder: Path) -> None:
        self._database = Database(f"sqlite:///{folder}/kernelwright.db")
        self._folder, self._clock = folder, SystemClock()
        self._memory = SqlMemory(self._database, HashingEmbedder())
        self._jobs = SqlJobStore(self._database, self._clock)

    async def open(self) -> None:
        """Give it what every team starts with."""
        await bring_up(self._database)
        await self._memory.remember(seed_experiences(LOCAL_TEAM))

    async def solve(self, name: str, agents: AgentsMode, rounds: int) -> tuple[Step, ...]:
        """The steps of a new job; every candidate comes out a little faster than the one before."""
        job = _job(name, agents, rounds)
        await self._jobs.create(job)
        await self._orchestrator(name).run_job(job.id)
        return tuple(await self._jobs.steps(LOCAL_TEAM, job.id))

    async def close(self) -> None:
        """Let go of the files."""
        await self._memory.close()
        await self._database.close()

    def _orchestrator(self, name: str) -> Orchestrator:
        stores = Stores(
            jobs=self._jobs,
            candidates=SqlCandidateStore(self._database, self._clock),
            events=SqlEventLog(self._database, self._clock),
            memory=self._memory,
            artefacts=SqlArtefactStore(self._database, self._clock, files=Directory(self._folder)),
        )
        model = MeteredPlaybook()
        return Orchestrator(
            stores=stores,
            queue=_queue(name),
            models=lambda _name: model,
            public_source=lambda problem: problem.source,
            checkpoints=SqlCheckpointSaver(self._database),
            clock=self._clock,
            owner="benchmark",
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; 1 where lean rounds take more than the goal on average, of a new team or of a knowing one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--goal", type=int, default=9000, help="input tokens of a lean round on average over the ten")
    parser.add_argument("--agents", choices=[mode.value for mode in AgentsMode], help="one way only (default: both)")
    parser.add_argument("--show", type=Path, help="keep the prompt of a second, similar job here")
    given = parser.parse_args(arguments)
    most, prompt = asyncio.run(_measure(given.rounds, AgentsMode(given.agents) if given.agents else None))
    if given.show is not None:
        given.show.write_text(prompt, encoding="utf-8")
    return 0 if most <= given.goal else 1


async def _measure(rounds: int, only: AgentsMode | None) -> tuple[float, str]:
    """Input tokens of a lean round on average, of a new team or of one that has solved all, whichever are more; and the
    prompt to show."""
    most, shown = 0.0, ""
    for agents in [only] if only is not None else AgentsMode:
        fresh = [await _alone(path.stem, agents, rounds) for path in sorted(EXAMPLES.glob("*.py"))]
        known, prompt = await _together(agents, rounds)
        for title, rows in ((f"{agents}, a new team", fresh), (f"{agents}, all ten solved before", known)):
            _print(title, rows)
        if agents is AgentsMode.LEAN:
            most = max(statistics.mean(row.input_tokens for row in rows) for rows in (fresh, known))
            shown = prompt
    return most, shown


async def _alone(name: str, agents: AgentsMode, rounds: int) -> RoundCost:
    with tempfile.TemporaryDirectory() as folder:
        team = Team(Path(folder))
        await team.open()
        cost = _cost(name, await team.solve(name, agents, rounds))
        await team.close()
    return cost


async def _together(agents: AgentsMode, rounds: int) -> tuple[list[RoundCost], str]:
    """The costs of the ten in a team that has solved all of them, and the Coder's prompt of a similar second job."""
    names = [path.stem for path in sorted(EXAMPLES.glob("*.py"))]
    with tempfile.TemporaryDirectory() as folder:
        team = Team(Path(folder))
        await team.open()
        await team.solve(FIRST, agents, rounds)
        similar = await team.solve(SECOND, agents, rounds)
        for name in names:
            await team.solve(name, agents, rounds)
        rows = [_cost(name, await team.solve(name, agents, rounds)) for name in names]
        await team.close()
    asked = [call for step in similar for call in step.calls if call.role is AgentRole.CODER]
    return rows, "\n\n".join(message.content for message in asked[-1].prompt)


def _cost(name: str, steps: Sequence[Step]) -> RoundCost:
    rounds = [step for step in steps if step.stage is Stage.REFINE and step.calls]
    asked = [[call for call in step.calls if OPINION not in call.prompt[-1].content] for step in rounds]
    sizes = [sum(len(message.content.encode()) for call in calls for message in call.prompt) for calls in asked]
    sections = by_section(call for calls in asked for call in calls)
    return RoundCost(
        problem=name,
        input_tokens=statistics.mean(sizes) / BYTES_PER_TOKEN,
        calls=statistics.mean(map(len, asked)),
        opinions=statistics.mean(len(step.calls) - len(calls) for step, calls in zip(rounds, asked, strict=True)),
        sections={name: size / BYTES_PER_TOKEN / len(rounds) for name, size in sections.items()},
    )


def _print(title: str, rows: Sequence[RoundCost]) -> None:
    for row in rows:
        sys.stdout.write(
            f"{title:<28} {row.problem:<20} {row.input_tokens:8.0f} tokens {row.calls:4.1f} calls, "
            f"{row.opinions:.1f} opinions\n"
        )
    tokens_each, calls = [row.input_tokens for row in rows], [row.calls for row in rows]
    mean = f"{statistics.mean(tokens_each):8.0f} tokens {statistics.mean(calls):4.1f} calls"
    sys.stdout.write(f"{title:<28} {'mean':<20} {mean}, most {max(tokens_each):.0f}\n\n")
    sys.stdout.write(f"{table(_mean_sections(rows))}\n\n")


def _mean_sections(rows: Sequence[RoundCost]) -> dict[tuple[str, str], float]:
    """Input tokens of a round by role and section, on average over some problems."""
    names = {name for row in rows for name in row.sections}
    return {name: sum(row.sections.get(name, 0.0) for row in rows) / len(rows) for name in names}


def _job(name: str, agents: AgentsMode, rounds: int) -> Job:
    source = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    job = a_job(f"job-{uuid.uuid4().hex[:8]}", budget=Budget(rounds=rounds))
    problem = Problem(name=name, source=source, path=f"{name}.py")
    return replace(job, spec=replace(job.spec, problem=problem, model="playbook", agents=agents))


def _queue(name: str) -> FakeQueue:
    module = _module(name)
    torch.manual_seed(0)
    model = module.Model(*module.get_init_inputs())
    found = analyse(model, module.get_inputs(), module.get_init_inputs(), copy_bandwidth_gb_s=10.0, peak_gflop_s=100.0)
    baselines = Baselines(eager=a_latency(9000.0))
    validation = ValidationReport(analysis=found, refusal=None, device=a_device(), baselines=baselines)
    medians = iter(range(8000, 0, -150))

    def judged(_request: EvaluationRequest) -> EvaluationReport:
        return a_report(median_us=float(next(medians)), eager_us=9000.0)

    return FakeQueue(judged, validation=validation)


def _module(name: str) -> ModuleType:
    found = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.exit(main())
