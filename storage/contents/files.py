"""Where large artefacts lie: a directory, or an object store that fsspec knows (`s3://bucket/prefix`)."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, Protocol

from services.domain.errors import ConfigurationError, StorageError


class ArtefactFiles(Protocol):
    """Contents under relative names. Blocking; a name is written once and never changed."""

    def write(self, name: str, content: bytes) -> None:
        """Keep a content; a reader never sees half of it. Raises `StorageError`."""

    def read(self, name: str) -> bytes:
        """The content. Raises `StorageError` where it is gone."""

    def exists(self, name: str) -> bool:
        """Whether there is such a content."""

    def remove(self, name: str) -> None:
        """Remove a content; harmless where it is gone. Raises `StorageError`."""


class Directory:
    """Files below a directory."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def write(self, name: str, content: bytes) -> None:
        """Write under another name, then rename."""
        path = self._root / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, other = tempfile.mkstemp(dir=path.parent)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(content)
                Path(other).replace(path)
            except BaseException:
                Path(other).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise StorageError(f"cannot write the artefact {path}: {error.strerror or error}") from error

    def read(self, name: str) -> bytes:
        """The file's content."""
        path = self._root / name
        try:
            return path.read_bytes()
        except OSError as error:
            raise StorageError(f"cannot read the artefact {path}: {error.strerror or error}") from error

    def exists(self, name: str) -> bool:
        """Whether there is such a file."""
        return (self._root / name).is_file()

    def remove(self, name: str) -> None:
        """Remove a file."""
        path = self._root / name
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(f"cannot remove the artefact {path}: {error.strerror or error}") from error


class ObjectStore:
    """Objects below an fsspec address; a put is whole or not there at all, as in S3."""

    def __init__(self, address: str) -> None:
        """Raises `ConfigurationError` where fsspec lacks the protocol."""
        import fsspec

        try:
            self._files, self._root = fsspec.core.url_to_fs(address)
        except (ImportError, ValueError) as error:
            raise ConfigurationError(
                f"artefacts cannot be kept at {address}: {error} (s3:// needs `pip install 'kernelwright[s3]'`)"
            ) from None
        self._address = address

    def write(self, name: str, content: bytes) -> None:
        """Put an object."""
        self._guarded("write", lambda: self._files.pipe_file(f"{self._root}/{name}", content))

    def read(self, name: str) -> bytes:
        """Get an object."""
        return bytes(self._guarded("read", lambda: self._files.cat_file(f"{self._root}/{name}")))

    def exists(self, name: str) -> bool:
        """Whether there is such an object."""
        return bool(self._guarded("find", lambda: self._files.exists(f"{self._root}/{name}")))

    def remove(self, name: str) -> None:
        """Remove an object."""
        if self.exists(name):
            self._guarded("remove", lambda: self._files.rm_file(f"{self._root}/{name}"))

    def _guarded(self, what: str, work: Any) -> Any:
        try:
            return work()
        except Exception as error:
            # Each store's client has errors of its own (botocore's are not OSErrors).
            raise StorageError(f"cannot {what} the artefact at {self._address}: {error}") from error


def open_files(address: str | None) -> ArtefactFiles | None:
    """What a setting names: nothing, a directory, or `protocol://…`. Raises `ConfigurationError`."""
    if not address:
        return None
    if "://" in address and not address.startswith("file://"):
        return ObjectStore(address)
    return Directory(Path(address.removeprefix("file://")).absolute())
