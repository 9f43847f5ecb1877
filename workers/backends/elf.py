"""What a built library says of itself: an ELF file's needs, imports and start-up code, read without running anything.

Only what the loader itself goes by is read (the dynamic section and what it points to, found through the program
headers): section names can say anything. What is malformed is an `ElfError`: the loader might see something else.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from services.ports.devices import BuiltLibrary

MAX_SYMBOLS = 200_000
_LOAD, _DYNAMIC = 1, 2
_EXECUTABLE = 1
_NEEDED, _STRTAB, _SYMTAB, _RELA, _RELASZ, _STRSZ, _INIT_ARRAY, _INIT_ARRAYSZ = 1, 5, 6, 7, 8, 10, 25, 27
_PLTRELSZ, _JMPREL = 2, 23
_HASH, _GNU_HASH, _PREINIT_ARRAY, _RPATH, _RUNPATH, _RELR = 4, 0x6FFFFEF5, 32, 15, 29, 36
_RELATIVE = {62: 8, 183: 1027}
"""The relocation that adds the load address, by machine."""
_RESOLVED = {62: 37, 183: 1032}
"""The relocation that takes what a resolver returns, by machine."""
_FUNCTION, _GNU_IFUNC = 2, 10
_OF_RESOLVERS = "__cpu_indicator_init"
"""What resolvers that a compiler wrote may call."""
_COMPILERS_OWN = ("frame_dummy", "_GLOBAL__sub_I_", "_GLOBAL__I_")
"""What g++ has run when a library is loaded: its start-up files' part, and the initialisers of static objects."""
SUSPECT_BYTES = {
    62: (b"\x0f\x05", b"\x0f\x34", b"\xcd\x80", b"\x0f\x31", b"\x0f\x01\xf9"),
    183: (b"\x01\x00\x00\xd4",),
}
"""Encodings of system calls and of reading the time-stamp counter, by machine. Hints: data may look like them."""


class ElfError(ValueError):
    """The file is no shared library that can be read."""


@dataclass(frozen=True, kw_only=True)
class _Segment:
    kind: int
    flags: int
    offset: int
    address: int
    size: int


@dataclass(frozen=True, kw_only=True)
class _Symbol:
    name: str
    kind: int
    section: int
    value: int


class Elf:
    """One 64-bit little-endian shared library."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        if content[:6] != b"\x7fELF\x02\x01":
            raise ElfError("it is no 64-bit little-endian ELF file")
        self.machine = self._at("<H", 18)[0]
        start, self._sections_at = self._at("<QQ", 32)
        size, count, self._section_size, self._sections = self._at("<HHHH", 54)
        if size != 56:
            raise ElfError("its program headers have another size")
        self._segments = [self._segment(start + size * number) for number in range(count)]
        dynamic = next((segment for segment in self._segments if segment.kind == _DYNAMIC), None)
        if dynamic is None:
            raise ElfError("it has no dynamic section")
        self._entries = list(self._dynamic(dynamic))
        self._values = dict(self._entries)

    @property
    def needed(self) -> tuple[str, ...]:
        """Libraries that the loader loads with it."""
        return tuple(self._string(value) for tag, value in self._entries if tag == _NEEDED)

    @property
    def imports(self) -> tuple[str, ...]:
        """Names that others have to define."""
        found = {symbol.name for symbol in self._dynamic_symbols() if symbol.section == 0 and symbol.name}
        return tuple(sorted(found))

    def resolvers(self) -> dict[int, str]:
        """Functions that choose which code a name means when it is loaded: their names by address."""
        names = {symbol.value: symbol.name for symbol in self._own_symbols() if symbol.kind == _FUNCTION}
        indirect = [one for one in self._dynamic_symbols() if one.kind == _GNU_IFUNC and one.section]
        found = {one.value: names.get(one.value, one.name) for one in indirect}
        for table, size in ((_RELA, _RELASZ), (_JMPREL, _PLTRELSZ)):
            for _where, info, addend in self._relocations(table, size):
                if info & 0xFFFFFFFF == _RESOLVED.get(self.machine):
                    found.setdefault(addend, names.get(addend, f"code at {addend:#x}"))
        return found

    def starters(self, plain: Collection[int] = ()) -> tuple[str, ...]:
        """What runs when it is loaded, beside what the compiler puts there itself; `plain`: addresses of resolvers that
        only choose."""
        names = {symbol.value: symbol.name for symbol in self._own_symbols()}
        found = [names.get(address, f"code at {address:#x}") for address in self._initialisers()]
        found = [name for name in found if not name.startswith(_COMPILERS_OWN)]
        if _PREINIT_ARRAY in self._values:
            found.append("a pre-initialiser")
        found += [name for address, name in self.resolvers().items() if address not in plain]
        if plain and _OF_RESOLVERS not in found:
            found.append(_OF_RESOLVERS)
        if _RPATH in self._values or _RUNPATH in self._values:
            found.append("a search path of its own")
        return tuple(found)

    def has_suspect_bytes(self) -> bool:
        """Whether its code holds bytes that may be a system call or a clock reading: then it must be disassembled."""
        patterns = SUSPECT_BYTES.get(self.machine, ())
        for segment in self._segments:
            if segment.kind == _LOAD and segment.flags & _EXECUTABLE:
                code = self._content[segment.offset : segment.offset + segment.size]
                if any(pattern in code for pattern in patterns):
                    return True
        return False

    def _initialisers(self) -> Iterator[int]:
        start, size = self._values.get(_INIT_ARRAY, 0), self._values.get(_INIT_ARRAYSZ, 0)
        if not size:
            return
        if _RELR in self._values:
            raise ElfError("its relocations are packed")
        slots = dict.fromkeys(range(start, start + min(size, 8 * MAX_SYMBOLS), 8), 0)
        for where, info, addend in self._relocations(_RELA, _RELASZ):
            if where in slots and info & 0xFFFFFFFF == _RELATIVE.get(self.machine):
                slots[where] = addend
            elif where in slots:
                symbol = self._symbol(self._offset(self._values[_SYMTAB]), info >> 32, self._string)
                slots[where] = symbol.value
        yield from slots.values()

    def _relocations(self, table: int, size: int) -> Iterator[tuple[int, ...]]:
        for place in range(0, self._values.get(size, 0), 24):
            yield self._at("<QQq", self._offset(self._values[table]) + place)

    def _dynamic_symbols(self) -> Iterator[_Symbol]:
        start = self._offset(self._values[_SYMTAB])
        for number in range(1, self._dynamic_count(start)):
            yield self._symbol(start, number, self._string)

    def _dynamic_count(self, start: int) -> int:
        """The string table follows the symbols in what linkers write; a hash table confirms how many there are."""
        if _HASH in self._values:
            count = self._at("<I", self._offset(self._values[_HASH]) + 4)[0]
        else:
            strings = self._offset(self._values[_STRTAB])
            if strings <= start:
                raise ElfError("its symbols do not lie before their names")
            count = (strings - start) // 24
        if count > MAX_SYMBOLS:
            raise ElfError(f"it has more than {MAX_SYMBOLS} symbols")
        return int(count)

    def _own_symbols(self) -> Iterator[_Symbol]:
        """Of the full table, where there is one (it only gives names to addresses)."""
        for number in range(self._sections):
            header = self._sections_at + number * self._section_size
            kind = self._at("<I", header + 4)[0]
            if kind != 2:
                continue
            offset, size, link = self._at("<QQI", header + 24)
            strings = self._at("<Q", self._sections_at + link * self._section_size + 24)[0]
            for index in range(min(size // 24, MAX_SYMBOLS)):
                yield self._symbol(offset, index, lambda at, base=strings: self._text(base + at))

    def _symbol(self, table: int, number: int, name: object) -> _Symbol:
        at, info, _other, section, value, _size = self._at("<IBBHQQ", table + 24 * number)
        assert callable(name)
        return _Symbol(name=name(at), kind=info & 15, section=section, value=value)

    def _segment(self, at: int) -> _Segment:
        kind, flags, offset, address, _physical, size = self._at("<IIQQQQ", at)
        return _Segment(kind=kind, flags=flags, offset=offset, address=address, size=size)

    def _dynamic(self, segment: _Segment) -> Iterator[tuple[int, int]]:
        for place in range(segment.offset, segment.offset + segment.size, 16):
            tag, value = self._at("<QQ", place)
            if tag == 0:
                return
            yield tag, value

    def _offset(self, address: int) -> int:
        for segment in self._segments:
            if segment.kind == _LOAD and segment.address <= address < segment.address + segment.size:
                return segment.offset + address - segment.address
        raise ElfError("something lies outside of what is loaded")

    def _string(self, at: int) -> str:
        return self._text(self._offset(self._values[_STRTAB]) + at)

    def _text(self, at: int) -> str:
        end = self._content.find(b"\0", at, at + 65536)
        if end < 0:
            raise ElfError("a name has no end")
        return self._content[at:end].decode("ascii", errors="replace")

    def _at(self, form: str, offset: int) -> tuple[int, ...]:
        try:
            return struct.unpack_from(form, self._content, offset)
        except struct.error:
            raise ElfError("it is cut short") from None


def compilers_resolvers(path: Path) -> frozenset[int]:
    """Addresses of a library's resolvers that are called as g++ calls those it writes (`target_clones`). None where it
    is no library."""
    try:
        found = Elf(path.read_bytes()).resolvers()
    except (ElfError, KeyError):
        return frozenset()
    return frozenset(address for address, name in found.items() if name.endswith(".resolver"))


def read_library(path: Path, language: str, plain: Collection[int] = ()) -> tuple[BuiltLibrary, bool]:
    """What a library says of itself, and whether its code must be disassembled to know whether it calls the system.

    `plain`: addresses of its resolvers that are known to do nothing but choose."""
    try:
        elf = Elf(path.read_bytes())
        library = BuiltLibrary(
            name=path.name, language=language, needed=elf.needed, imports=elf.imports, starters=elf.starters(plain)
        )
        return library, elf.has_suspect_bytes()
    except (ElfError, KeyError) as error:
        return BuiltLibrary(name=path.name, language=language, broken=str(error)), False
