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
_OVERLOADED = 529


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
            return Failure(
                message=f"{self.provider} did not answer in time ({ledger.attempts} requests): "
                f"try again later, or raise {self._option('idle_timeout_s')}"
            )
        return self._unreachable(error)

    def _status(self, error: Any) -> Failure:
        words = self.redact(_words(error))
        low = f"{words} {error.body}".lower()
        status: int = error.status_code
        for applies, answer in _ANSWERS:
            if applies(status, low):
                return answer(self, words, error)
        return Failure(message=f"{self.provider} refused the request (HTTP {status}): {words}", retryable=False)

    def wrong_key(self, words: str, _error: Any) -> Failure:
        """The key is missing, wrong or not allowed."""
        change = f"set another api_key (KERNELWRIGHT_{self.provider.upper()}_API_KEY)"
        return Failure(message=f"{self.provider} refused the key: {change}. It said: {words}", retryable=False)

    def no_quota(self, words: str, _error: Any) -> Failure:
        """The account has no money left."""
        change = "add credit there, or choose another model"
        return Failure(
            message=f"the account at {self.provider} is used up: {change}. It said: {words}", retryable=False
        )

    def no_model(self, words: str, _error: Any) -> Failure:
        """The model or the path does not exist."""
        if "model" not in words.lower():
            return Failure(
                message=f"{self.base_url} has no such API: check base_url{self.url_hint}. It said: {words}",
                retryable=False,
            )
        return Failure(
            message=f"{self.provider} has no model '{self.model}' for this key: choose another model. It said: {words}",
            retryable=False,
        )

    def moved(self, words: str, _error: Any) -> Failure:
        """The address leads elsewhere; keys do not follow."""
        return Failure(
            message=f"{self.base_url} redirects, and keys do not follow: set base_url to where it leads. "
            f"It said: {words}",
            retryable=False,
        )

    def window(self, words: str, _error: Any) -> Failure:
        """The prompt does not fit."""
        return Failure(
            message=f"the prompt is longer than the window of '{self.model}': choose a model with a larger window, "
            f"or a smaller problem. {self.provider} said: {words}",
            retryable=False,
        )

    def output_limit(self, words: str, _error: Any) -> Failure:
        """More output was asked for than the model gives."""
        return Failure(
            message=f"'{self.model}' gives less output than was asked for: lower {self._option('reasoning_tokens')}. "
            f"{self.provider} said: {words}",
            retryable=False,
        )

    def setting(self, words: str, _error: Any) -> Failure:
        """The model does not know one of our settings."""
        return Failure(
            message=f"'{self.model}' does not take a setting of {self.provider}: leave effort unset "
            f"({self._variable('effort')}), "
            f"or switch thinking off ({self._variable('thinking')}=false). It said: {words}",
            retryable=False,
        )

    def busy(self, words: str, error: Any) -> Failure:
        """Too many requests."""
        wait_s = _wait_s(error)
        wait = "try again later" if wait_s is None else f"try again in {wait_s:.0f} s"
        return Failure(
            message=f"{self.provider} takes no more requests now: {wait}, or lower "
            f"{self._option('requests_per_minute')}. It said: {words}",
            retry_after_s=wait_s,
        )

    def down(self, words: str, error: Any) -> Failure:
        """The service broke down."""
        return Failure(
            message=f"{self.provider} failed (HTTP {error.status_code}): try again later. It said: {words}",
            retry_after_s=_wait_s(error),
        )

    def _option(self, name: str) -> str:
        return f"{name} ({self._variable(name)})"

    def _variable(self, name: str) -> str:
        return f"KERNELWRIGHT_{self.provider.upper()}__{name.upper()}"

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


_Test = Callable[[int, str], bool]
_Answer = Callable[[Explainer, str, Any], Failure]
_ANSWERS: tuple[tuple[_Test, _Answer], ...] = (
    (lambda status, _: 300 <= status < 400, Explainer.moved),
    (lambda status, _: status in {401, 403}, Explainer.wrong_key),
    (lambda status, low: status in {402, 429, 400} and any(w in low for w in _QUOTA_WORDS), Explainer.no_quota),
    (lambda status, low: status < 500 and any(w in low for w in _WINDOW_WORDS), Explainer.window),
    (lambda status, low: status == 400 and any(w in low for w in _OUTPUT_WORDS), Explainer.output_limit),
    (lambda status, low: status == 400 and any(w in low for w in _SETTING_WORDS), Explainer.setting),
    (lambda status, _: status == 413, Explainer.window),
    (lambda status, _: status == 404, Explainer.no_model),
    (lambda status, _: status in {408, 409, 429, _OVERLOADED}, Explainer.busy),
    (lambda status, _: status >= 500, Explainer.down),
)
"""Asked in order; the first that applies answers."""


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
