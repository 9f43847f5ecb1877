"""What a spool's file system can do, tried out."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from services.adapters.spool.files import (
    PART,
    UnusableFileError,
    move,
    read_whole,
    remove,
    storing,
    write_first,
    write_whole,
)
from services.adapters.spool.layout import SpoolLayout
from services.adapters.spool.messages import MOST_SKEW_S, IncompleteError, SealError, SpoolKey, SpoolKind
from services.domain.errors import ConfigurationError, StorageError

NETWORK = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "lustre", "gpfs", "beegfs", "ceph", "fuse.sshfs", "afs")
LEAST_FREE_BYTES = 256 << 20
"""Below that a spool is about to be full: reports carry machine code and profiles."""


@dataclass(frozen=True, kw_only=True)
class SpoolCondition:
    """What was found out about a spool's directory."""

    filesystem: str
    """Its type, as the kernel names it; empty where that cannot be told."""
    links: bool
    """Whether the first of two answers to an order surely stays: by hard links."""
    skew_s: float
    """This machine's clock minus the file system's."""
    free_bytes: int

    @property
    def remote(self) -> bool:
        """Whether other machines' writes may be seen late."""
        return self.filesystem in NETWORK


def examine(layout: SpoolLayout) -> SpoolCondition:
    """Write, rename, link and remove a file in a spool. Raises `StorageError` where that fails."""
    probe = layout.nodes / f".probe{PART}{secrets.token_hex(6)}"
    moved = probe.with_name(f"{probe.name}-moved")
    try:
        write_whole(probe, b"one")
        skew_s = time.time() - probe.stat().st_mtime
        links = _links(probe) and not write_first(probe, b"two") and read_whole(probe) == b"one"
        if not move(probe, moved) or probe.exists():
            raise StorageError(f"renames do not work in {layout.nodes}: use another file system")
    except OSError as error:
        raise StorageError(f"the spool cannot be tried out ({probe}): {error.strerror or error}") from None
    finally:
        for path in (probe, moved):
            with contextlib.suppress(StorageError):
                remove(path)
    with storing(layout.nodes / "."):
        free = shutil.disk_usage(layout.root).free
    return SpoolCondition(filesystem=filesystem_of(layout.root), links=links, skew_s=skew_s, free_bytes=free)


def check_service(layout: SpoolLayout, key: SpoolKey, version: str) -> None:
    """Raise `ConfigurationError` where a spool's service has another key, or another version of the program."""
    try:
        message = key.open(read_whole(layout.service))
    except (FileNotFoundError, IncompleteError):
        return
    except (SealError, UnusableFileError, OSError) as error:
        raise ConfigurationError(
            f"the spool {layout.root} is another key's: {error}; give this node the service's key (--key)"
        ) from None
    if message.kind is SpoolKind.SERVICE and message.version != version:
        raise ConfigurationError(
            f"this node is version {version}, and the service of the spool {layout.root} is {message.version}: install "
            "the same version here"
        )


def check_skew(condition: SpoolCondition) -> None:
    """Raise `ConfigurationError` where this machine's clock is off: it would judge wrongly which orders are valid."""
    if abs(condition.skew_s) > MOST_SKEW_S:
        ahead = "ahead of" if condition.skew_s > 0 else "behind"
        raise ConfigurationError(
            f"this machine's clock is {abs(condition.skew_s):.0f} s {ahead} the spool's file system: set it (NTP), at "
            f"most {MOST_SKEW_S:.0f} s are tolerated"
        )


def filesystem_of(path: Path) -> str:
    """The type of the file system that a path lies on (proc_pid_mountinfo(5)); empty where it cannot be told."""
    found, best = "", -1
    with contextlib.suppress(OSError):
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
        place = path.resolve()
        for line in lines:
            mount, _, rest = line.partition(" - ")
            point = Path(mount.split()[4].encode().decode("unicode_escape"))
            if place.is_relative_to(point) and len(point.parts) >= best:
                found, best = rest.split()[0], len(point.parts)
    return found


def _links(path: Path) -> bool:
    beside = path.with_name(f"{path.name}-link")
    try:
        os.link(path, beside)
    except OSError:
        return False
    with contextlib.suppress(StorageError):
        remove(beside)
    return True
