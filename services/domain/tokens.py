"""Secrets that we give out, and what is kept of them."""

from __future__ import annotations

import hashlib
import secrets

TOKEN_BYTES = 32


def new_token() -> str:
    """A fresh secret: 256 random bits, so that a plain hash of it is enough at rest."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def token_digest(token: str) -> str:
    """What is stored of a secret: its SHA-256 in hexadecimal digits."""
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()
