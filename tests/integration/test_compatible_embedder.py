"""A remote embedding service is checked and bounded; where it fails, another embedder goes on and says so."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from services.adapters.embeddings.openai_compatible import CompatibleEmbedder, FallbackEmbedder
from services.domain.errors import ModelError
from tests.unit.services.memory.builders import PlainEmbedder

pytestmark = pytest.mark.integration

Answer = Callable[[dict[str, Any]], tuple[int, bytes]]


class Service:
    """A real HTTP server on a free port that answers as told and keeps what it was asked."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                service.asked.append(body)
                service.headers.append(dict(self.headers))
                status, content = service.answer(body) if self.path == "/v1/embeddings" else (404, b"no such path")
                try:
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)
                except OSError:
                    self.close_connection = True  # the client has gone, as it should when we are slow

            def log_message(self, *args: Any) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def serving(answer: Answer) -> Iterator[Service]:
    service = Service(answer)
    try:
        yield service
    finally:
        service.close()


def vectors(body: dict[str, Any], size: int = 3) -> list[dict[str, Any]]:
    return [{"index": n, "embedding": [float(len(text)), 4.0, 0.0][:size]} for n, text in enumerate(body["input"])]


def good(body: dict[str, Any]) -> tuple[int, bytes]:
    return 200, json.dumps({"data": list(reversed(vectors(body)))}).encode()


def embedder(url: str, timeout_s: float = 2.0) -> CompatibleEmbedder:
    return CompatibleEmbedder(url, "some-model", 3, api_key="secret", timeout_s=timeout_s)


async def test_vectors_come_in_the_order_of_the_texts_and_have_unit_length() -> None:
    with serving(good) as service:
        first, second = (await embedder(service.url).embed(["abc", ""])).vectors
    assert first == pytest.approx([0.6, 0.8, 0.0])
    assert second == pytest.approx([1 / 17**0.5, 4 / 17**0.5, 0.0])
    assert service.asked == [{"model": "some-model", "input": ["abc", " "], "encoding_format": "float"}]
    assert service.headers[0]["Authorization"] == "Bearer secret"


async def test_many_texts_are_asked_for_in_batches() -> None:
    with serving(good) as service:
        assert len((await embedder(service.url).embed(["x"] * 150)).vectors) == 150
        assert (await embedder(service.url).embed([])).vectors == []
    assert [len(body["input"]) for body in service.asked] == [64, 64, 22]


def document(data: object) -> Answer:
    return lambda _: (200, json.dumps({"data": data}).encode())


WRONG: dict[str, tuple[Answer, str]] = {
    "status": (lambda _: (503, b"loading the model"), "status 503: loading the model"),
    "not json": (lambda _: (200, b"<html>"), "did not answer with JSON"),
    "deep json": (lambda _: (200, b"[" * 50_000), "did not answer with JSON"),
    "another document": (lambda _: (200, b"[]"), "1 embeddings"),
    "too few": (document([]), "1 embeddings"),
    "wrong size": (lambda body: (200, json.dumps({"data": vectors(body, size=2)}).encode()), "2 dimensions instead"),
    "no numbers": (document([{"embedding": ["a", "b", "c"]}]), "no finite number"),
    "not finite": (lambda _: (200, b'{"data": [{"embedding": [NaN, 1, 2]}]}'), "no finite number"),
    "zero": (document([{"embedding": [0, 0, 0]}]), "zero vector"),
    "wrong index": (document([{"index": 7, "embedding": [1, 2, 3]}]), "numbered"),
    "hostile index": (document([{"index": [1], "embedding": [1, 2, 3]}]), "numbered"),
    "no object": (document(["a"]), "no object"),
    "too large": (lambda _: (200, b" " * 5_000_000), "more than"),
}


@pytest.mark.parametrize("case", WRONG)
async def test_a_wrong_answer_is_refused_with_its_reason(case: str) -> None:
    answer, reason = WRONG[case]
    with serving(answer) as service, pytest.raises(ModelError, match=reason) as caught:
        await embedder(service.url).embed(["abc"])
    assert service.url in str(caught.value)
    assert "secret" not in str(caught.value)


async def test_a_service_that_is_down_is_named() -> None:
    with serving(good) as service:
        url = service.url
    with pytest.raises(ModelError, match="cannot be reached"):
        await embedder(url).embed(["abc"])


async def test_a_slow_service_is_given_up_at_the_time_out() -> None:
    released = threading.Event()

    def slow(body: dict[str, Any]) -> tuple[int, bytes]:
        released.wait(60)
        return good(body)

    with serving(slow) as service:
        with pytest.raises(ModelError, match=r"within 0\.2 s"):
            await embedder(service.url, timeout_s=0.2).embed(["abc"])
        released.set()


class Held:
    """A clock that stands still."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_the_fallback_goes_on_says_so_and_the_service_is_tried_again_later() -> None:
    said: list[str] = []
    clock = Held()
    state = {"up": False}
    with serving(lambda body: good(body) if state["up"] else (500, b"out of memory")) as service:
        both = FallbackEmbedder(
            embedder(service.url), PlainEmbedder(), retry_after_s=60, notice=said.append, monotonic=clock
        )
        assert both.name == "compatible:some-model:3"
        for _ in range(3):
            answer = await both.embed(["abc"])
            assert (answer.space, len(answer.vectors[0])) == ("plain", 2)
        assert len(service.asked) == 1
        assert (both.name, both.dimensions) == ("plain", 2)
        assert "out of memory" in (both.note or "")
        assert said == [both.note]
        state["up"], clock.now = True, 61.0
        assert (await both.embed(["abc"])).space == "compatible:some-model:3"
        assert (both.name, both.dimensions) == ("compatible:some-model:3", 3)
        assert both.note is None
        assert said[1:] == ["experiences are embedded by compatible:some-model:3 again"]


async def test_the_note_is_given_once_while_the_reason_stays() -> None:
    said: list[str] = []
    clock = Held()
    with serving(lambda _: (500, b"")) as service:
        both = FallbackEmbedder(embedder(service.url), PlainEmbedder(), notice=said.append, monotonic=clock)
        for minute in range(3):
            clock.now = 61.0 * minute
            assert await both.embed(["abc"]) == await PlainEmbedder().embed(["abc"])
    assert len(said) == 1
    assert len(service.asked) == 3
