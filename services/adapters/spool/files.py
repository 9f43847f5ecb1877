"""What a spool asks of a file system: files that are whole or not there, moves that one process wins, and names that
the first writer keeps."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from services.domain.errors import StorageError

MOST_BYTES = 64 << 20
"""The largest file that is read: reports carry machine code, of at most some megabytes."""
PART = ".part-"
"""In the names of files that are being written. Those begin with a dot, as rsync's do, and nobody reads them."""
_FULL = (errno.ENOSPC, errno.EDQUOT)
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


class UnusableFileError(ValueError):
    """What lies there is no plain file of a sensible size."""


@contextlib.contextmanager
def storing(path: Path) -> Iterator[None]:
    """Turn the file system's failures into `StorageError` that says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise StorageError(
                f"the spool's disk is full ({path.parent}): free some space; nothing is lost meanwhile",
                remedy="Free some space on the spool's file system.",
            ) from None
        raise StorageError(
            f"the spool cannot be written ({path}): {error.strerror or error}",
            remedy="Check that the spool's directory exists and may be written.",
        ) from None


def make_folders(*folders: Path) -> None:
    """Make folders that only this user and group may enter. Raises `StorageError`."""
    for folder in folders:
        with storing(folder / "."):
            folder.mkdir(parents=True, exist_ok=True, mode=0o770)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under its name at once, over an earlier one. Raises `StorageError`; then nothing has changed."""
    with whole_file(path) as file:
        file.write(content)


def write_first(path: Path, content: bytes) -> bool:
    """Write a file unless there is one; whether it was written. Raises `StorageError`.

    Without hard links (some network and FAT file systems) two writers in the same instant may both say so; the later
    content stays then."""
    with storing(path), _written(path, content) as part:
        try:
            os.link(part, path)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            if path.exists():
                return False
            part.replace(path)
        _settle(path.parent)
        return True


def read_whole(path: Path) -> bytes:
    """A file's content. Raises `FileNotFoundError`, `UnusableFileError` (a link, a pipe, too large), `OSError`."""
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UnusableFileError("it is a symbolic link") from None
        raise
    with open(opened, "rb") as file:  # noqa: PTH123 - a descriptor
        found = os.fstat(opened)
        if not stat.S_ISREG(found.st_mode):
            raise UnusableFileError("it is no plain file")
        if found.st_size > MOST_BYTES:
            raise UnusableFileError(f"it has {found.st_size} bytes, and {MOST_BYTES} are read at most")
        return file.read(MOST_BYTES)


def move(source: Path, target: Path) -> bool:
    """Rename a file; whether this process was the one that did. Raises `StorageError`.

    A rename over NFS may be carried out and answered "no such file", where its request was sent twice: what counts is
    whether the target, whose name nobody else uses, is there."""
    try:
        source.rename(target)
    except FileNotFoundError:
        return target.exists()
    except OSError:
        with storing(source):
            raise
    return True


def remove(path: Path) -> bool:
    """Remove a file; whether there was one. Raises `StorageError`."""
    with storing(path):
        try:
            path.unlink()
        except FileNotFoundError:
            return False
    return True


def names_in(folder: Path) -> list[str]:
    """The names of the whole files of a folder, sorted; none where it does not exist. Raises `StorageError`."""
    with storing(folder / "."), contextlib.suppress(FileNotFoundError):
        return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    return []


def remove_remains(folder: Path, older_s: float) -> None:
    """Remove what writers that were killed have left in a folder so many seconds ago. Raises `StorageError`."""
    with storing(folder / "."), contextlib.suppress(FileNotFoundError):
        for path in folder.glob(f".*{PART}*"):
            if time.time() - path.stat().st_mtime > older_s:
                path.unlink()


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, which gets its name when all of it was written. Raises `StorageError`."""
    part = _part_of(path)
    try:
        with storing(path):
            with part.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
            _settle(path.parent)
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


def overwrite(path: Path, content: bytes) -> None:
    """Write a short text of constant length in place: that needs no further space on a disk that is full. Raises
    `StorageError`."""
    with storing(path):
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o660)
        try:
            os.pwrite(opened, content, 0)
            os.fsync(opened)
        finally:
            os.close(opened)


@contextlib.contextmanager
def _written(path: Path, content: bytes) -> Iterator[Path]:
    """A temporary file beside a path with a content that has reached the disk; it is gone afterwards."""
    part = _part_of(path)
    try:
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield part
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


def _part_of(path: Path) -> Path:
    return path.with_name(f".{path.name[:150]}{PART}{secrets.token_hex(6)}")


def _settle(folder: Path) -> None:
    """Have a folder's names reach the disk, where its file system knows how."""
    with contextlib.suppress(OSError):
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
