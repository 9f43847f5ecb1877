"""Options of a provider come from the environment, reach its models, and are refused by the variable's name."""

from __future__ import annotations

import pytest

from kernelwright.settings import load_settings
from kernelwright.wiring.installation import make_models
from services.adapters.llm.remote import RemoteChatModel
from services.domain.errors import ConfigurationError
from services.runtime.clock import SystemClock
from tests.fakes.chat_requests import a_request


def the_model(name: str) -> RemoteChatModel:
    model = make_models(load_settings(), SystemClock()).resolve(name)
    assert isinstance(model, RemoteChatModel)
    return model


def test_each_option_of_a_provider_is_a_variable_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELWRIGHT_OPENAI_API_KEY", "sk-0123456789")
    monkeypatch.setenv("KERNELWRIGHT_OPENAI__TEAM_CONCURRENCY", "2")
    monkeypatch.setenv("KERNELWRIGHT_OPENAI__EFFORT", "low")
    monkeypatch.setenv("KERNELWRIGHT_OPENAI__REASONING_TOKENS", "1000")
    settings = load_settings()
    assert (settings.openai.team_concurrency, settings.openai.effort) == (2, "low")
    assert settings.anthropic.team_concurrency is None
    usual = the_model("openai:gpt-5").ceiling(a_request())
    assert usual.output_tokens == 2 * (2048 + 1000), "twice: a lost request is sent once more"


def test_a_price_makes_calls_of_a_server_of_ones_own_count_in_dollars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELWRIGHT_COMPATIBLE_BASE_URL", "http://127.0.0.1:9/v1")
    assert the_model("compatible:x").ceiling(a_request()).dollars is None
    monkeypatch.setenv("KERNELWRIGHT_COMPATIBLE__PRICE_INPUT", "1.5")
    monkeypatch.setenv("KERNELWRIGHT_COMPATIBLE__PRICE_OUTPUT", "6")
    most = the_model("compatible:x").ceiling(a_request())
    assert most.dollars == pytest.approx((most.input_tokens * 1.5 + most.output_tokens * 6) / 1e6)


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("KERNELWRIGHT_OPENAI__CONCURRENCY", "0", "KERNELWRIGHT_OPENAI__CONCURRENCY='0'"),
        (
            "KERNELWRIGHT_ANTHROPIC__TEAM_REQUESTS_PER_MINUTE",
            "many",
            "KERNELWRIGHT_ANTHROPIC__TEAM_REQUESTS_PER_MINUTE",
        ),
        ("KERNELWRIGHT_COMPATIBLE__PRICE_INPUT", "1", "price_input and price_output go together"),
        ("KERNELWRIGHT_COMPATIBLE__CONCURENCY", "3", "KERNELWRIGHT_COMPATIBLE__CONCURENCY"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused_by_its_name(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, said: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigurationError, match=said):
        load_settings()
