"""Which function of a library an offset in its file belongs to: by its symbol table, read once."""

from __future__ import annotations

import bisect
import functools
import mmap
import struct
from array import array
from collections.abc import Sequence
from pathlib import Path

_SYMBOL_TABLES = (2, 11)
_FUNCTIONS = (2, 10)


class SymbolTable:
    """The functions of one file, by the offset of their code."""

    def __init__(self, offsets: Sequence[int], names: Sequence[int], content: mmap.mmap) -> None:
        self._offsets = offsets
        self._names = names
        self._content = content

    def name_at(self, offset: int) -> str:
        """The function before or at an offset; empty where there is none."""
        index = bisect.bisect_right(self._offsets, offset) - 1
        if index < 0:
            return ""
        start = self._names[index]
        end = self._content.find(b"\0", start, start + 65536)
        return self._content[start:end].decode("ascii", errors="replace")


@functools.lru_cache(maxsize=8)
def symbols_of(path: str) -> SymbolTable | None:
    """The table of a file; None where it cannot be read or has none. Half a second for PyTorch's, once a process."""
    try:
        with Path(path).open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        return _read(content)
    except (OSError, ValueError, struct.error):
        return None


def _read(content: mmap.mmap) -> SymbolTable | None:
    if content[:6] != b"\x7fELF\x02\x01":
        return None
    sections_at = struct.unpack_from("<Q", content, 40)[0]
    size, count = struct.unpack_from("<HH", content, 58)
    headers = [struct.unpack_from("<IIQQQQII", content, sections_at + size * number) for number in range(count)]
    moves = _moves(content)
    best: dict[int, int] = {}
    for header in headers:
        if header[1] not in _SYMBOL_TABLES:
            continue
        names_at, table_at = headers[header[6]][4], header[4]
        table = content[table_at : table_at + header[5] // 24 * 24]
        for name, info, _other, section, value, _size in struct.iter_unpack("<IBBHQQ", table):
            if section and info & 15 in _FUNCTIONS:
                best[value] = names_at + name
    if not best:
        return None
    pairs = sorted((_offset(value, moves), name) for value, name in best.items())
    return SymbolTable(array("Q", (value for value, _ in pairs)), array("Q", (name for _, name in pairs)), content)


def _moves(content: mmap.mmap) -> list[tuple[int, int, int]]:
    """Of each loaded segment: address, size, offset."""
    start = struct.unpack_from("<Q", content, 32)[0]
    size, count = struct.unpack_from("<HH", content, 54)
    found = []
    for number in range(count):
        kind, _flags, offset, address, _physical, length = struct.unpack_from("<IIQQQQ", content, start + size * number)
        if kind == 1:
            found.append((address, length, offset))
    return found


def _offset(address: int, moves: list[tuple[int, int, int]]) -> int:
    for start, size, offset in moves:
        if start <= address < start + size:
            return address - start + offset
    return address
