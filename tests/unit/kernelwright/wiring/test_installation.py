"""Which embedder an installation gets, and that it goes on when a service fails."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from pydantic import ValidationError
from sqlalchemy import select

from kernelwright.settings import Settings
from kernelwright.wiring.installation import make_embedder, open_installation
from services.adapters.embeddings.openai_compatible import FallbackEmbedder
from services.domain.errors import ConfigurationError
from storage.tables import embeddings


def test_a_service_is_asked_with_a_local_embedder_behind_it() -> None:
    settings = Settings(embedder="compatible:nomic-embed-text:768", embedder_base_url="http://127.0.0.1:9/v1")
    made = make_embedder(settings)
    assert isinstance(made, FallbackEmbedder)
    assert (made.name, made.dimensions) == ("compatible:nomic-embed-text:768", 768)


def test_a_model_may_have_colons_in_its_name() -> None:
    settings = Settings(embedder="compatible:qwen3:0.6b:1024", compatible_base_url="http://127.0.0.1:9/v1")
    assert make_embedder(settings).dimensions == 1024


def test_a_service_without_an_address_says_which_variable_is_missing() -> None:
    with pytest.raises(ConfigurationError, match="KERNELWRIGHT_EMBEDDER_BASE_URL"):
        make_embedder(Settings(embedder="compatible:m:8"))


@pytest.mark.parametrize("value", ["", "word2vec", "compatible:model", "compatible::8", "compatible:m:0"])
def test_what_is_no_embedder_is_refused(value: str) -> None:
    with pytest.raises(ValidationError):
        Settings(embedder=value)


async def test_a_service_that_is_down_is_noted_and_the_local_one_answers() -> None:
    settings = Settings(embedder="compatible:m:8", embedder_base_url="http://127.0.0.1:9/v1", embedder_timeout_s=0.5)
    made = make_embedder(settings)
    assert isinstance(made, FallbackEmbedder)
    answer = await made.embed(["tile the rows"])
    assert answer.space == made.name != "compatible:m:8"
    assert made.note is not None
    assert "127.0.0.1:9" in made.note


async def test_a_changed_embedder_embeds_an_installations_memory_anew_while_searches_go_on(tmp_path: Path) -> None:
    async with open_installation(Settings(home=tmp_path, embedder="hashing")) as before:
        assert len(await before.memory.search("local", "softmax over rows", 5)) == 5
    with service(by_length) as address:
        settings = Settings(home=tmp_path, embedder="compatible:m:2", embedder_base_url=address)
        async with open_installation(settings) as after:
            assert len(await after.memory.search("local", "softmax over rows", 5)) == 5
            await after.memory.settled()
            spaces = await after.database.read(lambda connection: Counter(connection.execute(SPACES).scalars()))
            assert after.memory.notice() is None
    assert spaces["compatible:m:2"] == spaces["hashing-1-512"] >= 10


@pytest.mark.parametrize("answer", [{"data": [{"embedding": [1.0, 0.0]}]}, {"error": "busy"}], ids=["size", "error"])
async def test_an_installation_goes_on_and_says_so_when_its_service_answers_nonsense(
    tmp_path: Path, answer: dict[str, object]
) -> None:
    with service(lambda _texts: answer) as address:
        settings = Settings(home=tmp_path, embedder="compatible:m:8", embedder_base_url=address)
        async with open_installation(settings) as installation:
            assert installation.memory.notice() is None
            found = await installation.memory.search("local", "softmax over rows", 3)
            assert len(found) == 3
            notice = installation.memory.notice()
    assert notice is not None
    assert address in notice


SPACES = select(embeddings.c.embedder)


def by_length(texts: list[str]) -> dict[str, object]:
    return {"data": [{"embedding": [float(len(text)), 100.0]} for text in texts]}


@contextmanager
def service(answer: Callable[[list[str]], dict[str, object]]) -> Iterator[str]:
    """The address of a service with `/embeddings`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(answer(asked["input"])).encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
