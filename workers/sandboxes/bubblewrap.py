"""bubblewrap for compilers, where it is installed; it is started as the sandbox's user.

Run as root, `bwrap --uid N` keeps the kernel's user 0 outside its user namespace, and RLIMIT_NPROC does not hold.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path

from workers.sandboxes.plan import BASE_PATH, TEMPORARY, Bind

OPTIONS = ("--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL")


def find() -> str | None:
    """Path of bubblewrap. A set-user-id one is left alone: it cannot work under no_new_privs."""
    path = shutil.which("bwrap", path=BASE_PATH)
    if path is None or Path(path).stat().st_mode & stat.S_ISUID:
        return None
    return path


def wrap(program: str, command: Sequence[str], binds: Sequence[Bind], directory: Path) -> tuple[str, ...]:
    """The command line that runs `command` in `directory` and shows it `binds` only."""
    arguments = [program, *OPTIONS, "--proc", "/proc", "--dev", "/dev", "--tmpfs", TEMPORARY]
    for bind in binds:
        source = Path(bind.source)
        if source.is_symlink():
            arguments += ["--symlink", str(source.readlink()), bind.target]
        else:
            arguments += ["--bind" if bind.writable else "--ro-bind", bind.source, bind.target]
    return (*arguments, "--remount-ro", "/", "--chdir", str(directory), "--", *command)


def can_reach(directory: Path) -> bool:
    """Whether a user who is nobody can walk to the directory (bubblewrap opens it as that user)."""
    if os.geteuid() != 0:
        return True
    return all(parent.stat().st_mode & stat.S_IXOTH for parent in directory.resolve().parents)
