"""A node's side of a spool: takes orders by renaming them, keeps them by a heartbeat, and leaves signed answers."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from services.adapters.spool.files import (
    UnusableFileError,
    move,
    names_in,
    overwrite,
    read_whole,
    remove,
    write_first,
)
from services.adapters.spool.layout import ClaimName, SpoolLayout, claim_named, order_name, part_of
from services.adapters.spool.messages import (
    SealError,
    SpooledReport,
    SpooledRequest,
    SpoolKey,
    SpoolKind,
    SpoolMessage,
    ahead_s,
    check_timely,
    digest_of,
)
from services.adapters.spool.reader import SpoolReader, Watch
from services.domain.codec import to_data
from services.domain.nodes import Offer
from services.domain.work import ATTEMPTS
from services.ports.runtime import Clock

log = logging.getLogger(__name__)
LEASE_S = 60.0
"""So long a claim may go without a heartbeat before another node takes the order. Longer than an NFS client believes
its caches (`acregmax`, 60 s by default, is the reason for mounting spools with less)."""
_BEAT_DIGITS = 20


@dataclass(frozen=True, kw_only=True)
class SpoolClaim:
    """A node's right to answer an order."""

    named: ClaimName
    order: SpoolMessage
    request: SpooledRequest
    began: float
    """On the node's monotonic clock."""

    @property
    def poisonous(self) -> bool:
        """Whether so many nodes have died on the order that no further one shall."""
        return self.named.attempt > ATTEMPTS


@dataclass(kw_only=True)
class _Look:
    """What one look at the spool found beside an order to take."""

    undecided: set[str] = field(default_factory=set)
    """Claims that may be dead, and files that may still be written: time will tell."""
    left: dict[str, str] = field(default_factory=dict)
    """Orders for this device that this node may not do, by name, with the reason."""


class SpoolClaims:
    """Orders of a spool as one worker process sees them; safe beside any number of others, on any machine."""

    def __init__(
        self,
        layout: SpoolLayout,
        key: SpoolKey,
        clock: Clock,
        *,
        offer: Offer,
        version: str,
        owner: str,
        is_gone: Callable[[str], bool] = lambda _owner: False,
        lease_s: float = LEASE_S,
    ) -> None:
        """`owner` names this process and no other, ever. `is_gone` tells that a process of this machine has ended, so
        that its claims need not be waited for."""
        self._layout = layout
        self._key = key
        self._clock = clock
        self._offer = offer
        self._version = version
        self._owner = owner
        self._is_gone = is_gone
        self._lease_s = lease_s
        self._watch = Watch(clock)
        self._reader = SpoolReader(layout, key, self._watch, lambda name: self._look.undecided.add(name))
        self._look = _Look()
        self._told: set[str] = set()
        self._beats = 0

    @property
    def undecided(self) -> int:
        """How many files, at the last look that found nothing to take, were incomplete or perhaps a dead node's."""
        return len(self._look.undecided)

    @property
    def left(self) -> dict[str, str]:
        """Orders for its device that this node leaves to others, with the reason, as of the last look that found none
        to take."""
        return dict(self._look.left)

    def take(self) -> SpoolClaim | None:
        """Claim the order whose turn it is: validations first, then the oldest; one whose node is dead only where
        nothing else waits. Raises `StorageError`."""
        self._look = _Look()
        for name in self._by_turn():
            claim = self._tried(self._layout.orders / name, ClaimName(name=name, attempt=1, owner=self._owner))
            if claim is not None:
                return claim
        for file in names_in(self._layout.claims):
            claim = self._taken_over(file)
            if claim is not None:
                return claim
        self._tell()
        return None

    def beat(self, claim: SpoolClaim) -> bool:
        """Say that the node is at work on an order; False when the claim is gone: stop, nobody wants the answer."""
        held, heartbeat = self._layout.claims / claim.named.file, self._layout.beats / claim.named.file
        if not held.exists():
            return False
        self._beats += 1
        overwrite(heartbeat, f"{self._beats:{_BEAT_DIGITS}d}".encode())
        if held.exists():
            return True
        remove(heartbeat)  # answered meanwhile, by another thread of this process
        return False

    def answer(self, claim: SpoolClaim, report: SpooledReport) -> bool:
        """Leave a report; False when the claim was lost or another answer lies there already, which then stays. Raises
        `StorageError`; the claim holds on."""
        return self._publish(claim, SpoolKind.REPORT, to_data(report))

    def fail(self, claim: SpoolClaim, fault: str) -> bool:
        """Leave word that the machine could not do it; as `answer`."""
        return self._publish(claim, SpoolKind.FAULT, fault)

    def release(self, claim: SpoolClaim) -> None:
        """Put an order back for others. Needs no space. Raises `StorageError`."""
        move(self._layout.claims / claim.named.file, self._layout.orders / claim.named.name)
        remove(self._layout.beats / claim.named.file)

    def has_ended(self, job_id: str) -> bool:
        """Whether nobody needs what is kept warm for a job any more."""
        return (self._layout.ended / part_of(job_id)).exists()

    def _by_turn(self) -> list[str]:
        """The names of waiting orders, in the order in which they are tried."""
        found = []
        with os.scandir(self._layout.orders) as entries:
            waiting = {entry.name: entry for entry in entries}
        for name in names_in(self._layout.orders):
            try:
                written = waiting[name].stat(follow_symlinks=False).st_mtime_ns if name in waiting else 0
            except OSError:  # somebody else has taken it
                continue
            found.append((not name.startswith("val-"), written, name))
        return [name for _, _, name in sorted(found)]

    def _tried(self, path: Path, named: ClaimName) -> SpoolClaim | None:
        """Claim a file under a name, if it holds an order that this node may do."""
        order = self._read(path, named.name)
        if order is None or not self._is_wanted(path, order) or self._is_done(path, named.name):
            return None
        if path.parent == self._layout.orders and self._claimed(named.name):
            return None  # the same order was delivered a second time: whoever has it answers both
        taken = self._layout.claims / named.file
        if not move(path, taken):
            return None
        again = self._read(taken, named.name)  # nobody can change it between being checked and being done
        if again is None:
            return None
        claim = SpoolClaim(named=named, order=again, request=again.request(), began=self._clock.monotonic())
        self.beat(claim)
        return claim

    def _taken_over(self, file: str) -> SpoolClaim | None:
        """Claim what a dead node held."""
        named = claim_named(file)
        path = self._layout.claims / file
        if named is None:
            self._layout.refuse(path, "its name is no claim's")
            return None
        if self._is_done(path, named.name) or not self._is_dead(named):
            return None
        following = ClaimName(name=named.name, attempt=named.attempt + 1, owner=self._owner)
        claim = self._tried(path, following)
        if claim is not None:
            remove(self._layout.beats / file)
            log.warning("took %s over from %s, which is silent", named.name, named.owner)
        return claim

    def _is_dead(self, named: ClaimName) -> bool:
        if named.owner == self._owner:
            return True  # a claim of ours that nothing is done about: it could not be released
        if self._is_gone(named.owner):
            return True
        silent_s = self._watch.unchanged_s(named.file, self._beat_of(named.file))
        if silent_s >= self._lease_s:
            return True
        if not self._watch.moved(named.file):
            self._look.undecided.add(named.file)
        return False

    def _beat_of(self, file: str) -> bytes:
        try:
            return read_whole(self._layout.beats / file)
        except (OSError, UnusableFileError):
            return b""

    def _claimed(self, name: str) -> bool:
        return any(file.startswith(f"{name},") for file in names_in(self._layout.claims))

    def _is_done(self, path: Path, name: str) -> bool:
        """Whether an answer lies there already; then a further copy of the order, or a claim on it, is removed."""
        if not (self._layout.reports / name).exists():
            return False
        remove(path)
        if path.parent == self._layout.claims:
            remove(self._layout.beats / path.name)
        return True

    def _read(self, path: Path, name: str) -> SpoolMessage | None:
        return self._reader.read(path, lambda order: self._checked(order, name))

    def _checked(self, order: SpoolMessage, name: str) -> SpoolMessage:
        """The order itself. Raises `SealError` for what is no order of this service for this version of the program."""
        if order.kind is not SpoolKind.ORDER:
            raise SealError(f"it is of the kind {order.kind.value!r}, and no order")
        if order_name(order.about, order.job_id) != name:
            raise SealError(f"its name is another order's: it is about {order.about} of the job {order.job_id}")
        check_timely(order, self._version, self._clock.now())
        request = order.request()
        if digest_of(request) != order.digest:
            raise SealError("its digest is another request's")
        return order

    def _is_wanted(self, path: Path, order: SpoolMessage) -> bool:
        """Whether this node may do an order; what it may not stays where it is."""
        if order.request().device != self._offer.device:
            return False
        reason = self._unfit(order)
        if reason is not None:
            self._look.left[path.name] = reason
        return reason is None

    def _unfit(self, order: SpoolMessage) -> str | None:
        request = order.request()
        if request.backend not in self._offer.backends:
            return f"it needs the backend {request.backend}, which this node lacks"
        if order.evaluator is not None and order.evaluator != self._offer.evaluator:
            return f"its job was begun under the evaluator {order.evaluator!r}, and this is {self._offer.evaluator!r}"
        ahead = ahead_s(order, self._clock.now())
        if ahead:
            return f"it was made {ahead:.0f} s in the future of this node's clock: set the clock"
        return None

    def _tell(self) -> None:
        """Log each order that is left to others once."""
        for name, reason in self._look.left.items():
            if name not in self._told:
                log.warning("leaving the order %s: %s", name, reason)
        self._told = set(self._look.left)

    def _publish(self, claim: SpoolClaim, kind: SpoolKind, body: object) -> bool:
        held = self._layout.claims / claim.named.file
        first = False
        if held.exists():
            first = write_first(
                self._layout.reports / claim.named.name, self._key.seal(self._answer(claim, kind, body))
            )
        else:
            log.warning("the answer to %s came too late: its claim is gone", claim.order.about)
        remove(held)
        remove(self._layout.beats / claim.named.file)
        return first

    def _answer(self, claim: SpoolClaim, kind: SpoolKind, body: object) -> SpoolMessage:
        order, now = claim.order, self._clock.now()
        return SpoolMessage(
            kind=kind,
            about=order.about,
            job_id=order.job_id,
            version=self._version,
            sender=self._owner,
            made_at=now,
            expires_at=order.expires_at,
            work=order.work,
            digest=order.digest,
            evaluator=self._offer.evaluator,
            label=order.label,
            seconds=self._clock.monotonic() - claim.began,
            body=body,
        )
