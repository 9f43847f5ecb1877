"""Small tensors of a `.safetensors` file, as text of a problem: index arrays that no random draw can stand for.

Format: https://github.com/huggingface/safetensors (eight bytes of length, a JSON header, the values).
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from services.domain.errors import ProblemError

MOST_PACKED = 48 << 10
"""Characters of a tensor that is written into a problem."""
MOST_HEADER = 1 << 24
EXACT = """import base64
import zlib


def _exact(packed, dtype, shape):
    return torch.frombuffer(bytearray(zlib.decompress(base64.b85decode(packed))), dtype=dtype).reshape(shape).clone()
"""
"""What unpacks such text."""
_DTYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U8": "uint8",
    "BOOL": "bool",
}


def packed(blobs: Path, source: Mapping[str, Any], name: str, where: str) -> str:
    """An expression for the tensor that a workload names by `path` and `tensor_key`. Raises `ProblemError`."""
    path = (blobs / str(source.get("path"))).resolve()
    if not path.is_relative_to(blobs.resolve()):
        raise ProblemError(f"the file of {name} lies outside the checkout", remedy="Correct its path.", path=where)
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length)) if length <= MOST_HEADER else {}
            entry = header[str(source.get("tensor_key"))]
            dtype, (first, last) = _DTYPES[entry["dtype"]], entry["data_offsets"]
            file.seek(8 + length + first)
            values = file.read(last - first) if last - first <= 64 * MOST_PACKED else b""
            shape = [int(size) for size in entry["shape"]]
    except FileNotFoundError:
        reason = f"the file of {name} is missing: {source.get('path')}"
        raise ProblemError(reason, remedy="Download the suite's data too.", path=where) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = f"the file of {name} cannot be read: {type(error).__name__}: {error}"
        raise ProblemError(reason, remedy="Download it anew.", path=where) from None
    text = base64.b85encode(zlib.compress(values, 9)).decode()
    if len(text) > MOST_PACKED or len(values) != last - first:
        reason = f"the values of {name} ({last - first} bytes) are too many to travel with the problem"
        raise ProblemError(reason, remedy="Leave the item out.", path=where)
    return f"_exact({text!r}, torch.{dtype}, {shape})"
