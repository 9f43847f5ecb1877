"""An identity provider without any network."""

from __future__ import annotations

import secrets

from services.domain.access import Identity, SignInAttempt
from services.domain.errors import AuthenticationError
from services.ports.teams import IdentityProvider


class FakeIdentityProvider(IdentityProvider):
    """An `IdentityProvider` that sends the browser straight back, signed in as `person`."""

    def __init__(self, person: Identity, name: str = "Example ID") -> None:
        self.person = person
        self._name = name
        self._begun: dict[str, tuple[str, SignInAttempt]] = {}
        """Code to where the browser was sent back to, and its attempt."""

    @property
    def name(self) -> str:
        """As given."""
        return self._name

    async def begin(self, redirect_uri: str) -> tuple[str, SignInAttempt]:
        """The address that the browser comes back to."""
        code, state = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        attempt = SignInAttempt(state=state, nonce=secrets.token_urlsafe(24), verifier=secrets.token_urlsafe(48))
        self._begun[code] = (redirect_uri, attempt)
        return f"{redirect_uri}?code={code}&state={state}", attempt

    async def finish(self, redirect_uri: str, code: str, attempt: SignInAttempt) -> Identity:
        """The person, once for each code. Raises `AuthenticationError`."""
        if self._begun.pop(code, None) != (redirect_uri, attempt):
            raise AuthenticationError(f"{self.name} refuses: invalid_grant")
        return self.person
