"""Many whole jobs against a provider that fails, and what became of them."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from services.adapters.llm.settings import TokenPrice
from services.domain.chat import ChatReply, ChatRequest
from services.domain.evaluations import EvaluationReport, EvaluationRequest, Verdict
from services.domain.jobs import Budget, Job
from services.domain.usage import Usage
from services.ports.models import ChatModel, MeteredChatModel
from tests.doubles import FakeQueue, a_problem, a_report
from tests.fakes.chat_bench import FAST, a_bench
from tests.fakes.chat_jobs import PATIENCE, Place
from tests.model_faults.service import Account, FaultyService, Question, question

PRICE = TokenPrice(input=1.0, output=10.0)
SETTINGS = replace(FAST, idle_timeout_s=1.0, max_attempts=4, price=PRICE)
CAP = SETTINGS.max_attempts * PATIENCE.attempts
"""HTTP requests that one question may cost: those of a call, as often as the orchestrator repeats it."""
AT_ONCE = 16
BUDGETS = (Budget(rounds=2), Budget(rounds=2, tokens=150_000), Budget(rounds=2, dollars=0.8))
"""In turn with the adapter's tight one: one that never binds, two that some jobs reach by the requests they lose."""
TIGHT_DOLLARS = {"openai": 0.52, "anthropic": 0.52, "compatible": 0.19}
"""A call's ceiling and the price of a few calls: a job reaches this in its second round though no request fails."""


@dataclass(frozen=True, kw_only=True)
class Survey:
    """What became of the jobs of one adapter."""

    model: str
    jobs: int
    statuses: Counter[str]
    faults: Counter[str]
    calls: int
    requests: int
    most_requests: int
    """For one question."""
    over_cap: list[Question] = field(default_factory=list)
    over_budget: list[str] = field(default_factory=list)
    """Jobs that passed a budget, by what they recorded or by what the provider may have billed."""
    stopped_by_budget: int = 0
    crashes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def ended(self) -> int:
        """Jobs in a terminal state."""
        return sum(self.statuses.values())

    @property
    def share_of_faults(self) -> float:
        return sum(self.faults.values()) / max(self.requests, 1)

    @property
    def holds(self) -> bool:
        """Whether everything that is promised held."""
        wrong = self.over_cap or self.over_budget or self.crashes
        return not wrong and self.ended >= 0.99 * self.jobs


class CountedModel:
    """A model, and how often each question was put to it."""

    def __init__(self, model: MeteredChatModel, calls: Counter[Question]) -> None:
        self._model = model
        self._calls = calls

    @property
    def name(self) -> str:
        return self._model.name

    def ceiling(self, request: ChatRequest) -> Usage:
        return self._model.ceiling(request)

    async def complete(self, request: ChatRequest) -> ChatReply:
        self._calls[question([message.content for message in request.messages])] += 1
        return await self._model.complete(request)


async def survey(model: str, jobs: int, folder: Path, *, seed: int = 7) -> Survey:
    """Run so many jobs, some at a time, each to its end."""
    service, calls = FaultyService(seed=seed), Counter[Question]()
    budgets = (*BUDGETS, Budget(rounds=2, dollars=TIGHT_DOLLARS[model.partition(":")[0]]))
    began = time.monotonic()
    async with a_bench(service, SETTINGS) as bench:
        place = Place(folder, _counted(bench.model, calls), FakeQueue(_verdicts(seed)))
        await place.database.upgrade()
        names = [f"job-{number}" for number in range(jobs)]
        for number, job_id in enumerate(names):
            budget = budgets[number % len(budgets)]
            await place.submit(model, budget, job_id, problem=a_problem(name=job_id))
        ended = await _run_all(place, names)
        used = {job_id: await place.used(job_id) for job_id in names}
        await place.database.close()
    done = [outcome for outcome in ended if isinstance(outcome, Job)]
    return Survey(
        model=model,
        jobs=jobs,
        statuses=Counter(job.status.value for job in done if job.status.is_final),
        faults=service.faults,
        calls=calls.total(),
        requests=service.requests.total(),
        most_requests=max(service.requests.values(), default=0),
        over_cap=[asked for asked, sent in service.requests.items() if sent > _cap(calls[asked])],
        over_budget=[job.id for job in done if _passed(job, used[job.id], service.accounts)],
        stopped_by_budget=sum("could be passed" in (job.message or "") for job in done),
        crashes=[repr(outcome) for outcome in ended if not isinstance(outcome, Job)] + _internal(done),
        seconds=time.monotonic() - began,
    )


def _counted(model: Callable[[str], MeteredChatModel], calls: Counter[Question]) -> Callable[[str], ChatModel]:
    return lambda name: CountedModel(model(name), calls)


def _verdicts(seed: int) -> Callable[[EvaluationRequest], EvaluationReport]:
    """Verdicts by lot, the same in every run: three of ten candidates are wrong, one in ten is suspicious."""

    def judge(request: EvaluationRequest) -> EvaluationReport:
        dice = random.Random(f"{seed}/{request.candidate_id}")
        verdict = dice.choices((Verdict.REJECTED, Verdict.SUSPICIOUS, Verdict.ACCEPTED), (3, 1, 6))[0]
        return a_report(verdict, median_us=dice.uniform(60.0, 200.0))

    return judge


async def _run_all(place: Place, names: list[str]) -> list[Job | BaseException]:
    slots = asyncio.Semaphore(AT_ONCE)

    async def run(job_id: str) -> Job:
        async with slots:
            return await place.orchestrator.run_job(job_id)

    return list(await asyncio.gather(*(run(job_id) for job_id in names), return_exceptions=True))


def _cap(calls: int) -> int:
    """HTTP requests that so many calls of one question may make."""
    return min(calls * SETTINGS.max_attempts, CAP)


def _passed(job: Job, used: Usage, accounts: dict[str, Account]) -> bool:
    """Whether a job passed a budget, by either book."""
    budget, billed = job.spec.budget, accounts.get(job.id, Account())
    tokens = max(used.input_tokens + used.output_tokens, billed.tokens)
    price = (billed.input_tokens * PRICE.input + billed.output_tokens * PRICE.output) / 1e6
    dollars = max(used.dollars or 0.0, price)
    return _above(tokens, budget.tokens) or _above(dollars, budget.dollars)


def _above(value: float, limit: float | None) -> bool:
    return limit is not None and value > limit


def _internal(jobs: list[Job]) -> list[str]:
    return [f"{job.id}: {job.message}" for job in jobs if "internal error" in (job.message or "")]
