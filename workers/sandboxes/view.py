"""The file system a sandboxed process sees: a tmpfs root with read-only binds, its own /proc, /dev and /tmp.

The steps follow bubblewrap's: pivot into a staging tmpfs that shows the old root at `/old`, build `/new`, pivot
again, detach the old root.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from pathlib import Path

from workers.sandboxes import archives, linux
from workers.sandboxes.plan import TEMPORARY, Bind, SandboxPlan

STAGES = ("/tmp", "/mnt", "/run", "/var")  # noqa: S108 - any directory that exists will do
OLD = Path("/old")
NEW = Path("/new")
GIVEN = ".given"
SMALLEST_TEMPORARY_BYTES = 64 << 20
MOST_LINKS = 40  # as Linux has it
DEVICES = ("null", "zero", "full", "random", "urandom")
LINKS = {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}
SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/alternatives",
    "/etc/localtime",
    "/sys/devices/system/cpu",
    "/sys/devices/system/node",
    "/sys/kernel/mm/transparent_hugepage",
)
RESTRICTED = linux.MS_RDONLY | linux.MS_NOSUID | linux.MS_NODEV


def system_binds() -> list[Bind]:
    """What every program needs: system libraries and programs, the loader's cache, the machine's topology."""
    libraries = sorted(str(path) for path in Path("/").iterdir() if path.name.startswith("lib"))
    return [Bind(source=name, target=name) for name in (*SYSTEM, *libraries) if os.path.lexists(name)]


def build(plan: SandboxPlan, archive: int | None = None) -> None:
    """Replace this mount namespace's root by the plan's view. Needs to be alone in the namespace, with its rights.

    `archive` holds further files (`archives.py`); its descriptor is taken over."""
    os.umask(0o022)
    linux.mount(None, "/", None, linux.MS_REC | linux.MS_PRIVATE)
    _enter_stage()
    _make_tmpfs(
        NEW, (16 << 20) + (8 * archives.size(archive) if archive is not None else 0), 0o755
    )  # pages are rounded
    size = max(plan.limits.file_bytes, SMALLEST_TEMPORARY_BYTES)
    _make_proc()
    _make_dev(size)
    temporary = NEW / TEMPORARY.lstrip("/")
    temporary.mkdir()
    _make_tmpfs(temporary, size, 0o1777)
    _write_users(plan.uid)
    for bind in sorted(plan.binds, key=lambda bind: bind.target.count("/")):
        _bind(bind)
    if plan.workspace:
        workspace = NEW / plan.directory.lstrip("/")
        workspace.mkdir(parents=True)
        _make_tmpfs(workspace, size, 0o755)
    if archive is not None:
        _unpack(plan, archive)
    linux.mount(None, str(NEW), None, linux.MS_REMOUNT | linux.MS_BIND | RESTRICTED)
    _leave_stage()


def _enter_stage() -> None:
    stage = next(path for path in map(Path, STAGES) if path.is_dir())
    linux.mount("tmpfs", str(stage), "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "size=1m,mode=755")
    (stage / "old").mkdir()
    (stage / "new").mkdir()
    linux.pivot_root(str(stage), str(stage / "old"))
    os.chdir("/")


def _leave_stage() -> None:
    os.chdir(NEW)
    stage = os.open("/", os.O_PATH | os.O_DIRECTORY)
    linux.detach(str(OLD))
    linux.pivot_root(".", ".")
    os.fchdir(stage)
    linux.detach(".")
    os.close(stage)
    os.chdir("/")


def _make_tmpfs(path: Path, size: int, mode: int) -> None:
    linux.mount("tmpfs", str(path), "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, f"size={size},mode={mode:o}")


def _make_proc() -> None:
    proc = NEW / "proc"
    proc.mkdir()
    try:
        linux.mount("proc", str(proc), "proc", linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC)
    except OSError as error:  # a PID namespace whose /proc we may not show is none
        raise linux.NamespaceError(*error.args) from None


def _make_dev(shared_memory: int) -> None:
    dev = NEW / "dev"
    dev.mkdir()
    for name in DEVICES:
        (dev / name).touch()
        linux.mount(str(OLD / "dev" / name), str(dev / name), None, linux.MS_BIND)
    for name, target in LINKS.items():
        (dev / name).symlink_to(target)
    (dev / "shm").mkdir()
    _make_tmpfs(dev / "shm", shared_memory, 0o1777)


def _unpack(plan: SandboxPlan, archive: int) -> None:
    """Put what was sent on the root, which becomes read-only, and show it at the paths where the worker has it."""

    def place(name: str) -> Path:
        mine = plan.workspace and Path(name).is_relative_to(plan.directory)
        return _under(NEW if mine else NEW / GIVEN, name)

    archives.unpack(archive, place)
    for name in plan.given:
        source, target = _under(NEW / GIVEN, name), _under(NEW, name)
        _make_mount_point(target, is_directory=source.is_dir())
        linux.mount(str(source), str(target), None, linux.MS_BIND)
        linux.restrict_mount(str(target), RESTRICTED)


def _write_users(uid: int) -> None:
    """`getpass.getuser()` and g++ look users up; they learn one name."""
    etc = NEW / "etc"
    etc.mkdir()
    _write(etc / "passwd", [f"sandbox:x:{uid}:{uid}:sandbox:{TEMPORARY}:/bin/sh"])
    _write(etc / "group", [f"sandbox:x:{uid}:"])
    _write(etc / "hosts", ["127.0.0.1 localhost"])


def _write(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _bind(bind: Bind) -> None:
    source, target = OLD / bind.source.lstrip("/"), _under(NEW, bind.target)
    if source.is_symlink():
        target.parent.mkdir(parents=True, exist_ok=True)
        if not os.path.lexists(target):
            target.symlink_to(source.readlink())
        return
    _make_mount_point(target, is_directory=source.is_dir())
    linux.mount(str(source), str(target), None, linux.MS_BIND | linux.MS_REC)
    flags = linux.MS_NOSUID
    if not bind.target.startswith("/dev/"):
        flags |= linux.MS_NODEV
    if not bind.writable:
        flags |= linux.MS_RDONLY
    linux.restrict_mount(str(target), flags)


def _under(root: Path, name: str) -> Path:
    """A path of the machine as it is below `root`: links on the way to it lead to places below `root` too, as after
    chroot (`/usr/local/cuda` is often a link to `/etc/alternatives`). Its last part may be a link itself.

    Raises `OSError` for links that go round in a circle."""
    *parents, last = Path(name).parts[1:]
    left, found, followed = parents[::-1], root, 0
    while left:
        if (part := left.pop()) == "..":
            found = found if found == root else found.parent
            continue
        found /= part
        if not found.is_symlink():
            continue
        if (followed := followed + 1) > MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
        leads_to, found = found.readlink(), found.parent
        if leads_to.is_absolute():
            found = root
        left += [one for one in leads_to.parts if one != "/"][::-1]
    return found / last


def _make_mount_point(target: Path, *, is_directory: bool) -> None:
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if is_directory:
        target.mkdir()
    else:
        target.touch()
