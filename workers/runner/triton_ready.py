"""What is done for Triton once, in the zygote.

Without a GPU it is to be interpreted. With one it is made ready: what it otherwise does in every new process before its
first kernel is done here.

Measured on an H200 with Triton 3.6: a runner's first kernel took 1.1 s, most of it for a hash of Triton's own library
(half a gigabyte) and for a C compiler that builds the same module in every runner's private cache. Forked processes
inherit the hash, the answers of `ptxas` and the loaded module. Of the 0.5 s that were left, 0.17 s went into importing
Gluon, which is done here too, and 0.25 s for each kernel into compiling its launcher, most of that for reading headers:
they are compiled here, once. Nothing here initialises CUDA.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

CACHE_VARIABLE = "TRITON_CACHE_DIR"
CAPABILITIES = (80, 86, 89, 90)
"""Asked about before it is known which GPU there is."""
LAUNCHER_FLAGS = ("-O1", "-fPIC", "-Wno-psabi")
"""A launcher takes one call's arguments apart: what -O3 finds there is not worth its time."""
LAUNCHER_HEADERS = """#include "cuda.h"
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#define PY_SSIZE_T_CLEAN
#include <Python.h>
"""
"""What the text of every launcher begins with."""


def choose_interpreter() -> None:
    """Have functions of Triton's own language, such as `tl.max`, run in its interpreter.

    The choice is made when `triton.language` is imported, as torch's compiler does by itself: so before that."""
    os.environ["TRITON_INTERPRET"] = "1"


def make_ready() -> None:
    """Prepare this process; a Triton that works otherwise is left as it is, which costs time only."""
    for step in (_hash_itself, _ask_ptxas, _load_utilities, _import_gluon, _compile_headers):
        with contextlib.suppress(Exception):
            step()


def _hash_itself() -> None:
    from triton.runtime import cache

    cache.triton_key()


def _ask_ptxas() -> None:
    from triton.backends.nvidia import compiler

    for capability in CAPABILITIES:
        compiler.get_ptxas_version(capability)
    _ = compiler.get_ptxas(CAPABILITIES[0]).version


def _load_utilities() -> None:
    """Build and load Triton's module of driver calls here, and have it found again where Triton asks for it."""
    from triton.backends.nvidia import driver

    build = driver.compile_module_from_src
    loaded: dict[tuple[str, str], Any] = {}

    def build_once(src: str, name: str, **rest: Any) -> Any:
        if (src, name) not in loaded:
            loaded[src, name] = build(src=src, name=name, **rest)
        return loaded[src, name]

    driver.compile_module_from_src = build_once
    with _passing_cache():
        driver.CudaUtils()


def _import_gluon() -> None:
    """Triton imports it when a kernel's arguments are looked at for the first time."""
    importlib.import_module("triton.experimental.gluon")


def _compile_headers() -> None:
    """Have launchers built with headers that are compiled here."""
    from triton import knobs
    from triton.backends.nvidia import driver

    knobs.build.impl = LauncherBuild(driver.include_dirs)


class LauncherBuild:
    """Builds a launcher's source, in Triton's place. The compiled headers are kept as bytes and written out for each
    build: a file that all runners can see could be poisoned."""

    def __init__(self, include_dirs: Sequence[str], *, compiler: str | None = None) -> None:
        """Raises `OSError`, `subprocess.CalledProcessError` where the headers cannot be compiled."""
        self._compiler = compiler or os.environ.get("CC") or shutil.which("gcc") or "cc"
        with tempfile.TemporaryDirectory(prefix="kernelwright-triton-") as directory:
            header = Path(directory, "launcher.h")
            header.write_text(LAUNCHER_HEADERS, encoding="utf-8")
            compiled = header.with_suffix(".h.gch")
            self._run(["-x", "c-header", str(header), *LAUNCHER_FLAGS, "-o", str(compiled)], include_dirs)
            self._headers = compiled.read_bytes()

    def __call__(
        self,
        name: str,
        src: str,
        srcdir: str,
        library_dirs: Sequence[str],
        include_dirs: Sequence[str],
        libraries: Sequence[str],
    ) -> str:
        """Path of the shared library built from the file `src`. Raises `subprocess.CalledProcessError`."""
        library = str(Path(srcdir, f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"))
        header = Path(srcdir, "launcher.h")
        header.with_suffix(".h.gch").write_bytes(self._headers)
        linked = [f"-l:{each}" if ".so" in each or each.endswith(".a") else f"-l{each}" for each in libraries]
        linked += [f"-L{directory}" for directory in library_dirs]
        command = ["-include", str(header), src, *LAUNCHER_FLAGS, "-shared", "-o", library, *linked]
        self._run(command, [*include_dirs, srcdir])
        return library

    def _run(self, command: Sequence[str], include_dirs: Sequence[str]) -> None:
        scheme = sysconfig.get_default_scheme().replace("posix_local", "posix_prefix")  # as Triton does for Debian
        directories = [*include_dirs, sysconfig.get_paths(scheme=scheme)["include"]]
        subprocess.run(
            [self._compiler, *command, *[f"-I{directory}" for directory in directories]],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


@contextlib.contextmanager
def _passing_cache() -> Iterator[None]:
    """A cache of this process alone, gone once what was built is loaded: one that lies about could be poisoned."""
    before = os.environ.get(CACHE_VARIABLE)
    with tempfile.TemporaryDirectory(prefix="kernelwright-triton-") as directory:
        os.environ[CACHE_VARIABLE] = directory
        try:
            yield
        finally:
            del os.environ[CACHE_VARIABLE]
            if before is not None:
                os.environ[CACHE_VARIABLE] = before
