"""Typed messages: each is a frozen dataclass, on the wire a JSON object that names its kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

from services.domain.codec import CodecError, from_data, to_data
from services.domain.events import JsonValue
from workers.ipc.wire import WireError

M = TypeVar("M")


class MessageError(WireError):
    """What arrived is a JSON object, but none of the messages that may arrive here."""


class Messages(Generic[M]):
    """What may be said in one direction: message types by the name that stands under `tag`."""

    def __init__(self, tag: str, kinds: Mapping[str, type[M]]) -> None:
        self._tag = tag
        self._kinds = dict(kinds)
        self._names = {kind: name for name, kind in kinds.items()}

    def name_of(self, message: M) -> str:
        """What a message is called on the wire."""
        return self._names[type(message)]

    def holds(self, body: Mapping[str, JsonValue]) -> bool:
        """Whether a received object claims to be one of these messages."""
        return self._tag in body

    def encode(self, message: M) -> dict[str, JsonValue]:
        """A message as JSON data."""
        return {self._tag: self._names[type(message)], **to_data(message)}

    def decode(self, body: Mapping[str, JsonValue]) -> M:
        """The message in a received object. Raises `MessageError` for an unknown kind and for fields that do not fit.

        Unknown fields are ignored."""
        return self._decode(body, exact=False)

    def decode_exactly(self, body: Mapping[str, JsonValue]) -> M:
        """The same where nothing is left out and nothing is added: the message encodes to what was received."""
        return self._decode(body, exact=True)

    def _decode(self, body: Mapping[str, JsonValue], *, exact: bool) -> M:
        name = body.get(self._tag)
        kind = self._kinds.get(name) if isinstance(name, str) else None
        if kind is None:
            raise MessageError(f"unknown message {str(name)[:60]!r}; `{self._tag}` is one of {', '.join(self._kinds)}")
        fields = {key: value for key, value in body.items() if key != self._tag}
        try:
            return from_data(kind, fields, exact=exact)
        except (CodecError, RecursionError) as error:
            raise MessageError(f"malformed message `{name}`: {str(error)[:500]}") from None
