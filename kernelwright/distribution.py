"""What a copy of the program brings with it: its version, examples, web UI and runtime module."""

from __future__ import annotations

import importlib.util
from importlib import metadata
from pathlib import Path

from kernelwright.problem_files import read_problem
from services.domain.errors import ConfigurationError
from services.domain.problems import Problem


def version() -> str:
    """The program's version; `0+unknown` in a checkout that was never installed."""
    try:
        return metadata.version("kernelwright")
    except metadata.PackageNotFoundError:
        return "0+unknown"


def examples() -> tuple[Problem, ...]:
    """The example problems."""
    return tuple(read_problem(path) for path in sorted(_examples().glob("*.py")))


def example(name: str) -> Path:
    """The file of an example problem. Raises `ConfigurationError` where the installation lacks it."""
    path = _examples() / f"{name}.py"
    if not path.is_file():
        raise ConfigurationError(f"the example problem {name} is missing: reinstall kernelwright")
    return path


def _examples() -> Path:
    """The checkout's folder, or where a wheel has it (setup.py)."""
    here = Path(__file__).parent
    checkout = here.parent / "examples" / "problems"
    return checkout if checkout.is_dir() else here / "example_problems"


def built_ui() -> Path | None:
    """The folder of the web UI's build; None where `make web` was never run."""
    folder = Path(__file__).parents[1] / "web" / "ui" / "dist"
    return folder if (folder / "index.html").is_file() else None


def runtime_module() -> Path:
    """The file of `kernelwright_rt`, found without importing it."""
    spec = importlib.util.find_spec("kernelwright_rt")
    if spec is None or spec.origin is None:
        raise ConfigurationError("the module kernelwright_rt is missing: reinstall kernelwright")
    return Path(spec.origin)
