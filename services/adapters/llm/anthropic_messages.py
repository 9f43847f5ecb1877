"""`anthropic:<model>`: Anthropic's Messages API with structured output and adaptive thinking."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from itertools import takewhile
from types import ModuleType
from typing import Any

from services.adapters.llm.explain import early_end
from services.adapters.llm.ledger import CallLedger
from services.adapters.llm.prices import TokenCount
from services.adapters.llm.remote import ProviderReply, RemoteChatModel
from services.adapters.llm.schemas import strict_schema
from services.adapters.llm.streams import reading
from services.domain.chat import ChatMessage, ChatRequest

_STOP_REASONS = {
    "end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "model_context_window_exceeded": "length",
    "refusal": "refusal",
}  # fmt: skip
_CACHE = {"type": "ephemeral"}


class AnthropicMessagesModel(RemoteChatModel):
    """The stable start of the prompt (the leading system messages) is marked for the provider's cache."""

    default_reasoning_tokens = 16_384
    url_hint = ", which ends before /v1"

    def _sdk(self) -> ModuleType:
        import anthropic
        import anthropic.resources.messages

        return anthropic

    async def _stream(self, request: ChatRequest, ledger: CallLedger) -> AsyncGenerator[str | ProviderReply, None]:
        client = self._sdk().AsyncAnthropic(**self._connection.sdk_options(ledger), open_telemetry=False)
        events = await client.messages.create(**self._parameters(request))
        ledger.streaming = True
        whole = _MessageBuilder(self._model)
        async with reading(events) as each:
            async for event in each:
                if text := whole.take(event):
                    yield text
        yield whole.answer()

    def _parameters(self, request: ChatRequest) -> dict[str, Any]:
        settings = self._connection.settings
        output: dict[str, Any] = {"format": {"type": "json_schema", "schema": strict_schema(request.schema)}}
        if settings.effort is not None:
            output["effort"] = settings.effort
        parameters: dict[str, Any] = {
            "model": self._model,
            "max_tokens": self._max_output(request),
            "messages": _turns(request.messages),
            "output_config": output,
            "stream": True,
        }
        if system := _system(request.messages):
            parameters["system"] = system
        if settings.thinking:
            parameters["thinking"] = {"type": "adaptive"}
        return parameters

    @property
    def _reasoning_tokens(self) -> int:
        if self._connection.settings.reasoning_tokens is None and not self._connection.settings.thinking:
            return 0
        return super()._reasoning_tokens


class _MessageBuilder:
    def __init__(self, model: str) -> None:
        self._model = model
        self._text: list[str] = []
        self._stop_reason: str | None = None
        self._explanation: str | None = None
        self._usage: dict[str, int] = {}
        self._complete = False

    def take(self, event: Any) -> str:
        """One event; returns the text in it."""
        if event.type == "message_start":
            self._model = event.message.model
            self._count(event.message.usage)
        elif event.type == "content_block_delta" and event.delta.type == "text_delta":
            self._text.append(event.delta.text)
            return str(event.delta.text)
        elif event.type == "message_delta":
            self._stop_reason = event.delta.stop_reason
            self._explanation = getattr(getattr(event.delta, "stop_details", None), "explanation", None)
            self._count(event.usage)
        elif event.type == "message_stop":
            self._complete = True
        return ""

    def answer(self) -> ProviderReply:
        """The whole. Raises when the end never came."""
        if not self._complete or self._stop_reason is None:
            raise early_end(began=bool(self._usage))
        stop_reason = _STOP_REASONS.get(self._stop_reason, "error")
        text = "".join(self._text)
        if stop_reason == "refusal":
            text = self._explanation or text
        return ProviderReply(text=text, model=self._model, stop_reason=stop_reason, tokens=self._tokens())

    def _count(self, usage: Any) -> None:
        """Later counts are cumulative and replace earlier ones."""
        for name in ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"):
            value = getattr(usage, name, None)
            if value is not None:
                self._usage[name] = value
        details = getattr(usage, "output_tokens_details", None)
        if details is not None:
            self._usage["thinking"] = details.thinking_tokens

    def _tokens(self) -> TokenCount | None:
        if "input_tokens" not in self._usage or "output_tokens" not in self._usage:
            return None
        read = self._usage.get("cache_read_input_tokens", 0)
        written = self._usage.get("cache_creation_input_tokens", 0)
        return TokenCount(
            input=self._usage["input_tokens"] + read + written,
            output=self._usage["output_tokens"],
            cached=read,
            cache_written=written,
            reasoning=self._usage.get("thinking", 0),
        )


def _leading(messages: tuple[ChatMessage, ...]) -> list[ChatMessage]:
    return list(takewhile(lambda message: message.role == "system", messages))


def _system(messages: tuple[ChatMessage, ...]) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": message.content} for message in _leading(messages)]
    if blocks:
        blocks[-1]["cache_control"] = _CACHE
    return blocks


def _turns(messages: tuple[ChatMessage, ...]) -> list[dict[str, Any]]:
    """All but the leading system messages; a later system message is said by the user."""
    rest = messages[len(_leading(messages)) :] or (ChatMessage(role="user", content="Begin."),)
    return [{"role": "assistant" if m.role == "assistant" else "user", "content": m.content} for m in rest]
