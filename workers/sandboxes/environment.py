"""What a sandboxed Python needs to see of this installation, and the environment it starts with."""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path

from workers.sandboxes.plan import BASE_PATH, Bind

PACKAGES = ("workers", "services", "kernelwright_rt")
"""Our own modules that entries may import; nothing else of the program is shown."""


@functools.cache
def python_binds() -> tuple[Bind, ...]:
    """The interpreter, its libraries, torch, and our packages; read-only."""
    paths = [Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).resolve().parent.parent]
    for name in ("torch", *PACKAGES):
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            continue
        origin = Path(spec.origin)
        if name == "torch":
            paths.append(origin.parent.parent)  # site-packages: torch's own dependencies lie beside it
        else:
            paths.append(origin.parent if spec.submodule_search_locations else origin)
    return tuple(_without_covered(paths))


def _without_covered(paths: list[Path]) -> list[Bind]:
    """Each path once, leaving out those below another or below /usr, which is always shown."""
    kept: list[Path] = []
    for path in sorted(set(paths), key=lambda path: len(path.parts)):
        if not any(path.is_relative_to(other) for other in [Path("/usr"), *kept]):
            kept.append(path)
    return [Bind(source=str(path.resolve()), target=str(path)) for path in kept]


def python_path() -> str:
    """`PATH` with the interpreter first."""
    return f"{sys.prefix}/bin:{BASE_PATH}"


def inside(temporary: str, requested: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of a sandboxed process; what was requested wins."""
    return {
        "PATH": BASE_PATH,
        "HOME": temporary,
        "TMPDIR": temporary,
        "TRITON_HOME": temporary,  # else a place in the home of whoever started the zygote, where Triton was imported
        "USER": "sandbox",
        "LOGNAME": "sandbox",
        "LANG": "C.UTF-8",
        **requested,
    }


def program_root() -> Path:
    """The folder our packages are imported from."""
    return Path(__file__).parent.parent.parent
