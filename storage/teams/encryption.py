"""Secrets that the program itself must read again, encrypted in the database.

Tokens and sessions are kept as digests; a webhook's secret signs every message and has to be at hand. With a key it is
encrypted (Fernet: AES-128-CBC with HMAC-SHA-256), so that a dump or a replica alone signs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from services.domain.errors import ConfigurationError

MARK = "sealed:"
KEYS = "KERNELWRIGHT_SECRETS_KEY"


class SecretSealer:
    """Encrypts by the first of some keys and decrypts by any of them; without keys, text stays as it is."""

    def __init__(self, keys: Sequence[str] = ()) -> None:
        """Fernet keys. Raises `ConfigurationError` for one that is none."""
        try:
            fernets = [Fernet(key) for key in keys]
        except ValueError:
            raise ConfigurationError(
                f"{KEYS} is no key: make one with `kernelwright db new-key`, and separate several by commas"
            ) from None
        self._cipher = MultiFernet(fernets) if fernets else None

    @property
    def seals(self) -> bool:
        """Whether there is a key."""
        return self._cipher is not None

    def seal(self, secret: str) -> str:
        """A secret as it is stored."""
        if self._cipher is None:
            return secret
        return MARK + self._cipher.encrypt(secret.encode()).decode()

    def open(self, stored: str) -> str:
        """A secret as it is. Raises `ConfigurationError` where the key that sealed it is not among ours."""
        if not stored.startswith(MARK):
            return stored
        if self._cipher is None:
            raise ConfigurationError(f"webhook secrets are encrypted: set {KEYS} to the key that they were sealed with")
        try:
            return self._cipher.decrypt(stored.removeprefix(MARK).encode()).decode()
        except InvalidToken:
            raise ConfigurationError(
                f"a webhook's secret was sealed with another key: add that key to {KEYS}, after a comma"
            ) from None
