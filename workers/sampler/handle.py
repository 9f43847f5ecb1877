"""What the worker holds of one sampled runner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from workers.profilers.usage import stat_fields, tasks, tree
from workers.sampler.attribution import Attribution, attribute
from workers.sampler.perf_events import NotPermittedError, PerfSampler, Sample


class Sampler(Protocol):
    """Takes samples of a process and all it starts; see `PerfSampler`."""

    def switch(self, *, on: bool) -> None:
        """Pause or go on."""

    def drain(self) -> None:
        """Take what has been sampled so far."""

    def samples(self) -> list[Sample]:
        """Everything so far, in order of time."""

    def close(self) -> None:
        """Stop."""


class SamplerHandle:
    """The samples of one runner, from before its candidate is loaded to its end; or why there are none."""

    def __init__(
        self, sampler: Sampler | None, why: str, own: Mapping[str, int], supervisor: int | None = None
    ) -> None:
        self._sampler = sampler
        self._supervisor = supervisor
        self.why = why
        """Why nothing is sampled; empty where it is."""
        self._own = own

    @classmethod
    def start(cls, supervisor: int | None, libraries: Sequence[Path]) -> SamplerHandle:
        """Sample what runs below a supervisor. Raises nothing: without permission, `why` says what is missing."""
        own = {path.name: path.stat().st_ino for path in libraries}
        if supervisor is None:
            return cls(None, "the runner's process number is not known here (another machine or container)", own)
        try:
            others = [process for process in tree(supervisor) if process != supervisor]
            threads = [int(task.name) for process in others for task in tasks(process)]
            return cls(PerfSampler(threads), "" if threads else "the runner has no threads", own, supervisor)
        except NotPermittedError as error:
            return cls(None, str(error.strerror), own)
        except OSError as error:
            return cls(None, f"the runner could not be sampled: {error}", own)

    def faults(self) -> int:
        """Page faults served so far, without those for which something had to be read from a disk."""
        return 0 if self._supervisor is None else sum(_faults(process) for process in tree(self._supervisor))

    def switch(self, *, on: bool) -> None:
        """Pause or go on."""
        if self._sampler is not None:
            self._sampler.switch(on=on)

    def drain(self) -> None:
        """Take what has been sampled so far, before its buffer is full."""
        if self._sampler is not None:
            self._sampler.drain()

    def samples_between(self, windows: Sequence[tuple[float, float]]) -> Attribution:
        """Whose code ran inside of windows of time, in seconds on the monotonic clock."""
        return attribute([] if self._sampler is None else self._sampler.samples(), windows, self._own)

    def close(self) -> None:
        """Stop."""
        if self._sampler is not None:
            self._sampler.close()
            self._sampler = None


def missing_permission() -> str:
    """Why this machine lets nobody sample; empty where it does. Tried on ourselves."""
    try:
        PerfSampler([0]).close()
    except OSError as error:
        return str(error.strerror or error)
    return ""


def _faults(process: int) -> int:
    fields = stat_fields(Path(f"/proc/{process}"))
    return int(fields[7]) if fields else 0
