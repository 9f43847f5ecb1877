"""`openai:<model>`: OpenAI's Responses API with structured output."""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncGenerator
from types import ModuleType
from typing import Any

from services.adapters.llm.explain import ProtocolError, StreamCutError, early_end
from services.adapters.llm.ledger import CallFailedError, CallLedger, Failure
from services.adapters.llm.prices import TokenCount
from services.adapters.llm.remote import ProviderReply, RemoteChatModel
from services.adapters.llm.schemas import strict_schema
from services.adapters.llm.streams import reading
from services.domain.chat import ChatRequest

_REFUSED = frozenset(
    {"invalid_prompt", "bio_policy", "misalignment_policy_violation", "image_content_policy_violation"}
)
_ROLES = {"system": "developer"}


class OpenAIResponsesModel(RemoteChatModel):
    """Nothing is stored at OpenAI (`store=False`); the prompt's stable start is found again by `prompt_cache_key`."""

    default_reasoning_tokens = 16_384
    url_hint = ", which usually ends in /v1"

    def _sdk(self) -> ModuleType:
        import openai
        import openai.resources.responses

        return openai

    async def _stream(self, request: ChatRequest, ledger: CallLedger) -> AsyncGenerator[str | ProviderReply, None]:
        client = self._sdk().AsyncOpenAI(**self._connection.sdk_options(ledger))
        events = await client.responses.create(**self._parameters(request))
        ledger.streaming = True
        began = False
        async with reading(events) as each:
            async for event in each:
                kind = event.type
                began = began or kind.startswith("response.")
                if kind == "response.output_text.delta":
                    yield event.delta
                elif kind in {"response.completed", "response.incomplete", "response.failed"}:
                    yield self._answer(event.response)
                    return
                elif kind == "error":
                    raise StreamCutError(str(event.message))
        raise early_end(began=began)

    def _parameters(self, request: ChatRequest) -> dict[str, Any]:
        text_format = {
            "type": "json_schema", "name": schema_name(request), "schema": strict_schema(request.schema),
            "strict": True,
        }  # fmt: skip
        parameters: dict[str, Any] = {
            "model": self._model,
            # OpenAI lets the type of a message be left out; llama.cpp does not where the message is the assistant's.
            "input": [
                {"type": "message", "role": _ROLES.get(m.role, m.role), "content": m.content} for m in request.messages
            ],
            "text": {"format": text_format},
            "max_output_tokens": self._max_output(request),
            "prompt_cache_key": cache_key(request),
            "store": False,
            "stream": True,
        }
        if self._connection.settings.effort is not None:
            parameters["reasoning"] = {"effort": self._connection.settings.effort}
        return parameters

    def _answer(self, response: Any) -> ProviderReply:
        if response.status == "failed" and response.error is not None:
            return self._failed(response)
        refusals = [
            part.refusal for item in response.output if item.type == "message"
            for part in item.content if part.type == "refusal"
        ]  # fmt: skip
        stop_reason = _stop_reason(response, refused=bool(refusals))
        text = "".join(refusals) or response.output_text
        return ProviderReply(text=text, model=response.model, stop_reason=stop_reason, tokens=_tokens(response.usage))

    def _failed(self, response: Any) -> ProviderReply:
        words = self._connection.redact(str(response.error.message))
        if response.error.code in _REFUSED:
            tokens = _tokens(response.usage) or TokenCount(input=0, output=0)
            return ProviderReply(text=words, model=response.model, stop_reason="refusal", tokens=tokens)
        raise CallFailedError(
            Failure(message=f"openai failed while answering: try again later. It said: {words}", resend=True)
        )


def schema_name(request: ChatRequest) -> str:
    """The schema's name in the alphabet that OpenAI allows."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", request.schema_name)[:64] or "reply"


def cache_key(request: ChatRequest) -> str:
    """Equal for requests whose prompts start alike: same role, same leading message."""
    start = request.messages[0].content if request.messages else ""
    digest = hashlib.sha256(start.encode()).hexdigest()[:24]
    return f"kernelwright-{request.role.value}-{digest}"


def _stop_reason(response: Any, *, refused: bool) -> str:
    if refused:
        return "refusal"
    if response.status == "completed":
        return "stop"
    reason = response.incomplete_details.reason if response.incomplete_details else None
    if reason is None:
        raise ProtocolError(f"a reply ended as {response.status} without a reason")
    return "refusal" if reason == "content_filter" else "length"


def _tokens(usage: Any) -> TokenCount | None:
    if usage is None:
        return None
    inputs, outputs = usage.input_tokens_details, usage.output_tokens_details
    return token_count(usage.input_tokens, usage.output_tokens, inputs, outputs)


def token_count(used: int, made: int, of_input: Any, of_output: Any) -> TokenCount:
    """Tokens of input and output with what OpenAI's servers tell of each; many tell nothing."""
    return TokenCount(
        input=used,
        output=made,
        cached=getattr(of_input, "cached_tokens", 0) or 0,
        cache_written=getattr(of_input, "cache_write_tokens", 0) or 0,
        reasoning=getattr(of_output, "reasoning_tokens", 0) or 0,
    )
