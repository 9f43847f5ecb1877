"""The service's side of a spool: places signed orders, and believes signed answers to them."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from services.adapters.spool.files import (
    UnusableFileError,
    names_in,
    read_whole,
    remove,
    remove_remains,
    storing,
    write_first,
    write_whole,
)
from services.adapters.spool.layout import SpoolLayout, job_of, order_name, part_of
from services.adapters.spool.messages import (
    SealError,
    SpooledReport,
    SpooledRequest,
    SpoolKey,
    SpoolKind,
    SpoolMessage,
    check_timely,
    digest_of,
    work_of,
)
from services.adapters.spool.reader import SpoolReader, Watch
from services.domain.codec import to_data
from services.ports.runtime import Clock

ENDED_KEPT_S = 86400.0
"""So long it is told that a job has ended."""


class SpoolPlace(StrEnum):
    """Where an order is."""

    ANSWERED = "answered"
    WAITING = "waiting"
    CLAIMED = "claimed"
    REFUSED = "refused"
    """Put aside, and nothing else is left of it."""
    ABSENT = "absent"


@dataclass(frozen=True, kw_only=True)
class SpoolAnswer:
    """What a node said of an order: exactly one of `report` and `fault` is set."""

    message: SpoolMessage
    report: SpooledReport | None = None
    fault: str | None = None


class SpooledOrders:
    """The orders of a spool as their service sees them. All of it may be done twice, by several processes."""

    def __init__(
        self,
        layout: SpoolLayout,
        key: SpoolKey,
        clock: Clock,
        *,
        version: str,
        sender: str,
        valid_days: float,
    ) -> None:
        """`valid_days` bounds how long an order may wait, and its answer be under way."""
        self._layout = layout
        self._key = key
        self._clock = clock
        self._version = version
        self._sender = sender
        self._valid = timedelta(days=valid_days)
        self._reader = SpoolReader(layout, key, Watch(clock))

    @property
    def valid_s(self) -> float:
        """Seconds for which an order is valid."""
        return self._valid.total_seconds()

    def open(self) -> None:
        """Make the folders, and say to nodes which version orders come from. Raises `StorageError`."""
        self._layout.make()
        now = self._clock.now()
        message = SpoolMessage(
            kind=SpoolKind.SERVICE, about="", version=self._version, sender=self._sender, made_at=now
        )
        write_whole(self._layout.service, self._key.seal(message))
        self._tidy()

    def place(self, request: SpooledRequest, order_id: str, *, evaluator: str | None = None, label: str = "") -> None:
        """Write an order, over an earlier copy that no node has taken yet. Raises `StorageError`."""
        now = self._clock.now()
        message = SpoolMessage(
            kind=SpoolKind.ORDER,
            about=order_id,
            job_id=request.job_id,
            version=self._version,
            sender=self._sender,
            made_at=now,
            expires_at=now + self._valid,
            work=work_of(request),
            digest=digest_of(request),
            evaluator=evaluator,
            label=label or request.problem.name,
            body=to_data(request),
        )
        remove(self._layout.ended / part_of(request.job_id))
        write_whole(self._layout.orders / order_name(order_id, request.job_id), self._key.seal(message))

    def where(self, name: str) -> tuple[SpoolPlace, str]:
        """Where the order of a name is, and of a refused one the reason. Raises `StorageError`."""
        # An order goes from waiting over claimed to answered, and may go back to waiting: looking twice sees it
        # wherever it went meanwhile.
        for _ in range(2):
            if (self._layout.orders / name).exists():
                return SpoolPlace.WAITING, ""
            if any(file.startswith(f"{name},") for file in names_in(self._layout.claims)):
                return SpoolPlace.CLAIMED, ""
            if (self._layout.reports / name).exists():
                return SpoolPlace.ANSWERED, ""
        reasons = self._reasons(name)
        return (SpoolPlace.REFUSED, reasons) if reasons else (SpoolPlace.ABSENT, "")

    def answered(self) -> list[str]:
        """The names of orders with an answer, unread. Raises `StorageError`."""
        return names_in(self._layout.reports)

    def answer(self, name: str, request: SpooledRequest | None = None) -> SpoolAnswer | None:
        """The answer to an order; None where there is none, or none yet. What is not to be believed is put aside, and
        an answer to another request of the same id too. Raises `StorageError`."""
        path = self._layout.reports / name
        return self._reader.read(path, lambda message: self._checked(message, name, request))

    def forget_answer(self, name: str) -> None:
        """Remove an answer, so that the order may be done again. Raises `StorageError`."""
        remove(self._layout.reports / name)

    def end(self, job_id: str) -> None:
        """Withdraw a job's orders, have nodes stop what they do for it, and forget its answers. Raises
        `StorageError`."""
        job = part_of(job_id)
        folders = (self._layout.orders, self._layout.claims, self._layout.beats, self._layout.reports)
        files = [folder / name for folder in folders for name in names_in(folder) if job_of(name) == job]
        for path in files:
            remove(path)
        if files:
            write_whole(self._layout.ended / job, b"")

    def take_in(self, name: str, content: bytes) -> bool:
        """Keep an answer that was carried here, unless there is one; whether it was new. Raises `SealError`,
        `StorageError`."""
        self._checked(self._key.open(content), name, None)
        first = write_first(self._layout.reports / name, content)
        remove(self._layout.orders / name)  # whoever took a copy of it has answered
        return first

    def take_in_order(self, name: str, content: bytes) -> bool:
        """Put an order here that was carried from its service; False where it is known already. Raises `SealError`,
        `StorageError`."""
        order = self._key.open(content)
        if order.kind is not SpoolKind.ORDER or order_name(order.about, order.job_id) != name:
            raise SealError(
                f"it is of the kind {order.kind.value!r} about {order.about or 'nobody'}, and not the order of its name"
            )
        check_timely(order, self._version, self._clock.now())
        if self.where(name)[0] in (SpoolPlace.ANSWERED, SpoolPlace.CLAIMED):
            return False
        path = self._layout.orders / name
        if not write_first(path, content):
            return False
        with storing(path), contextlib.suppress(FileNotFoundError):  # taken already
            os.utime(path, (order.made_at.timestamp(),) * 2)  # orders keep their turns
        return True

    def orders(self) -> Iterator[tuple[str, SpoolPlace, SpoolMessage]]:
        """Orders that wait or are being done, with their names. Files that say nothing are left out: nodes put them
        aside. Raises `StorageError`."""
        folders = ((self._layout.orders, SpoolPlace.WAITING), (self._layout.claims, SpoolPlace.CLAIMED))
        for folder, place in folders:
            for file in names_in(folder):
                try:
                    yield file.partition(",")[0], place, self._key.open(read_whole(folder / file))
                except (OSError, SealError, UnusableFileError):
                    continue

    def refusals(self) -> Iterator[tuple[str, str]]:
        """What was refused, by the name it had, with the reason. Raises `StorageError`."""
        for name in names_in(self._layout.refused):
            if not name.endswith(".txt"):
                yield name, self._layout.why_refused(name)

    def _checked(self, message: SpoolMessage, name: str, request: SpooledRequest | None) -> SpoolAnswer:
        """The answer that a message is. Raises `SealError`."""
        if message.kind not in (SpoolKind.REPORT, SpoolKind.FAULT):
            raise SealError(f"it is of the kind {message.kind.value!r}, and no answer of a node")
        if order_name(message.about, message.job_id) != name:
            raise SealError(f"its name is another order's: it is about {message.about} of the job {message.job_id}")
        check_timely(message, self._version, self._clock.now())
        if request is not None and message.digest != digest_of(request):
            raise SealError("it answers another request of the same id")
        if message.kind is SpoolKind.FAULT:
            return SpoolAnswer(message=message, fault=str(message.body) or "the node gave no reason")
        return SpoolAnswer(message=message, report=message.report())

    def _reasons(self, name: str) -> str:
        """Why what had a name was refused."""
        aside = [file for file in names_in(self._layout.refused) if not file.endswith(".txt")]
        own = [file for file in aside if file.partition(",")[2].partition(",")[0] == name]
        return "; ".join(map(self._layout.why_refused, own))

    def _tidy(self) -> None:
        """Remove old words of jobs that have ended, and what killed writers left, by the age that this machine sees."""
        for folder in (self._layout.orders, self._layout.reports, self._layout.nodes, self._layout.ended):
            remove_remains(folder, ENDED_KEPT_S)
        for name in names_in(self._layout.ended):
            path = self._layout.ended / name
            try:
                old = time.time() - path.stat().st_mtime > ENDED_KEPT_S
            except OSError:
                continue
            if old:
                remove(path)
