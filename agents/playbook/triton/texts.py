"""Kernels' texts with places to fill in."""

from __future__ import annotations

import re
from collections.abc import Sequence


def filled(text: str, **places: Sequence[str] | str) -> str:
    """A text with each `<<name>>` replaced: by a string where it stands in a line, by lines at its indentation where it
    is alone in one. Raises `KeyError` for a place that is not given."""
    lines: list[str] = []
    for line in text.splitlines():
        alone = re.fullmatch(r"( *)<<(\w+)>>", line)
        if alone is not None:
            given = places[alone.group(2)]
            lines += [alone.group(1) + item for item in ([given] if isinstance(given, str) else given)]
        else:
            lines.append(re.sub(r"<<(\w+)>>", lambda found: str(places[found.group(1)]), line))
    return "\n".join(lines)


def settled(names: str) -> str:
    """The statements that take a `TILE` such as `128,64,32,8,3,tf32x3` apart into module constants, in their order:
    sizes that only make sense together are searched together."""
    return f'''def chosen(text):
    """The numbers of a setting, and its words as they are."""
    return [int(part) if part.isdigit() else part for part in text.split(",")]


{names} = chosen(TILE)'''
