"""What the strict modes of OpenAI and Anthropic have in common, as a check of its own (written from their documents,
not from our transformation): the fake servers refuse what the real ones would."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_KEYWORDS = {"$defs", "$ref", "additionalProperties", "anyOf", "description", "enum", "items", "properties", "required",
             "type"}  # fmt: skip


def strictness_faults(schema: Any) -> list[str]:
    """Every place where a schema leaves the subset; empty for a strict schema."""
    root = [] if schema.get("type") == "object" else ["the root must be an object"]
    return root + list(_faults(schema, "$"))


def _faults(schema: Any, path: str) -> Iterator[str]:
    if not isinstance(schema, dict):
        yield f"{path}: not a schema"
        return
    yield from (f"{path}: {key} is not supported" for key in schema.keys() - _KEYWORDS)
    if "$ref" in schema and len(schema) > 1:
        yield f"{path}: $ref beside other keywords"
    if not schema.keys() & {"type", "anyOf", "$ref"}:
        yield f"{path}: no type"
    if schema.get("type") == "object":
        yield from _object_faults(schema, path)
    if schema.get("type") == "array":
        yield from _faults(schema.get("items"), f"{path}[]")
    for number, variant in enumerate(schema.get("anyOf", [])):
        yield from _faults(variant, f"{path}|{number}")
    for name, part in schema.get("$defs", {}).items():
        yield from _faults(part, f"{path}#{name}")


def _object_faults(schema: Any, path: str) -> Iterator[str]:
    properties = schema.get("properties", {})
    if schema.get("additionalProperties") is not False:
        yield f"{path}: additionalProperties must be false"
    if set(schema.get("required", [])) != set(properties):
        yield f"{path}: every property must be required"
    for name, part in properties.items():
        yield from _faults(part, f"{path}.{name}")
