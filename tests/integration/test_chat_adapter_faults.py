"""The three adapters against a server that is busy, breaks off, refuses or talks nonsense."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from agents.roles.replies import PlannerReply, parse_reply
from services.adapters.llm.remote import ChatDelta
from services.domain.errors import ReplyError
from tests.fakes.chat_bench import FAST, SOON, STRICT_PLAN, a_bench, every_adapter, failing
from tests.fakes.chat_protocols import INPUT, OUTPUT
from tests.fakes.chat_requests import a_request
from tests.fakes.chat_servers import Act, always, in_turn

pytestmark = [pytest.mark.integration, pytest.mark.timeout(60)]


@every_adapter
async def test_a_rate_limit_is_waited_out_as_long_as_the_server_asks(name: str) -> None:
    busy = Act(status=429, headers={"retry-after": "0.4"}, error="slow down")
    async with a_bench(in_turn(busy, Act(text=STRICT_PLAN))) as bench:
        reply = await bench.model(name).complete(a_request())
    first, second = bench.server.seen
    assert reply.stop_reason == "stop"
    assert second.at - first.at >= 0.4
    assert reply.usage.calls == 1


@every_adapter
async def test_a_server_that_asks_to_wait_too_long_is_not_waited_for(name: str) -> None:
    busy = Act(status=429, headers={"retry-after": "3600", "x-should-retry": "true"}, error="slow down")
    async with a_bench(always(busy)) as bench:
        error = await failing(bench, name)
    assert len(bench.server.seen) == 1
    assert error.retryable
    assert error.retry_after_s == 3600
    assert "try again in 3600 s" in str(error)


@every_adapter
async def test_a_broken_server_is_asked_a_bounded_number_of_times(name: str) -> None:
    async with a_bench(always(Act(status=500, headers=SOON))) as bench:
        error = await failing(bench, name)
    assert len(bench.server.seen) == FAST.max_attempts
    assert error.retryable
    assert error.usage is None
    assert "HTTP 500" in str(error)
    assert "the server is tired" in str(error)


@every_adapter
async def test_a_server_error_that_passes_is_invisible(name: str) -> None:
    broken = Act(status=503, headers=SOON)
    async with a_bench(in_turn(broken, broken, Act(text=STRICT_PLAN))) as bench:
        reply = await bench.model(name).complete(a_request())
    assert reply.stop_reason == "stop"
    assert len(bench.server.seen) == 3


@every_adapter
async def test_silence_is_given_up_and_charged_as_possibly_billed(name: str) -> None:
    settings = replace(FAST, idle_timeout_s=0.2)
    async with a_bench(always(Act(hang_s=1.5)), settings) as bench:
        error = await failing(bench, name)
        ceiling = bench.model(name).ceiling(a_request())
    assert len(bench.server.seen) == 1 + settings.max_lost
    assert error.retryable
    assert error.usage == ceiling


@every_adapter
async def test_the_whole_call_has_a_limit_even_while_the_server_keeps_talking(name: str) -> None:
    settings = replace(FAST, call_timeout_s=0.5)
    async with a_bench(always(Act(text=STRICT_PLAN, drop_after=2, hang_s=60.0)), settings) as bench:
        error = await failing(bench, name)
    assert "did not finish within 0.5 s" in str(error)
    assert error.usage is not None


@every_adapter
@pytest.mark.parametrize("cut", [Act(text=STRICT_PLAN, drop_after=3), Act(text=STRICT_PLAN, end_after=3)])
async def test_a_stream_that_breaks_off_is_sent_again_and_both_are_charged(name: str, cut: Act) -> None:
    told: list[ChatDelta] = []

    async def listen(delta: ChatDelta) -> None:
        told.append(delta)

    async with a_bench(in_turn(cut, Act(text=STRICT_PLAN)), replace(FAST, delta_chars=1), listen) as bench:
        model = bench.model(name)
        reply = await model.complete(a_request())
        ceiling = model.ceiling(a_request())
    assert parse_reply(PlannerReply, reply.text).expected_gain == 2.5
    assert reply.usage.calls == 2
    assert INPUT < reply.usage.input_tokens <= ceiling.input_tokens
    assert OUTPUT < reply.usage.output_tokens <= ceiling.output_tokens
    last_start = max(number for number, delta in enumerate(told) if delta.part == 0)
    assert "".join(delta.text for delta in told[last_start:]) == STRICT_PLAN


@every_adapter
async def test_a_stream_that_always_breaks_off_fails_within_its_ceiling(name: str) -> None:
    async with a_bench(always(Act(text=STRICT_PLAN, drop_after=3))) as bench:
        error = await failing(bench, name)
        ceiling = bench.model(name).ceiling(a_request())
    assert len(bench.server.seen) == 1 + FAST.max_lost
    assert "broke off" in str(error)
    assert error.retryable
    assert error.usage == ceiling


@every_adapter
async def test_an_error_event_inside_a_stream_is_a_broken_reply(name: str) -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}, "message": "Overloaded"}
    raw = f"event: error\ndata: {json.dumps(error)}\n\n".encode()
    async with a_bench(in_turn(Act(raw=raw), Act(text=STRICT_PLAN))) as bench:
        reply = await bench.model(name).complete(a_request())
    assert reply.stop_reason == "stop"
    assert len(bench.server.seen) == 2


@every_adapter
@pytest.mark.parametrize(("finish", "reason"), [("refusal", "refusal"), ("filter", "refusal"), ("length", "length")])
async def test_refusals_and_truncation_have_their_own_stop_reasons(name: str, finish: str, reason: str) -> None:
    async with a_bench(always(Act(text="I will not", finish=finish))) as bench:
        reply = await bench.model(name).complete(a_request())
    assert reply.stop_reason == reason
    assert reply.text == "I will not" or reason == "length"
    assert reply.usage.output_tokens == OUTPUT


@every_adapter
async def test_an_empty_reply_is_an_error_of_the_model_not_of_the_service(name: str) -> None:
    async with a_bench(always(Act(text=""))) as bench:
        reply = await bench.model(name).complete(a_request())
    assert (reply.text, reply.stop_reason) == ("", "error")
    assert reply.usage.input_tokens == INPUT


@every_adapter
@pytest.mark.parametrize("text", ['{"hypothesis": "x", "moves": [', "I would fuse it.", '{"wrong": 1}', "[]", "\x00"])
async def test_replies_that_fit_no_schema_reach_the_parser_which_refuses_them(name: str, text: str) -> None:
    async with a_bench(always(Act(text=text))) as bench:
        reply = await bench.model(name).complete(a_request())
    assert reply.stop_reason == "stop"
    with pytest.raises(ReplyError):
        parse_reply(PlannerReply, reply.text)


@every_adapter
@pytest.mark.parametrize(
    "raw",
    [b"<html>hi</html>", b"data: {\n\n", b"event: x\ndata: []\n\n", b'data: {"type": "y"}\n\n', b"", b"\xff\xfe"],
    ids=["html", "cut-json", "list", "other-event", "empty", "bytes"],
)
async def test_a_server_that_speaks_something_else_is_named(name: str, raw: bytes) -> None:
    async with a_bench(always(Act(raw=raw))) as bench:
        error = await failing(bench, name)
    assert error.retryable
    assert len(bench.server.seen) <= 2
    assert "check base_url" in str(error)


@every_adapter
async def test_ten_megabytes_of_reply_are_cut_as_they_come_and_never_exceed_the_ceiling(name: str) -> None:
    async with a_bench(always(Act(text="x" * 10_000_000, pieces=200, drop_after=100))) as bench:
        model = bench.model(name)
        reply = await model.complete(a_request())
        ceiling = model.ceiling(a_request())
    assert reply.stop_reason == "length"
    assert len(reply.text) == 4096 + 16 * 2048
    assert reply.usage.calls == 1
    assert reply.usage.output_tokens <= ceiling.output_tokens


@every_adapter
async def test_ten_megabytes_in_one_piece_are_not_even_read(name: str) -> None:
    settings = replace(FAST, max_response_bytes=1 << 20)
    async with a_bench(always(Act(text="x" * 10_000_000, pieces=1)), settings) as bench:
        error = await failing(bench, name)
    assert "larger than 1048576 bytes" in str(error)
    assert len(bench.server.seen) == 2


@every_adapter
async def test_a_server_that_counts_nothing_is_charged_the_most(name: str) -> None:
    async with a_bench(always(Act(text=STRICT_PLAN, no_usage=True)), replace(FAST, max_lost=0)) as bench:
        model = bench.model(name)
        reply = await model.complete(a_request())
        ceiling = model.ceiling(a_request())
    if name.startswith("anthropic"):
        assert reply.usage.input_tokens == INPUT
    else:
        assert reply.usage.input_tokens == ceiling.input_tokens
        assert reply.usage.output_tokens == ceiling.output_tokens
