"""Prices offline, and ceilings that hold for any text."""

from __future__ import annotations

import pytest

from services.adapters.llm.prices import PriceList, TokenCount, most_tokens
from services.adapters.llm.settings import TokenPrice
from tests.fakes.chat_requests import a_request

OPENAI = PriceList(provider_id="openai", base_url=None)
ANTHROPIC = PriceList(provider_id="anthropic", base_url=None)


def test_cached_input_is_cheaper_than_fresh_input() -> None:
    fresh = OPENAI.dollars(TokenCount(input=1_000_000, output=0), "gpt-5")
    cached = OPENAI.dollars(TokenCount(input=1_000_000, output=0, cached=1_000_000), "gpt-5")
    assert fresh is not None
    assert cached is not None
    assert cached < fresh


def test_an_unknown_model_is_unpriced() -> None:
    assert OPENAI.dollars(TokenCount(input=10, output=10), "no-such-model") is None
    assert OPENAI.dearest(TokenCount(input=10, output=10), "no-such-model") is None


def test_the_models_own_name_counts_where_the_server_answers_with_an_unknown_one() -> None:
    count = TokenCount(input=1000, output=10)
    assert OPENAI.dollars(count, "snapshot-unknown", "gpt-5") == OPENAI.dollars(count, "gpt-5")


def test_a_server_of_ones_own_is_unpriced_unless_a_price_is_set() -> None:
    count = TokenCount(input=2_000_000, output=1_000_000, cached=1_000_000)
    nowhere = PriceList(provider_id=None, base_url="http://127.0.0.1:8000/v1")
    assert nowhere.dollars(count, "qwen3") is None
    free = PriceList(provider_id=None, base_url=None, override=TokenPrice())
    assert free.dollars(count, "qwen3") == 0.0
    priced = PriceList(provider_id=None, base_url=None, override=TokenPrice(input=1.0, cached=0.1, output=3.0))
    assert priced.dollars(count, "qwen3") == pytest.approx(4.1)


@pytest.mark.parametrize(("prices", "model"), [(OPENAI, "gpt-5"), (ANTHROPIC, "claude-opus-4-6")])
def test_the_dearest_price_is_above_every_way_the_same_tokens_can_be_counted(prices: PriceList, model: str) -> None:
    most = prices.dearest(TokenCount(input=10_000, output=500), model)
    assert most is not None
    for cached, written in ((0, 0), (10_000, 0), (0, 10_000), (5_000, 5_000)):
        count = TokenCount(input=10_000, output=500, cached=cached, cache_written=written)
        price = prices.dollars(count, model)
        assert price is not None
        assert price <= most


@pytest.mark.parametrize("text", ["x" * 5000, "漢字" * 2000, "\u0000" * 1000, "🙂" * 1000])
def test_the_ceiling_has_room_for_one_token_per_byte_of_any_text(text: str) -> None:
    request = a_request(prompt=text, max_output_tokens=100)
    most = most_tokens(request, 50)
    assert most.input >= len(text.encode())
    assert most.output == 150
