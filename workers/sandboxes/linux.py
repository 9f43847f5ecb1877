"""The Linux calls that Python's standard library lacks, each raising `OSError` with the call's name.

Standard library only; used after a fork, so nothing here allocates threads, locks or tensors.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import struct
from pathlib import Path

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
CLONE_ALL_BUT_USER = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MNT_DETACH = 2

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_LAST_CAPABILITY = 40
_CAPABILITY_VERSION_3 = 0x20080522
_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000
_KEYCTL_JOIN_SESSION_KEYRING = 1

CAP_KILL = 5

_SIGACTION_BYTES, _SIGACTION_FLAGS = 256, 136
"""glibc's `struct sigaction` on 64-bit machines: room for it, and where the flags are."""
_SA_NOCLDSTOP = 1

_SYSCALLS = {
    "x86_64": {"pivot_root": 155, "keyctl": 250, "mount_setattr": 442, "close_range": 436},
    "aarch64": {"pivot_root": 41, "keyctl": 219, "mount_setattr": 442, "close_range": 436},
}.get(platform.machine(), {})

_libc = ctypes.CDLL(None, use_errno=True)


class NamespaceError(OSError):
    """The machine does not let us make the namespaces that a sandbox consists of."""


def _check(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _syscall(name: str, *arguments: object) -> int:
    number = _SYSCALLS.get(name)
    if number is None:
        raise OSError(38, f"{name}: not known on {platform.machine()}")
    result: int = _libc.syscall(ctypes.c_long(number), *arguments)
    _check(result, name)
    return result


def unshare(flags: int) -> None:
    """Leave the parent's namespaces named by `flags`."""
    _check(_libc.unshare(flags), "unshare")


def mount(source: str | None, target: str, kind: str | None, flags: int = 0, options: str | None = None) -> None:
    """Mount, bind or remount."""
    encoded = [None if text is None else os.fsencode(text) for text in (source, target, kind, options)]
    result = _libc.mount(encoded[0], encoded[1], encoded[2], ctypes.c_ulong(flags), encoded[3])
    _check(result, f"mount {target}")


def detach(target: str) -> None:
    """Take a mount and everything below it out of this namespace."""
    _check(_libc.umount2(os.fsencode(target), MNT_DETACH), f"umount {target}")


def pivot_root(new: str, old: str) -> None:
    """Make `new` the root and show the old root at `old`."""
    _syscall("pivot_root", os.fsencode(new), os.fsencode(old))


def restrict_mount(target: str, flags: int) -> None:
    """Add `MS_RDONLY`, `MS_NOSUID`, `MS_NODEV` to a mount and all mounts below it."""
    attributes = struct.pack("QQQQ", flags, 0, 0, 0)  # the attribute bits equal the three MS_ flags
    try:
        _syscall(
            "mount_setattr",
            _AT_FDCWD,
            os.fsencode(target),
            ctypes.c_uint(_AT_RECURSIVE),
            attributes,
            ctypes.c_size_t(len(attributes)),
        )
    except OSError as error:
        if error.errno != 38:  # ENOSYS before Linux 5.12: the top mount only, keeping the flags it has
            raise
        kept = os.statvfs(target).f_flag & (MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC)
        mount(None, target, None, MS_REMOUNT | MS_BIND | flags | kept)


def close_descriptors(keep: set[int]) -> None:
    """Close every descriptor from 3 on, except those in `keep`."""
    start = 3
    for descriptor in [*sorted(keep), None]:
        end = 0x7FFFFFFF if descriptor is None else descriptor - 1
        if descriptor is not None and descriptor < 3:
            continue
        if end >= start:
            _close_range(start, end)
        start = end + 2


def _close_range(first: int, last: int) -> None:
    try:
        _syscall("close_range", ctypes.c_uint(first), ctypes.c_uint(last), ctypes.c_uint(0))
    except OSError:
        for entry in list(Path("/proc/self/fd").iterdir()):
            if first <= int(entry.name) <= last:
                os.closerange(int(entry.name), int(entry.name) + 1)


def _prctl(option: int, value: int, what: str) -> None:
    zero = ctypes.c_ulong(0)
    _check(_libc.prctl(option, ctypes.c_ulong(value), zero, zero, zero), what)


def die_with_parent(number: int) -> None:
    """Have the kernel send us a signal when our parent ends. A change of user clears this."""
    _prctl(_PR_SET_PDEATHSIG, number, "prctl(PDEATHSIG)")


def set_dumpable(*, dumpable: bool) -> None:
    """Whether others of our user may look into this process, and whether it owns its own `/proc` entries."""
    _prctl(_PR_SET_DUMPABLE, int(dumpable), "prctl(DUMPABLE)")


def hear_of_ends_only() -> None:
    """Get SIGCHLD for children that end, not for those that are stopped or continued; a handler must be set."""
    action = ctypes.create_string_buffer(_SIGACTION_BYTES)
    _check(_libc.sigaction(signal.SIGCHLD, None, action), "sigaction")
    flags = struct.unpack_from("i", action, _SIGACTION_FLAGS)[0]
    struct.pack_into("i", action, _SIGACTION_FLAGS, flags | _SA_NOCLDSTOP)
    _check(_libc.sigaction(signal.SIGCHLD, action, None), "sigaction")


def adopt_orphans() -> None:
    """Become the parent of descendants whose parent ends."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1, "prctl(CHILD_SUBREAPER)")


def forbid_new_privileges() -> None:
    """From now on no set-user-id program can raise our privileges."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1, "prctl(NO_NEW_PRIVS)")


def new_session_keyring() -> None:
    """Leave the session keyring of whoever started us; where keyrings do not exist there is nothing to leave."""
    try:
        _syscall("keyctl", _KEYCTL_JOIN_SESSION_KEYRING, None)
    except OSError:
        return


def drop_bounding_set() -> None:
    """No program executed from here on can gain a capability. Needs CAP_SETPCAP; without it, changes nothing."""
    for capability in range(_LAST_CAPABILITY + 1):
        try:
            _prctl(_PR_CAPBSET_DROP, capability, "prctl(CAPBSET_DROP)")
        except OSError:
            return


def keep_capabilities(kept: int = 0) -> None:
    """Give up all capabilities but the bits in `kept`, ambient ones included."""
    zero = ctypes.c_ulong(0)
    _libc.prctl(_PR_CAP_AMBIENT, ctypes.c_ulong(_PR_CAP_AMBIENT_CLEAR_ALL), zero, zero, zero)
    low, high = kept & 0xFFFFFFFF, kept >> 32
    header = struct.pack("Ii", _CAPABILITY_VERSION_3, 0)
    data = struct.pack("6I", low, low, 0, high, high, 0)
    _check(_libc.capset(header, data), "capset")
