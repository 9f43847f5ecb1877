"""What a prompt's sections take: its headings outside of fenced texts, and the bytes below each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from services.domain.steps import ModelCall

PREAMBLE = "(before the first heading)"
_FENCE = re.compile(r"^<(/?)(data-[0-9a-f]{8})\b")


def section_bytes(text: str) -> Counter[str]:
    """UTF-8 bytes by heading of one message; a heading within a fenced text is part of that text."""
    sizes, heading, fence = Counter[str](), PREAMBLE, ""
    for line in text.splitlines(keepends=True):
        found = _FENCE.match(line)
        if found is not None and (not fence or found[2] == fence):
            fence = "" if found[1] else found[2]
        elif not fence and line.startswith("## "):
            heading = line[3:].strip()
        sizes[heading] += len(line.encode())
    return sizes


def by_section(calls: Iterable[ModelCall]) -> Counter[tuple[str, str]]:
    """UTF-8 bytes by role and heading of all messages of some calls."""
    sizes = Counter[tuple[str, str]]()
    for call in calls:
        for message in call.prompt:
            for heading, size in section_bytes(message.content).items():
                sizes[(call.role.value, heading)] += size
    return sizes


def table(tokens: Mapping[tuple[str, str], float]) -> str:
    """Sections by cost, dearest first: tokens a round of each role, and of all of them together."""
    roles = sorted({role for role, _ in tokens})
    headings = Counter[str]()
    for (_, heading), size in tokens.items():
        headings[heading] += round(size)
    lines = [f"{'section':<28}{'all':>8}" + "".join(f"{role:>10}" for role in roles)]
    for heading, size in headings.most_common():
        each = "".join(f"{tokens.get((role, heading), 0.0):10.0f}" for role in roles)
        lines.append(f"{heading:<28}{size:8.0f}{each}")
    return "\n".join(lines)


__all__ = ["PREAMBLE", "by_section", "section_bytes", "table"]
