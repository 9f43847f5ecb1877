"""A reply's JSON schema as a prompt shows it: still a schema, without what only a validator reads.

Providers that enforce a schema get the whole one beside the prompt; a reply's form is checked by the whole one too.
"""

from __future__ import annotations

import json

from services.domain.events import JsonValue

_LEFT_OUT = ("title", "description", "additionalProperties", "minLength", "maxLength", "default")
"""Words that repeat a field's name or the prompt's task, limits that a reply meets anyway or is cut to, and values of
what may be left out."""


def schema_text(schema: dict[str, JsonValue]) -> str:
    """The schema on one line."""
    return json.dumps(_short(schema), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _short(part: JsonValue, *, of_fields: bool = False) -> JsonValue:
    """`of_fields`: the keys are names of fields, which all stay, whatever they are called."""
    if isinstance(part, list):
        return [_short(item) for item in part]
    if not isinstance(part, dict):
        return part
    if not of_fields and (either := _nullable(part.get("anyOf"))) is not None:
        return {"type": either}
    return {
        name: _short(item, of_fields=not of_fields and name in ("properties", "$defs"))
        for name, item in part.items()
        if of_fields or name not in _LEFT_OUT or isinstance(item, dict)
    }


def _nullable(options: JsonValue) -> list[JsonValue] | None:
    """`["string", "null"]` for a choice of bare types; None for any other choice."""
    if not isinstance(options, list):
        return None
    types: list[JsonValue] = []
    for option in options:
        if not isinstance(option, dict) or not set(option) <= {"type", *_LEFT_OUT}:
            return None
        types.append(option.get("type"))
    return types
