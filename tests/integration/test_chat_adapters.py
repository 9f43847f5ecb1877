"""The three adapters on their real SDKs: what is sent, and what comes back."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from agents.roles.replies import PlannerReply, parse_reply
from services.adapters.llm.remote import ChatDelta
from services.adapters.llm.settings import TokenPrice
from tests.fakes.chat_bench import FAST, STRICT_PLAN, a_bench, every_adapter
from tests.fakes.chat_protocols import CACHED, INPUT, OUTPUT, REASONING
from tests.fakes.chat_requests import PLAN, a_request
from tests.fakes.chat_servers import Act, always
from tests.fakes.strictness import strictness_faults

pytestmark = [pytest.mark.integration, pytest.mark.timeout(60)]


@every_adapter
async def test_a_plan_arrives_in_the_agents_form_with_its_usage(name: str) -> None:
    async with a_bench(always(Act(text=STRICT_PLAN))) as bench:
        reply = await bench.model(name).complete(a_request())
    plan = parse_reply(PlannerReply, reply.text)
    assert plan.moves[0].parameters == {"width": 8, "aligned": True}
    assert plan.expected_gain == 2.5
    assert reply.stop_reason == "stop"
    assert reply.model == name.partition(":")[2]
    usage = reply.usage
    assert (usage.calls, usage.input_tokens, usage.cached_tokens) == (1, INPUT, CACHED)
    assert (usage.output_tokens, usage.reasoning_tokens) == (OUTPUT, REASONING)


@every_adapter
async def test_known_models_are_priced_and_unknown_servers_are_not(name: str) -> None:
    async with a_bench(always(Act(text=STRICT_PLAN))) as bench:
        reply = await bench.model(name).complete(a_request())
    if name.startswith("compatible"):
        assert reply.usage.dollars is None
    else:
        assert reply.usage.dollars is not None
        assert 0 < reply.usage.dollars < 0.1


async def test_the_price_of_ones_own_server_can_be_set() -> None:
    settings = replace(FAST, price=TokenPrice(input=1.0, cached=0.5, output=10.0))
    async with a_bench(always(Act(text=STRICT_PLAN)), settings) as bench:
        reply = await bench.model("compatible:local").complete(a_request())
    fresh = INPUT - CACHED
    assert reply.usage.dollars == pytest.approx((fresh * 1.0 + CACHED * 0.5 + OUTPUT * 10.0) / 1e6)


@every_adapter
async def test_the_streamed_parts_reach_the_listener_in_order_and_add_up(name: str) -> None:
    told: list[ChatDelta] = []

    async def listen(delta: ChatDelta) -> None:
        told.append(delta)

    text = json.dumps({"hypothesis": "x" * 500})
    async with a_bench(always(Act(text=text, pieces=50)), replace(FAST, delta_chars=100), listen) as bench:
        await bench.model(name).complete(a_request())
    assert "".join(delta.text for delta in told) == text
    assert [delta.part for delta in told] == list(range(len(told)))
    assert 4 <= len(told) <= 8
    assert {delta.key for delta in told} == {"job-1/0/planner/0"}


@every_adapter
async def test_what_a_listener_raises_reaches_the_caller(name: str) -> None:
    async def listen(_delta: ChatDelta) -> None:
        raise LookupError("the event log is gone")

    async with a_bench(always(Act(text=STRICT_PLAN)), FAST, listen) as bench:
        with pytest.raises(LookupError, match="event log"):
            await bench.model(name).complete(a_request())
    assert len(bench.server.seen) == 1


async def test_the_responses_request_is_strict_unstored_and_cacheable() -> None:
    async with a_bench(always(Act(text=STRICT_PLAN)), replace(FAST, effort="low")) as bench:
        await bench.model("openai:gpt-5").complete(a_request(prompt="one"))
        await bench.model("openai:gpt-5").complete(a_request(prompt="two"))
    first, second = (seen.body for seen in bench.server.seen)
    assert first["store"] is False
    assert first["reasoning"] == {"effort": "low"}
    assert first["text"]["format"]["strict"] is True
    assert first["text"]["format"]["name"] == "PlannerReply"
    assert first["max_output_tokens"] == 2048 + 16_384
    assert first["prompt_cache_key"] == second["prompt_cache_key"]
    assert len(first["prompt_cache_key"]) <= 64
    assert [item["role"] for item in first["input"]] == ["developer", "user"]
    assert {item["type"] for item in first["input"]} == {"message"}, "llama.cpp knows an assistant's turn by it"


async def test_the_messages_request_caches_its_stable_start_and_thinks_adaptively() -> None:
    async with a_bench(always(Act(text=STRICT_PLAN)), replace(FAST, effort="high")) as bench:
        await bench.model("anthropic:claude-opus-5").complete(a_request())
    body = bench.server.seen[0].body
    assert body["system"] == [{"type": "text", "text": "You plan kernels.", "cache_control": {"type": "ephemeral"}}]
    assert body["thinking"] == {"type": "adaptive"}
    assert body["output_config"]["effort"] == "high"
    assert strictness_faults(body["output_config"]["format"]["schema"]) == []
    assert not {"temperature", "top_p", "top_k"} & body.keys()
    assert [turn["role"] for turn in body["messages"]] == ["user"]


async def test_a_model_that_must_not_think_gets_no_room_for_it() -> None:
    async with a_bench(always(Act(text=STRICT_PLAN)), replace(FAST, thinking=False)) as bench:
        await bench.model("anthropic:claude-opus-5").complete(a_request())
    body = bench.server.seen[0].body
    assert "thinking" not in body
    assert body["max_tokens"] == 2048


@pytest.mark.parametrize(
    ("refused", "tried"),
    [
        (("json_schema",), ["json_schema", "json_object", "json_object"]),
        (("json_schema", "json_object"), ["json_schema", "json_object", None, None]),
    ],
)
async def test_a_server_without_schemas_is_asked_for_less_and_only_once(
    refused: tuple[str, ...], tried: list[str | None]
) -> None:
    prose = f"Here you are:\n```json\n{json.dumps(PLAN)}\n```"
    async with a_bench(always(Act(text=prose))) as bench:
        bench.server.refuse_formats = refused
        replies = [await bench.model("compatible:local").complete(a_request()) for _ in range(2)]
    assert [seen.body.get("response_format", {}).get("type") for seen in bench.server.seen] == tried
    assert "JSON schema" in bench.server.seen[-1].body["messages"][0]["content"]
    for reply in replies:
        assert parse_reply(PlannerReply, reply.text).moves[0].parameters == {"width": 8, "aligned": True}
