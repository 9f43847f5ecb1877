"""`kernelwright.toml`: which kernels of a repository are judged, and what they must reach; and the recorded figures."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from services.domain.errors import ConfigurationError
from services.domain.jobs import DEFAULT_STRATEGY, AgentsMode, Budget

FILE = "kernelwright.toml"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Defaults(_Strict):
    """The table `[ci]`: what holds for every entry that does not say otherwise."""

    server: str | None = None
    """Address of a Kernelwright server; without one, this machine judges."""
    backend: str = "cpp"
    device: str = "cpu"
    model: str = "playbook"
    strategy: str = DEFAULT_STRATEGY
    rounds: int = Field(default=8, ge=1, le=1000)
    agents: AgentsMode = AgentsMode.FULL
    """Model calls a round: `lean` or `full`."""
    tokens: int | None = Field(default=None, ge=1)
    """Input plus output tokens that one search may use."""
    dollars: float | None = Field(default=None, gt=0)
    """What the model calls of one search may cost."""
    device_s: float | None = Field(default=None, gt=0)
    """Seconds of device time that one search may use."""
    baselines: tuple[str, ...] = ("eager", "compile")
    min_speedup: float = Field(default=1.0, ge=0)
    """What the lower end of the speedup's 95 % interval must exceed, against the fastest baseline."""
    max_regression: float = Field(default=0.10, ge=0, lt=1)
    """Share of the recorded speedup that a kernel may lose, beyond the noise of its measurement."""
    record: str = "kernelwright.lock.json"
    """Where the figures of the last `kernelwright ci --update` stand, beside the settings."""
    wait_s: float = Field(default=1800, gt=0)
    """How long a server may take for one entry."""


class Entry(_Strict):
    """One `[[kernels]]` table. Paths are relative to the settings' file."""

    problem: str
    kernel: str | None = None
    """The kernel to judge; without one, a job looks for a kernel, and the best one found counts."""
    min_speedup: float | None = Field(default=None, ge=0)
    backend: str | None = None
    device: str | None = None
    rounds: int | None = Field(default=None, ge=1, le=1000)
    allow_library: tuple[str, ...] = ()


class _Document(_Strict):
    ci: Defaults = Defaults()
    kernels: tuple[Entry, ...] = Field(min_length=1)


@dataclass(frozen=True, kw_only=True)
class Task:
    """One kernel, or one search, with every setting resolved."""

    name: str
    """Stem of the kernel's file, or of the problem's."""
    problem: Path
    kernel: Path | None
    shown: str
    """The file that an annotation points at, relative to the settings' folder."""
    backend: str
    device: str
    model: str
    strategy: str
    agents: AgentsMode
    budget: Budget
    baselines: tuple[str, ...]
    allow_library: tuple[str, ...]
    min_speedup: float
    max_regression: float
    recorded: float | None = None
    """Speedup against the fastest baseline at the last `--update`."""

    @property
    def key(self) -> str:
        """Under which its figure is recorded."""
        return f"{self.shown}@{self.device}/{self.backend}"


@dataclass(frozen=True, kw_only=True)
class CiPlan:
    """Everything that one run of `kernelwright ci` does."""

    server: str | None
    wait_s: float
    record: Path
    tasks: tuple[Task, ...]


def read_plan(path: Path) -> CiPlan:
    """Read the settings' file and the figures beside it. Raises `ConfigurationError` that names file and key."""
    try:
        document = _Document.model_validate(tomllib.loads(path.read_text()))
    except FileNotFoundError:
        raise ConfigurationError(
            f"{path}: no such file: write one (see docs/ci.md), or name it with --config"
        ) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"{path}: cannot be read: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ConfigurationError(f"{path}: {place}: {first['msg']}") from None
    record = path.parent / document.ci.record
    recorded = read_record(record)
    tasks = tuple(_task(path.parent, document.ci, entry, recorded) for entry in document.kernels)
    if len({task.key for task in tasks}) < len(tasks):
        raise ConfigurationError(f"{path}: two [[kernels]] name the same file for the same device and backend")
    return CiPlan(server=document.ci.server, wait_s=document.ci.wait_s, record=record, tasks=tasks)


def with_budgets(plan: CiPlan, *, tokens: int | None, dollars: float | None, device_s: float | None) -> CiPlan:
    """The plan with budgets of the command line in place of the file's, for each search."""
    given = {"tokens": tokens, "dollars": dollars, "device_s": device_s}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    tasks = tuple(replace(task, budget=replace(task.budget, **changes)) for task in plan.tasks)
    return replace(plan, tasks=tasks)


def read_record(path: Path) -> Mapping[str, float]:
    """Speedups by key; empty where nothing was recorded yet. Raises `ConfigurationError`."""
    if not path.exists():
        return {}
    try:
        found: Any = json.loads(path.read_text())
        return {str(key): float(entry["speedup"]) for key, entry in found["kernels"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigurationError(
            f"{path}: not a record of kernelwright ci ({error}): remove it, and --update"
        ) from None


def _task(folder: Path, defaults: Defaults, entry: Entry, recorded: Mapping[str, float]) -> Task:
    problem = folder / entry.problem
    shown = entry.kernel or entry.problem
    task = Task(
        name=problem.stem if entry.kernel is None else Path(entry.kernel).stem,
        problem=problem,
        kernel=None if entry.kernel is None else folder / entry.kernel,
        shown=shown,
        backend=entry.backend or defaults.backend,
        device=entry.device or defaults.device,
        model=defaults.model,
        strategy=defaults.strategy,
        agents=defaults.agents,
        budget=Budget(
            rounds=entry.rounds or defaults.rounds,
            tokens=defaults.tokens,
            dollars=defaults.dollars,
            device_s=defaults.device_s,
        ),
        baselines=defaults.baselines,
        allow_library=entry.allow_library,
        min_speedup=defaults.min_speedup if entry.min_speedup is None else entry.min_speedup,
        max_regression=defaults.max_regression,
    )
    for path in filter(None, (task.problem, task.kernel)):
        if not path.is_file():
            raise ConfigurationError(f"{path}: no such file (named in {FILE})")
    return replace(task, recorded=recorded.get(task.key))
