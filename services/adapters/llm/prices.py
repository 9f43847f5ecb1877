"""What calls cost: prices from `genai-prices` (offline) or the settings, and the most a request may cost."""

from __future__ import annotations

import json
from dataclasses import dataclass

from services.adapters.llm.settings import TokenPrice
from services.domain.chat import ChatRequest

_PER_MILLION = 1e-6
_MESSAGE_TOKENS = 16
"""Generous allowance for the tokens that a chat template puts around one message."""
_REQUEST_TOKENS = 1024
"""Generous allowance for what providers add by themselves (structured output puts instructions into the prompt)."""


@dataclass(frozen=True, kw_only=True)
class TokenCount:
    """Tokens of one HTTP request, as its provider counted them."""

    input: int
    """All input, from and to the cache included."""
    output: int
    """All output, reasoning included."""
    cached: int = 0
    """Part of the input read from the provider's cache."""
    cache_written: int = 0
    """Part of the input written to the cache (dearer with some providers)."""
    reasoning: int = 0
    """Part of the output spent on reasoning."""


@dataclass(frozen=True, kw_only=True)
class PriceList:
    """Prices of one provider's models."""

    provider_id: str | None
    """The provider's name in `genai-prices`; None to find it by `base_url`."""
    base_url: str | None
    override: TokenPrice | None = None

    def dollars(self, count: TokenCount, *models: str) -> float | None:
        """The price of a request to the first of the models that is known, None when none is ("unpriced")."""
        if self.override is not None:
            return _by_override(self.override, count)
        prices = (self._listed(count, model) for model in models)
        return next((price for price in prices if price is not None), None)

    def dearest(self, count: TokenCount, model: str) -> float | None:
        """The most that so many tokens can cost: nothing read from the cache, all of it written there."""
        plain = TokenCount(input=count.input, output=count.output)
        written = TokenCount(input=count.input, output=count.output, cache_written=count.input)
        prices = [self.dollars(plain, model), self.dollars(written, model)]
        known = [price for price in prices if price is not None]
        return max(known, default=None)

    def _listed(self, count: TokenCount, model: str) -> float | None:
        from genai_prices import Usage, calc_price  # 0.2 s that only paid calls spend

        usage = Usage(
            input_tokens=count.input,
            cache_read_tokens=min(count.cached, count.input),
            cache_write_tokens=min(count.cache_written, max(count.input - count.cached, 0)),
            output_tokens=count.output,
        )
        try:
            if self.provider_id is not None:
                return float(calc_price(usage, model, provider_id=self.provider_id).total_price)
            return float(calc_price(usage, model, provider_api_url=self.base_url or "").total_price)
        except LookupError:
            return None


def _by_override(price: TokenPrice, count: TokenCount) -> float:
    cached = price.input if price.cached is None else price.cached
    fresh = max(count.input - count.cached, 0)
    return _PER_MILLION * (fresh * price.input + count.cached * cached + count.output * price.output)


def most_tokens(request: ChatRequest, reasoning_tokens: int) -> TokenCount:
    """The most tokens one HTTP request can use.

    The input is bounded by its UTF-8 bytes: no tokenizer in use (byte-level BPE, SentencePiece with byte fallback)
    makes more than one token of a byte. For prose and code that is three to four times what will be counted."""
    schema_bytes = len(json.dumps(request.schema).encode())
    text_bytes = sum(
        len(message.content.encode("utf-8", "surrogatepass")) + _MESSAGE_TOKENS for message in request.messages
    )
    return TokenCount(
        # Twice the schema: it may be sent as a parameter and be shown to the model as text.
        input=text_bytes + 2 * schema_bytes + _REQUEST_TOKENS,
        output=request.max_output_tokens + reasoning_tokens,
    )
