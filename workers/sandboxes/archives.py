"""Files that enter and leave a container by descriptor: archives in sealed memory, regular files and folders only.

A container that is warm already can be shown no further host path, and shall never write to one.
"""

from __future__ import annotations

import fcntl
import os
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

from services.domain.errors import SandboxError
from services.ports.sandboxes import Mount

MAX_BYTES = 1 << 30
MAX_FILES = 20_000
_IGNORED = "__pycache__"
_SEALS = 0x1 | 0x2 | 0x4 | 0x8  # seal, shrink, grow, write


def pack(mounts: Sequence[Mount]) -> int:
    """A descriptor of an archive of host paths under their own names. Raises `SandboxError`."""
    descriptor = os.memfd_create("kernelwright-contents", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        with (
            os.fdopen(os.dup(descriptor), "wb") as file,
            tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as archive,
        ):
            for mount in mounts:
                _add(archive, mount.path)
        fcntl.fcntl(descriptor, getattr(fcntl, "F_ADD_SEALS", 1033), _SEALS)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _add(archive: tarfile.TarFile, path: Path) -> None:
    def chosen(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        if archive.offset > MAX_BYTES:
            raise SandboxError(f"{path} is too large to be copied into a container ({MAX_BYTES >> 20} MiB at most)")
        if PurePosixPath(member.name).name == _IGNORED:
            return None
        return member if member.isreg() or member.isdir() or member.issym() else None

    try:
        archive.add(path.resolve(), arcname=str(path), filter=chosen)
    except OSError as error:
        raise SandboxError(f"cannot copy {path} into a container: {error.strerror}") from None


def pack_folder(folder: Path) -> int:
    """A descriptor of an archive with the regular files below a folder, for its owner."""
    descriptor = os.memfd_create("kernelwright-results", os.MFD_CLOEXEC)
    with (
        os.fdopen(os.dup(descriptor), "wb") as file,
        tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as archive,
    ):
        archive.add(folder, arcname=".", filter=lambda member: member if member.isreg() or member.isdir() else None)
    return descriptor


def size(descriptor: int) -> int:
    """Bytes of an archive."""
    return os.fstat(descriptor).st_size


def unpack(descriptor: int, place: Callable[[str], Path]) -> None:
    """Write what the worker packed where `place` says for each absolute name; takes the descriptor.

    Raises `OSError`, `tarfile.TarError`."""
    with os.fdopen(descriptor, "rb") as file:
        file.seek(0)
        with tarfile.open(fileobj=file, mode="r:") as archive:
            for member in archive:
                _write(archive, member, place(f"/{member.name}"))


def restore(descriptor: int, folder: Path) -> None:
    """Write what came out of a container into the folder that went in; nothing outside it, and no links.

    Takes the descriptor. Raises `SandboxError` for an archive that is none of ours.
    """
    with os.fdopen(descriptor, "rb") as file:
        if os.fstat(file.fileno()).st_size > MAX_BYTES:
            raise SandboxError("what came back from the container is too large")
        file.seek(0)
        try:
            with tarfile.open(fileobj=file, mode="r:") as archive:
                for count, member in enumerate(archive):
                    _check(member, count)
                    _write(archive, member, folder / member.name)
        except (tarfile.TarError, OSError) as error:
            raise SandboxError(f"cannot take over what came back from the container: {error}") from None


def _check(member: tarfile.TarInfo, count: int) -> None:
    name = PurePosixPath(member.name)
    if count > MAX_FILES or name.is_absolute() or ".." in name.parts or not (member.isreg() or member.isdir()):
        raise SandboxError(f"refused what came back from the container: {member.name[:200]!r}")


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if member.issym():
        path.symlink_to(member.linkname)
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, member.mode & 0o755), "wb") as target:
        source = archive.extractfile(member)
        assert source is not None
        while chunk := source.read(1 << 20):
            target.write(chunk)
