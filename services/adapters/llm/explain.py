"""From what an SDK raises to one clear line that says what to change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from services.adapters.llm.ledger import CallLedger, Failure
from services.adapters.llm.redaction import Redactor

_WINDOW_WORDS = (
    "context_length", "context length", "context window", "context size", "context_size", "prompt is too long",
    "too many tokens", "maximum context", "input is too long",
)  # fmt: skip
_QUOTA_WORDS = ("insufficient_quota", "exceeded your current quota", "billing", "credit balance")
_SETTING_WORDS = ("thinking", "effort", "reasoning")
_OUTPUT_WORDS = ("max_output_tokens", "max_tokens", "max_completion_tokens")


class ProtocolError(Exception):
    """The server answers, but not in the protocol we speak."""


class StreamCutError(Exception):
    """A streamed reply ended before it said that it was complete."""


def early_end(*, began: bool) -> Exception:
    """What to raise where a stream ends without its last event; without its first one, it was never one of ours."""
    return StreamCutError("it ended early") if began else ProtocolError("nothing of a reply in it")


@dataclass(frozen=True, kw_only=True)
class Explainer:
    """Words for one model of one provider."""

    provider: str
    model: str
    base_url: str
    redact: Redactor
    url_hint: str = ""
    """How base URLs of this provider look."""

    def explain(self, error: Exception, ledger: CallLedger, sdk: ModuleType) -> Failure:
        """What went wrong and what to do about it."""
        if ledger.blocked is not None:
            return ledger.blocked
        if isinstance(error, ValueError | ProtocolError | TypeError | AttributeError | LookupError):
            return self._garbled(error, ledger)
        if ledger.streaming:
            return self._broken_off(error)
        if isinstance(error, sdk.APIStatusError):
            return self._status(error)
        if isinstance(error, sdk.APITimeoutError | TimeoutError):
            message = f"{{provider}} did not answer in time ({ledger.attempts} requests): try again later, or raise "
            return Failure(message=self._said(message + _option("idle_timeout_s"), ""))
        return self._unreachable(error)

    def _status(self, error: Any) -> Failure:
        words = self.redact(_words(error))
        low = f"{words} {error.body}".lower()
        status: int = error.status_code
        for applies, message in _PERMANENT:
            if applies(status, low, words.lower()):
                return Failure(message=self._said(message, words), retryable=False)
        if status not in _BUSY and status < 500:
            return Failure(message=f"{self.provider} refused the request (HTTP {status}): {words}", retryable=False)
        wait_s = _wait_s(error)
        if status in _BUSY:
            wait = "try again later" if wait_s is None else f"try again in {wait_s:.0f} s"
            message = f"{{provider}} takes no more requests now: {wait}, or lower " + _option("requests_per_minute")
        else:
            message = f"{{provider}} failed (HTTP {status}): try again later"
        return Failure(message=self._said(f"{message}. It said: {{words}}", words), retry_after_s=wait_s)

    def _said(self, message: str, words: str) -> str:
        """A message of the table below, in this model's and its provider's words."""
        named = {"provider": self.provider, "model": self.model, "base_url": self.base_url, "url_hint": self.url_hint}
        return message.format(**named, variable=f"KERNELWRIGHT_{self.provider.upper()}", words=words)

    def _garbled(self, error: Exception, ledger: CallLedger) -> Failure:
        detail = self.redact(str(error) or type(error).__name__)
        return Failure(
            message=f"{self.base_url} answered with something that is not {self.provider}'s protocol ({detail}): "
            "check base_url",
            resend=ledger.streaming,
        )

    def _broken_off(self, error: Exception) -> Failure:
        cause = error.__cause__ or error
        detail = self.redact(str(cause) or type(cause).__name__)
        return Failure(message=f"the reply of {self.provider} broke off ({detail}): try again later", resend=True)

    def _unreachable(self, error: Exception) -> Failure:
        cause = error.__cause__ or error
        return Failure(
            message=f"{self.provider} cannot be reached at {self.base_url}: check the network and base_url "
            f"({self.redact(str(cause) or type(cause).__name__)})"
        )


def _option(name: str) -> str:
    """A setting of the provider and its variable, in a message."""
    return f"{name} ({{variable}}__{name.upper()})"


_WINDOW = (
    "the prompt is longer than the window of '{model}': choose a model with a larger window, or a smaller problem. "
    "{provider} said: {words}"
)
_PERMANENT: tuple[tuple[Callable[[int, str, str], bool], str], ...] = (
    (
        lambda status, _low, _said: 300 <= status < 400,
        "{base_url} redirects, and keys do not follow: set base_url to where it leads. It said: {words}",
    ),
    (
        lambda status, _low, _said: status in {401, 403},
        "{provider} refused the key: set another api_key ({variable}_API_KEY). It said: {words}",
    ),
    (
        lambda status, low, _said: status in {402, 429, 400} and any(w in low for w in _QUOTA_WORDS),
        "the account at {provider} is used up: add credit there, or choose another model. It said: {words}",
    ),
    (lambda status, low, _said: status < 500 and any(w in low for w in _WINDOW_WORDS), _WINDOW),
    (
        lambda status, low, _said: status == 400 and any(w in low for w in _OUTPUT_WORDS),
        (
            f"'{{model}}' gives less output than was asked for: lower {_option('reasoning_tokens')}. "
            "{provider} said: {words}"
        ),
    ),
    (
        lambda status, low, _said: status == 400 and any(w in low for w in _SETTING_WORDS),
        (
            "'{model}' does not take a setting of {provider}: leave effort unset ({variable}__EFFORT), "
            "or switch thinking off ({variable}__THINKING=false). It said: {words}"
        ),
    ),
    (lambda status, _low, _said: status == 413, _WINDOW),
    (
        lambda status, _low, said: status == 404 and "model" not in said,
        "{base_url} has no such API: check base_url{url_hint}. It said: {words}",
    ),
    (
        lambda status, _low, _said: status == 404,
        "{provider} has no model '{model}' for this key: choose another model. It said: {words}",
    ),
)
"""By status, body and the provider's words: what no further attempt would change. The first that applies answers."""
_BUSY = {408, 409, 429, 529}


def _words(error: Any) -> str:
    """The provider's own words: the message in the error body, wherever this provider keeps it."""
    body = error.body
    for _ in range(2):
        if not isinstance(body, dict):
            break
        if isinstance(body.get("message"), str):
            return str(body["message"])
        body = body.get("error")
    return body if isinstance(body, str) and body else str(error)


def _wait_s(error: Any) -> float | None:
    from services.adapters.llm.transport import retry_after_s  # loads httpx2

    return retry_after_s(error.response.headers)
