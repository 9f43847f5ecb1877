"""The kernel's own clock of processor time as a sampler: where every thread of a process was, at even steps of the time
that it ran. Needs no hardware counters: `PERF_COUNT_SW_CPU_CLOCK` is a timer (perf_event_open(2)).

The sampled process is never stopped and cannot tell: nothing attaches to it, no signal arrives, and threads and
children that it starts later inherit the timer. Where the kernel does not permit it, `NotPermittedError` says why.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import platform
import random
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from workers.profilers.perf_counters import paranoia

NUMBERS = {"x86_64": 298, "aarch64": 241}
"""Of the system call."""
PERIODS_NS = (230_000, 270_000)
"""Processor time between two samples of a thread, drawn anew for every process: no step to fall in with."""
PAGES = (64, 8)
"""Sizes of a ring to try: what may be locked is limited for plain users."""
MAX_SAMPLES = 400_000
_SOFTWARE, _CPU_CLOCK, _ATTRIBUTE_BYTES, _CLOSE_ON_EXEC = 1, 0, 128, 8
_IP, _TID, _TIME = 1, 2, 4
_INHERIT, _EXCLUDE_KERNEL, _EXCLUDE_HYPERVISOR, _USE_CLOCK = 1 << 1, 1 << 5, 1 << 6, 1 << 25
_RECORD_LOST, _RECORD_SAMPLE = 2, 9
_ENABLE, _DISABLE = 0x2400, 0x2401
_HEAD_AT, _TAIL_AT = 1024, 1032
_KERNEL_HALF = 1 << 63


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Where one thread was at one moment."""

    time_ns: int
    """On the monotonic clock."""
    process: int
    thread: int
    address: int

    @property
    def in_kernel(self) -> bool:
        """Whether it was in the kernel."""
        return self.address >= _KERNEL_HALF


class NotPermittedError(OSError):
    """The kernel does not let us sample; the text says why and what would help."""


class _Ring:
    """One event's buffer: the kernel writes at `head`, we read up to there and say so at `tail`."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._memory = _mapped(descriptor)
        self._size = len(self._memory) - mmap.PAGESIZE
        self.lost = 0

    def read(self) -> Iterator[Sample]:
        head, tail = struct.unpack_from("QQ", self._memory, _HEAD_AT)
        while tail < head:
            kind, _misc, size = struct.unpack("IHH", self._bytes(tail, 8))
            if size < 8:
                break
            body = self._bytes(tail + 8, size - 8)
            if kind == _RECORD_SAMPLE:
                address, process, thread, time_ns = struct.unpack_from("QIIQ", body)
                yield Sample(time_ns=time_ns, process=process, thread=thread, address=address)
            elif kind == _RECORD_LOST:
                self.lost += struct.unpack_from("QQ", body)[1]
            tail += size
        struct.pack_into("Q", self._memory, _TAIL_AT, head)

    def _bytes(self, position: int, size: int) -> bytes:
        start = mmap.PAGESIZE + position % self._size
        end = start + size
        if end <= len(self._memory):
            return self._memory[start:end]
        return self._memory[start:] + self._memory[mmap.PAGESIZE : end - self._size]

    def switch(self, *, on: bool) -> None:
        fcntl.ioctl(self._descriptor, _ENABLE if on else _DISABLE, 0)

    def close(self) -> None:
        self._memory.close()
        os.close(self._descriptor)


class PerfSampler:
    """Samples some threads, and all that they start, until it is closed."""

    def __init__(self, threads: Sequence[int]) -> None:
        """Raises `NotPermittedError`; `OSError` where a thread is gone."""
        self.period_ns = random.SystemRandom().randrange(*PERIODS_NS)
        self._rings: list[_Ring] = []
        self._samples: list[Sample] = []
        self.lost = 0
        try:
            for thread in threads:
                for core in sorted(os.sched_getaffinity(0)):
                    self._rings.append(_Ring(_open(thread, core, self.period_ns)))
        except BaseException:
            self.close()
            raise

    def drain(self) -> None:
        """Take what has been sampled so far; rings hold some seconds."""
        for ring in self._rings:
            for sample in ring.read():
                if len(self._samples) < MAX_SAMPLES:
                    self._samples.append(sample)
                else:
                    self.lost += 1

    def switch(self, *, on: bool) -> None:
        """Pause or go on: a timer costs some percent of a call's time, so timed calls are not sampled."""
        self.drain()
        for ring in self._rings:
            ring.switch(on=on)

    def samples(self) -> list[Sample]:
        """Everything sampled so far, in order of time."""
        self.drain()
        self._samples.sort(key=lambda sample: sample.time_ns)
        return list(self._samples)

    def close(self) -> None:
        """Stop."""
        self.lost += sum(ring.lost for ring in self._rings)
        for ring in self._rings:
            ring.close()
        self._rings.clear()


def _mapped(descriptor: int) -> mmap.mmap:
    for pages in PAGES:
        try:
            return mmap.mmap(descriptor, (1 + pages) * mmap.PAGESIZE)
        except OSError as error:
            refused = error
    os.close(descriptor)
    raise NotPermittedError(refused.errno, f"no memory for samples may be locked ({os.strerror(refused.errno or 0)})")


def _open(thread: int, core: int, period_ns: int) -> int:
    """A timer on one thread while it is on one core. Kernel addresses are left out where they are not permitted."""
    for hidden in (0, _EXCLUDE_KERNEL):
        descriptor, number = _call(_attributes(period_ns, hidden), thread, core)
        if descriptor >= 0:
            return descriptor
        if number == errno.ESRCH:
            raise ProcessLookupError(number, "the thread is gone")
    raise NotPermittedError(
        number,
        f"perf_event_open: {os.strerror(number)} (kernel.perf_event_paranoid is {paranoia()}; a container needs "
        "CAP_PERFMON, or a seccomp profile that lets perf_event_open through)",
    )


def _attributes(period_ns: int, hidden: int) -> bytes:
    attributes = bytearray(_ATTRIBUTE_BYTES)
    struct.pack_into("IIQQQ", attributes, 0, _SOFTWARE, _ATTRIBUTE_BYTES, _CPU_CLOCK, period_ns, _IP | _TID | _TIME)
    struct.pack_into("Q", attributes, 40, _INHERIT | _EXCLUDE_HYPERVISOR | _USE_CLOCK | hidden)
    struct.pack_into("i", attributes, 92, 1)  # CLOCK_MONOTONIC, which the referee's clock is too
    return bytes(attributes)


def _call(attributes: bytes, thread: int, core: int) -> tuple[int, int]:
    number = NUMBERS.get(platform.machine())
    if number is None:
        raise NotPermittedError(errno.ENOSYS, f"no sampler for {platform.machine()}")
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    descriptor = libc.syscall(
        ctypes.c_long(number),
        buffer,
        ctypes.c_int(thread),
        ctypes.c_int(core),
        ctypes.c_int(-1),
        ctypes.c_ulong(_CLOSE_ON_EXEC),
    )
    return int(descriptor), ctypes.get_errno()
