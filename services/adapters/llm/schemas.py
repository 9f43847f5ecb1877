"""From an agent's JSON schema to the subset that every provider's strict mode accepts, and the reply back again.

The subset is what OpenAI's and Anthropic's structured outputs have in common (read in their documentation and in the
SDKs' own transformations): objects list all their properties as required and forbid others, there are no free-form
maps, no defaults, no limits on lengths and numbers. Hence

- an optional property becomes required and nullable, and a null that the agent's schema forbids is left out again;
- a map from names to values becomes a list of `{name, value}` pairs, and pairs become a map again;
- limits move into the description, where a model can read them; the agent's own parser still enforces them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from services.domain.events import JsonValue

Schema = dict[str, JsonValue]

_NULL: Schema = {"type": "null"}
_LIMITS = (
    "minLength", "maxLength", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    "multipleOf", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties",
)  # fmt: skip
_PAIR = {"name", "value"}
_SCALARS: Mapping[str, tuple[type, ...]] = {
    "string": (str,), "boolean": (bool,), "integer": (int,), "number": (int, float), "null": (type(None),),
}  # fmt: skip


def strict_schema(schema: Schema) -> Schema:
    """The schema in the subset all strict modes accept. The argument is not changed."""
    strict = _strict(schema)
    definitions = schema.get("$defs")
    if isinstance(definitions, dict):
        strict["$defs"] = {name: _strict(_object(part)) for name, part in definitions.items()}
    return strict


def restore(schema: Schema, document: JsonValue) -> JsonValue:
    """What a model answered under `strict_schema(schema)`, in the shape that `schema` itself asks for.

    Total: what fits neither shape comes back as it is, for the agent's parser to complain about."""
    return _restore(schema, document, schema)


def json_document(text: str) -> JsonValue:
    """The one JSON object in a model's text: the text itself, else the largest object in fences or prose.

    Raises `ValueError` when there is none."""
    try:
        return cast("JsonValue", json.loads(text))
    except (ValueError, RecursionError):
        pass
    body = text.rpartition("</think>")[2]
    best = max(_objects(body), key=lambda found: found[1], default=None)
    if best is None:
        raise ValueError("no JSON object in the text")
    return best[0]


def _objects(text: str) -> list[tuple[JsonValue, int]]:
    """Outermost JSON objects in a text with their lengths; at most 64 starts are tried, as prose may be full of `{`."""
    decoder, found, at = json.JSONDecoder(), [], text.find("{")
    for _ in range(64):
        if at < 0:
            break
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            found.append((value, end - at))
        at = text.find("{", end)
    return found


def _strict(schema: Schema) -> Schema:
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}
    strict = _shape(schema)
    words = [str(schema["description"])] if "description" in schema else []
    limits = ", ".join(f"{key} {schema[key]}" for key in _LIMITS if key in schema)
    if limits:
        words.append(f"({limits})")
    if "description" in strict:
        words.append(str(strict["description"]))
    if words:
        strict["description"] = " ".join(words)
    return strict


def _shape(schema: Schema) -> Schema:
    if "const" in schema or "enum" in schema:
        return _strict_enum(schema.get("enum", [schema.get("const")]))
    if variants := _variants(schema):
        return {"anyOf": [_strict(variant) for variant in variants]}
    kind = schema.get("type")
    if isinstance(kind, list):
        return {"anyOf": [_strict({**schema, "type": one}) for one in kind]}
    if kind == "object":
        return _strict_object(schema)
    if kind == "array":
        return {"type": "array", "items": _strict(_object(schema.get("items", {})))}
    if isinstance(kind, str):
        return {"type": kind}
    return {"type": "string", "description": "Any JSON value, written as JSON text."}


def _strict_enum(values: JsonValue) -> Schema:
    kinds = [kind for kind, types in _SCALARS.items() if all(type(v) in types for v in cast("list[JsonValue]", values))]
    return {"type": kinds[0], "enum": values} if kinds else {"enum": values}


def _strict_object(schema: Schema) -> Schema:
    properties = schema.get("properties")
    if isinstance(properties, dict) and properties:
        required = _required(schema)
        parts: Schema = {
            name: _strict(_object(part)) if name in required else _nullable(_object(part))
            for name, part in properties.items()
        }
        return {
            "type": "object",
            "properties": parts,
            "required": cast("list[JsonValue]", list(properties)),
            "additionalProperties": False,
        }
    value = schema.get("additionalProperties")
    if value is False:
        return {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    pair: Schema = {"name": {"type": "string"}, "value": _strict(_object(value))}
    items: Schema = {
        "type": "object", "properties": pair, "required": ["name", "value"], "additionalProperties": False,
    }  # fmt: skip
    return {"type": "array", "items": items, "description": "A list of names with their values."}


def _nullable(schema: Schema) -> Schema:
    if _admits_null(schema):
        return _strict(schema)
    strict = _strict(schema)
    description = strict.pop("description", None)
    variants = strict.get("anyOf")
    nullable: Schema = {"anyOf": [*variants, _NULL] if isinstance(variants, list) else [strict, _NULL]}
    if description is not None:
        nullable["description"] = description
    return nullable


def _restore(schema: Schema, value: JsonValue, root: Schema) -> JsonValue:
    schema = _resolved(schema, root)
    if variants := _variants(schema):
        fitting = (variant for variant in variants if _fits(_resolved(variant, root), value))
        variant = next(fitting, None)
        return value if variant is None else _restore(variant, value, root)
    kind = schema.get("type")
    if kind == "object":
        return _restore_object(schema, value, root)
    if kind == "array" and isinstance(value, list):
        items = _object(schema.get("items", {}))
        return [_restore(items, item, root) for item in value]
    if kind is None and "enum" not in schema and "const" not in schema and isinstance(value, str):
        return _from_text(value)
    return value


def _restore_object(schema: Schema, value: JsonValue, root: Schema) -> JsonValue:
    properties = schema.get("properties")
    if isinstance(properties, dict) and properties:
        if not isinstance(value, dict):
            return value
        required = _required(schema)
        return {
            name: _restore(_object(properties.get(name, {})), part, root) if name in properties else part
            for name, part in value.items()
            if part is not None
            or name in required
            or name not in properties
            or _admits_null(_resolved(_object(properties[name]), root))
        }
    values = _object(schema.get("additionalProperties"))
    if isinstance(value, list) and all(isinstance(pair, dict) and set(pair) == _PAIR for pair in value):
        pairs = cast("list[dict[str, JsonValue]]", value)
        return {str(pair["name"]): _restore(values, pair["value"], root) for pair in pairs}
    if isinstance(value, dict):
        return {name: _restore(values, part, root) for name, part in value.items()}
    return value


def _fits(schema: Schema, value: JsonValue) -> bool:
    """Whether a value has the outer shape of a schema (in strict form or its own)."""
    if "enum" in schema or "const" in schema:
        allowed = schema.get("enum", [schema.get("const")])
        return isinstance(allowed, list) and value in allowed
    kind = schema.get("type")
    if kind == "object":
        properties = schema.get("properties")
        if isinstance(properties, dict) and properties:
            return isinstance(value, dict) and set(value) <= set(properties) and _required(schema) <= set(value)
        return isinstance(value, dict | list)
    if kind == "array":
        return isinstance(value, list)
    if isinstance(value, bool) and kind in {"integer", "number"}:
        return False
    return isinstance(value, _SCALARS.get(str(kind), (object,)))


def _from_text(text: str) -> JsonValue:
    try:
        return cast("JsonValue", json.loads(text))
    except ValueError:
        return text


def _variants(schema: Schema) -> list[Schema]:
    for key in ("anyOf", "oneOf", "allOf"):
        variants = schema.get(key)
        if isinstance(variants, list):
            return [_object(variant) for variant in variants]
    return []


def _admits_null(schema: Schema) -> bool:
    kind = schema.get("type")
    if kind == "null" or (isinstance(kind, list) and "null" in kind):
        return True
    return any(_admits_null(variant) for variant in _variants(schema))


def _resolved(schema: Schema, root: Schema) -> Schema:
    ref = schema.get("$ref")
    if not isinstance(ref, str):
        return schema
    node: JsonValue = root
    for part in ref.removeprefix("#/").split("/"):
        node = _object(node).get(part)
    return _object(node)


def _required(schema: Schema) -> set[str]:
    required = schema.get("required")
    return {str(name) for name in required} if isinstance(required, list) else set()


def _object(value: JsonValue) -> Schema:
    return value if isinstance(value, dict) else {}
