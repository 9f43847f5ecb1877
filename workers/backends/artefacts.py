"""The content-addressed cache of built libraries and build manifests. Files appear whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from services.domain.codec import CodecError, from_data, to_data
from services.domain.errors import StorageError
from services.ports.devices import ReachedName

MAX_LIBRARY_BYTES = 256 << 20
MAX_REMARKS_READ = 4 << 20
MAX_REMARKS = 64 << 10


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What a build gave."""

    libraries: tuple[Path, ...]
    sources: tuple[str, ...]
    """What they were compiled from."""
    languages: tuple[str, ...]
    """What each library was compiled as."""
    reached: tuple[ReachedName, ...]
    """What the names in the module lead to."""


class ArtefactCache:
    """One directory for one toolchain: `<hash>.so` libraries and `<hash>.json` manifests. Raises `StorageError`.

    `ahead` is another one, which is only read: what compile workers have built. What is found there is copied."""

    def __init__(self, directory: Path, ahead: Path | None = None) -> None:
        self.directory = directory
        self._ahead = ahead
        with _as_storage_error(directory):
            directory.mkdir(parents=True, exist_ok=True)

    def find(self, name: str) -> Path | None:
        """The library of that name, if it was built before."""
        path = self.directory / name
        if path.is_file():
            return path
        if self._ahead is None or not (self._ahead / name).is_file():
            return None
        try:
            return self.add(name, self._ahead / name)
        except ValueError:
            return None

    def add(self, name: str, built: Path) -> Path:
        """Copy a freshly built file in. Raises `ValueError` when it is no regular file of sensible size."""
        target = self.directory / name
        with _as_storage_error(target), open(built, "rb", opener=_no_follow) as source:
            found = os.fstat(source.fileno())
            if not stat.S_ISREG(found.st_mode) or not 0 < found.st_size <= MAX_LIBRARY_BYTES:
                raise ValueError(f"the compiler left no library of sensible size ({found.st_size} bytes)")
            self._write(target, source.read(MAX_LIBRARY_BYTES))
        return target

    def annotate(self, name: str, remarks: Path) -> None:
        """Keep what the compiler remarked on a library beside it: its lines on loops, as far as they are short."""
        try:
            with open(remarks, "rb", opener=_no_follow) as file:
                text = file.read(MAX_REMARKS_READ).decode(errors="replace")
        except OSError:
            return
        kept = dict.fromkeys(line for line in text.splitlines() if ": missed: " in line and not line.startswith("/"))
        with _as_storage_error(self.directory):
            self._write(self.directory / f"{name}.missed", "\n".join(kept).encode()[:MAX_REMARKS])

    @staticmethod
    def remarks(library: Path) -> str:
        """What the compiler remarked on a library of a cache; empty where nothing was kept."""
        try:
            return library.with_name(f"{library.name}.missed").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def manifest(self, key: str) -> Manifest | None:
        """The libraries of a build done before, all of them still there; else None."""
        known = self._read(self.directory / f"{key}.json")
        if known is None and self._ahead is not None:
            known = self._read(self._ahead / f"{key}.json")
            if known is not None:
                self.record(key, known)
        return known

    def _read(self, file: Path) -> Manifest | None:
        try:
            found = json.loads(file.read_text(encoding="ascii"))
            paths = tuple(self.find(Path(str(name)).name) for name in found["libraries"])
            sources = tuple(str(text) for text in found["sources"])
            languages = tuple(str(text) for text in found["languages"])
            reached = tuple(from_data(ReachedName, one) for one in found["reached"])
        except (OSError, ValueError, KeyError, TypeError, CodecError):
            return None
        libraries = tuple(path for path in paths if path is not None)
        if not len(libraries) == len(paths) == len(languages):
            return None
        return Manifest(libraries=libraries, sources=sources, languages=languages, reached=reached)

    def record(self, key: str, manifest: Manifest) -> None:
        """Remember which libraries a build gave, and of what."""
        target = self.directory / f"{key}.json"
        found = {
            "libraries": [path.name for path in manifest.libraries],
            "sources": manifest.sources,
            "languages": manifest.languages,
            "reached": [to_data(one) for one in manifest.reached],
        }
        with _as_storage_error(target):
            self._write(target, json.dumps(found).encode())

    def _write(self, target: Path, content: bytes) -> None:
        descriptor, scratch = tempfile.mkstemp(dir=self.directory, prefix=".writing-")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                os.fchmod(file.fileno(), 0o444)
            Path(scratch).replace(target)
        except BaseException:
            Path(scratch).unlink(missing_ok=True)
            raise


def _no_follow(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


@contextlib.contextmanager
def _as_storage_error(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}") from None


def is_full(directory: Path) -> bool:
    """Whether a file system has no room left."""
    found = os.statvfs(directory)
    return found.f_bavail * found.f_frsize < 1 << 20


def sealed_copy(path: Path) -> int:
    """A descriptor of an unchangeable copy in memory, for a process that must not get at the file itself."""
    descriptor = os.memfd_create("library", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        content = memoryview(path.read_bytes())
        while content:
            content = content[os.write(descriptor, content) :]
        seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


class scratch(tempfile.TemporaryDirectory[str]):  # noqa: N801 - reads as a function
    """A directory for one compilation; files in it may belong to a sandbox's user."""

    def __init__(self) -> None:
        try:
            super().__init__(prefix="kernelwright-compile-")
        except OSError as error:
            raise StorageError(f"cannot make a scratch directory: {error.strerror}") from None

    def __enter__(self) -> Path:  # type: ignore[override]
        return Path(super().__enter__())
