"""What a run over a whole model set out to do, on disk beside its results: another process can go on with it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from kernelwright.whole_files import held, replace_text
from services.domain import codec
from services.domain.errors import ConflictError
from services.domain.jobs import JobSpec
from services.domain.models import ModelProfile

_FILE = "model.json"
_LOCK = "model.lock"


@dataclass(frozen=True, kw_only=True)
class Wish:
    """How far to go."""

    parts: int
    """Parts that are tried at most, best first."""
    swap_all: bool = False
    """Whether accepted kernels that are not surely faster than eager are swapped in as well."""


@dataclass(frozen=True, kw_only=True)
class ModelPlan:
    """Everything that the run would not find out again as it was: times and with them the ranking differ each time."""

    profile: ModelProfile
    spec: JobSpec
    """That of the whole model: its budget is for all jobs together."""
    wish: Wish
    out: str | None
    """The folder that the user named for the results."""


def keep_plan(folder: Path, plan: ModelPlan) -> None:
    """Write a plan into the folder of its job's results, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    replace_text(folder / _FILE, codec.dumps(plan))


def kept_plan(folder: Path, job_id: str) -> ModelPlan:
    """The plan of a job. Raises `ConflictError` where there is none."""
    try:
        return codec.loads(ModelPlan, (folder / _FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConflictError(
            f"job {job_id} has no plan in {folder}: only the job of a whole model that was started here goes on by "
            "kernelwright profile --resume"
        ) from None
    except (OSError, ValueError) as error:
        raise ConflictError(f"the plan of job {job_id} in {folder} cannot be read: {error}") from None


def sole_worker(folder: Path, job_id: str) -> AbstractContextManager[None]:
    """Be the only process that works on a plan; the lock ends with the process. Raises `ConflictError`."""
    return held(folder / _LOCK, f"another process works on the parts of job {job_id}: stop that one first")
