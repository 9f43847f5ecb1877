"""Every expense reserves its ceiling beforehand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agents.workflow.budget import LEAST_OUTPUT_TOKENS, BudgetSpentError, Spent, reserve_call, reserve_device
from services.domain.chat import AgentRole, ChatMessage, ChatReply, ChatRequest
from services.domain.jobs import Budget
from services.domain.usage import Usage
from tests.doubles import ScriptedModel
from tests.unit.agents.some_facts import some_facts

LOCAL = ScriptedModel([])


class PricedModel:
    """A model with a meter."""

    def __init__(self, dollars: float | None) -> None:
        self._dollars = dollars

    @property
    def name(self) -> str:
        return "priced"

    async def complete(self, request: ChatRequest) -> ChatReply:
        raise AssertionError("only the meter is read")

    def ceiling(self, request: ChatRequest) -> Usage:
        return Usage(calls=1, input_tokens=10, output_tokens=request.max_output_tokens, dollars=self._dollars)


def a_request(text: str = "x" * 84, wanted: int = 2000) -> ChatRequest:
    """Its input is worth at most 100 tokens."""
    return ChatRequest(
        key="job-1/0/planner/0",
        role=AgentRole.PLANNER,
        messages=(ChatMessage(role="user", content=text),),
        schema_name="PlannerReply",
        schema={},
        facts=some_facts(),
        max_output_tokens=wanted,
    )


def used(tokens: int = 0, dollars: float | None = 0.0) -> Spent:
    return Spent(usage=Usage(calls=1, input_tokens=tokens, dollars=dollars))


def test_without_limits_a_call_is_as_asked() -> None:
    assert reserve_call(Budget(), used(10**9), LOCAL, a_request()) == a_request()


def test_a_call_that_fits_exactly_is_as_asked() -> None:
    assert reserve_call(Budget(tokens=2100), used(0), LOCAL, a_request()) == a_request()


def test_the_output_is_cut_to_what_is_left() -> None:
    request = reserve_call(Budget(tokens=2100), used(1000), LOCAL, a_request())

    assert request == replace(a_request(), max_output_tokens=1000)


def test_a_call_whose_answer_would_be_too_short_is_refused() -> None:
    left = 100 + LEAST_OUTPUT_TOKENS
    assert reserve_call(Budget(tokens=left), used(), LOCAL, a_request()).max_output_tokens == LEAST_OUTPUT_TOKENS
    with pytest.raises(BudgetSpentError, match="token budget"):
        reserve_call(Budget(tokens=left - 1), used(), LOCAL, a_request())


def test_input_is_counted_in_bytes_which_no_tokeniser_exceeds() -> None:
    with pytest.raises(BudgetSpentError):
        reserve_call(Budget(tokens=1500), used(), LOCAL, a_request("µ" * 500))


def test_a_meter_is_believed() -> None:
    assert reserve_call(Budget(dollars=1.0), used(dollars=0.5), PricedModel(0.5), a_request()) == a_request()
    with pytest.raises(BudgetSpentError, match="dollar budget of 1 could be passed"):
        reserve_call(Budget(dollars=1.0), used(dollars=0.6), PricedModel(0.5), a_request())


def test_an_unknown_price_is_refused_only_where_dollars_are_limited() -> None:
    assert reserve_call(Budget(), used(), PricedModel(None), a_request()) == a_request()
    with pytest.raises(BudgetSpentError, match="price of priced is unknown"):
        reserve_call(Budget(dollars=1.0), used(), PricedModel(None), a_request())


def test_an_evaluation_reserves_its_whole_time() -> None:
    spent = Spent(device_s=80.0)

    reserve_device(Budget(), spent, 1e9)
    reserve_device(Budget(device_s=200.0), spent, 120.0)
    with pytest.raises(BudgetSpentError, match="device budget of 199 s"):
        reserve_device(Budget(device_s=199.0), spent, 120.0)
