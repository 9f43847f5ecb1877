"""The `cpp` backend: C++ sources in a candidate's module, compiled by g++ into shared libraries with a C ABI.

The module is foreign code. It is imported in a sandboxed process that only asks for compilations; this worker checks
the flags, runs g++ in another sandbox and stores the result by content, so that no candidate can put bytes of its own
under the key of another source.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import kernelwright_rt
from services.domain.codec import CodecError, from_data
from services.domain.errors import CandidateError, StorageError, ToolchainError
from services.domain.events import JsonValue
from services.domain.profiles import Disassembly
from services.ports.devices import BuildResult, BuiltLibrary, ReachedName
from services.ports.sandboxes import ExitStatus, Mount, Sandbox, SandboxLimits, SandboxProcess
from workers.backends import torch_extensions
from workers.backends.artefacts import ArtefactCache, Manifest, is_full, scratch, sealed_copy
from workers.backends.disassembly import (
    OBJDUMP,
    disassembled,
    no_listing,
    plain_resolvers,
    system_instructions,
    with_lines,
)
from workers.backends.elf import compilers_resolvers, read_library
from workers.backends.flags import refused_flags
from workers.ipc.wire import Channel, Message, WireClosedError, WireError, WireTimeoutError
from workers.profilers.hot_spots import HotSpots, hot_spots, missed_vectorisation

LANGUAGES = ("cpp", "cpp_torch", "cuda", *torch_extensions.LANGUAGES)
MAX_SOURCES = 64
MAX_MESSAGE_BYTES = 4 << 20
REMARKS = "kernel.missed"
EXPLAINING = ("-g1", f"-fopt-info-vec-missed={REMARKS}")
"""What a profile needs of a build: lines of the source, and why loops were not vectorised. The code stays the same."""
ANSWER_TIMEOUT_S = 10.0
EXTENSION_FACTOR = 3.0
COMPILE_LIMITS = SandboxLimits(wall_s=120.0, memory_bytes=4 << 30, processes=32, file_bytes=256 << 20)


class CppBackend:
    """`KernelBackend` for g++. `cache_dir` keeps libraries between runs."""

    name = "cpp"
    languages: tuple[str, ...] = ("cpp", "cpp_torch", "torch")
    """What its candidates may have compiled."""
    architecture: str | None = None
    """What GPU code is built for; no GPU is asked."""
    import_s = 20.0
    """Bounds importing a module, in seconds."""

    def __init__(
        self,
        sandbox: Sandbox,
        cache_dir: Path,
        *,
        architecture: str | None = None,
        import_s: float | None = None,
        compile_limits: SandboxLimits = COMPILE_LIMITS,
    ) -> None:
        self._sandbox = sandbox
        self._cache_dir = cache_dir
        self._ahead: Path | None = None
        if architecture is not None:
            self.architecture = architecture
        if import_s is not None:
            self.import_s = import_s
        self._compile_limits = compile_limits
        self._cache: ArtefactCache | None = None

    def toolchain(self) -> str:
        """For example `g++ 12.2.0 -march=native (avx2 avx512f fma; 38378261)`."""
        try:
            return kernelwright_rt.toolchain()
        except kernelwright_rt.CompileError as error:
            raise ToolchainError(str(error)) from None

    def build(self, source: str) -> BuildResult:
        """Import the module in a sandbox and compile what it asks for. Raises `InfrastructureError`s only."""
        started = time.monotonic()
        cache = self._open_cache()
        key = f"build-{hashlib.sha256(source.encode(errors='surrogatepass')).hexdigest()}"
        manifest, failed, messages = cache.manifest(key), False, list[str]()
        if manifest is None:
            collection = _Collection(backend=self, cache=cache)
            try:
                self._collect(source, collection)
            except CandidateError as error:
                collection.messages.append(str(error))
                collection.failed = True
            manifest, failed, messages = collection.manifest(), collection.failed, collection.messages
            if not failed:
                cache.record(key, manifest)
        return BuildResult(
            ok=not failed,
            messages="\n".join(message for message in messages if message),
            artefacts=manifest.libraries,
            seconds=time.monotonic() - started,
            sources=manifest.sources,
            libraries=self._read(manifest.libraries, manifest.languages),
            reached=manifest.reached,
        )

    def _read(self, artefacts: Sequence[Path], languages: Sequence[str]) -> tuple[BuiltLibrary, ...]:
        """What the libraries say of themselves. One whose code may call the system, or choose code when it is loaded,
        is disassembled."""
        found = []
        for path, language in zip(artefacts, languages, strict=True):
            chosen = compilers_resolvers(path)
            plain = plain_resolvers(self._sandbox, path, chosen) if chosen else frozenset()
            library, doubtful = read_library(path, language, plain)
            if doubtful:
                names, why = system_instructions(self._sandbox, path)
                library = dataclasses.replace(library, instructions=names, broken=why)
            found.append(library)
        return tuple(found)

    def listing(self, result: BuildResult) -> Disassembly:
        """The assembly of the candidate's own functions. Raises nothing: what fails is its note."""
        if not result.artefacts:
            return no_listing("the module has nothing compiled when it is imported: there is no library to look into")
        return disassembled(self._sandbox, OBJDUMP, result.artefacts)

    def hot_spots(
        self, result: BuildResult, places: Mapping[str, Mapping[int, int]]
    ) -> tuple[HotSpots, dict[int, str]]:
        """Lines and instructions that samples lie in, and the compiler's remarks on loops. Raises nothing."""
        library = next((path for path in result.artefacts if path.name in places), None)
        if library is None:
            return hot_spots("", {}), {}
        listing = with_lines(self._sandbox, library)
        return hot_spots(listing, places[library.name]), missed_vectorisation(ArtefactCache.remarks(library))

    def compile(
        self, source: str, flags: tuple[str, ...], cache: ArtefactCache, language: str = "cpp"
    ) -> tuple[Path | None, str]:
        """One source: the library (None when the compiler refused it) and the compiler's messages."""
        if language not in self.languages:
            return None, f"the backend {self.name} compiles {' and '.join(self.languages)}, not {language}"
        refused = refused_flags(flags, language)
        if refused:
            return None, f"flags that a candidate may not use: {' '.join(refused)}"
        name = kernelwright_rt.artefact_name(source, flags, language, self.architecture)
        known = cache.find(name)
        if known is not None:
            return known, ""
        with scratch() as directory:
            file, text, mounts = _file(source, language)
            (directory / file).write_text(text, encoding="utf-8", errors="replace")
            command = self.command(file, flags, language)
            limits = self._limits(language)
            status = self._sandbox.run(command, limits, directory=directory, mounts=mounts)
            messages = _compiler_messages(command, status, limits)
            if status.code != 0:
                if "No space left on device" in status.output and is_full(directory):
                    raise StorageError(f"no space left on the disk that holds {directory}")
                return None, messages
            try:
                built = cache.add(name, directory / "kernel.so")
            except ValueError as error:
                return None, f"{messages}\n{error}"
            cache.annotate(name, directory / REMARKS)
            return built, messages

    def _limits(self, language: str) -> SandboxLimits:
        """torch's headers take half a minute on an idle core, and several on a busy machine."""
        limits = self._compile_limits
        factor = EXTENSION_FACTOR if torch_extensions.is_extension(language) else 1.0
        return dataclasses.replace(limits, wall_s=limits.wall_s * factor)

    def command(self, file: str, flags: tuple[str, ...], language: str) -> list[str]:
        """The compiler's command line, from `file` to `kernel.so` in the same directory. Other backends differ here."""
        if torch_extensions.is_extension(language):
            return torch_extensions.command(file, "kernel.so", flags, language, self.architecture)
        line = kernelwright_rt.command(file, "kernel.so", flags, language, self.architecture)
        return [*line, *EXPLAINING] if language == "cpp" else line

    def toolchain_key(self) -> str:
        """Directory name for all that a library depends on beside its source and flags."""
        return f"{kernelwright_rt.toolchain_key()}-values"

    def import_environment(self) -> dict[str, str]:
        """Environment for importing a candidate's module."""
        return {}

    def _open_cache(self) -> ArtefactCache:
        self.toolchain()
        if self._cache is None:
            key = f"{self.name}/{self.toolchain_key()}"
            self._cache = ArtefactCache(self._cache_dir / key, None if self._ahead is None else self._ahead / key)
        return self._cache

    def read_ahead(self, cache_dir: Path) -> None:
        """Look into another cache too, which compile workers fill, before anything is compiled here."""
        self._ahead = cache_dir
        self._cache = None

    def _collect(self, source: str, collection: _Collection) -> None:
        limits = SandboxLimits(
            wall_s=600.0, cpu_s=self.import_s * 2, memory_bytes=4 << 30, processes=64, file_bytes=64 << 20
        )
        process = self._sandbox.fork("workers.backends.collect:serve", limits, environment=self.import_environment())
        channel = Channel(process.socket, max_message_bytes=MAX_MESSAGE_BYTES)
        try:
            channel.send({"source": source}, timeout_s=ANSWER_TIMEOUT_S)
            self._converse(channel, collection)
        except WireTimeoutError:
            raise CandidateError(f"importing the module did not finish within {self.import_s:g} s") from None
        except WireClosedError as error:
            raise CandidateError(f"{_early_end(process)} ({error})") from None
        except WireError as error:
            raise CandidateError(f"importing the module sent something that is no request: {error}") from None
        finally:
            process.kill()
            channel.close()

    def _converse(self, channel: Channel, collection: _Collection) -> None:
        """Serve compile requests until the module is imported. `import_s` counts the module's own time."""
        left = self.import_s
        while True:
            asked = time.monotonic()
            message = channel.receive(timeout_s=max(0.01, left))
            message.close()
            left -= time.monotonic() - asked
            if collection.reached is None:
                collection.learn(message.body)
                continue
            if "done" in message.body:
                return
            if "raised" in message.body:
                raise CandidateError(collection.explain(str(message.body["raised"])))
            collection.answer(channel, message)


@dataclass
class _Collection:
    """What one module asked for so far."""

    backend: CppBackend
    cache: ArtefactCache
    artefacts: dict[str, Path] = field(default_factory=dict)
    languages: dict[str, str] = field(default_factory=dict)
    """Of each artefact."""
    reached: list[ReachedName] | None = None
    """What the names in the module lead to: the first thing that is said, before the module's own code runs."""
    messages: list[str] = field(default_factory=list)
    failed: bool = False
    sources: list[str] = field(default_factory=list)
    requests: int = 0

    def answer(self, channel: Channel, message: Message) -> None:
        """Compile one source and send the library, or say why not."""
        source, flags, language = _request(message.body)
        self.requests += 1
        if self.requests > MAX_SOURCES:
            raise CandidateError(f"the module compiles more than {MAX_SOURCES} sources")
        self.sources.append(kernelwright_rt.with_macros(source, flags))
        if sum(map(len, self.sources)) > MAX_MESSAGE_BYTES:
            raise CandidateError(f"the module compiles more than {MAX_MESSAGE_BYTES >> 20} MiB of sources")
        path, said = self.backend.compile(source, flags, self.cache, language)
        if said:
            self.messages.append(said)
        if path is None:
            self.failed = True
            channel.send({"failed": said}, timeout_s=ANSWER_TIMEOUT_S)
            return
        self.artefacts[path.name] = path
        self.languages[path.name] = language
        library = sealed_copy(path)
        try:
            channel.send({"built": True}, [library], timeout_s=ANSWER_TIMEOUT_S)
        finally:
            os.close(library)

    def learn(self, body: dict[str, JsonValue]) -> None:
        """What the names in the module lead to. Raises `CandidateError` for anything else."""
        found = body.get("reached")
        try:
            if not isinstance(found, list):
                raise CodecError("no list")
            self.reached = [from_data(ReachedName, one) for one in found]
        except CodecError:
            raise CandidateError("importing the module sent something that is no request") from None

    def manifest(self) -> Manifest:
        """What came of it."""
        return Manifest(
            libraries=tuple(self.artefacts.values()),
            sources=tuple(self.sources),
            languages=tuple(self.languages.values()),
            reached=tuple(self.reached or ()),
        )

    def explain(self, raised: str) -> str:
        """What to say of a module that raised; nothing new when it raised because a compilation failed."""
        if self.failed and "CompileError" in raised:
            return ""
        return f"importing the module raised:\n{raised}"


def _file(source: str, language: str) -> tuple[str, str, tuple[Mount, ...]]:
    """Name and text of the file to compile, and what the compiler needs to see beside the system."""
    if torch_extensions.is_extension(language):
        return torch_extensions.file_name(language), source, torch_extensions.mounts()
    mounts = torch_extensions.mounts() if language == "cpp_torch" else ()
    return kernelwright_rt.file_name(language), kernelwright_rt.complete(source, language), mounts


def _request(body: dict[str, JsonValue]) -> tuple[str, tuple[str, ...], str]:
    source, flags, language = body.get("compile"), body.get("flags"), body.get("language")
    if not isinstance(source, str) or not isinstance(flags, list) or language not in LANGUAGES:
        raise CandidateError("importing the module sent something that is no request")
    return source, tuple(str(flag) for flag in flags), str(language)


def _early_end(process: SandboxProcess) -> str:
    """Why the module's process ended without an answer."""
    status = process.wait(5.0)
    if status is None:
        return "importing the module closed its connection and went on running"
    said = f"; it wrote:\n{status.output[-4000:]}" if status.output else ""
    if status.out_of_memory:
        return f"importing the module ran out of memory{said}"
    if status.exhaustion is not None:
        return f"the process that imported the module {status.exhaustion}{said}"
    if status.timed_out:
        return f"importing the module did not finish in time{said}"
    if status.signal is not None:
        return f"importing the module ended its process by signal {status.signal}{said}"
    return f"importing the module ended its process with code {status.code}{said}"


def _compiler_messages(command: list[str], status: ExitStatus, limits: SandboxLimits) -> str:
    """All the compiler wrote, with a last line for an unusual end."""
    lines = [status.output.rstrip()] if status.output.strip() else []
    if status.output_cut:
        lines.append(f"[cut after {limits.output_bytes} bytes]")
    if status.timed_out:
        lines.append(f"{command[0]} did not finish within {limits.wall_s:g} s")
    elif status.out_of_memory:
        lines.append(f"{command[0]} ran out of memory ({limits.memory_bytes >> 20} MiB)")
    elif status.exhaustion is not None:
        lines.append(f"{command[0]} {status.exhaustion}")
    elif status.signal is not None:
        lines.append(f"{command[0]} was ended by signal {status.signal}")
    if status.code != 0:
        lines.insert(0, f"$ {' '.join(command)}")
    return "\n".join(lines)


def runtime_view(result: BuildResult) -> tuple[tuple[Mount, ...], dict[str, str]]:
    """Mounts and environment with which a runner finds a build's libraries, and no others."""
    directory = str(result.artefacts[0].parent) if result.artefacts else "/nothing-built"
    mounts = tuple(Mount(path=path) for path in result.artefacts)
    return mounts, {kernelwright_rt.ARTEFACTS_VARIABLE: directory}
