"""Archives of a spool, for nodes that nothing but a person reaches: what is carried is believed by its signature."""

from __future__ import annotations

import contextlib
import io
import logging
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from services.adapters.spool.files import (
    MOST_BYTES,
    UnusableFileError,
    names_in,
    read_whole,
    storing,
    whole_file,
    write_whole,
)
from services.adapters.spool.layout import SpoolLayout
from services.adapters.spool.messages import SealError
from services.adapters.spool.orders import SpooledOrders
from services.domain.errors import UserError

log = logging.getLogger(__name__)
_CARRIED = re.compile(r"(?:\./)?(?:[^/]+/)?(orders|reports)/([^/,\0]{1,200})")


@dataclass(kw_only=True)
class Carried:
    """What went into an archive, or came out of one."""

    orders: int = 0
    reports: int = 0
    known: int = 0
    """Files that said nothing new."""
    refused: dict[str, str] = field(default_factory=dict)
    """Files that were not believed, with the reason."""


def pack(layout: SpoolLayout, archive: Path) -> Carried:
    """Copy the orders that wait and the reports of a spool into a tar archive, compressed if its name ends so. It is
    whole or not there. Raises `StorageError`."""
    carried = Carried()
    mode = "w:gz" if archive.name.endswith((".gz", ".tgz")) else "w"
    with whole_file(archive) as file, tarfile.open(fileobj=file, mode=mode) as tar:  # type: ignore[call-overload]
        for folder in (layout.orders, layout.reports):
            for name in names_in(folder):
                if _add(tar, folder / name):
                    carried.orders += folder == layout.orders
                    carried.reports += folder == layout.reports
    return carried


def unpack(source: Path, layout: SpoolLayout, orders: SpooledOrders) -> Carried:
    """Take in the orders and reports of an archive, or of another spool's directory. What is not to be believed is put
    aside with its reason. Raises `UserError`, `StorageError`."""
    carried = Carried()
    for kind, name, content in _contents(source):
        try:
            new = orders.take_in_order(name, content) if kind == "orders" else orders.take_in(name, content)
        except SealError as error:
            carried.refused[f"{kind}/{name}"] = str(error)
            _put_aside(layout, kind, name, content, str(error))
            continue
        carried.orders += new and kind == "orders"
        carried.reports += new and kind == "reports"
        carried.known += not new
    return carried


def _add(tar: tarfile.TarFile, path: Path) -> bool:
    try:
        content = read_whole(path)
    except (OSError, UnusableFileError):  # taken meanwhile, or nothing that belongs here
        return False
    entry = tarfile.TarInfo(f"{path.parent.name}/{path.name}")
    entry.size, entry.mode = len(content), 0o660
    with contextlib.suppress(OSError):
        entry.mtime = int(path.stat().st_mtime)
    tar.addfile(entry, io.BytesIO(content))
    return True


def _contents(source: Path) -> Iterator[tuple[str, str, bytes]]:
    """Kind, name and content of the files that a source has. Raises `UserError`."""
    if source.is_dir():
        yield from _of_directory(SpoolLayout(source))
        return
    try:
        with tarfile.open(source) as tar:
            for member in tar:
                matched = _CARRIED.fullmatch(member.name)
                if matched is None or not member.isreg() or member.size > MOST_BYTES:
                    continue
                file = tar.extractfile(member)
                if file is not None:
                    yield matched[1], matched[2], file.read()
    except (OSError, EOFError, tarfile.TarError) as error:
        raise UserError(f"{source} cannot be read to its end: {error}; what came before it was taken in") from None


def _of_directory(layout: SpoolLayout) -> Iterator[tuple[str, str, bytes]]:
    for folder in (layout.orders, layout.reports):
        for name in names_in(folder):
            with contextlib.suppress(OSError, UnusableFileError):
                yield folder.name, name, read_whole(folder / name)


def _put_aside(layout: SpoolLayout, kind: str, name: str, content: bytes, reason: str) -> None:
    log.warning("refused %s/%s: %s", kind, name, reason)
    aside = layout.refused / f"{kind},{name}"
    with storing(aside):
        write_whole(aside, content)
        write_whole(layout.reason_of(aside), f"{reason}\n".encode())
