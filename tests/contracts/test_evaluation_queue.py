"""What every `EvaluationQueue` promises."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from services.adapters.node_api.claims import ApiClaims
from services.adapters.queues.by_device import DeviceRouter
from services.adapters.queues.celery_queue import MOST_WAKE_UPS, CeleryQueue
from services.adapters.queues.in_process import InProcessQueue
from services.adapters.queues.notifier import WorkNotifier
from services.adapters.spool.claims import SpoolClaims
from services.adapters.spool.layout import SpoolLayout
from services.adapters.spool.messages import SpoolKey
from services.adapters.spool.orders import SpooledOrders
from services.adapters.spool.queue import SpoolQueue
from services.adapters.spool.worker import SpoolPace, SpoolWorker
from services.domain.candidates import Candidate
from services.domain.errors import InfrastructureError, QueueError
from services.domain.evaluations import EvaluationRequest, Verdict
from services.domain.nodes import Offer
from services.domain.validations import ValidationRequest
from services.ports.jobs import CandidateStore
from services.ports.work import EvaluationQueue
from services.runtime.clock import SystemClock
from tests.contracts.node_over_rest import VERSION, KeptInMemory, NodeServer
from tests.contracts.workbench import RecordingWorkbench
from tests.doubles import (
    InMemoryCandidateStore,
    InMemoryDatabase,
    a_candidate,
    a_problem,
    a_report,
    an_evaluation_request,
)
from tests.waiting import eventually
from workers.queue.api_worker import ApiWorker
from workers.queue.orders import ClaimPace, WorkerContext
from workers.queue.tasks import CelerySettings, create_app


@dataclass(frozen=True, kw_only=True)
class Setup:
    """A queue over a recording workbench."""

    queue: EvaluationQueue
    workbench: RecordingWorkbench


Opened = AbstractAsyncContextManager[EvaluationQueue]


@asynccontextmanager
async def in_process(
    workbench: RecordingWorkbench, _folder: Path, candidates: CandidateStore | None = None
) -> AsyncIterator[EvaluationQueue]:
    queue = InProcessQueue(workbench, candidates)
    yield queue
    await queue.close()


@asynccontextmanager
async def through_a_spool(
    workbench: RecordingWorkbench, folder: Path, candidates: CandidateStore | None = None
) -> AsyncIterator[EvaluationQueue]:
    """A queue over a directory, with a node's worker at the other end."""
    layout, key, clock = SpoolLayout(folder / "spool"), SpoolKey("5" * 64), SystemClock()
    orders = SpooledOrders(layout, key, clock, version="1", sender="service", valid_days=1.0)
    orders.open()
    offer = Offer(device="cpu", backends=("cpp",), evaluator="referee 1; this CPU")
    claims = SpoolClaims(layout, key, clock, offer=offer, version="1", owner="node")
    worker = SpoolWorker(claims, workbench, clock, SpoolPace(poll_s=0.01, beat_s=0.01), None)
    thread = threading.Thread(target=worker.run)
    thread.start()
    queue = SpoolQueue(orders, clock, candidates, poll_s=0.01, sweep_s=0.05)
    try:
        yield queue
    finally:
        await queue.close()
        worker.stop()
        worker.stop()
        await asyncio.to_thread(thread.join)


@asynccontextmanager
async def by_device(
    workbench: RecordingWorkbench, folder: Path, candidates: CandidateStore | None = None
) -> AsyncIterator[EvaluationQueue]:
    """A spool for the device of these tests, beside a queue in this process for all others."""
    async with through_a_spool(workbench, folder, candidates) as spool:
        router = DeviceRouter("cpu", spool, InProcessQueue(RecordingWorkbench()))
        yield router
        await router.close()


@asynccontextmanager
async def through_the_api(
    workbench: RecordingWorkbench, folder: Path, _candidates: CandidateStore | None = None
) -> AsyncIterator[EvaluationQueue]:
    """Orders in a store, for which a node with a token comes to the API."""
    kept = KeptInMemory(clock=SystemClock())
    server = NodeServer(kept.orders, kept.nodes, kept, folder)
    app = create_app(CelerySettings(broker_url="memory://"))
    queue = CeleryQueue(app, kept.orders, SystemClock(), poll_s=0.01, sweep_s=0.1)
    offer = Offer(device="cpu", backends=("cpp",), evaluator="referee 1; this CPU")
    stop = asyncio.Event()
    async with server.connection(await server.token("cpu")) as connection:
        claims = ApiClaims(connection, VERSION, wait_s=0.5)
        context = WorkerContext(orders=claims, workbench=workbench, offer=offer)
        worker = ApiWorker(claims, context, "node", ClaimPace(ttl_s=5.0, beat_s=0.02), free_s=0.0)
        working = asyncio.create_task(worker.run(stop))
        try:
            yield queue
        finally:
            await queue.close()
            stop.set()
            workbench.closed = True  # what hangs ends
            await working
            app.close()


Opener = Callable[..., Opened]
KEEPING = {"in process": in_process, "spool": through_a_spool, "spool by device": by_device}
"""Those that look into the store of candidates first."""
OPENERS = {**KEEPING, "api": through_the_api}


@pytest.fixture(params=list(OPENERS.values()), ids=list(OPENERS))
def opener(request: pytest.FixtureRequest) -> Opener:
    chosen: Opener = request.param
    return chosen


@pytest_asyncio.fixture
async def setup(opener: Opener, tmp_path: Path) -> AsyncIterator[Setup]:
    workbench = RecordingWorkbench()
    async with opener(workbench, tmp_path) as queue:
        yield Setup(queue=queue, workbench=workbench)


def candidate(source: str = "class ModelNew: ...", step: int = 0, job_id: str = "job-1") -> Candidate:
    return a_candidate(job_id, step, source=source)


def evaluation(source: str = "class ModelNew: ...", step: int = 0, job_id: str = "job-1") -> EvaluationRequest:
    return an_evaluation_request(candidate(source, step, job_id))


def validation(source: str = "class Model: ...", job_id: str = "job-1") -> ValidationRequest:
    return ValidationRequest(job_id=job_id, team_id="local", problem=a_problem(source), device="cpu", backend="cpp")


async def test_a_candidate_is_judged(setup: Setup) -> None:
    assert await setup.queue.evaluate(evaluation()) == a_report()


async def test_a_problem_is_validated(setup: Setup) -> None:
    report = await setup.queue.validate(validation())
    assert report.analysis is not None


async def test_asking_twice_gives_the_same_answer_and_works_once(setup: Setup) -> None:
    together = await asyncio.gather(*(setup.queue.evaluate(evaluation()) for _ in range(5)))
    later = await setup.queue.evaluate(evaluation())
    assert {report.verdict for report in [*together, later]} == {Verdict.ACCEPTED}
    assert len(setup.workbench.calls) == 1


async def test_the_device_has_one_user_at_a_time(setup: Setup) -> None:
    reports = await asyncio.gather(*(setup.queue.evaluate(evaluation(step=n)) for n in range(20)))
    assert [report.verdict for report in reports] == [Verdict.ACCEPTED] * 20
    assert len(setup.workbench.calls) == 20


async def test_the_machines_failure_is_an_infrastructure_error_with_its_reason(setup: Setup) -> None:
    report = await setup.queue.evaluate(evaluation("break"))
    assert report.verdict is Verdict.INFRASTRUCTURE_ERROR
    assert "no g++" in report.gates[0].detail
    with pytest.raises(InfrastructureError, match=r"no g\+\+"):
        await setup.queue.validate(validation("break"))


async def test_an_infrastructure_error_is_tried_again_when_asked_again(setup: Setup) -> None:
    assert (await setup.queue.evaluate(evaluation("flaky"))).verdict is Verdict.INFRASTRUCTURE_ERROR
    assert (await setup.queue.evaluate(evaluation("flaky"))).verdict is Verdict.ACCEPTED


async def test_our_own_mistake_blames_no_candidate_and_stops_nobody(setup: Setup) -> None:
    report = await setup.queue.evaluate(evaluation("bug"))
    assert report.verdict is Verdict.INFRASTRUCTURE_ERROR
    assert "ZeroDivisionError" in report.gates[0].detail
    assert (await setup.queue.evaluate(evaluation(step=1))).verdict is Verdict.ACCEPTED


async def test_cancelling_a_job_ends_its_running_and_waiting_calls_and_no_others(setup: Setup) -> None:
    running = asyncio.create_task(setup.queue.evaluate(evaluation("hang")))
    await eventually(lambda: setup.workbench.calls)
    waiting = asyncio.create_task(setup.queue.evaluate(evaluation(step=1)))
    other = asyncio.create_task(setup.queue.evaluate(evaluation(job_id="job-2")))
    await asyncio.sleep(0)
    await setup.queue.cancel("job-1")
    for ended in (running, waiting):
        assert (await asyncio.wait_for(ended, 60)).verdict is Verdict.INFRASTRUCTURE_ERROR
    assert (await asyncio.wait_for(other, 60)).verdict is Verdict.ACCEPTED
    assert evaluation(step=1).evaluation_id not in setup.workbench.calls


async def test_a_cancelled_job_may_ask_again(setup: Setup) -> None:
    await setup.queue.cancel("job-1")
    assert (await setup.queue.evaluate(evaluation())).verdict is Verdict.ACCEPTED


async def test_cancelling_frees_what_was_kept_for_the_job(setup: Setup) -> None:
    await setup.queue.evaluate(evaluation())
    await setup.queue.cancel("job-1")
    await eventually(lambda: setup.workbench.freed == ["job-1"])


async def test_a_caller_who_gives_up_stops_nobody_else(setup: Setup) -> None:
    first = asyncio.create_task(setup.queue.evaluate(evaluation("hang")))
    await eventually(lambda: setup.workbench.calls)
    second = asyncio.create_task(setup.queue.evaluate(evaluation("hang")))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first])
    assert not second.done()
    await setup.queue.cancel("job-1")
    assert (await asyncio.wait_for(second, 60)).verdict is Verdict.INFRASTRUCTURE_ERROR


async def test_closing_ends_everything_and_takes_no_more(setup: Setup) -> None:
    running = asyncio.create_task(setup.queue.evaluate(evaluation("hang")))
    await eventually(lambda: setup.workbench.calls)
    waiting = asyncio.create_task(setup.queue.validate(validation()))
    await asyncio.sleep(0)
    await setup.queue.close()
    assert (await running).verdict is Verdict.INFRASTRUCTURE_ERROR
    with pytest.raises(InfrastructureError):
        await waiting
    assert (await setup.queue.evaluate(evaluation(step=3))).verdict is Verdict.INFRASTRUCTURE_ERROR
    with pytest.raises(QueueError):
        await setup.queue.validate(validation())


async def test_closing_the_queue_in_this_process_closes_its_workbench() -> None:
    workbench = RecordingWorkbench()
    await InProcessQueue(workbench).close()
    assert workbench.closed


@pytest.mark.parametrize("opener", list(KEEPING.values()), ids=list(KEEPING), indirect=True)
async def test_a_stored_report_answers_without_work(opener: Opener, tmp_path: Path) -> None:
    candidates = InMemoryCandidateStore(InMemoryDatabase())
    await candidates.finish(evaluation(), a_report(median_us=7.0))
    workbench = RecordingWorkbench()
    async with opener(workbench, tmp_path, candidates) as queue:
        assert await queue.evaluate(evaluation()) == a_report(median_us=7.0)
        assert workbench.calls == []


async def test_wake_ups_that_no_worker_takes_do_not_pile_up(tmp_path: Path) -> None:
    app, clock = create_app(CelerySettings(broker_url="memory://")), SystemClock()
    messages = WorkNotifier(app, clock)
    messages.notify("cpu", times=2 * MOST_WAKE_UPS)
    sending = asyncio.create_task(messages.run())
    while await messages.length("cpu") < 2 * MOST_WAKE_UPS:  # noqa: ASYNC110 - another thread sends them
        await asyncio.sleep(0.01)
    sending.cancel()
    async with through_the_api(RecordingWorkbench(), tmp_path) as queue:
        assert await queue.evaluate(evaluation()) == a_report()
        while await messages.length("cpu") > MOST_WAKE_UPS:  # noqa: ASYNC110 - the sweeper takes them away
            await asyncio.sleep(0.05)
    app.close()
