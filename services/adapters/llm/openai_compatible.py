"""`compatible:<model>`: Chat Completions at a base URL (vLLM, llama.cpp, Ollama and many hosts)."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from itertools import chain
from types import ModuleType
from typing import Any

from services.adapters.llm.explain import early_end
from services.adapters.llm.ledger import CallLedger
from services.adapters.llm.openai_responses import schema_name, token_count
from services.adapters.llm.prices import TokenCount
from services.adapters.llm.remote import ProviderReply, RemoteChatModel
from services.adapters.llm.schemas import strict_schema
from services.adapters.llm.streams import reading
from services.domain.chat import ChatRequest

_MODES = ("json_schema", "json_object", "none")
"""Ways to ask for a structured reply, best first."""
_FORMAT_WORDS = ("response_format", "json_schema", "json_object", "grammar", "guided", "structured output", "schema")
_STOP_REASONS = {"stop": "stop", "length": "length", "content_filter": "refusal"}


class CompatibleChatModel(RemoteChatModel):
    """Asks for what the server can: a schema, else any JSON object, else plain text with the schema in the prompt."""

    url_hint = ", which usually ends in /v1"
    _mode = 0

    def _sdk(self) -> ModuleType:
        import openai
        import openai.resources.chat

        return openai

    async def _stream(self, request: ChatRequest, ledger: CallLedger) -> AsyncGenerator[str | ProviderReply, None]:
        chunks = await self._open(request, ledger)
        ledger.streaming = True
        whole = _CompletionBuilder(self._model)
        async with reading(chunks) as each:
            async for chunk in each:
                if text := whole.take(chunk):
                    yield text
        yield whole.answer()

    async def _open(self, request: ChatRequest, ledger: CallLedger) -> Any:
        """Start the reply in the best mode the server takes; what it refuses is not asked for again."""
        sdk = self._sdk()
        while True:
            mode = self._mode
            client = sdk.AsyncOpenAI(**self._connection.sdk_options(ledger))
            try:
                return await client.chat.completions.create(**self._parameters(request, _MODES[mode]))
            except (sdk.BadRequestError, sdk.UnprocessableEntityError, sdk.InternalServerError) as error:
                if mode + 1 == len(_MODES) or not _is_about_format(error):
                    raise
                self._mode = max(self._mode, mode + 1)

    def _parameters(self, request: ChatRequest, mode: str) -> dict[str, Any]:
        messages = [{"role": message.role, "content": message.content} for message in request.messages]
        parameters: dict[str, Any] = {
            "model": self._model,
            "messages": messages if mode == "json_schema" else _with_schema(messages, request),
            "max_tokens": self._max_output(request),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if mode == "json_schema":
            schema = {"name": schema_name(request), "schema": strict_schema(request.schema), "strict": True}
            parameters["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif mode == "json_object":
            parameters["response_format"] = {"type": "json_object"}
        if self._connection.settings.effort is not None:
            parameters["reasoning_effort"] = self._connection.settings.effort
        return parameters


class _CompletionBuilder:
    def __init__(self, model: str) -> None:
        self._model = model
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._finish: str | None = None
        self._usage: Any = None
        self._began = False

    def take(self, chunk: Any) -> str:
        """One chunk; returns the text in it."""
        self._model = chunk.model or self._model
        self._usage = chunk.usage or self._usage
        for choice in (chunk.choices or [])[:1]:
            self._began = True
            self._finish = choice.finish_reason or self._finish
            if choice.delta.refusal:
                self._refusal.append(choice.delta.refusal)
            if choice.delta.content:
                self._text.append(choice.delta.content)
                return str(choice.delta.content)
        return ""

    def answer(self) -> ProviderReply:
        """The whole. Raises when the end never came."""
        if self._finish is None:
            raise early_end(began=self._began)
        stop_reason = "refusal" if self._refusal else _STOP_REASONS.get(self._finish, "error")
        text = "".join(self._refusal or self._text)
        return ProviderReply(text=text, model=self._model, stop_reason=stop_reason, tokens=_tokens(self._usage))


def _with_schema(messages: list[dict[str, str]], request: ChatRequest) -> list[dict[str, str]]:
    """The messages with the schema said in words, in the first of them so that the start stays the same."""
    words = f"Answer with one JSON object and nothing else. It must fit this JSON schema:\n{json.dumps(request.schema)}"
    if messages and messages[0]["role"] == "system":
        return [{"role": "system", "content": f"{messages[0]['content']}\n\n{words}"}, *messages[1:]]
    return [{"role": "system", "content": words}, *messages]


def _is_about_format(error: Any) -> bool:
    words = " ".join(chain([str(error.param)], [json.dumps(error.body, default=str)])).lower()
    return any(word in words for word in _FORMAT_WORDS)


def _tokens(usage: Any) -> TokenCount | None:
    if usage is None or usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    inputs, outputs = usage.prompt_tokens_details, usage.completion_tokens_details
    return token_count(usage.prompt_tokens, usage.completion_tokens, inputs, outputs)
