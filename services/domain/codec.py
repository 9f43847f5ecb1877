"""JSON for domain types: frozen dataclasses to plain data and back, by their annotations.

Standard library only, so that a bare GPU node can use it. `from_data` is strict about types and says where a document
is wrong; unknown keys are ignored, so that an older program reads a newer document.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import types
import typing
from datetime import datetime
from enum import Enum
from pathlib import PurePath
from typing import Any, TypeVar

T = TypeVar("T")
_PLAIN = frozenset({str, int, bool, type(None)})


class CodecError(ValueError):
    """A document does not fit the type; the message gives the path."""


def to_data(value: object) -> Any:
    """Plain JSON data of a domain value: dicts, lists, strings, numbers, booleans, None."""
    if type(value) in _PLAIN:
        return value
    kind: type = type(value)
    names = _field_names(kind)
    if names is not None:
        fields = [(name, getattr(value, name)) for name in names]
        return {name: one if type(one) in _PLAIN else to_data(one) for name, one in fields}
    if isinstance(value, list | tuple):
        return [item if type(item) in _PLAIN else to_data(item) for item in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, dict):
        return {str(key): to_data(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    return value


def from_data(kind: type[T], data: object) -> T:
    """The domain value of type `kind` that `data` describes. Raises `CodecError`."""
    return typing.cast("T", _decode(kind, data, kind.__name__))


def dumps(value: object) -> str:
    """Compact JSON text of a domain value."""
    return json.dumps(to_data(value), separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def loads(kind: type[T], text: str | bytes) -> T:
    """The domain value of type `kind` that a JSON text describes. Raises `CodecError`."""
    try:
        data = json.loads(text)
    except ValueError as error:
        raise CodecError(f"{kind.__name__}: not JSON: {error}") from None
    return from_data(kind, data)


@functools.cache
def _field_names(kind: type) -> tuple[str, ...] | None:
    """None for what is no dataclass."""
    return tuple(field.name for field in dataclasses.fields(kind)) if dataclasses.is_dataclass(kind) else None


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _decode(kind: Any, data: Any, path: str) -> Any:
    if kind in _PLAIN and type(data) is kind:
        return data
    origin = typing.get_origin(kind)
    if kind is Any or kind is object:
        return data
    if origin in (typing.Union, types.UnionType):
        return _decode_union(kind, data, path)
    if origin is tuple:
        return _decode_tuple(kind, data, path)
    if origin is list:
        return [_decode(typing.get_args(kind)[0], item, f"{path}[]") for item in _expect(list, data, path)]
    if origin is dict:
        return {
            key: _decode(typing.get_args(kind)[1], item, f"{path}.{key}")
            for key, item in _expect(dict, data, path).items()
        }
    if isinstance(kind, str | typing.ForwardRef):  # `list["JsonValue"]` keeps a string
        return _decode_recursive(kind if isinstance(kind, str) else kind.__forward_arg__, data, path)
    if dataclasses.is_dataclass(kind):
        return _decode_dataclass(typing.cast("type", kind), data, path)
    return _decode_scalar(kind, data, path)


def _expect(kind: type, data: Any, path: str) -> Any:
    if not isinstance(data, kind):
        raise CodecError(f"{path}: expected {kind.__name__}, got {type(data).__name__}")
    return data


def _decode_dataclass(kind: type, data: Any, path: str) -> Any:
    document = _expect(dict, data, path)
    hints = _hints(kind)
    values: dict[str, Any] = {}
    for name in _field_names(kind) or ():
        if name in document:
            values[name] = _decode(hints[name], document[name], f"{path}.{name}")
    try:
        return kind(**values)
    except (TypeError, ValueError) as error:
        raise CodecError(f"{path}: {error}") from None


def _decode_union(kind: Any, data: Any, path: str) -> Any:
    problems = []
    for option in sorted(typing.get_args(kind), key=_specificity):
        try:
            return _decode(option, data, path)
        except CodecError as error:
            problems.append(str(error))
    raise CodecError(problems[0] if len(problems) == 1 else f"{path}: {' / '.join(problems)}")


def _specificity(option: Any) -> int:
    """Order in which a union's members are tried: None, bool, int, float before str and containers."""
    order = [type(None), bool, int, float, str]
    return order.index(option) if option in order else len(order)


def _decode_tuple(kind: Any, data: Any, path: str) -> tuple[Any, ...]:
    items = _expect(list, data, path)
    arguments = typing.get_args(kind)
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return tuple(_decode(arguments[0], item, f"{path}[{index}]") for index, item in enumerate(items))
    if len(arguments) != len(items):
        raise CodecError(f"{path}: expected {len(arguments)} items, got {len(items)}")
    return tuple(
        _decode(option, item, f"{path}[{index}]")
        for index, (option, item) in enumerate(zip(arguments, items, strict=True))
    )


def _decode_recursive(name: str, data: Any, path: str) -> Any:
    """The two recursive aliases of the domain: `Argument` and `JsonValue`."""
    from services.domain import events, problems

    alias = {"Argument": problems.Argument, "JsonValue": events.JsonValue}.get(name)
    if alias is None:
        raise CodecError(f"{path}: unknown forward reference {name}")
    return _decode(alias, data, path)


def _decode_scalar(kind: Any, data: Any, path: str) -> Any:
    if kind is type(None):
        return None if data is None else _expect(type(None), data, path)
    if kind is float:
        return _decode_float(data, path)
    if kind is int and isinstance(data, bool):
        raise CodecError(f"{path}: expected int, got bool")
    if isinstance(kind, type) and issubclass(kind, Enum):
        try:
            return kind(data)
        except ValueError as error:
            raise CodecError(f"{path}: {error}") from None
    if kind is datetime:
        try:
            return datetime.fromisoformat(_expect(str, data, path))
        except ValueError as error:
            raise CodecError(f"{path}: {error}") from None
    return _expect(kind, data, path)


def _decode_float(data: Any, path: str) -> float:
    if isinstance(data, dict) and set(data) == {"float"}:
        name = _expect(str, data["float"], path)
        if name not in {"inf", "-inf", "nan"}:
            raise CodecError(f"{path}: {name[:40]!r} is no number beyond JSON's (inf, -inf, nan)")
        return float(name)
    if isinstance(data, bool) or not isinstance(data, int | float):
        raise CodecError(f"{path}: expected float, got {type(data).__name__}")
    try:
        return float(data)
    except OverflowError:
        raise CodecError(f"{path}: the number is too large") from None
