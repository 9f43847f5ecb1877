"""Backends: languages and toolchains of candidates."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from services.domain.profiles import Disassembly


@dataclass(frozen=True, kw_only=True)
class BuiltLibrary:
    """What a built library says of itself, read from the file."""

    name: str
    """Its file's."""
    language: str
    """What it was compiled from: `cpp`, `cuda`, `torch` or `torch_cuda`."""
    needed: tuple[str, ...] = ()
    """Libraries that the loader loads with it."""
    imports: tuple[str, ...] = ()
    """Symbols that others have to define."""
    starters: tuple[str, ...] = ()
    """What runs when it is loaded, beside what the compiler puts there itself."""
    instructions: tuple[str, ...] = ()
    """Instructions in its code that call the system or read a clock."""
    broken: str = ""
    """Why it could not be read; empty where it could."""


@dataclass(frozen=True, kw_only=True)
class ReachedName:
    """A name in a candidate's module that was resolved against the modules that are really installed."""

    line: int
    """From 1, in the module."""
    written: str
    """As the module means it, aliases resolved: `torch.os.system`."""
    modules: tuple[str, ...]
    """The modules on the way, by their own names: `torch`, `os`."""
    name: str
    """What it is by its own name: `os.system`."""
    handed_on: bool = False
    """Whether it is a module that is used as a value: names are read off it then where nobody sees which."""


@dataclass(frozen=True, kw_only=True)
class BuildResult:
    """Outcome of the compile gate."""

    ok: bool
    messages: str
    """The compiler's messages, complete (cut only at the output limit, and marked)."""
    artefacts: tuple[Path, ...]
    """Built files, read-only, in the cache."""
    seconds: float
    sources: tuple[str, ...] = ()
    """What the compilers were given; the referee reads it too."""
    libraries: tuple[BuiltLibrary, ...] = ()
    """What was built, as the files themselves have it."""
    reached: tuple[ReachedName, ...] = ()
    """Which parts of other modules the candidate's module names."""
    module: str = ""
    """The candidate's module, where it is asked for a listing."""
    problem: str = ""
    """The reference's module, likewise: its inputs tell what kernels are compiled for that are compiled when called."""


class KernelBackend(Protocol):
    """A language and toolchain of candidates."""

    @property
    def name(self) -> str:
        """`cpp`, `triton`, `cuda`, …"""

    def toolchain(self) -> str:
        """Compiler and version, part of cache keys. Raises `ToolchainError` when it is missing."""

    def build(self, source: str) -> BuildResult:
        """Compile everything a candidate's module asks for, in the compile sandbox, into the cache."""

    def listing(self, result: BuildResult) -> Disassembly:
        """The machine code of what was built, read in the compile sandbox. Raises nothing: what fails is its note."""
