"""Listings of GPU code with the lines of its source marked, from what `nvdisasm` and PTX say of places."""

from __future__ import annotations

import base64
import binascii
import importlib.util
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from services.domain.errors import InfrastructureError, ToolchainError
from services.domain.profiles import Disassembly
from services.ports.sandboxes import Mount, Sandbox, SandboxLimits
from workers.backends.artefacts import scratch
from workers.backends.disassembly import LIMITS, Tool, functions, listing_of, no_listing
from workers.ipc.wire import Channel, WireError

SASS_REMEDY = "install Triton, or the CUDA toolkit's binary utilities beside nvcc on the worker"
DRY_RUN_S = 60.0
_SECTION = re.compile(r"^//-+ \.text\.(?P<name>\S+)\s+-+$")
_SASS_PLACE = re.compile(r'^\s*//## File "(?P<file>[^"]*)", line (?P<line>\d+)')
_INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/")
_LABEL = re.compile(r"^\.L\w*:")
_LOC = re.compile(r"^\s*\.loc\s+(?P<file>\d+)\s+(?P<line>\d+)\s+\d+(?P<inlined>.*)$")
_FILE = re.compile(r'^\s*\.file\s+(?P<number>\d+)\s+"(?P<name>[^"]*)"', re.MULTILINE)
_INLINED_AT = re.compile(r"inlined_at (?P<file>\d+) (?P<line>\d+) \d+")
_ENTRY = re.compile(r"^(?:\.visible |\.weak )*\.(?:entry|func)\s+(?P<name>[\w$]+)\(")
_DEBUG = re.compile(r"^\s*\.section\s+\.debug_")
PTX = Tool(form="ptx", command=("triton",), function=_ENTRY, remedy="")


@dataclass(frozen=True, kw_only=True)
class DryRun:
    """What a candidate's forward would launch."""

    kernels: tuple[tuple[str, str, bytes], ...]
    """Name, PTX and cubin of each compiled kernel."""
    configurations: int
    """The most among which a kernel is tuned; 1 without tuning."""
    raised: str
    """Why the forward did not come to its end; empty where it did."""


def nvidia_tool(name: str, compiler: str = "") -> str:
    """Path of a binary utility of NVIDIA's: beside the compiler, on `PATH`, or among Triton's files.

    Without links: `/usr/local/cuda` is one by way of `/etc`, which sandboxes do not show."""
    beside = Path(compiler).with_name(name) if compiler else None
    if beside is not None and beside.is_file():
        return str(beside.resolve())
    triton = importlib.util.find_spec("triton")
    shipped = Path(triton.origin).parent / "backends/nvidia/bin" / name if triton and triton.origin else None
    found = Path(shutil.which(name) or (shipped if shipped and shipped.is_file() else name))
    return str(found.resolve()) if found.is_file() else name


def dry_run(sandbox: Sandbox, source: str, problem: str, architecture: str) -> DryRun:
    """Compile what a Triton candidate launches on its problem's inputs. Raises `InfrastructureError`."""
    limits = SandboxLimits(wall_s=DRY_RUN_S, memory_bytes=8 << 30, processes=64, file_bytes=64 << 20)
    process = sandbox.fork("workers.backends.dry_run:serve", limits)
    channel = Channel(process.socket)
    try:
        channel.send({"source": source, "problem": problem, "architecture": architecture}, timeout_s=10.0)
        message = channel.receive(timeout_s=DRY_RUN_S)
        message.close()
        return _answer(message.body)
    except (WireError, KeyError, TypeError, ValueError, binascii.Error) as error:
        raise InfrastructureError(f"its forward could not be run without a GPU: {error}") from None
    finally:
        process.kill()
        channel.close()


def _answer(body: Any) -> DryRun:
    kernels = tuple((str(one["name"]), str(one["ptx"]), base64.b64decode(one["cubin"])) for one in body["kernels"])
    most = max((int(one["configurations"]) for one in body["kernels"]), default=1)
    return DryRun(kernels=kernels, configurations=most, raised=str(body["raised"]))


def triton_listing(sandbox: Sandbox, source: str, problem: str, architecture: str) -> Disassembly:
    """SASS and PTX of what a candidate launches, lines marked. Raises nothing: what fails is its note."""
    tool = Tool(form="sass", command=(nvidia_tool("nvdisasm"),), function=_SECTION, remedy=SASS_REMEDY)
    try:
        found = dry_run(sandbox, source, problem, architecture)
        if not found.kernels:
            why = found.raised or "it launched no Triton kernel"
            return no_listing(f"Triton's kernels are compiled by running the forward without a GPU, and {why}")
        blocks = [block for _, _, cubin in found.kernels for block in _sass(sandbox, tool, cubin, "candidate.py")]
        sass = listing_of(tool, blocks, complete=not found.raised)
        ptx = listing_of(PTX, [(name, ptx_marks(text)) for name, text, _ in found.kernels], complete=True)
    except ToolchainError:
        return no_listing(f"{tool.command[0]} is not installed: {tool.remedy}")
    except (InfrastructureError, OSError) as error:
        return no_listing(str(error))
    return replace(sass, ptx=ptx.text, whole_module=True, note=_tuning(found), cut=sass.cut or ptx.cut)


def _tuning(found: DryRun) -> str:
    """What the reader must know of code that was compiled without being timed."""
    if found.configurations > 1:
        return f"tuned on the GPU among {found.configurations} configurations: this is the first of them"
    return f"the forward did not come to its end without a GPU: {found.raised}" if found.raised else ""


def cuda_listing(sandbox: Sandbox, libraries: Sequence[Path], compiler: str) -> Disassembly:
    """SASS of the GPU code in libraries, lines of `kernel.cu` marked. Raises nothing: what fails is its note."""
    tool = Tool(form="sass", command=(nvidia_tool("nvdisasm", compiler),), function=_SECTION, remedy=SASS_REMEDY)
    blocks: list[tuple[str, str]] = []
    try:
        for library in libraries:
            for cubin in _extracted(sandbox, nvidia_tool("cuobjdump", compiler), library):
                blocks += _sass(sandbox, tool, cubin, "kernel.cu")
    except ToolchainError as error:
        return no_listing(f"{error}: {tool.remedy}")
    except (InfrastructureError, OSError) as error:
        return no_listing(f"the GPU code could not be read: {error}")
    if not blocks:
        return no_listing("there is no GPU code in what was built")
    return listing_of(tool, blocks, complete=True)


def _extracted(sandbox: Sandbox, program: str, library: Path) -> list[bytes]:
    with scratch() as directory:
        shutil.copyfile(library, directory / "kernel.so")
        _run(sandbox, [program, "--extract-elf", "all", "kernel.so"], directory)
        return [path.read_bytes() for path in sorted(directory.glob("*.cubin"))]


def _sass(sandbox: Sandbox, tool: Tool, cubin: bytes, own: str) -> list[tuple[str, str]]:
    with scratch() as directory:
        (directory / "kernel.cubin").write_bytes(cubin)
        text = _run(sandbox, [*tool.command, "--print-line-info-inline", "--print-code", "kernel.cubin"], directory)
    return list(sass_marks(text, own))


def _run(sandbox: Sandbox, command: Sequence[str], directory: Path) -> str:
    program = Path(command[0])
    mounts = (Mount(path=program),) if program.is_file() else ()  # Triton's files are hidden otherwise
    status = sandbox.run(command, LIMITS, directory=directory, mounts=mounts)
    if status.code != 0:
        said = status.output.strip().splitlines()
        raise InfrastructureError(f"{Path(command[0]).name}: {said[-1][:300] if said else f'exit code {status.code}'}")
    return status.output


def sass_marks(text: str, own: str) -> Iterator[tuple[str, str]]:
    """Name and instructions of each function in nvdisasm's text, marked `; line 7` where a line of `own` begins.

    What is inlined from other files counts for the line that it was inlined at."""
    for name, block in functions(text, _SECTION):
        kept = [f"{name}:"]
        line = marked = inner = ""
        for said in block.splitlines():
            place = _SASS_PLACE.match(said)
            if place is not None:
                inner = inner or (place["line"] if Path(place["file"]).name == own else "")
            elif _LABEL.match(said):
                kept.append(said)
                marked = ""
            elif _INSTRUCTION.match(said):
                line, inner = inner or line, ""
                if line and line != marked:
                    marked = line
                    kept.append(f"; line {line}")
                kept.append(said.rstrip())
        yield name, "\n".join(kept)


def ptx_marks(ptx: str) -> str:
    """PTX whose lines of the candidate's module are marked `; line 7` in place of `.loc`; sections of debug
    information are left out."""
    files = {found["number"]: Path(found["name"]).name for found in _FILE.finditer(ptx)}
    kept = list[str]()
    line = marked = ""
    for said in ptx.splitlines():
        if _DEBUG.match(said):
            break
        place = _LOC.match(said)
        if place is not None:
            line = _own_line(place, files) or line
            continue
        if not said.strip() or said.lstrip().startswith((".file", "//")) or said.startswith(("$L__func", "$L__tmp")):
            continue
        if not said.startswith("\t"):
            marked = ""
        elif said[1:2] not in (".", "{", "}") and line and line != marked:
            marked = line
            kept.append(f"; line {line}")
        kept.append(said.rstrip())
    return "\n".join(kept).strip("\n")


def _own_line(place: re.Match[str], files: dict[str, str]) -> str:
    """The module's line of a `.loc`: its own, or where it was inlined at."""
    if files.get(place["file"]) == "candidate.py":
        return place["line"]
    outer = _INLINED_AT.search(place["inlined"])
    return outer["line"] if outer is not None and files.get(outer["file"]) == "candidate.py" else ""
