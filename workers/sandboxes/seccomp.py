"""System calls that sandboxed code may make: a profile for the container, and a filter added before foreign code runs.

The container's profile allows what Python, torch, compilers and kernels need, and the namespaces and mounts by which
its trusted first process confines what it forks. The added filter takes those away again: both filters must agree.
A container in which a worker runs its process sandbox has the same profile (`docker/worker-seccomp.json`).
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import platform
import struct
from collections.abc import Iterable

from services.domain.events import JsonValue
from workers.sandboxes import linux

FILES = (
    "access chdir chmod chown close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2 fadvise64 "
    "fallocate fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl fdatasync fgetxattr flistxattr flock "
    "fremovexattr fsetxattr fstat fstatfs fsync ftruncate futimesat getcwd getdents getdents64 getxattr "
    "inotify_add_watch inotify_init inotify_init1 inotify_rm_watch ioctl lchown lgetxattr link linkat listxattr "
    "llistxattr lremovexattr lseek lsetxattr lstat mkdir mkdirat newfstatat open openat openat2 pread64 preadv "
    "preadv2 pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv removexattr rename renameat renameat2 "
    "rmdir sendfile setxattr splice stat statfs statx symlink symlinkat sync sync_file_range syncfs tee truncate umask "
    "unlink unlinkat utime utimensat utimes vmsplice write writev"
)
MEMORY = (
    "brk get_mempolicy madvise mbind membarrier memfd_create mincore mlock mlock2 mlockall mmap mprotect mremap msync "
    "munlock munlockall munmap pkey_alloc pkey_free pkey_mprotect set_mempolicy shmat shmctl shmdt shmget"
)
PROCESSES = (
    "alarm arch_prctl capget capset clone execve execveat exit exit_group fork futex futex_requeue futex_wait "
    "futex_waitv futex_wake get_robust_list getcpu getegid geteuid getgid getgroups getitimer getpgid getpgrp getpid "
    "getppid getpriority getrandom getresgid getresuid getrlimit getrusage getsid gettid getuid ioprio_get kill pause "
    "pidfd_open pidfd_send_signal prctl prlimit64 restart_syscall rseq rt_sigaction rt_sigpending rt_sigprocmask "
    "rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max "
    "sched_get_priority_min sched_getaffinity sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval "
    "sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield seccomp set_robust_list "
    "set_tid_address setfsgid setfsuid setgid setgroups setitimer setpgid setpriority setregid setresgid setresuid "
    "setreuid setrlimit setsid setuid sigaltstack sysinfo tgkill times tkill uname vfork wait4 waitid"
)
WAITING = (
    "clock_getres clock_gettime clock_nanosleep epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 "
    "epoll_wait eventfd eventfd2 gettimeofday nanosleep pipe pipe2 poll ppoll pselect6 select signalfd signalfd4 time "
    "timer_create timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create timerfd_gettime "
    "timerfd_settime"
)
TALKING = (
    "accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmmsg recvmsg semctl semget "
    "semop semtimedop sendmmsg sendmsg sendto setsockopt shutdown socketpair"
)
CONFINING = (
    "chroot fsconfig fsmount fsopen fspick keyctl mount mount_setattr move_mount open_tree pivot_root setdomainname "
    "sethostname setns umount2 unshare"
)
"""What the container's trusted process needs and foreign code must not have."""
FAMILIES = (1, 2, 10)
"""Sockets: local, and the two of the Internet (there is no network: programs then get the error that they expect)."""

_NUMBERS = {
    "x86_64": (
        (161, 431, 432, 430, 433, 250, 165, 442, 429, 428, 155, 171, 170, 308, 166, 272),
        0xC000003E,
        56,
    ),
    "aarch64": (
        (51, 431, 432, 430, 433, 219, 40, 442, 429, 428, 41, 162, 161, 268, 39, 97),
        0xC00000B7,
        220,
    ),
}
"""Numbers of `CONFINING` in its order, the audit architecture, and the number of `clone`."""
_CLONE3 = 435
_X32 = 0x40000000
_NEW_NAMESPACES = linux.CLONE_ALL_BUT_USER | linux.CLONE_NEWUSER
_LOAD, _JUMP_EQUAL, _JUMP_ANY_BIT, _JUMP_AT_LEAST, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
_KILL, _REFUSE, _ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
_NUMBER_AT, _ARCHITECTURE_AT, _FIRST_ARGUMENT_AT = 0, 4, 16
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2


def can_filter() -> bool:
    """Whether the filter is known for this machine."""
    return platform.machine() in _NUMBERS


def profile() -> str:
    """The container's profile, as Docker's option `seccomp=` takes it: everything is refused that is not named."""
    names = [name for group in (FILES, MEMORY, PROCESSES, WAITING, TALKING, CONFINING) for name in group.split()]
    rules: list[JsonValue] = [
        {"names": list(names), "action": "SCMP_ACT_ALLOW"},
        {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": errno.ENOSYS},  # then libc takes `clone`
    ]
    for family in FAMILIES:
        argument: JsonValue = {"index": 0, "value": family, "op": "SCMP_CMP_EQ"}
        rules.append({"names": ["socket"], "action": "SCMP_ACT_ALLOW", "args": [argument]})
    asking: JsonValue = {"index": 0, "value": 0xFFFFFFFF, "op": "SCMP_CMP_EQ"}
    rules.append({"names": ["personality"], "action": "SCMP_ACT_ALLOW", "args": [asking]})
    return json.dumps(
        {
            "defaultAction": "SCMP_ACT_ERRNO",
            "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"],
            "syscalls": rules,
        }
    )


def forbid_confining() -> None:
    """Take the calls of `CONFINING` from this process and all it starts. Needs no_new_privs. Raises `OSError`."""
    machine = platform.machine()
    if machine not in _NUMBERS:
        raise OSError(errno.ENOSYS, f"no system call filter for {machine}")
    program = _program(*_NUMBERS[machine])
    code = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    zero = ctypes.c_ulong(0)
    if libc.prctl(_PR_SET_SECCOMP, ctypes.c_ulong(_MODE_FILTER), header, zero, zero) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl(SECCOMP): {os.strerror(number)}")


def _program(refused: Iterable[int], architecture: int, clone: int) -> bytes:
    """The filter in the kernel's classic BPF: (code, jump if true, jump if false, value) each."""
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_JUMP_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_JUMP_AT_LEAST, 0, 1, _X32),  # the second set of numbers on x86
        (_RETURN, 0, 0, _REFUSE | errno.EPERM),
    ]
    for number in refused:
        steps += [(_JUMP_EQUAL, 0, 1, number), (_RETURN, 0, 0, _REFUSE | errno.EPERM)]
    steps += [
        (_JUMP_EQUAL, 0, 1, _CLONE3),
        (_RETURN, 0, 0, _REFUSE | errno.ENOSYS),
        (_JUMP_EQUAL, 0, 3, clone),
        (_LOAD, 0, 0, _FIRST_ARGUMENT_AT),
        (_JUMP_ANY_BIT, 0, 1, _NEW_NAMESPACES),
        (_RETURN, 0, 0, _REFUSE | errno.EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("HBBI", *step) for step in steps)
