"""How the three protocols write a reply as server-sent events, and an error as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.fakes.chat_servers import Act

INPUT, CACHED, OUTPUT, REASONING = 1000, 400, 200, 50
"""What every complete reply is said to have used."""


@dataclass(frozen=True, kw_only=True)
class Protocol:
    path: str
    events: Callable[[dict[str, Any], Act], list[bytes]]
    error: Callable[[int, str], dict[str, Any]]
    format_of: Callable[[dict[str, Any]], tuple[str | None, Any]]
    """The kind of structured output asked for, and its schema."""


def by_path(path: str) -> Protocol | None:
    return next((protocol for protocol in (RESPONSES, CHAT, MESSAGES) if protocol.path == path), None)


def _event(name: str | None, data: dict[str, Any]) -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def _parts(act: Act) -> list[str]:
    size = max(1, -(-len(act.text) // act.pieces))
    return [act.text[start : start + size] for start in range(0, len(act.text), size)]


# -- OpenAI Responses ---------------------------------------------------------------------------------------------


def _responses_events(body: dict[str, Any], act: Act) -> list[bytes]:
    def response(status: str, **more: Any) -> dict[str, Any]:
        return {"id": "resp_1", "object": "response", "created_at": 1, "model": body["model"], "status": status,
                "output": [], "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], **more}  # fmt: skip

    status = {"stop": "completed", "refusal": "completed"}.get(act.finish, "incomplete")
    reason = {"length": "max_output_tokens", "filter": "content_filter"}.get(act.finish)
    part = (
        {"type": "refusal", "refusal": act.text}
        if act.finish == "refusal"
        else {"type": "output_text", "text": act.text, "annotations": []}
    )
    message = {"id": "msg_1", "type": "message", "role": "assistant", "status": status, "content": [part]}
    usage = None if act.no_usage else {
        "input_tokens": INPUT, "input_tokens_details": {"cached_tokens": CACHED, "cache_write_tokens": 0},
        "output_tokens": OUTPUT, "output_tokens_details": {"reasoning_tokens": REASONING},
        "total_tokens": INPUT + OUTPUT,
    }  # fmt: skip
    whole = response(
        status, output=[message], usage=usage, incomplete_details={"reason": reason} if reason else None, error=None
    )
    kind = "response.refusal.delta" if act.finish == "refusal" else "response.output_text.delta"
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0, "logprobs": []}
    datas: list[dict[str, Any]] = [{"type": "response.created", "response": response("in_progress")}]
    datas += [{"type": kind, "delta": text, **place} for text in _parts(act)]
    datas.append({"type": f"response.{status}", "response": whole})
    return [_event(data["type"], {**data, "sequence_number": number}) for number, data in enumerate(datas)]


def _openai_error(status: int, message: str) -> dict[str, Any]:
    code = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}.get(status)
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}


def _responses_format(body: dict[str, Any]) -> tuple[str | None, Any]:
    form = body["text"]["format"]
    return form["type"], form["schema"]


# -- OpenAI Chat Completions ----------------------------------------------------------------------------------------


def _chat_events(body: dict[str, Any], act: Act) -> list[bytes]:
    def chunk(choices: list[dict[str, Any]], usage: dict[str, Any] | None = None) -> bytes:
        return _event(None, {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
                             "model": body["model"], "choices": choices, "usage": usage})  # fmt: skip

    def choice(delta: dict[str, Any], finish: str | None = None) -> list[dict[str, Any]]:
        return [{"index": 0, "delta": delta, "finish_reason": finish}]

    field = "refusal" if act.finish == "refusal" else "content"
    finish = {"filter": "content_filter", "length": "length"}.get(act.finish, "stop")
    events = [chunk(choice({"role": "assistant"}))]
    events += [chunk(choice({field: text})) for text in _parts(act)]
    events.append(chunk(choice({}, finish)))
    if not act.no_usage and body.get("stream_options", {}).get("include_usage"):
        events.append(chunk([], {
            "prompt_tokens": INPUT, "completion_tokens": OUTPUT, "total_tokens": INPUT + OUTPUT,
            "prompt_tokens_details": {"cached_tokens": CACHED},
            "completion_tokens_details": {"reasoning_tokens": REASONING},
        }))  # fmt: skip
    return [*events, b"data: [DONE]\n\n"]


def _chat_format(body: dict[str, Any]) -> tuple[str | None, Any]:
    form = body.get("response_format")
    if form is None:
        return None, None
    return form["type"], form.get("json_schema", {}).get("schema")


# -- Anthropic Messages -----------------------------------------------------------------------------------------------


def _messages_events(body: dict[str, Any], act: Act) -> list[bytes]:
    counts = {"input_tokens": INPUT - CACHED, "cache_read_input_tokens": CACHED, "cache_creation_input_tokens": 0}
    stop = {"stop": "end_turn", "length": "max_tokens"}.get(act.finish, "refusal")
    details = {"type": "refusal", "category": None, "explanation": act.text} if stop == "refusal" else None
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": [],
               "stop_reason": None, "stop_sequence": None, "usage": {**counts, "output_tokens": 1}}  # fmt: skip
    datas: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    ]
    if stop != "refusal":
        datas += [
            {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": text}}
            for text in _parts(act)
        ]
    usage = {"output_tokens": OUTPUT, "output_tokens_details": {"thinking_tokens": REASONING}}
    datas += [
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None, "stop_details": details},
         "usage": usage},
        {"type": "message_stop"},
    ]  # fmt: skip
    return [_event(data["type"], data) for data in datas]


def _anthropic_error(status: int, message: str) -> dict[str, Any]:
    kind = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}.get(status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": message}}


def _messages_format(body: dict[str, Any]) -> tuple[str | None, Any]:
    form = body["output_config"]["format"]
    return form["type"], form["schema"]


RESPONSES = Protocol(path="/v1/responses", events=_responses_events, error=_openai_error, format_of=_responses_format)
CHAT = Protocol(path="/v1/chat/completions", events=_chat_events, error=_openai_error, format_of=_chat_format)
MESSAGES = Protocol(path="/v1/messages", events=_messages_events, error=_anthropic_error, format_of=_messages_format)
