"""The first stage of recall: the experiences nearest to a query among those whose keys fit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


def nearest(
    vectors: Vectors, query: Vectors, mask: NDArray[np.bool_] | None, count: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Rows of `vectors` (n, d) most similar to `query` (d,), best first, at most `count`, with their similarities.

    Vectors have unit length, so the product is the cosine. Exact; equal similarities keep the order of the rows.
    """
    rows = np.arange(len(vectors)) if mask is None else np.flatnonzero(mask)
    if count <= 0 or not len(rows):
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
    # copying out a filtered part costs more than it saves unless it is small
    product = vectors[rows] @ query if len(rows) < len(vectors) // 4 else (vectors @ query)[rows]
    similarity = np.round(product, 6)  # the last bits depend on where a row lies in the matrix
    if len(rows) > count:
        threshold = np.partition(similarity, len(rows) - count)[len(rows) - count]
        kept = np.flatnonzero(similarity >= threshold)
        rows, similarity = rows[kept], similarity[kept]
    order = np.argsort(-similarity, kind="stable")[:count]
    return rows[order], similarity[order]
