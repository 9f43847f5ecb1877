"""What every `WorkStore` promises."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

import pytest

from services.domain.errors import NotFoundError
from services.domain.nodes import NODE_TTL_S, Offer
from services.domain.validations import ValidationReport, ValidationRequest
from services.domain.work import ATTEMPTS, WorkClaim, WorkStatus, order_of
from services.ports.work import NodeRegistry, WorkStore
from tests.contracts.conftest import WORK, Stores
from tests.contracts.test_node_registry import a_node
from tests.doubles import (
    FrozenClock,
    a_candidate,
    a_device,
    a_problem,
    a_report,
    an_analysis,
    an_evaluation_request,
)

pytestmark = pytest.mark.parametrize("stores", WORK, indirect=True)

EVALUATION = order_of(an_evaluation_request(a_candidate(source="class ModelNew: ...  # ×")))
VALIDATION = order_of(
    ValidationRequest(job_id="job-1", team_id="local", problem=a_problem(), device="cpu", backend="cpp")
)
OFFER = Offer(device=EVALUATION.request.device, backends=("cpp",), evaluator="referee 1; this CPU")


@dataclass(frozen=True, kw_only=True)
class Setup:
    store: WorkStore
    nodes: NodeRegistry
    clock: FrozenClock


@pytest.fixture
def setup(stores: Stores) -> Setup:
    return Setup(store=stores.orders, nodes=stores.nodes, clock=stores.clock)


async def claimed(setup: Setup, owner: str = "one") -> WorkClaim:
    claim = await setup.store.take(owner, 30, OFFER)
    assert claim is not None
    return claim


async def test_an_order_reaches_its_worker_as_it_was_placed(setup: Setup) -> None:
    for order in (EVALUATION, VALIDATION):
        assert (await setup.store.place(order)).status is WorkStatus.QUEUED
        claim = await setup.store.take("one", 30, OFFER)
        assert claim is not None
        assert claim.order == order
        assert (await setup.store.state(order.id)).status is WorkStatus.RUNNING
        await setup.store.fail(claim, "enough seen")


async def test_answers_come_back_as_they_were_given(setup: Setup) -> None:
    report = ValidationReport(analysis=an_analysis(), refusal=None, device=a_device())
    for order, answer in ((EVALUATION, a_report()), (VALIDATION, report)):
        await setup.store.place(order)
        claim = await setup.store.take("one", 30, OFFER)
        assert claim is not None
        assert await setup.store.finish(claim, answer) is True
        state = await setup.store.state(order.id)
        assert (state.status, state.result) == (WorkStatus.DONE, answer)


async def test_one_of_many_racing_workers_gets_an_order(setup: Setup) -> None:
    await setup.store.place(EVALUATION)
    claims = await asyncio.gather(*(setup.store.take(f"racer-{n}", 30, OFFER) for n in range(8)))
    assert len([claim for claim in claims if claim is not None]) == 1


async def test_a_finished_order_is_not_done_again(setup: Setup) -> None:
    await setup.store.place(EVALUATION)
    await setup.store.finish(await claimed(setup), a_report())
    assert (await setup.store.place(EVALUATION)).status is WorkStatus.DONE
    assert await setup.store.take("two", 30, OFFER) is None


async def test_an_answer_under_an_old_token_is_refused(setup: Setup) -> None:
    await setup.store.place(EVALUATION)
    old = await claimed(setup)
    setup.clock.advance(31)
    new = await claimed(setup, "two")
    assert new.token == old.token + 1
    assert await setup.store.finish(old, a_report(median_us=1.0)) is False
    assert await setup.store.fail(old, "too late") is False
    assert await setup.store.renew(old, 30) is False
    assert await setup.store.finish(new, a_report(median_us=2.0)) is True
    assert (await setup.store.state(EVALUATION.id)).result == a_report(median_us=2.0)


async def test_a_claim_is_its_owners_and_no_others(setup: Setup) -> None:
    await setup.store.place(EVALUATION)
    claim = await claimed(setup)
    owner = claim.owner
    held = await setup.store.held(EVALUATION.id, owner, claim.token)
    assert held is not None
    assert (held.order, held.token, held.expires_at) == (EVALUATION, claim.token, claim.expires_at)
    assert await setup.store.held(EVALUATION.id, "two", claim.token) is None
    assert await setup.store.held(EVALUATION.id, owner, claim.token + 1) is None
    assert await setup.store.held("eval-none", owner, claim.token) is None
    await setup.store.finish(claim, a_report())
    assert await setup.store.held(EVALUATION.id, owner, claim.token) is None


async def test_a_renewed_claim_is_not_taken_over(setup: Setup) -> None:
    await setup.store.place(EVALUATION)
    claim = await claimed(setup)
    setup.clock.advance(20)
    assert await setup.store.renew(claim, 30) is True
    setup.clock.advance(20)
    assert await setup.store.take("two", 30, OFFER) is None


async def test_a_worker_that_came_back_takes_its_order_at_once(setup: Setup) -> None:
    await setup.store.place(EVALUATION)
    first = await claimed(setup)
    assert (await claimed(setup)).token == first.token + 1


async def test_a_poisonous_order_fails_after_some_claims(setup: Setup) -> None:
    await setup.store.place(EVALUATION)
    for _ in range(ATTEMPTS):
        await claimed(setup)
    assert await setup.store.take("one", 30, OFFER) is None
    state = await setup.store.state(EVALUATION.id)
    assert (state.status, state.result) == (WorkStatus.FAILED, None)
    assert "died" in str(state.fault)


async def test_an_order_that_its_worker_put_back_is_as_if_nobody_had_claimed_it(setup: Setup) -> None:
    await setup.store.place(EVALUATION)
    for _ in range(ATTEMPTS + 1):  # it never counts as poisonous
        claim = await claimed(setup)
        assert await setup.store.release(claim) is True
        state = await setup.store.state(EVALUATION.id)
        assert (state.status, state.fault) == (WorkStatus.QUEUED, None)
        assert await setup.store.waiting() == {EVALUATION.request.device: 1}
    assert await setup.store.release(claim) is False
    assert await setup.store.finish(claim, a_report()) is False, "it is not the worker's any more"
    other = await claimed(setup, "two")
    assert await setup.store.finish(other, a_report()) is True


async def test_a_failed_order_that_is_placed_again_is_queued_again(setup: Setup) -> None:
    await setup.store.place(EVALUATION)
    assert await setup.store.fail(await claimed(setup), "no compiler") is True
    assert (await setup.store.state(EVALUATION.id)).fault == "no compiler"
    state = await setup.store.place(EVALUATION)
    assert (state.status, state.fault) == (WorkStatus.QUEUED, None)
    assert await setup.store.finish(await claimed(setup), a_report()) is True


async def test_cancelling_ends_what_is_open_and_leaves_what_is_done(setup: Setup) -> None:
    await setup.store.place(VALIDATION)
    done = await setup.store.take("one", 30, OFFER)
    assert done is not None
    await setup.store.finish(done, ValidationReport(analysis=an_analysis(), refusal=None, device=None))
    await setup.store.place(EVALUATION)
    claim = await claimed(setup)
    await setup.store.cancel("job-1")
    assert (await setup.store.state(EVALUATION.id)).status is WorkStatus.CANCELLED
    assert (await setup.store.state(VALIDATION.id)).status is WorkStatus.DONE
    assert await setup.store.renew(claim, 30) is False
    assert await setup.store.finish(claim, a_report()) is False


async def test_an_unknown_order_is_not_found(setup: Setup) -> None:
    with pytest.raises(NotFoundError):
        await setup.store.state("eval-none")


async def test_a_worker_takes_only_what_its_device_and_backends_can_do(setup: Setup) -> None:
    await setup.store.place(EVALUATION)
    for offer in (replace(OFFER, device="h200"), replace(OFFER, backends=("triton",))):
        assert await setup.store.take("one", 30, offer) is None
    assert (await setup.store.state(EVALUATION.id)).status is WorkStatus.QUEUED
    assert await setup.store.take("one", 30, OFFER) is not None


async def test_results_of_two_evaluators_are_never_mixed_in_one_job(setup: Setup) -> None:
    await setup.store.place(VALIDATION)
    first = await setup.store.take("one", 30, OFFER)
    assert first is not None
    await setup.store.finish(first, ValidationReport(analysis=an_analysis(), refusal=None, device=None))
    await setup.store.place(EVALUATION)
    newer = replace(OFFER, evaluator="referee 2; this CPU")
    assert await setup.store.take("two", 30, newer) is None
    assert await setup.store.take("one", 30, OFFER) is not None


async def test_a_job_whose_evaluator_is_gone_fails_instead_of_waiting_for_ever(setup: Setup) -> None:
    await setup.store.place(VALIDATION)
    first = await setup.store.take("one", 30, OFFER)
    assert first is not None
    await setup.store.finish(first, ValidationReport(analysis=an_analysis(), refusal=None, device=None))
    await setup.store.place(EVALUATION)
    await setup.nodes.register(a_node(setup.clock, evaluator=OFFER.evaluator))
    setup.clock.advance(20)
    assert await setup.store.expire(10) == 0, "a worker with that evaluator is there"
    setup.clock.advance(NODE_TTL_S)
    assert await setup.store.expire(10) == 1
    assert "no worker with it is left" in str((await setup.store.state(EVALUATION.id)).fault)


async def test_the_ends_of_many_orders_are_read_at_once(setup: Setup) -> None:
    await setup.store.place(VALIDATION)
    await setup.store.place(EVALUATION)
    await setup.store.finish(await claimed(setup), a_report())
    found = await setup.store.ended([VALIDATION.id, EVALUATION.id, "unknown"])
    assert {order: state.result for order, state in found.items()} == {EVALUATION.id: a_report()}
    assert await setup.store.ended([]) == {}


async def test_an_order_waits_while_it_is_queued_and_once_its_worker_went_silent(setup: Setup) -> None:
    await setup.store.place(VALIDATION)
    await setup.store.place(EVALUATION)
    assert await setup.store.waiting() == {"cpu": 2}
    await claimed(setup)
    assert await setup.store.waiting() == {"cpu": 1}
    setup.clock.advance(31)
    assert await setup.store.waiting() == {"cpu": 2}


async def test_a_worker_with_a_poisonous_order_before_it_takes_the_next_one(setup: Setup) -> None:
    await setup.store.place(EVALUATION)
    for _ in range(ATTEMPTS):
        await claimed(setup)
    setup.clock.advance(1)
    await setup.store.place(VALIDATION)
    claim = await setup.store.take("one", 30, OFFER)
    assert claim is not None
    assert claim.order == VALIDATION
