"""What can be set for each provider of chat models beside its key and address."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator


class ProviderOptions(BaseModel):
    """Limits hold for one process: with three orchestrators a provider sees up to three times as much."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    concurrency: Annotated[int, Field(ge=1)] = 16
    """Concurrent calls."""
    team_concurrency: Annotated[int | None, Field(ge=1)] = None
    """Concurrent calls per team; unset for no limit."""
    requests_per_minute: Annotated[int | None, Field(ge=1)] = None
    """HTTP requests in any sixty seconds, repeats included."""
    team_requests_per_minute: Annotated[int | None, Field(ge=1)] = None
    """The same per team."""
    max_attempts: Annotated[int, Field(ge=1)] = 4
    """HTTP requests that one call may make, repeats included."""
    idle_timeout_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 120.0
    """Longest silence while waiting for a reply or between two parts of it."""
    call_timeout_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 900.0
    """Longest duration of one call, waiting and repeats included."""
    effort: str | None = None
    """Reasoning effort as the provider names it; unset leaves it to the model."""
    thinking: bool = True
    """Whether Anthropic models may think; switch off for models without adaptive thinking."""
    reasoning_tokens: Annotated[int | None, Field(ge=0)] = None
    """Output tokens for reasoning on top of a reply's own; default 16384 for `openai` and `anthropic`, 0 for
    `compatible`."""
    window_tokens: Annotated[int | None, Field(ge=4096)] = None
    """Tokens of prompt and answer together that the models take; older matter is left out of prompts until they fit.
    Default 131072."""
    output_tokens: Annotated[int | None, Field(ge=512)] = None
    """Tokens that an answer may have; raise it for models that reason within the answer. Default 8192."""
    price_input: Annotated[float | None, Field(ge=0, allow_inf_nan=False)] = None
    """Dollars per million input tokens, for models that the price list does not know; 0 for your own server."""
    price_cached: Annotated[float | None, Field(ge=0, allow_inf_nan=False)] = None
    """The same of input from the provider's cache; default the price of input."""
    price_output: Annotated[float | None, Field(ge=0, allow_inf_nan=False)] = None
    """The same of output tokens."""

    @model_validator(mode="after")
    def _price_is_whole(self) -> ProviderOptions:
        if (self.price_input is None) != (self.price_output is None):
            raise ValueError("price_input and price_output go together: set both or none")
        return self
