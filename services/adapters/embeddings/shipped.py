"""Vectors that are shipped with the product: those of the seed memory, which every new installation would compute.

The file holds, for one vector space, base64 of little-endian float32 by the digest of the text.
"""

from __future__ import annotations

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
