"""Keeps secrets and walls of text out of messages for people."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pydantic import SecretStr

_LIMIT = 300
_KEY_LIKE = re.compile(r"\b(?:sk|pk|rk|key|xox[a-z])[-_][A-Za-z0-9_*.-]{6,}|(?i:bearer)\s+[^\s\"',;]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\s]+")


class Redactor:
    """Rewrites a provider's words so that they can be shown: no secret of ours, nothing like a key, one short line."""

    def __init__(self, secrets: Iterable[SecretStr]) -> None:
        self._secrets = tuple(secrets)

    def __call__(self, text: str) -> str:
        """The text on one line of at most 300 characters, secrets as `***`."""
        for secret in self._secrets:
            if value := secret.get_secret_value():
                text = text.replace(value, "***")
        line = _KEY_LIKE.sub("***", _CONTROL.sub(" ", text[: 8 * _LIMIT])).strip()
        return line if len(line) <= _LIMIT else line[: _LIMIT - 1] + "…"
