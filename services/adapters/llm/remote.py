"""A chat model behind HTTP: everything that OpenAI, Anthropic and compatible servers have in common.

One call passes the provider's gate, is sent (the SDK repeats what was refused, `_deliver` what broke off), is read as
a stream, and comes back in the agent's own schema with tokens and price. A protocol adds only `_stream`.
"""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from types import ModuleType

from services.adapters.llm.connection import Connection
from services.adapters.llm.explain import Explainer, ProtocolError, StreamCutError
from services.adapters.llm.ledger import CallFailedError, CallLedger, Failure, current_call
from services.adapters.llm.prices import PriceList, TokenCount, most_tokens
from services.adapters.llm.schemas import json_document, restore
from services.domain.chat import AgentRole, ChatReply, ChatRequest, ModelLimits
from services.domain.errors import CallInterruptedError, ModelError
from services.domain.usage import Usage

_CHARS_PER_TOKEN = 16
_CHARS_FLOOR = 4096
_RESEND_PAUSE_S = 0.5


@dataclass(frozen=True, kw_only=True)
class ChatDelta:
    """A part of a reply as it streams in, for people who watch; the reply itself is what `complete` returns."""

    key: str
    """The request's key."""
    role: AgentRole
    part: int
    """0, 1, 2, … A 0 after other parts means that the reply starts again and earlier parts are void."""
    text: str
    """As the model writes it, under the provider's form of the schema."""


DeltaListener = Callable[[ChatDelta], Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class ProviderReply:
    """A complete reply in the provider's terms."""

    text: str
    model: str
    stop_reason: str
    """As in `ChatReply`."""
    tokens: TokenCount | None
    """None when the server does not count."""


class RemoteChatModel(ABC):
    """Base of the protocols; implements `MeteredChatModel`."""

    default_reasoning_tokens = 0
    url_hint = ""

    def __init__(
        self, model: str, connection: Connection, prices: PriceList, listener: DeltaListener | None = None
    ) -> None:
        self._model = model
        self._connection = connection
        self._prices = prices
        self._listener = listener
        self._explainer = Explainer(
            provider=connection.provider,
            model=model,
            base_url=connection.base_url,
            redact=connection.redact,
            url_hint=self.url_hint,
        )

    @property
    def name(self) -> str:
        """The model as settings name it, for example `openai:gpt-…`."""
        return f"{self._connection.provider}:{self._model}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def limits(self, role: AgentRole) -> ModelLimits:  # noqa: ARG002 -- the same for each role
        """What the settings say of the provider's models, else what most models of today hold."""
        settings, usual = self._connection.settings, ModelLimits()
        return ModelLimits(
            window_tokens=settings.window_tokens or usual.window_tokens,
            output_tokens=settings.output_tokens or usual.output_tokens,
        )

    def ceiling(self, request: ChatRequest) -> Usage:
        """The most a call can use: every request that it may send and the provider may bill, at full length."""
        return self._billed(self._most(request), times=1 + self._connection.settings.max_lost)

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Answer one request. Raises `ModelError` saying what to change, and `CallInterruptedError` when it is
        cancelled; what the listener raises passes through."""
        request = _encodable(request)
        ledger = self._connection.ledger(request.team_id)
        try:
            return await self._complete(request, ledger)
        except asyncio.CancelledError:
            sent = self._billed(self._most(request), times=ledger.most_billed)
        raise CallInterruptedError(sent)

    async def _complete(self, request: ChatRequest, ledger: CallLedger) -> ChatReply:
        # Loading an SDK takes up to two seconds, which other jobs on this loop need not wait for.
        await asyncio.to_thread(self._sdk)
        async with self._connection.gate.call(request.team_id):
            token = current_call.set(ledger)
            try:
                return await self._deliver(request, ledger)
            finally:
                current_call.reset(token)

    async def _deliver(self, request: ChatRequest, ledger: CallLedger) -> ChatReply:
        clock = self._connection.clock
        deadline = clock.monotonic() + self._connection.settings.call_timeout_s
        while True:
            try:
                answer = await self._listen(request, ledger, deadline - clock.monotonic())
            except CallFailedError as error:
                failure = error.failure
            else:
                return self._reply(request, answer, ledger)
            if failure.resend:
                ledger.lose()
            if not (failure.resend and ledger.may_send and clock.monotonic() < deadline):
                break
            ledger.streaming, ledger.blocked = False, None
            await clock.sleep(_RESEND_PAUSE_S * ledger.lost)
        # Raised out here, so that no SDK error (with its request and headers) hangs on as the context.
        raise self._error(request, failure, ledger)

    async def _listen(self, request: ChatRequest, ledger: CallLedger, seconds: float) -> ProviderReply:
        """Read one streamed reply to its end, telling the listener."""
        feed = _Feed(request, self._listener, self._connection.settings.delta_chars)
        limit = _CHARS_FLOOR + _CHARS_PER_TOKEN * request.max_output_tokens
        try:
            async with asyncio.timeout(seconds) as timer, aclosing(self._pieces(request, ledger)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, ProviderReply):
                        await feed.flush()
                        return piece if len(piece.text) <= limit else self._overlong(request, piece.text[:limit])
                    await feed.add(piece)
                    if feed.length > limit:
                        return self._overlong(request, feed.text[:limit])
        except TimeoutError:
            if not timer.expired():
                raise
            ledger.lose()
            raise CallFailedError(self._out_of_time()) from None
        raise CallFailedError(Failure(message=f"the reply of {self._connection.provider} was empty"))

    async def _pieces(self, request: ChatRequest, ledger: CallLedger) -> AsyncGenerator[str | ProviderReply, None]:
        """The protocol's stream with every error explained."""
        import httpx2  # the command line must not wait for it

        sdk = self._sdk()
        own = (ProtocolError, StreamCutError, CallFailedError)
        # What SDKs raise on servers that answer, but not in their protocol, is not theirs to choose: attributes of
        # objects that were never validated, JSON that is none.
        garbled = (ValueError, TypeError, AttributeError, LookupError)
        failure: Failure
        try:
            async with aclosing(self._stream(request, ledger)) as stream:
                async for piece in stream:
                    yield piece
        except CallFailedError as error:
            failure = error.failure
        except (sdk.APIError, httpx2.HTTPError, httpx2.StreamError, *own, *garbled) as error:
            failure = self._explainer.explain(error, ledger, sdk)
        else:
            return
        raise CallFailedError(failure)

    @abstractmethod
    def _sdk(self) -> ModuleType:
        """The SDK's module, loaded at the first call."""

    @abstractmethod
    def _stream(self, request: ChatRequest, ledger: CallLedger) -> AsyncGenerator[str | ProviderReply, None]:
        """Send the request; yield text as it comes and the answer last. Set `ledger.streaming` once it has begun."""

    def _max_output(self, request: ChatRequest) -> int:
        return most_tokens(request, self._reasoning_tokens).output

    @property
    def _reasoning_tokens(self) -> int:
        tokens = self._connection.settings.reasoning_tokens
        return self.default_reasoning_tokens if tokens is None else tokens

    def _reply(self, request: ChatRequest, answer: ProviderReply, ledger: CallLedger) -> ChatReply:
        most = self._most(request)
        lost = self._billed(most, times=ledger.lost)
        tokens = answer.tokens or most
        dollars = self._prices.dollars(tokens, answer.model, self._model)
        usage = Usage(
            calls=1, input_tokens=tokens.input, cached_tokens=tokens.cached, output_tokens=tokens.output,
            reasoning_tokens=tokens.reasoning, dollars=dollars,
        )  # fmt: skip
        text, stop_reason = answer.text, answer.stop_reason
        if stop_reason == "stop":
            text, stop_reason = (_own_form(request, text), "stop") if text.strip() else ("", "error")
        return ChatReply(
            text=_utf8(text), model=answer.model or self._model, usage=usage + lost, stop_reason=stop_reason
        )

    def _most(self, request: ChatRequest) -> TokenCount:
        return most_tokens(request, self._reasoning_tokens)

    def _billed(self, tokens: TokenCount, times: int) -> Usage:
        """So many requests of so many tokens at the highest price; requests whose end we never saw are charged so."""
        if times == 0:
            return Usage()
        dollars = self._prices.dearest(tokens, self._model)
        return Usage(
            calls=times, input_tokens=times * tokens.input, output_tokens=times * tokens.output,
            dollars=None if dollars is None else times * dollars,
        )  # fmt: skip

    def _overlong(self, request: ChatRequest, text: str) -> ProviderReply:
        """A reply that ignores every limit is cut; what it cost is unknown, so the most is charged."""
        return ProviderReply(text=text, model=self._model, stop_reason="length", tokens=self._most(request))

    def _out_of_time(self) -> Failure:
        limit, provider = self._connection.settings.call_timeout_s, self._connection.provider
        return Failure(
            message=f"{provider} did not finish within {limit:g} s: try again later, or raise call_timeout_s "
            f"(KERNELWRIGHT_{provider.upper()}__CALL_TIMEOUT_S)"
        )

    def _error(self, request: ChatRequest, failure: Failure, ledger: CallLedger) -> ModelError:
        usage = self._billed(self._most(request), times=ledger.lost) if ledger.lost else None
        return ModelError(
            self._connection.redact(failure.message), retryable=failure.retryable,
            retry_after_s=failure.retry_after_s, usage=usage,
        )  # fmt: skip


class _Feed:
    """Collects streamed text and passes it on in parts worth an event."""

    def __init__(self, request: ChatRequest, listener: DeltaListener | None, part_chars: int) -> None:
        self._delta = ChatDelta(key=request.key, role=request.role, part=0, text="")
        self._listener = listener
        self._part_chars = part_chars
        self._pieces: list[str] = []
        self._told = 0
        self.length = 0

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    async def add(self, piece: str) -> None:
        self._pieces.append(piece)
        self.length += len(piece)
        if self.length - self._told >= self._part_chars:
            await self.flush()

    async def flush(self) -> None:
        if self._listener is None or self.length == self._told:
            return
        text = self.text[self._told :]
        self._told = self.length
        delta = replace(self._delta, text=text)
        self._delta = replace(delta, part=delta.part + 1)
        await self._listener(delta)


def _own_form(request: ChatRequest, text: str) -> str:
    """The reply under the agent's own schema; text without any JSON is left for the agent's parser to refuse."""
    try:
        found = json_document(text)
        if not _answers(request, found):
            return text
        return json.dumps(restore(request.schema, found), ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def _answers(request: ChatRequest, found: object) -> bool:
    """Whether a JSON document is meant as the answer, and is not just some literal in a reply that is a program."""
    named = request.schema.get("properties")
    return not isinstance(found, dict) or not isinstance(named, dict) or bool(set(found) & set(named))


def _encodable(request: ChatRequest) -> ChatRequest:
    """The request without half surrogates, which no HTTP body can carry (compilers and problem files write them)."""
    messages = tuple(replace(message, content=_utf8(message.content)) for message in request.messages)
    return replace(request, messages=messages)


def _utf8(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
