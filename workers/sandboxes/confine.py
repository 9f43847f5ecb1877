"""What a forked process does to itself before foreign code runs in it; every step may raise `OSError`."""

from __future__ import annotations

import io
import os
import resource
import signal
import sys
from pathlib import Path

from workers.sandboxes import linux
from workers.sandboxes.plan import Level, SandboxPlan

OPEN_FILES = 1024


def enter_namespaces(plan: SandboxPlan) -> None:
    """Make the plan's namespaces; the PID namespace takes effect with the next fork. Raises `NamespaceError`."""
    if plan.level is Level.LIMITS:
        return
    try:
        if plan.level is Level.USER:
            _enter_user_namespace(plan)
        linux.unshare(linux.CLONE_ALL_BUT_USER)
    except OSError as error:
        raise linux.NamespaceError(*error.args) from None


def _enter_user_namespace(plan: SandboxPlan) -> None:
    if plan.change_user:
        change_user(plan.uid)
        linux.set_dumpable(dumpable=True)  # else /proc/self/uid_map belongs to root
    outer_uid, outer_gid = os.getuid(), os.getgid()
    linux.unshare(linux.CLONE_NEWUSER)
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{plan.uid} {outer_uid} 1")
    _write("/proc/self/gid_map", f"{plan.uid} {outer_gid} 1")


def _write(path: str, text: str) -> None:
    Path(path).write_text(text, encoding="ascii")


def change_user(uid: int) -> None:
    """Become a user without groups; needs to be root."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def give_up_privileges(plan: SandboxPlan) -> None:
    """Become the plan's user, without groups, capabilities or a way back."""
    linux.new_session_keyring()
    linux.drop_bounding_set()
    if plan.change_user and plan.level is not Level.USER:
        change_user(plan.uid)
    linux.keep_capabilities(0)
    linux.forbid_new_privileges()
    linux.set_dumpable(dumpable=True)  # its own /proc/self must be its own


def apply_limits(plan: SandboxPlan) -> None:
    """Set resource limits; those of the plan, and none that could disturb the machine."""
    limits = plan.limits
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, limits.file_bytes)
    _limit(resource.RLIMIT_NOFILE, OPEN_FILES)
    _limit(resource.RLIMIT_MSGQUEUE, 0)
    _limit(resource.RLIMIT_NPROC, limits.processes + _processes_not_ours(plan))
    if limits.cpu_s is not None:
        seconds = max(1, int(limits.cpu_s + 0.999))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    if plan.limit_data:
        _limit(resource.RLIMIT_DATA, limits.memory_bytes + _data_in_use())


def _limit(which: int, value: int) -> None:
    _soft, hard = resource.getrlimit(which)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(which, (value, value))


def _processes_not_ours(plan: SandboxPlan) -> int:
    """Threads the kernel already counts for our user: none where the user or the user namespace is new."""
    if plan.change_user or plan.level is not Level.LIMITS:
        return 0
    return sum(_threads(entry) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def _threads(process: Path) -> int:
    try:
        if process.stat().st_uid != os.getuid():
            return 0
        return len(list((process / "task").iterdir()))
    except OSError:
        return 0


def _data_in_use() -> int:
    """Private writable memory mapped already (mostly torch's), in bytes."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("VmData:"):
            return int(line.split()[1]) * 1024
    return 0


def redirect_output(output: int) -> None:
    """Standard input from nothing, standard output and error to the descriptor `output`."""
    nothing = os.open("/dev/null", os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(nothing)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # a crash must not swallow what was printed before


def reset_signals() -> None:
    """Default signal handling, as a fresh Python has it."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def set_environment(plan: SandboxPlan) -> None:
    """Exactly the plan's environment."""
    for name in list(os.environ):
        del os.environ[name]
    os.environ.update(plan.environment)
