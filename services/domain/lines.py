"""Lines of Python source as Python counts them."""

from __future__ import annotations


def split_lines(source: str) -> list[str]:
    """Lines as Python counts them: only \\n, \\r\\n and \\r end one (`str.splitlines` ends lines at form feeds too)."""
    parts = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
