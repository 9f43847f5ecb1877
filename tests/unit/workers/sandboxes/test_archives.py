"""What goes into a container and what may come back out of it."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from services.domain.errors import SandboxError
from services.ports.sandboxes import Mount
from workers.sandboxes import archives


def archive_of(*members: tarfile.TarInfo) -> int:
    descriptor = os.memfd_create("test")
    with os.fdopen(os.dup(descriptor), "wb") as file, tarfile.open(fileobj=file, mode="w") as archive:
        for member in members:
            archive.addfile(member, io.BytesIO(b"x" * member.size))
    return descriptor


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, 1 if kind == tarfile.REGTYPE else 0
    return info


def test_files_keep_their_paths_and_cannot_be_changed_on_the_way(tmp_path: Path) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "deep" / "file").write_text("content")
    (tmp_path / "in" / "link").symlink_to("deep/file")
    packed = archives.pack([Mount(path=tmp_path / "in")])
    with pytest.raises(PermissionError):
        os.write(packed, b"more")
    archives.unpack(packed, lambda name: tmp_path / "out" / name.lstrip("/"))
    there = tmp_path / "out" / str(tmp_path / "in").lstrip("/")
    assert (there / "deep" / "file").read_text() == "content"
    assert (there / "link").read_text() == "content"


def test_results_come_back_into_their_folder(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "made").write_text("new")
    (tmp_path / "outside").mkdir()
    archives.restore(archives.pack_folder(tmp_path / "inside"), tmp_path / "outside")
    assert (tmp_path / "outside" / "made").read_text() == "new"


@pytest.mark.parametrize(
    "evil",
    [
        member("../planted"),
        member("/tmp/planted"),
        member("link", tarfile.SYMTYPE, "/etc"),
        member("hard", tarfile.LNKTYPE, "/etc/passwd"),
        member("device", tarfile.CHRTYPE),
        member("pipe", tarfile.FIFOTYPE),
    ],
    ids=lambda info: info.name,
)
def test_nothing_comes_out_but_files_and_folders_below(tmp_path: Path, evil: tarfile.TarInfo) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(SandboxError, match="refused"):
        archives.restore(archive_of(evil), folder)
    assert list(tmp_path.iterdir()) == [folder]
    assert list(folder.iterdir()) == []


def test_a_link_in_the_folder_is_not_followed_out_of_it(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "link").symlink_to(tmp_path / "outside")
    with pytest.raises(SandboxError):
        archives.restore(archive_of(member("link")), tmp_path / "folder")
    assert (tmp_path / "outside").read_text() == "mine"


def test_rubbish_is_the_machines_fault(tmp_path: Path) -> None:
    descriptor = os.memfd_create("test")
    os.write(descriptor, b"no archive at all" * 100)
    with pytest.raises(SandboxError, match="cannot take over"):
        archives.restore(descriptor, tmp_path)


def test_a_path_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="nothing"):
        archives.pack([Mount(path=tmp_path / "nothing")])
