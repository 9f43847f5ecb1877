"""What a kernel's C++ or CUDA source may not do, judged on what it says rather than on its characters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from workers.referee.screen.cpp_source import SourceFacts, read_cpp
from workers.referee.screen.rules import BANNED_IN_CPP, CLOCKS_IN_CPP, HEADERS_IN_CPP, TYPES_IN_CPP

_ASSEMBLY_HARD = re.compile(
    r"\b(?:syscall|sysenter|svc|int\s+\$?0x80)\b|\.(?:section|pushsection|init_array|ctors|fini_array)\b"
)
_ASSEMBLY_CLOCK = re.compile(r"\brdtscp?\b|%clock\w*|%globaltimer\w*|\bcntvct_el0\b")
_VARIABLES = re.compile(r'"(?:OMP_NUM_THREADS|OMP_WAIT_POLICY|OMP_PROC_BIND)"')
_NEW_MEMORY = re.compile(
    r"\((?:nullptr|NULL|0),[^,]+,(?:PROT_READ|PROT_WRITE|\|)+,"
    r"(?=[^,]*MAP_ANON)(?:MAP_(?:PRIVATE|ANONYMOUS|ANON|NORESERVE|POPULATE|HUGETLB)|\|)+,-1,0\)"
)
"""Of `mmap`, without blanks: memory that is private, new, nowhere in particular and not to be executed."""
HARMLESS_CALLS: dict[str, Callable[[str], bool]] = {
    "getenv": lambda given: _VARIABLES.fullmatch(given.strip("() \n\t")) is not None,
    "mmap": lambda given: _NEW_MEMORY.fullmatch("".join(given.split())) is not None,
}
"""Calls that a rule does not mean, by what they are given: how many threads there are, and memory that is new."""
_LOADING = re.compile(r"\b(?:constructor|destructor|ifunc|init_priority)\b")


@dataclass(frozen=True, order=True, kw_only=True)
class CppRemark:
    """One rule that a source breaks."""

    line: int
    """From 1, in the source."""
    text: str
    hard: bool
    """Evidence rather than a hint."""


def looks_like_cpp(text: str) -> bool:
    """Whether a text of a module may be meant for a compiler."""
    return _is_cpp(text) or ("(" in text and ";" in text)


def examine_cpp(text: str, *, surely: bool = False, read: Callable[[str], SourceFacts] = read_cpp) -> list[CppRemark]:
    """The rules that a source (or a piece of one) breaks, in order of lines.

    `surely` for what a compiler was given. Of a text that may be prose, names that are only mentioned say nothing."""
    reading = read(text)
    if not surely and not _is_cpp(text):
        reading.mentions = []
    return sorted(set(_remarks(reading)))


def _is_cpp(text: str) -> bool:
    return "#include" in text or 'extern "C"' in text or "__global__" in text


def _remarks(reading: SourceFacts) -> Iterator[CppRemark]:
    yield from _calls(reading)
    for one in reading.mentions:
        name = _library_name(one.name, reading.own)
        if name in BANNED_IN_CPP:
            yield _hard(one.line, f"`{name}` {BANNED_IN_CPP[name]}")
    yield from _types(reading)
    for one in reading.headers:
        if one.name in HEADERS_IN_CPP:
            yield _hint(one.line, f"<{one.name}> {HEADERS_IN_CPP[one.name]}")
    for one in reading.attributes:
        if _LOADING.search(one.name):
            yield _hard(one.line, "runs code when it is loaded")
    yield from _assembly(reading)


def _calls(reading: SourceFacts) -> Iterator[CppRemark]:
    for one in reading.calls:
        name = _library_name(one.name, reading.functions)
        if name in HARMLESS_CALLS and HARMLESS_CALLS[name](one.arguments):
            continue
        if name in BANNED_IN_CPP:
            yield _hard(one.line, f"`{name}()` {BANNED_IN_CPP[name]}")
        elif name in CLOCKS_IN_CPP:
            yield _hint(one.line, f"`{name}()` reads a clock: a kernel needs none")


def _library_name(name: str, own: set[str]) -> str:
    """`f` for `f`, `::f` and `std::f`; empty where the source means something of its own."""
    return "" if name in own else name.removeprefix("::").removeprefix("std::")


def _types(reading: SourceFacts) -> Iterator[CppRemark]:
    for one in reading.types:
        for name, (reason, hard) in TYPES_IN_CPP.items():
            if re.search(rf"(?:^|::){name}(?:$|::)", one.name) and name not in reading.own:
                yield CppRemark(line=one.line, text=f"`{name}` {reason}", hard=hard)


def _assembly(reading: SourceFacts) -> Iterator[CppRemark]:
    """Assembly is no offence (PTX is honest); what it may do is what C++ may do."""
    for one in reading.assembly:
        called = next((name for name in BANNED_IN_CPP if re.search(rf"\b{name}\b", one.name)), None)
        if called is not None or _ASSEMBLY_HARD.search(one.name):
            yield _hard(one.line, "reaches for the system in assembly")
        elif _ASSEMBLY_CLOCK.search(one.name):
            yield _hint(one.line, "reads a clock in assembly: a kernel needs none")


def _hard(line: int, text: str) -> CppRemark:
    return CppRemark(line=line, text=text, hard=True)


def _hint(line: int, text: str) -> CppRemark:
    return CppRemark(line=line, text=text, hard=False)
