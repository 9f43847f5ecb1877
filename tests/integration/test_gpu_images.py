"""The images for NVIDIA GPUs, built, and checked in all that needs no card: `make gpu-images-test`.

KERNELWRIGHT_TEST_BASE names a base image that is there; without it, one is made by debootstrap.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kernelwright.distribution import version
from tests.compose_host import BASE, USER
from tests.docker_host import PLACE, ROOT, docker_address

pytestmark = [pytest.mark.integration, pytest.mark.gpu_images, pytest.mark.timeout(5400)]

MOST_BYTES = 12 << 30
SANDBOX, WORKER = (f"kernelwright/{name}:{version()}-cuda" for name in ("sandbox", "worker"))
IMPORTS = """
import ctypes, json, shutil, subprocess, sys
import torch, triton, tree_sitter, tree_sitter_cpp, tree_sitter_cuda, numpy
from importlib.metadata import distribution
cupti = next(f for f in distribution("nvidia-cuda-cupti").files if ".so" in f.name and "libcupti" in f.name)
ctypes.CDLL(str(cupti.locate()))
said = lambda *command: subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
print(json.dumps({
    "cuda": torch.version.cuda, "torch": torch.__version__, "triton": triton.__version__,
    "nvcc": said("/usr/local/cuda/bin/nvcc", "--version"), "gcc": said("g++", "-dumpfullversion"),
    "cuobjdump": said("/usr/local/cuda/bin/cuobjdump", "--version"),
    "nvdisasm": said("/usr/local/cuda/bin/nvdisasm", "--version"),
}))
"""
BUILDS = """
import dataclasses, json, sys
from pathlib import Path
from kernelwright.settings import load_settings
from kernelwright.wiring.sandboxes import make_docker_sandbox
from workers.backends.cuda import CudaBackend
from workers.backends.triton import TritonBackend

# A GPU's sandbox without a GPU: what it is made of is the same, the device request apart.
sandbox = make_docker_sandbox(load_settings(), "cuda", warm=1)
sandbox.start()
given = json.loads(sys.argv[1])
told = {"isolation": sandbox.explain()}
try:
    for backend, path in ((CudaBackend, "cuda"), (TritonBackend, "triton")):
        for architecture in ("80", "90a"):
            made = backend(sandbox, Path("/tmp") / path, architecture=architecture)
            source, problem = given[path]
            result = made.build(source)
            listing = made.listing(dataclasses.replace(result, module=source, problem=problem)) if result.ok else None
            told[f"{path} {architecture}"] = {
                "ok": result.ok, "messages": result.messages, "toolchain": made.toolchain(),
                "form": listing and listing.form, "note": listing and listing.note, "text": listing and listing.text,
            }
finally:
    sandbox.close()
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def docker() -> Callable[..., str]:
    """Docker's command line, on a host that has both images."""
    environment = {**os.environ, "DOCKER_HOST": docker_address()}

    def run(*arguments: str | Path, program: str = "docker", timeout_s: float = 600.0) -> str:
        done = subprocess.run(
            [program, *arguments],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        assert done.returncode == 0, (done.stdout[-2000:] + done.stderr[-4000:]).strip()
        return done.stdout

    base = os.environ.get("KERNELWRIGHT_TEST_BASE")
    if base is None:
        environment["ONLY"] = "databases"
        run(PLACE / "images", program=str(ROOT / "docker" / "local-images.sh"), timeout_s=1800)
        base = BASE
    run("gpu-images", f"BASE={base}", "DOCKER_ARGS=--network=host", program="make", timeout_s=5000)
    return run


def test_the_sandbox_has_every_toolchain(docker: Callable[..., str]) -> None:
    bare = ("run", "--rm", "--network=none", "--read-only", "--cap-drop=ALL")
    told = json.loads(docker(*bare, "--entrypoint=/opt/venv/bin/python", SANDBOX, "-c", IMPORTS).splitlines()[-1])
    assert told["cuda"].split(".")[0] == "13"
    assert f"release {told['cuda']}" in told["nvcc"], "nvcc is of torch's own release of CUDA"
    assert int(told["gcc"].split(".")[0]) >= 12
    assert "cuobjdump" in told["cuobjdump"]
    assert "nvdisasm" in told["nvdisasm"] or "disassembler" in told["nvdisasm"]


def test_candidates_are_compiled_and_listed_in_containers_of_it(docker: Callable[..., str]) -> None:
    address = docker_address().removeprefix("unix://")
    with sockets() as place:
        shown = (
            f"--volume={address}:/var/run/docker.sock",
            f"--volume={place}:{place}",
            f"--group-add={Path(address).stat().st_gid}",
            f"--env=KERNELWRIGHT_SANDBOX_SOCKETS={place}",
            "--env=KERNELWRIGHT_SANDBOX=docker",
            "--pid=host",
        )
        program = ("--entrypoint=python", WORKER, "-c", BUILDS, json.dumps(candidates()))
        told = json.loads(docker("run", "--rm", "--network=none", *shown, *program, timeout_s=900).splitlines()[-1])
    assert SANDBOX in told.pop("isolation")
    for name, result in told.items():
        assert result["ok"], f"{name}: {result['messages']}"
        assert result["form"] == "sass", f"{name}: {result['note']}"
        assert "EXIT" in result["text"], name
    assert told["cuda 80"]["toolchain"].endswith("sm_80")
    assert told["cuda 90a"]["text"] != told["cuda 80"]["text"]


def test_the_images_are_of_this_version_and_not_too_large(docker: Callable[..., str]) -> None:
    for image in (SANDBOX, WORKER):
        found = json.loads(docker("image", "inspect", image))[0]
        assert found["Config"]["Labels"]["kernelwright.version"] == version()
        assert found["Config"]["Labels"]["kernelwright.for"] == "cuda"
        assert found["Config"]["User"] == f"{USER}:{USER}"
        assert found["Size"] < MOST_BYTES, f"{image} has {found['Size'] / (1 << 30):.1f} GiB"


def test_the_worker_knows_its_devices_and_compilers(docker: Callable[..., str]) -> None:
    program = "from kernelwright.wiring import workbench as w; print(w.devices(), w.compile_backends())"
    said = docker("run", "--rm", "--network=none", "--entrypoint=python", WORKER, "-c", program)
    assert said.strip() == "('cpu',) ('cpp', 'cuda')"


def candidates() -> dict[str, tuple[str, str]]:
    """A candidate of each language, and its problem."""
    corpus = ROOT / "tests" / "gpu"
    files = {"cuda": "silu.cuda.txt", "triton": "softmax.triton.txt"}
    return {
        language: (
            (corpus / "honest" / file).read_text(),
            (corpus / "problems" / f"{file.partition('.')[0]}.txt").read_text(),
        )
        for language, file in files.items()
    }


@contextmanager
def sockets() -> Iterator[Path]:
    place = PLACE / "gpu-sockets"
    place.mkdir(parents=True, mode=0o711, exist_ok=True)
    os.chown(place, USER, USER)
    yield place
    shutil.rmtree(place, ignore_errors=True)
