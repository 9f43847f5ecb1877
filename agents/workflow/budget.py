"""Budgets: every expense reserves its ceiling beforehand, so that a job never passes a limit."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from services.domain.chat import ChatRequest
from services.domain.jobs import Budget
from services.domain.usage import Usage
from services.ports.models import ChatModel, MeteredChatModel

LEAST_OUTPUT_TOKENS = 512
"""An answer cut shorter than this cannot hold a candidate: better to stop."""
_MESSAGE_TOKENS = 16
"""What a message costs beside its text."""


class BudgetSpentError(Exception):
    """The next expense could pass a limit; the message names the limit. Ends the job, blames nobody."""


@dataclass(frozen=True, kw_only=True)
class Spent:
    """What a job has used so far."""

    usage: Usage = field(default_factory=Usage)
    device_s: float = 0.0


def ceiling(model: ChatModel, request: ChatRequest) -> Usage:
    """The most that a call can use. A model without a meter runs here and is free of charge.

    Its input is counted in UTF-8 bytes: byte-level tokenisers never make more tokens than that.
    """
    if isinstance(model, MeteredChatModel):
        return model.ceiling(request)
    size = sum(len(message.content.encode()) + _MESSAGE_TOKENS for message in request.messages)
    return Usage(calls=1, input_tokens=size, output_tokens=request.max_output_tokens)


def reserve_call(budget: Budget, spent: Spent, model: ChatModel, request: ChatRequest) -> ChatRequest:
    """The request, its output cut to what the token budget leaves. Raises `BudgetSpentError`."""
    most = ceiling(model, request)
    if budget.tokens is not None:
        over = spent.usage.tokens + most.tokens - budget.tokens
        if over > 0:
            request, most = _shortened(budget.tokens, spent, model, request, over)
    if budget.dollars is not None:
        _check_dollars(budget.dollars, spent.usage.dollars, most.dollars, model.name)
    return request


def reserve_device(budget: Budget, spent: Spent, timeout_s: float) -> None:
    """Check that one more evaluation fits. Raises `BudgetSpentError`."""
    if budget.device_s is not None and spent.device_s + timeout_s > budget.device_s:
        raise BudgetSpentError(
            f"the device budget of {budget.device_s:g} s could be passed by the next evaluation "
            f"({spent.device_s:.1f} s used, up to {timeout_s:g} s for one)"
        )


def _shortened(
    limit: int, spent: Spent, model: ChatModel, request: ChatRequest, over: int
) -> tuple[ChatRequest, Usage]:
    shorter = replace(request, max_output_tokens=request.max_output_tokens - over)
    if shorter.max_output_tokens >= LEAST_OUTPUT_TOKENS:
        most = ceiling(model, shorter)
        if spent.usage.tokens + most.tokens <= limit:
            return shorter, most
    raise BudgetSpentError(f"the token budget of {limit} could be passed by the next call")


def _check_dollars(limit: float, used: float | None, most: float | None, model: str) -> None:
    if most is None or used is None:
        raise BudgetSpentError(
            f"a dollar budget is set and the price of {model} is unknown: "
            "set its price in the settings, or a token budget"
        )
    if used + most > limit:
        raise BudgetSpentError(f"the dollar budget of {limit:g} could be passed by the next call")
