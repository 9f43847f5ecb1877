"""Where things lie in a spool, and how what nobody may believe is put aside.

    service            who writes orders here (sealed)
    orders/NAME        waiting (sealed)
    claims/NAME,ATTEMPT,OWNER   the same file, moved there by the node that does it
    beats/NAME,ATTEMPT,OWNER    its heartbeat
    reports/NAME       answers (sealed), until the job ends
    nodes/NODE         nodes that are there, or why they refuse to work (sealed)
    ended/JOB          jobs that have ended: nodes free what they keep warm
    refused/…          what was not believed, each with a text that says why

NAME is `ORDER@JOB`.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from services.adapters.spool.files import make_folders, move, write_whole
from services.domain.errors import StorageError

log = logging.getLogger(__name__)
MOST_PART = 60
MOST_OWNER = 100
"""Longer ids are hashed: a claim's name has two and an owner, and file systems permit 255 bytes."""


@dataclass(frozen=True, kw_only=True)
class ClaimName:
    """What the name of a claim says."""

    name: str
    """The order's."""
    attempt: int
    """1 for the first node that took the order."""
    owner: str
    """The process that holds it: hashed where its name is very long."""

    @property
    def file(self) -> str:
        """As a file's name."""
        return f"{self.name},{self.attempt},{part_of(self.owner, MOST_OWNER)}"


class SpoolLayout:
    """The folders of a spool."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.service = root / "service"
        self.orders = root / "orders"
        self.claims = root / "claims"
        self.beats = root / "beats"
        self.reports = root / "reports"
        self.nodes = root / "nodes"
        self.ended = root / "ended"
        self.refused = root / "refused"

    def make(self) -> None:
        """Make the folders. Raises `StorageError`."""
        folders = (self.orders, self.claims, self.beats, self.reports, self.nodes, self.ended, self.refused)
        make_folders(self.root, *folders)

    def refuse(self, path: Path, reason: str) -> None:
        """Put a file aside with the reason beside it. A disk without room for the text costs the text alone. Raises
        `StorageError` where the file cannot be moved."""
        aside = self.refused / f"{path.parent.name},{path.name}"
        if not move(path, aside):
            return
        log.warning("refused %s/%s: %s", path.parent.name, path.name, reason)
        with contextlib.suppress(StorageError):
            write_whole(self.reason_of(aside), f"{reason}\n".encode())

    def why_refused(self, name: str) -> str:
        """What was written down about a refused file."""
        try:
            text = self.reason_of(self.refused / name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return "no reason was kept"
        return text.strip() or "no reason was kept"

    @staticmethod
    def reason_of(aside: Path) -> Path:
        """The text beside a refused file."""
        return aside.with_name(f"{aside.name}.txt")


def order_name(order_id: str, job_id: str) -> str:
    """The name of an order's files."""
    return f"{part_of(order_id)}@{part_of(job_id)}"


def part_of(text: str, most: int = MOST_PART) -> str:
    """A text as a part of a file's name: readable where it is short, never with one of the separators `@` and `,`."""
    quoted = quote(text, safe="")
    return quoted if quoted and len(quoted) <= most else hashlib.sha256(text.encode()).hexdigest()[:40]


def job_of(name: str) -> str:
    """The job's part of an order's name, or of a claim's."""
    return name.partition(",")[0].rpartition("@")[2]


def claim_named(file: str) -> ClaimName | None:
    """What the name of a claim says; None for one that is no claim's."""
    parts = file.split(",")
    if len(parts) != 3 or not parts[1].isdecimal() or len(parts[1]) > 4:
        return None
    return ClaimName(name=parts[0], attempt=int(parts[1]), owner=unquote(parts[2]))
