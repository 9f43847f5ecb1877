"""Sealed messages: one JSON document a file, signed with the key that the service and its nodes share.

A file is a line `kernelwright-spool FORMAT LENGTH HMAC` and LENGTH bytes of JSON. The HMAC-SHA256 covers all of it, so
that nothing is read before it is known to come from a holder of the key. What a message may do follows from its kind,
which is signed too: a report is never taken for an order.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, TypeVar

from services.domain.codec import CodecError, dumps, from_data, loads
from services.domain.errors import ConfigurationError
from services.domain.evaluations import EvaluationReport, EvaluationRequest
from services.domain.validations import ValidationReport, ValidationRequest

T = TypeVar("T")
SpooledRequest = ValidationRequest | EvaluationRequest
SpooledReport = ValidationReport | EvaluationReport

FORMAT = 1
"""Raised whenever an older program would misread a file."""
LEAST_KEY_BYTES = 32
MOST_SKEW_S = 300.0
"""So far a message may lie in the future of whoever reads it: a difference of clocks, and no harm."""
_MAGIC = "kernelwright-spool"
_HEAD = re.compile(rb"kernelwright-spool (\d{1,9}) (\d{1,12}) ([0-9a-f]{64})")
_MOST_HEAD = 128


class SealError(ValueError):
    """A file is not to be believed; the message says why."""


class IncompleteError(SealError):
    """A file is shorter than it says: still being written, or truncated."""


class SpoolKind(StrEnum):
    """What a message is, and so who may have written it."""

    ORDER = "order"
    """The service's: work to do."""
    SERVICE = "service"
    """The service's: who it is."""
    REPORT = "report"
    """A node's: the answer to an order."""
    FAULT = "fault"
    """A node's: its machine could not do the order."""
    NODE = "node"
    """A node's: that it is there."""


class SpooledWork(StrEnum):
    """What an order asks for."""

    VALIDATION = "validation"
    EVALUATION = "evaluation"


_REQUESTS: dict[SpooledWork, type[SpooledRequest]] = {
    SpooledWork.VALIDATION: ValidationRequest,
    SpooledWork.EVALUATION: EvaluationRequest,
}
_REPORTS: dict[SpooledWork, type[SpooledReport]] = {
    SpooledWork.VALIDATION: ValidationReport,
    SpooledWork.EVALUATION: EvaluationReport,
}


@dataclass(frozen=True, kw_only=True)
class SpoolMessage:
    """The content of a sealed file."""

    kind: SpoolKind
    about: str
    """Id of the order, name of the node; empty for the service."""
    job_id: str = ""
    """Of orders and their answers."""
    version: str
    """The program's version that wrote it."""
    sender: str
    """Name of the process that wrote it."""
    made_at: datetime
    """By the clock of whoever wrote it."""
    expires_at: datetime | None = None
    """Of an order: the end of its validity by the service's clock. Its answer has the same."""
    work: SpooledWork | None = None
    """Of orders and reports."""
    digest: str = ""
    """Of an order: `digest_of` its request. Its answer has the same."""
    evaluator: str | None = None
    """Of an order: the only evaluator whose figures compare with the job's others. Of an answer: who gave it."""
    label: str = ""
    """Of an order: what people call it. Its answer has the same."""
    seconds: float = 0.0
    """Of an answer: what it took."""
    body: Any = field(default=None)
    """Plain data of the request, the report, the node, or the fault's sentence."""

    def request(self) -> SpooledRequest:
        """What an order asks for. Raises `SealError`."""
        return _body(_REQUESTS[self._work()], self.body)

    def report(self) -> SpooledReport:
        """What a report says. Raises `SealError`."""
        return _body(_REPORTS[self._work()], self.body)

    def _work(self) -> SpooledWork:
        if self.work is None:
            raise SealError("it does not say whether it is about a validation or an evaluation")
        return self.work


class SpoolKey:
    """The secret that a service and its nodes share."""

    def __init__(self, secret: str) -> None:
        """Raises `ConfigurationError` for a secret that can be guessed."""
        self._secret = secret.strip().encode()
        if len(self._secret) < LEAST_KEY_BYTES:
            raise ConfigurationError(
                f"the spool's key has {len(self._secret)} characters, and needs {LEAST_KEY_BYTES}: make one with "
                "`kernelwright spool key`"
            )

    @staticmethod
    def new() -> str:
        """A secret that nobody has."""
        return secrets.token_hex(LEAST_KEY_BYTES)

    def seal(self, message: SpoolMessage) -> bytes:
        """A message as the content of a file."""
        text = dumps(message).encode()
        return f"{_MAGIC} {FORMAT} {len(text)} {self._sign(FORMAT, text)}\n".encode() + text

    def open(self, content: bytes) -> SpoolMessage:
        """The message in a file. Raises `IncompleteError`, `SealError`."""
        head, found, text = content[:_MOST_HEAD].partition(b"\n")[0], b"\n" in content[:_MOST_HEAD], b""
        matched = _HEAD.fullmatch(head) if found else None
        if matched is None:
            raise _without_head(content)
        made_as, length = int(matched[1]), int(matched[2])
        if made_as != FORMAT:
            raise SealError(f"it has the format {made_as}, and this program reads {FORMAT}: install the same version")
        text = content[len(head) + 1 :]
        if len(text) < length:
            raise IncompleteError(f"it is truncated: {len(text)} of {length} bytes")
        if len(text) > length:
            raise SealError(f"something follows its {length} bytes")
        if not hmac.compare_digest(matched[3].decode(), self._sign(made_as, text)):
            raise SealError("its signature is wrong: forged, changed on its way, or sealed with another key")
        try:
            return loads(SpoolMessage, text)
        except CodecError as error:
            raise SealError(f"it cannot be read: {error}") from None

    def _sign(self, made_as: int, text: bytes) -> str:
        return hmac.new(self._secret, f"{_MAGIC} {made_as}\n".encode() + text, hashlib.sha256).hexdigest()


def digest_of(request: SpooledRequest) -> str:
    """SHA-256 of what is asked for: an answer to another question of the same id is none."""
    return hashlib.sha256(dumps(request).encode()).hexdigest()


def work_of(request: SpooledRequest) -> SpooledWork:
    """Which of the two a request is."""
    return SpooledWork.VALIDATION if isinstance(request, ValidationRequest) else SpooledWork.EVALUATION


def check_timely(message: SpoolMessage, version: str, now: datetime) -> None:
    """Raise `SealError` for a message of another version of the program, or one that is not valid any more."""
    if message.version != version:
        raise SealError(
            f"it was made by version {message.version}, and this is {version}: install the same version on both sides"
        )
    if message.expires_at is not None and now > message.expires_at:
        raise SealError(f"it expired at {message.expires_at.isoformat(timespec='seconds')}")


def ahead_s(message: SpoolMessage, now: datetime) -> float:
    """Seconds by which a message lies in the future beyond what clocks may differ; 0 where it does not."""
    ahead = (message.made_at - now) / timedelta(seconds=1)
    return ahead if ahead > MOST_SKEW_S else 0.0


def _without_head(content: bytes) -> SealError:
    """Why a content without a whole first line is not believed."""
    if len(content) < _MOST_HEAD and b"\n" not in content and _MAGIC.encode().startswith(content[: len(_MAGIC)]):
        return IncompleteError(f"it is truncated: {len(content)} bytes, and its first line has no end")
    return SealError("it is no file of a spool: its first line is another")


def _body(kind: type[T], body: Any) -> T:
    try:
        return from_data(kind, body)
    except CodecError as error:
        raise SealError(f"its content does not fit: {error}") from None
