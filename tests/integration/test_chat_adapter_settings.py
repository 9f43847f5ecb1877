"""Wrong settings: one clear message that says what to change, and nothing sent twice."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from pydantic import SecretStr

from agents.roles.replies import PlannerReply, parse_reply
from services.adapters.llm.registry import ModelRegistry
from services.adapters.llm.settings import ModelSettings
from services.domain.errors import ModelError, ReplyError
from tests.fakes.chat_bench import FAST, a_bench, every_adapter, failing
from tests.fakes.chat_requests import a_request
from tests.fakes.chat_servers import Act, always, chat_server
from tests.fakes.clocks import WallClock

pytestmark = [pytest.mark.integration, pytest.mark.timeout(60)]


@every_adapter
async def test_a_wrong_key_is_asked_once_and_named_but_not_shown(name: str) -> None:
    wrong = "sk-canary-wrong-1234567890"
    async with a_bench(always(Act()), replace(FAST, api_key=SecretStr(wrong))) as bench:
        error = await failing(bench, name)
    assert len(bench.server.seen) == 1
    assert not error.retryable
    assert "set another api_key" in str(error)
    assert wrong not in str(error)


@every_adapter
async def test_a_model_that_does_not_exist_is_named(name: str) -> None:
    async with a_bench(always(Act())) as bench:
        error = await failing(bench, name.partition(":")[0] + ":no-such-model")
    assert not error.retryable
    assert "no model 'no-such-model'" in str(error)
    assert len(bench.server.seen) == 1


@every_adapter
async def test_a_prompt_longer_than_the_window_says_so(name: str) -> None:
    async with a_bench(always(Act())) as bench:
        error = await failing(bench, name, prompt="x" * 300_000)
    assert not error.retryable
    assert "longer than the window" in str(error)
    assert len(bench.server.seen) == 1


@every_adapter
@pytest.mark.parametrize(
    ("words", "change"),
    [
        ("adaptive thinking is not supported on this model", "switch thinking off"),
        ("Unsupported parameter: 'reasoning.effort'", "leave effort unset"),
        ("max_tokens: 18432 > 8192, which is the maximum allowed", "lower reasoning_tokens"),
        ("Your credit balance is too low", "add credit there"),
    ],
)
async def test_a_refused_request_says_which_setting_to_change(name: str, words: str, change: str) -> None:
    async with a_bench(always(Act(status=400, error=words))) as bench:
        error = await failing(bench, name)
    assert change in str(error)
    assert words in str(error)
    assert not error.retryable
    assert len(bench.server.seen) == 1


@every_adapter
async def test_half_surrogates_in_prompts_and_replies_do_no_harm(name: str) -> None:
    text = '{"hypothesis": "a\\ud800b", "moves": [], "start_point": null, "expected_gain": 2, "unable": null}'
    async with a_bench(always(Act(text=text))) as bench:
        model = bench.model(name)
        reply = await model.complete(a_request(prompt="from the compiler: \udcff\udcfe"))
        assert model.ceiling(a_request(prompt="\udcff")).input_tokens > 0
    assert parse_reply(PlannerReply, reply.text).hypothesis == "a?b"
    assert "from the compiler: ??" in json.dumps(bench.server.seen[0].body)


@every_adapter
@pytest.mark.parametrize("text", ['{"hypothesis":' + "[" * 900 + "]" * 900 + "}", "[" * 100_000, '{"a":' * 5_000])
async def test_replies_nested_without_end_reach_the_parser_which_refuses_them(name: str, text: str) -> None:
    async with a_bench(always(Act(text=text))) as bench:
        reply = await bench.model(name).complete(a_request(max_output_tokens=8192))
    assert reply.stop_reason == "stop"
    with pytest.raises(ReplyError):
        parse_reply(PlannerReply, reply.text)


@every_adapter
async def test_a_base_url_with_the_wrong_path_says_so(name: str) -> None:
    async with chat_server(always(Act())) as server:
        provider = name.partition(":")[0]
        settings = replace(FAST, base_url=f"{server.url}/elsewhere")
        registry = ModelRegistry(ModelSettings(providers={provider: settings}), WallClock())
        with pytest.raises(ModelError, match="check base_url"):
            await registry.resolve(name).complete(a_request())
        await registry.aclose()


@every_adapter
async def test_an_unreachable_server_is_named_with_its_address(name: str) -> None:
    async with chat_server(always(Act())) as server:
        url = server.url
    provider = name.partition(":")[0]
    settings = replace(FAST, base_url=url, max_attempts=2)
    registry = ModelRegistry(ModelSettings(providers={provider: settings}), WallClock())
    with pytest.raises(ModelError, match=f"cannot be reached at {url}") as caught:
        await registry.resolve(name).complete(a_request())
    await registry.aclose()
    assert caught.value.retryable
    assert caught.value.usage is None


@every_adapter
@pytest.mark.parametrize("host", ["2130706433", "0x7f000001"])
async def test_a_host_that_turns_out_to_be_private_gets_no_request(name: str, host: str) -> None:
    async with chat_server(always(Act())) as server:
        provider = name.partition(":")[0]
        settings = replace(FAST, base_url=f"http://{host}:{server.port}", forbid_private_hosts=True)
        registry = ModelRegistry(ModelSettings(providers={provider: settings}), WallClock())
        with pytest.raises(ModelError) as caught:
            await registry.resolve(name).complete(a_request())
        await registry.aclose()
    assert server.seen == []
    assert "private address" in str(caught.value)
    assert not caught.value.retryable


@every_adapter
async def test_a_redirect_is_not_followed_so_that_the_key_stays_with_its_server(name: str) -> None:
    async with chat_server(always(Act())) as elsewhere:
        away = Act(status=307, headers={"location": f"{elsewhere.url}/v1/messages"}, error="moved")
        async with a_bench(always(away)) as bench:
            error = await failing(bench, name)
    assert elsewhere.seen == []
    assert len(bench.server.seen) == 1
    assert "set base_url to where it leads" in str(error)
    assert not error.retryable
