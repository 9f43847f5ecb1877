"""Embedding by feature hashing: no model, no network, the same vectors everywhere.

Words and pairs of words count for what a text says, character n-grams for spellings that differ a little
(`vectorise`, `vectorised`, `avx512f`). Signs keep collisions from adding up (Weinberger et al., "Feature Hashing for
Large Scale Multitask Learning", 2009).
"""

from __future__ import annotations

import itertools
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from services.domain.experiences import Embedded

_WORD = re.compile(r"[a-z]+|[0-9]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
WORD_WEIGHT, PAIR_WEIGHT, GRAM_WEIGHT = 1.0, 0.5, 0.25
MAX_CHARACTERS = 16_384


class HashingEmbedder:
    """Signed feature hashing into `dimensions` numbers."""

    note = None
    """Nothing: it is never replaced by another."""

    def __init__(self, dimensions: int = 512) -> None:
        if dimensions < 2:
            raise ValueError("an embedding needs at least two dimensions")
        self.dimensions = dimensions
        """Length of every vector."""

    @property
    def name(self) -> str:
        """Changes with everything that changes the vectors."""
        return f"hashing-1-{self.dimensions}"

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """One unit vector per text; a text's vector does not depend on the others."""
        return Embedded(space=self.name, vectors=[self._vector(text).tolist() for text in texts])

    def _vector(self, text: str) -> NDArray[np.float64]:
        features: Counter[str] = Counter()
        weights: dict[str, float] = {}
        for feature, weight in _features(text[:MAX_CHARACTERS]):
            features[feature] += 1
            weights[feature] = weight
        vector = np.zeros(self.dimensions)
        for feature, count in features.items():
            code = zlib.crc32(feature.encode())
            vector[(code >> 1) % self.dimensions] += (1 if code & 1 else -1) * weights[feature] * count**0.5
        length = float(np.linalg.norm(vector))
        if length == 0.0:  # a text without words is near nothing but its like
            vector[0] = length = 1.0
        return vector / length


def _features(text: str) -> Iterator[tuple[str, float]]:
    words = _WORD.findall(_CAMEL.sub(" ", text).lower())
    for word in words:
        yield f"w {word}", WORD_WEIGHT
        marked = f"<{word}>"
        if len(word) > 3:
            yield from ((f"g {marked[i : i + 4]}", GRAM_WEIGHT) for i in range(len(marked) - 3))
    for first, second in itertools.pairwise(words):
        yield f"p {first} {second}", PAIR_WEIGHT
