"""What a call to a chat model used."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Tokens and price of one or several calls."""

    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    """Part of the input tokens served from the provider's cache."""
    output_tokens: int = 0
    reasoning_tokens: int = 0
    """Part of the output tokens spent on reasoning."""
    dollars: float | None = 0.0
    """None where a price is unknown ("unpriced")."""

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        """Both together; an unknown price stays unknown."""
        unknown = self.dollars is None or other.dollars is None
        return Usage(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            dollars=None if unknown else (self.dollars or 0.0) + (other.dollars or 0.0),
        )
