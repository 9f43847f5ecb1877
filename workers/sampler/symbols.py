"""Which function of a library an offset in its file belongs to: by its symbol table, read once."""

from __future__ import annotations

import functools
import mmap
import struct
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SYMBOL_TABLES = (2, 11)
_FUNCTIONS = (2, 10)
_SYMBOL = [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
"""An entry of a symbol table (`Elf64_Sym`)."""


class SymbolTable:
    """The functions of one file, by the offset of their code."""

    def __init__(self, offsets: NDArray[np.uint64], names: NDArray[np.uint64], content: mmap.mmap) -> None:
        self._offsets = offsets
        self._names = names
        self._content = content

    def name_at(self, offset: int) -> str:
        """The function before or at an offset; empty where there is none."""
        index = int(self._offsets.searchsorted(offset, side="right")) - 1
        if index < 0:
            return ""
        start = int(self._names[index])
        end = self._content.find(b"\0", start, start + 65536)
        return self._content[start:end].decode("ascii", errors="replace")


@functools.lru_cache(maxsize=8)
def symbols_of(path: str) -> SymbolTable | None:
    """The table of a file; None where it cannot be read or has none."""
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
    import numpy as np  # takes 0.1 s: not before a symbol is wanted

    entry = np.dtype(_SYMBOL)
    addresses, names = [], []
    for header in headers:
        if header[1] not in _SYMBOL_TABLES:
            continue
        names_at, table_at = headers[header[6]][4], header[4]
        table = np.frombuffer(content, entry, count=header[5] // entry.itemsize, offset=table_at)
        functions = table[(table["section"] != 0) & np.isin(table["info"] & 15, _FUNCTIONS)]
        addresses.append(functions["value"])
        names.append(functions["name"].astype(np.uint64) + names_at)
    if not sum(map(len, addresses)):
        return None
    offsets = _offsets(np.concatenate(addresses), content)
    order = np.argsort(offsets, kind="stable")
    return SymbolTable(offsets[order], np.concatenate(names)[order], content)


def _offsets(addresses: NDArray[np.uint64], content: mmap.mmap) -> NDArray[np.uint64]:
    """Where addresses lie in the file, by its loaded segments."""
    start = struct.unpack_from("<Q", content, 32)[0]
    size, count = struct.unpack_from("<HH", content, 54)
    offsets = addresses.copy()
    for number in range(count):
        kind, _flags, offset, address, _physical, length = struct.unpack_from("<IIQQQQ", content, start + size * number)
        if kind == 1:
            inside = (addresses >= address) & (addresses < address + length)
            offsets[inside] = addresses[inside] - address + offset
    return offsets
