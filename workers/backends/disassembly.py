"""Machine code as text: what a disassembler says of a built library, run in the compile sandbox like a compiler.

The tools read what foreign code was compiled to, so they are trusted no more than a compiler is: they see a copy of one
library, and nothing that they say is looked at but as text.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from services.domain.errors import InfrastructureError, ToolchainError
from services.domain.profiles import Disassembly
from services.ports.sandboxes import ExitStatus, Sandbox, SandboxLimits
from workers.backends.artefacts import scratch

MAX_BYTES = 192 << 10
"""Of one candidate's listing; whole functions are kept as long as they fit."""
MAX_LIBRARIES = 8
LIMITS = SandboxLimits(wall_s=20.0, memory_bytes=1 << 30, processes=8, output_bytes=8 << 20, file_bytes=64 << 20)
LIBRARY = "kernel.so"
_FUNCTION = re.compile(r"^[0-9a-f]+ <(?P<name>.+)>:$")
_RUNTIME = {"deregister_tm_clones", "register_tm_clones", "__do_global_dtors_aux", "frame_dummy", "_init", "_fini"}
"""What the compiler's own start-up files put into every library."""
_LIBRARIES = re.compile(r"(^|[ *&<(])(at|c10|torch|pybind11|std|__gnu_cxx|fmt|caffe2)::|^(_GLOBAL__|__static_init)")
"""Functions of headers that a candidate includes (torch's alone are megabytes)."""


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A program that shows what is in a library."""

    form: str
    """What it shows: `assembly` or `sass`."""
    command: Sequence[str]
    """Without the library's name, which comes last."""
    function: re.Pattern[str]
    """The line that a function begins with; its group `name` is the function's."""
    remedy: str
    """What to do where it is not installed."""


OBJDUMP = Tool(
    form="assembly",
    command=(
        "objdump",
        "--disassemble",
        "--demangle",
        "--no-show-raw-insn",
        "--line-numbers",
        "--section=.text",
        "--wide",
    ),
    function=_FUNCTION,
    remedy="install binutils (apt-get install binutils) on the worker",
)


def no_listing(note: str) -> Disassembly:
    """Nothing to show, and why."""
    return Disassembly(form="none", tool="", functions=(), cut=False, note=note, hash=None)


def disassembled(sandbox: Sandbox, tool: Tool, libraries: Sequence[Path]) -> Disassembly:
    """The candidate's own functions in its libraries, as a tool shows them. Raises nothing: what fails is a note."""
    blocks: list[tuple[str, str]] = []
    complete = len(libraries) <= MAX_LIBRARIES
    try:
        for library in libraries[:MAX_LIBRARIES]:
            text, whole = _shown(sandbox, tool, library)
            shown = line_marks(text) if tool.form == OBJDUMP.form else text
            blocks += [(name, block) for name, block in functions(shown, tool.function) if _is_own(name)]
            complete &= whole
    except ToolchainError:
        return no_listing(f"{tool.command[0]} is not installed: {tool.remedy}")
    except (InfrastructureError, OSError) as error:
        return no_listing(f"{tool.command[0]} could not be run: {error}")
    if not blocks:
        return no_listing(f"{tool.command[0]} finds no function of the candidate's own in what was built")
    return listing_of(tool, blocks, complete=complete)


_PLACE = re.compile(r"^\S*?(?P<file>[^/\s:]+):(?P<line>\d+)(?: \(discriminator \d+\))?$")
_SOURCES = ("kernel.cpp", "kernel.cu")


def line_marks(text: str) -> str:
    """A listing whose lines of the candidate's own source are marked `; line 7` where they begin; what else objdump
    says of places (headers, folders of the worker) is left out."""
    found: list[str] = []
    marked = None
    for line in text.splitlines():
        if not line or line[0].isspace() or line.endswith(">:"):
            found.append(line)
            marked = None if line.endswith(">:") else marked
            continue
        place = _PLACE.match(line)
        if place is None:
            if not line.endswith("():"):
                found.append(line)
        elif place["file"] in _SOURCES and place["line"] != marked:
            marked = place["line"]
            found.append(f"; line {marked}")
    return "\n".join(found)


SYSTEM_INSTRUCTIONS = re.compile(r"\t(?:rep |lock |bnd )*(syscall|sysenter|int +\$0x80|svc|rdtscp?)\b")
READING = SandboxLimits(wall_s=60.0, memory_bytes=2 << 30, processes=8, output_bytes=64 << 20, file_bytes=64 << 20)


def system_instructions(sandbox: Sandbox, library: Path) -> tuple[tuple[str, ...], str]:
    """Instructions in a library that call the system or read a clock, and why that cannot be told (else empty)."""
    command = ["objdump", "--disassemble", "--no-show-raw-insn", "--no-addresses"]
    try:
        status = _run(sandbox, command, library, READING)
    except (InfrastructureError, OSError) as error:
        return (), f"its code looks as if it called the system, and objdump could not be run: {error}"
    if status.code != 0 or status.output_cut:
        return (), "its code looks as if it called the system, and objdump did not come to its end"
    return tuple(sorted({found.split()[0] for found in SYSTEM_INSTRUCTIONS.findall(status.output)})), ""


_BLOCK = re.compile(r"^([0-9a-f]+) <.+>:$")
_INSTRUCTION = re.compile(r"^ *([0-9a-f]+):\t((?:cs |data16 )*\S+) *([^#<]*)(?:<([^>]*)>)?")
_REGISTER = r"%(?:[re]?(?:[abcd]x|[sd]i)|[abcd][lh]|r(?:8|9|1[0-5])[bwd]?)"
_CHOOSING = (
    re.compile(r"(?:ret|endbr64|(?:cs |data16 )*nop[wl]?)\b.*|xchg +%ax,%ax|(?:sub|add) +\$0x[0-9a-f]+,%rsp"),
    re.compile(rf"(?:push|pop) +(?:%rbp|{_REGISTER})|mov +%rsp,%rbp|(?:test|cmp|bt)[bwlq]? .*"),
    re.compile(
        rf"(?:lea|mov[bwlqsz]*|and[bwlq]?|or[bwlq]?|xor[bwlq]?|not[lq]?|sh[rl][lq]?|cmov\w+|set\w+) .*{_REGISTER}"
    ),
)
"""What g++ writes into a resolver (`target_clones`): reads what the processor has, writes registers, returns."""
_LAST = re.compile(r"(?:ret|jmp)\b")
_ADDRESS = re.compile(r"[0-9a-f]+")


def choosing(listing: str, addresses: Collection[int]) -> frozenset[int]:
    """Of the functions at these addresses, those whose code only asks the processor and chooses: it writes no memory,
    calls nothing but `__cpu_indicator_init`, and jumps to code of that kind only, its own or what g++ has split off."""
    blocks: dict[int, list[re.Match[str]]] = {}
    block: list[re.Match[str]] = []
    for line in listing.splitlines():
        if header := _BLOCK.match(line):
            block = blocks.setdefault(int(header[1], 16), [])
        elif found := _INSTRUCTION.match(line):
            block.append(found)
    starts = {int(found[1], 16): address for address, block in blocks.items() for found in block}
    return frozenset(address for address in addresses if _only_chooses(blocks, starts, address))


def _only_chooses(blocks: Mapping[int, Sequence[re.Match[str]]], starts: Mapping[int, int], address: int) -> bool:
    """`starts`: for each instruction's address, that of the block which it belongs to."""
    reached, looked_at = [address], set[int]()
    while reached:
        address = reached.pop()
        if address not in looked_at:
            looked_at.add(address)
            targets = _targets(blocks.get(address, []))
            if targets is None or not all(target in starts for target in targets):
                return False
            reached += [starts[target] for target in targets]
    return True


def _targets(block: Sequence[re.Match[str]]) -> list[int] | None:
    """Where a block that only chooses jumps to; None where it does anything else."""
    targets: list[int] = []
    for _, name, operands, symbol in (found.groups() for found in block):
        if name == "call":
            if symbol not in ("__cpu_indicator_init", "__cpu_indicator_init@plt"):
                return None
        elif name.startswith("j"):
            if not _ADDRESS.fullmatch(operands.strip()):
                return None
            targets.append(int(operands, 16))
        elif not any(pattern.fullmatch(f"{name} {operands}".strip()) for pattern in _CHOOSING):
            return None
    ends = [found[2] for found in block if "nop" not in found[2]]
    return targets if ends and _LAST.match(ends[-1]) else None


def plain_resolvers(sandbox: Sandbox, library: Path, addresses: Collection[int]) -> frozenset[int]:
    """Those of a library's resolvers that `choosing` knows; none where it cannot be disassembled."""
    command = ["objdump", "--disassemble", "--no-show-raw-insn", "--wide", "--section=.text"]
    try:
        status = _run(sandbox, command, library, READING)
    except (InfrastructureError, OSError):
        return frozenset()
    return frozenset() if status.code != 0 or status.output_cut else choosing(status.output, addresses)


def with_lines(sandbox: Sandbox, library: Path) -> str:
    """The code of a library with the lines of its source and its offsets; empty where it cannot be had."""
    command = ["objdump", "--disassemble", "--line-numbers", "--no-show-raw-insn", "--section=.text", "--wide"]
    try:
        return _run(sandbox, command, library, LIMITS).output
    except (InfrastructureError, OSError):
        return ""


def functions(text: str, begins: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Name and text of every function in a listing; what stands before the first one is no function's."""
    name, lines = "", list[str]()
    for line in text.splitlines():
        found = begins.match(line)
        if found is not None:
            if name:
                yield name, "\n".join(lines).rstrip()
            name, lines = found["name"], []
        lines.append(line)
    if name:
        yield name, "\n".join(lines).rstrip()


def _shown(sandbox: Sandbox, tool: Tool, library: Path) -> tuple[str, bool]:
    """What a tool says of a copy of one library, and whether that is all. Raises `InfrastructureError`, `OSError`."""
    status = _run(sandbox, tool.command, library, LIMITS)
    if status.code != 0:
        said = status.output.strip().splitlines()
        reason = "it took too long" if status.timed_out else (said[-1][:300] if said else f"exit code {status.code}")
        raise InfrastructureError(reason)
    return status.output, not status.output_cut


def _run(sandbox: Sandbox, command: Sequence[str], library: Path, limits: SandboxLimits) -> ExitStatus:
    """Run a tool on a copy of one library. Raises `InfrastructureError`, `OSError`."""
    with scratch() as directory:
        shutil.copyfile(library, directory / LIBRARY)
        return sandbox.run([*command, LIBRARY], limits, directory=directory)


def _is_own(name: str) -> bool:
    return name not in _RUNTIME and _LIBRARIES.search(name.partition("(")[0]) is None


def listing_of(tool: Tool, blocks: Sequence[tuple[str, str]], *, complete: bool) -> Disassembly:
    """Named blocks as one listing: whole functions as long as they fit."""
    kept: list[tuple[str, str]] = []
    size = 0
    for name, block in blocks:
        text = block if len(block.encode()) <= MAX_BYTES else _shortened(block)
        size += len(text.encode()) + 2
        if size > MAX_BYTES and kept:
            complete = False
            break
        complete &= text is block
        kept.append((name, text))
    return Disassembly(
        form=tool.form,
        tool=Path(tool.command[0]).name,
        functions=tuple(name[:200] for name, _ in kept),
        cut=not complete,
        note="",
        hash=None,
        text="\n\n".join(text for _, text in kept) + "\n",
    )


def _shortened(block: str) -> str:
    """As many whole lines as fit."""
    return block.encode()[:MAX_BYTES].decode(errors="ignore").rpartition("\n")[0]
