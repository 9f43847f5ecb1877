"""Vectors that are shipped with the product: those of the seed memory, which every new installation would compute.

    python -m services.adapters.embeddings.shipped          writes them anew, after a seed changed (needs the model)

The file holds, for one vector space, base64 of little-endian float32 by the digest of the text.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FILE = Path(__file__).with_name("shipped.json")


def digest(text: str) -> str:
    """Names a text."""
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()


def read_shipped(space: str, dimensions: int) -> Mapping[str, NDArray[np.float32]]:
    """The shipped unit vectors of a space, by digest; shape (dimensions,) each."""
    document = json.loads(FILE.read_text(encoding="utf-8"))
    if document["space"] != space or document["dimensions"] != dimensions:
        return {}
    return {name: np.frombuffer(base64.b64decode(given), "<f4") for name, given in document["vectors"].items()}


async def write_shipped() -> int:
    """Compute the seeds' vectors and write the file; how many there are."""
    from services.adapters.embeddings.minilm import MiniLmEmbedder
    from services.domain.experiences import embedded_text
    from services.seeding import seed_experiences

    embedder = MiniLmEmbedder()
    texts = sorted({embedded_text(seed.title, seed.text, seed.family) for seed in seed_experiences("local")})
    FILE.write_text(json.dumps({"space": "", "dimensions": 0, "vectors": {}}))
    vectors = await embedder.embed(texts)
    named = {
        digest(text): base64.b64encode(np.asarray(vector, "<f4").tobytes()).decode()
        for text, vector in zip(texts, vectors, strict=True)
    }
    document = {"space": embedder.name, "dimensions": embedder.dimensions, "vectors": named}
    FILE.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return len(named)


if __name__ == "__main__":
    asyncio.run(write_shipped())
