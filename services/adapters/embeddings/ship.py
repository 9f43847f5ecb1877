"""Writes the shipped vectors anew, after a seed changed (needs the model):

python -m services.adapters.embeddings.ship
"""

from __future__ import annotations

import asyncio
import base64
import json

import numpy as np

from services.adapters.embeddings.shipped import FILE, digest


async def write_shipped() -> int:
    """Compute the seeds' vectors and write the file; how many there are."""
    from services.adapters.embeddings.minilm import MiniLmEmbedder
    from services.domain.experiences import embedded_text
    from services.team_memory.seeds import seed_experiences

    embedder = MiniLmEmbedder()
    texts = sorted({embedded_text(seed.title, seed.text, seed.family) for seed in seed_experiences("local")})
    FILE.write_text(json.dumps({"space": "", "dimensions": 0, "vectors": {}}))
    vectors = (await embedder.embed(texts)).vectors
    named = {
        digest(text): base64.b64encode(np.asarray(vector, "<f4").tobytes()).decode()
        for text, vector in zip(texts, vectors, strict=True)
    }
    document = {"space": embedder.name, "dimensions": embedder.dimensions, "vectors": named}
    FILE.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return len(named)


if __name__ == "__main__":
    asyncio.run(write_shipped())
