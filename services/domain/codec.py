"""JSON for domain types: frozen dataclasses to plain data and back, by their annotations.

Standard library only, so that a bare GPU node can use it. `from_data` is strict about types and says where a document
is wrong; unknown keys are ignored, so that an older program reads a newer document.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import operator
import types
import typing
from collections.abc import Callable
from datetime import datetime
from enum import Enum
from pathlib import PurePath
from typing import Any, TypeVar

T = TypeVar("T")
_Encoder = Callable[[Any], Any]
_Decoder = Callable[[Any, Any], Any]
"""Of data, and of the path to it: a name, or the path to what holds it and a part's text."""
_PLAIN = frozenset({str, int, bool, type(None)})


class CodecError(ValueError):
    """A document does not fit the type; the message gives the path."""


def to_data(value: object) -> Any:
    """Plain JSON data of a domain value: dicts, lists, strings, numbers, booleans, None."""
    return _ENCODERS[type(value)](value)


def from_data(kind: type[T], data: object, *, exact: bool = False) -> T:
    """The domain value of type `kind` that `data` describes; where `exact`, `to_data` makes the same data of it.

    Raises `CodecError`."""
    return typing.cast("T", _decoder(kind, exact)(data, kind.__name__))


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


def _options(hint: Any) -> tuple[Any, ...]:
    """The members of a union; the hint itself where it is none."""
    return typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)


class _Encoders(dict[type, _Encoder]):
    """An encoder for each type, made when its first value is encoded."""

    def __missing__(self, kind: type) -> _Encoder:
        if dataclasses.is_dataclass(kind):
            self[kind] = _dataclass_encoder(kind)
        else:
            self[kind] = next(
                (encode for base, encode in _BASES.items() if issubclass(kind, base)), lambda value: value
            )
        return self[kind]


_ENCODERS = _Encoders()


def _encode_items(value: Any) -> list[Any]:
    return [item if type(item) in _PLAIN else _ENCODERS[type(item)](item) for item in value]


def _encode_dict(value: dict[Any, Any]) -> dict[str, Any]:
    data = {}
    for key, item in value.items():  # a comprehension is slower for the few items that most have
        data[key if type(key) is str else str(key)] = item if type(item) in _PLAIN else _ENCODERS[type(item)](item)
    return data


_BASES: dict[type, _Encoder] = {
    Enum: operator.attrgetter("value"),
    datetime: datetime.isoformat,
    PurePath: str,
    dict: _encode_dict,
    list: _encode_items,
    tuple: _encode_items,
    float: lambda value: value if math.isfinite(value) else {"float": repr(value)},
}


def _dataclass_encoder(kind: type) -> _Encoder:
    """A function as one would write it by hand: a runner encodes answers within what is timed."""
    try:
        hints = typing.get_type_hints(kind)
    except NameError:  # a hint is of what only a type checker imports
        hints = {}
    names = [field.name for field in dataclasses.fields(kind)]
    source = ", ".join(f"{name!r}: {_source(hints.get(name, Any), f'value.{name}')}" for name in names)
    encoder: _Encoder = eval(f"lambda value: {{{source}}}", {"encoders": _ENCODERS})  # noqa: S307 - of names in our code
    return encoder


def _source(hint: Any, value: str) -> str:
    """A Python expression that encodes a value of such a hint; `value` is the expression that it is read by."""
    options = _options(hint)
    if _PLAIN.issuperset(options):
        return value
    if len(options) == 2 and type(None) in options:
        [hint] = (option for option in options if option is not type(None))
        return f"None if {value} is None else {_source(hint, value)}"
    if typing.get_origin(hint) is tuple and typing.get_args(hint)[1:] == (...,):
        item = _source(typing.get_args(hint)[0], "item")
        return f"[*{value}]" if item == "item" else f"[{item} for item in {value}]"
    return f"encoders[type({value})]({value})"


def _decoder(kind: Any, exact: bool) -> _Decoder:
    if dataclasses.is_dataclass(kind):
        return _dataclass_decoder(typing.cast("type", kind), exact)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return _union_decoder(kind, exact)
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return _items_decoder(arguments[0], exact)
        return _tuple_decoder([_decoder(argument, exact) for argument in arguments])
    if origin is list:
        item = _decoder(arguments[0], exact)
        return lambda data, path: [item(one, (path, "[]")) for one in _expect(list, data, path)]
    if origin is dict:
        item = _decoder(arguments[1], exact)
        return lambda data, path: {key: item(one, (path, f".{key}")) for key, one in _expect(dict, data, path).items()}
    if isinstance(kind, str | typing.ForwardRef):  # `list["JsonValue"]` keeps a string
        name = kind if isinstance(kind, str) else kind.__forward_arg__
        return lambda data, path: _alias_decoder(name, exact)(data, path)
    return _exactly(_scalar_decoder(kind)) if exact and kind not in _PLAIN else _scalar_decoder(kind)


def _exactly(decode: _Decoder) -> _Decoder:
    """A decoder that refuses what is not written as `to_data` writes it."""

    def decode_exactly(data: Any, path: Any) -> Any:
        value = decode(data, path)
        if to_data(value) != data:
            raise _misfit(path, "it is not written as it should be")
        return value

    return decode_exactly


def _misfit(path: Any, problem: str) -> CodecError:
    parts = []
    while isinstance(path, tuple):
        path, part = path
        parts.append(part)
    return CodecError(f"{path}{''.join(reversed(parts))}: {problem}")


def _expect(kind: type, data: Any, path: Any) -> Any:
    if not isinstance(data, kind) or (kind is int and isinstance(data, bool)):
        raise _misfit(path, f"expected {kind.__name__}, got {type(data).__name__}")
    return data


def _verbatim(hint: Any, exact: bool) -> frozenset[Any]:
    """Types of data that is the value already."""
    return (_PLAIN if exact else _PLAIN | {float}).intersection(_options(hint))


@functools.cache
def _dataclass_decoder(kind: type, exact: bool) -> _Decoder:
    @functools.cache
    def fields() -> list[tuple[str, str, frozenset[Any], _Decoder]]:  # later: a type may hold values of its own
        hints = typing.get_type_hints(kind)
        names = [field.name for field in dataclasses.fields(kind)]
        return [(name, f".{name}", _verbatim(hints[name], exact), _decoder(hints[name], exact)) for name in names]

    def decode(data: Any, path: Any) -> Any:
        document = _expect(dict, data, path)
        values: dict[str, Any] = {}
        for name, part, verbatim, decode_field in fields():
            if name in document:
                one = document[name]
                values[name] = one if type(one) in verbatim else decode_field(one, (path, part))
        if exact and not len(values) == len(document) == len(fields()):
            raise _misfit(path, "a field is missing, or one too many")
        try:
            return kind(**values)
        except (TypeError, ValueError) as error:
            raise _misfit(path, str(error)) from None

    return decode


def _union_decoder(kind: Any, exact: bool) -> _Decoder:
    verbatim = _verbatim(kind, exact)
    members = sorted(typing.get_args(kind), key=_specificity)
    options = [_decoder(member, exact) for member in members if member is not type(None)]

    def decode(data: Any, path: Any) -> Any:
        if type(data) in verbatim:
            return data
        problems = []
        for option in options:
            try:
                return option(data, path)
            except CodecError as error:
                problems.append(str(error))
        if type(None) in members:
            problems.insert(0, str(_misfit(path, f"expected NoneType, got {type(data).__name__}")))
        raise _misfit(path, " / ".join(problems))

    return decode


def _specificity(option: Any) -> int:
    """Order in which a union's members are tried: None, bool, int, float before str and containers."""
    order = [type(None), bool, int, float, str]
    return order.index(option) if option in order else len(order)


def _items_decoder(kind: Any, exact: bool) -> _Decoder:
    verbatim, item = _verbatim(kind, exact), _decoder(kind, exact)
    return lambda data, path: tuple(
        [
            one if type(one) in verbatim else item(one, (path, f"[{index}]"))
            for index, one in enumerate(_expect(list, data, path))
        ]
    )


def _tuple_decoder(items: list[_Decoder]) -> _Decoder:
    def decode(data: Any, path: Any) -> tuple[Any, ...]:
        if len(_expect(list, data, path)) != len(items):
            raise _misfit(path, f"expected {len(items)} items, got {len(data)}")
        return tuple(item(one, (path, f"[{index}]")) for index, (item, one) in enumerate(zip(items, data, strict=True)))

    return decode


@functools.cache
def _alias_decoder(name: str, exact: bool) -> _Decoder:
    """Of the two recursive aliases of the domain: `Argument` and `JsonValue`."""
    from services.domain import events, problems

    aliases = {"Argument": problems.Argument, "JsonValue": events.JsonValue}
    if name not in aliases:
        raise CodecError(f"unknown forward reference {name}")
    return _decoder(aliases[name], exact)


def _scalar_decoder(kind: Any) -> _Decoder:
    if kind is Any or kind is object:
        return lambda data, _: data
    if kind is float:
        return _decode_float
    if kind is datetime:
        return _conversion(datetime.fromisoformat, str)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _conversion(kind, object)
    return lambda data, path: _expect(kind, data, path)


def _conversion(make: Callable[[Any], Any], expected: type) -> _Decoder:
    def decode(data: Any, path: Any) -> Any:
        try:
            return make(_expect(expected, data, path))
        except ValueError as error:
            raise _misfit(path, str(error)) from None

    return decode


def _decode_float(data: Any, path: Any) -> float:
    if isinstance(data, dict) and set(data) == {"float"}:
        name = _expect(str, data["float"], path)
        if name not in {"inf", "-inf", "nan"}:
            raise _misfit(path, f"{name[:40]!r} is no number beyond JSON's (inf, -inf, nan)")
        return float(name)
    if isinstance(data, bool) or not isinstance(data, int | float):
        raise _misfit(path, f"expected float, got {type(data).__name__}")
    try:
        return float(data)
    except OverflowError:
        raise _misfit(path, "the number is too large") from None
