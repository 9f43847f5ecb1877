"""Edit blocks: passages of the start point with what is to stand in their place.

Reading is tolerant (white space at line ends, another indentation of the whole passage), the result is strict: a
passage that is not there, or there twice, is an error that says so; nothing is guessed.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from agents.roles.replies import Edit
from services.domain.errors import ReplyError

_BLOCK = re.compile(
    r"^[ \t]*<{5,9} ?SEARCH[^\n]*\n(?P<search>.*?)^[ \t]*={5,9}[ \t]*\n(?P<replace>.*?)^[ \t]*>{5,9} ?REPLACE[^\n]*$",
    re.DOTALL | re.MULTILINE,
)
_OPENING = re.compile(r"^[ \t]*<{5,9} ?SEARCH", re.MULTILINE)


_MOST_QUOTED = 12
"""Lines of the source that a complaint quotes."""
_MOST_SEARCHED = 5000
"""Lines of a source that is looked through for a similar passage."""
_LEAST_LIKENESS = 0.5
"""Below it, on average over the lines, nothing is similar."""


def edit_blocks(text: str) -> tuple[Edit, ...]:
    """The SEARCH/REPLACE blocks of a text, in order. Raises `ReplyError` where one is not closed or is empty."""
    found: list[Edit] = []
    for match in _BLOCK.finditer(text):
        search = match["search"].removesuffix("\n")
        if not search.strip():
            raise ReplyError(f"edit block {len(found) + 1}: SEARCH is empty")
        found.append(Edit(search=search, replace=match["replace"].removesuffix("\n")))
    if len(found) != len(_OPENING.findall(text)):
        raise ReplyError(
            "an edit block is not complete: it needs SEARCH, =======, and REPLACE, each on a line of its own"
        )
    return tuple(found)


def apply_edits(source: str, edits: Sequence[Edit]) -> str:
    """The source with the edits applied in order. Raises `ReplyError` where a passage is not there exactly once."""
    for number, edit in enumerate(edits):
        source = _apply(source, edit, number)
    return source


def _apply(source: str, edit: Edit, number: int) -> str:
    count = source.count(edit.search)
    if count == 1:
        return source.replace(edit.search, edit.replace)
    if count == 0:
        places = _loose_places(source.splitlines(), edit.search.strip("\n").splitlines())
        if len(places) == 1:
            return _replaced(source, places[0], edit)
        count = len(places)
    hint = _nearest(source.splitlines(), edit.search.strip("\n").splitlines()) if count == 0 else ""
    raise ReplyError(f"edits.{number}.search: occurs {count} times in the start point, must occur once{hint}")


def _nearest(lines: list[str], wanted: list[str]) -> str:
    """The passage of the source that is most like the wanted one, quoted so that the next try can copy it."""
    height = min(len(wanted), _MOST_QUOTED)
    sought = [line.strip() for line in wanted[:height]]
    bare = [line.strip() for line in lines]

    def likeness(first: int) -> float:
        pairs = zip(sought, bare[first : first + height], strict=True)
        return sum(difflib.SequenceMatcher(None, one, other, autojunk=False).quick_ratio() for one, other in pairs)

    places = range(max(0, len(lines) - height + 1)) if len(lines) <= _MOST_SEARCHED else range(0)
    first = max(places, key=likeness, default=None)
    if first is None or likeness(first) < _LEAST_LIKENESS * height:
        return ""
    passage = "\n".join(lines[first : first + height])
    return f"; nearest are the lines {first + 1} to {first + height}:\n{passage}"


def _loose_places(lines: list[str], wanted: list[str]) -> list[int]:
    """Where the wanted lines stand if indentation as a whole and white space at line ends are forgiven."""
    bare = _bare(wanted)
    return [first for first in range(len(lines) - len(wanted) + 1) if _bare(lines[first : first + len(wanted)]) == bare]


def _replaced(source: str, first: int, edit: Edit) -> str:
    """The source with whole lines replaced, the new ones moved to the indentation found there."""
    lines, wanted = source.splitlines(), edit.search.strip("\n").splitlines()
    shift = _indent(lines[first : first + len(wanted)]) - _indent(wanted)
    new = [_shifted(line, shift) for line in edit.replace.strip("\n").splitlines()]
    end = "\n" if source.endswith("\n") else ""
    return "\n".join([*lines[:first], *new, *lines[first + len(wanted) :]]) + end


def _shifted(line: str, shift: int) -> str:
    if not line.strip():
        return ""
    if shift >= 0:
        return " " * shift + line
    return line[min(-shift, len(line) - len(line.lstrip(" "))) :]


def _indent(lines: list[str]) -> int:
    return min((len(line) - len(line.lstrip(" ")) for line in lines if line.strip()), default=0)


def _bare(lines: list[str]) -> list[str]:
    """Lines without their common indentation and without white space at their ends."""
    indent = _indent(lines)
    return [line[indent:].rstrip() if line.strip() else "" for line in lines]
