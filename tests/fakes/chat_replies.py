"""What a well-behaved model answers."""

from __future__ import annotations

from typing import Any


def an_example(schema: Any, root: Any) -> Any:
    """The plainest value that fits a strict schema, as a model under constrained decoding would write it."""
    if "$ref" in schema:
        return an_example(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if "anyOf" in schema:
        return an_example(schema["anyOf"][0], root)
    kind = schema["type"]
    if kind == "object":
        return {name: an_example(part, root) for name, part in schema["properties"].items()}
    if kind == "array":
        return [an_example(schema["items"], root)]
    return {"string": "words", "number": 1.5, "integer": 2, "boolean": True, "null": None}[kind]
