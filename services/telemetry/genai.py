"""Attribute names of OpenTelemetry's conventions for generative AI: they still move, so they are written once, here."""

from __future__ import annotations

from services.domain.chat import ChatReply, ChatRequest

Attributes = dict[str, str | int | float]


def provider_of(model: str) -> str:
    """`openai` of `openai:gpt-…`; the whole name where it has no provider."""
    return model.partition(":")[0]


def request_attributes(model: str, request: ChatRequest) -> Attributes:
    """What is known before a call."""
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider_of(model),
        "gen_ai.request.model": model.partition(":")[2] or model,
        "gen_ai.agent.name": request.role.value,
        "gen_ai.output.type": "json",
    }


def reply_attributes(reply: ChatReply) -> Attributes:
    """What is known after it."""
    return {
        "gen_ai.response.model": reply.model,
        "gen_ai.response.finish_reasons": reply.stop_reason,
        "gen_ai.usage.input_tokens": reply.usage.input_tokens,
        "gen_ai.usage.output_tokens": reply.usage.output_tokens,
    }
