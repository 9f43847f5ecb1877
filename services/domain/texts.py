"""Texts and figures for people."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar, cast

T = TypeVar("T")
_KEPT = "\n\t"
_CODE = "source"
"""Fields of this name hold code, which is compiled: it stays as it was written."""


def shortened(text: str, most: int) -> str:
    """A text of at most `most` characters, cut between words and marked so."""
    if len(text) <= most:
        return text
    end = text.rfind(" ", most // 2, most - 1)
    return f"{text[: end if end > 0 else most - 2]} …"


def visible(text: str) -> str:
    """A text in which nothing acts on whoever shows it: control and invisible characters (terminal commands, changes of
    direction, null) are written as Python's escapes. Newlines, tabs and spaces of all kinds stay."""
    if text.isprintable():
        return text
    return "".join(one if _is_shown(one) else _escape(one) for one in text.replace("\r\n", "\n"))


def with_visible_texts(value: T) -> T:
    """A domain value whose texts are all visible, `source` fields left out; the same object where they were."""
    return cast("T", _made_visible(value))


def _made_visible(value: Any) -> Any:
    if type(value) is str:
        return visible(value)
    if isinstance(value, dict):
        changed: Any = {_made_visible(key): _made_visible(item) for key, item in value.items()}
    elif type(value) in (list, tuple):
        changed = type(value)(_made_visible(item) for item in value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.name != _CODE}
        changes = {name: new for name, old in fields.items() if (new := _made_visible(old)) is not old}
        return dataclasses.replace(value, **changes) if changes else value
    else:
        return value
    return value if changed == value else changed


def _is_shown(one: str) -> bool:
    return one in _KEPT or one.isprintable() or (one.isspace() and one > "\x9f" and one not in "\u2028\u2029")


def _escape(one: str) -> str:
    return one.encode("unicode_escape").decode("ascii")


def percent(share: float) -> str:
    """A share with two significant figures, from 10 % on without decimals: `0.47 %`, `8.4 %`, `84 %`, `160 %`."""
    value = 100 * share
    if not 0 < abs(value) < 9.95:
        return f"{value:.0f} %"
    return f"{float(f'{value:.2g}'):.10f}".rstrip("0").rstrip(".") + " %"


def microseconds(value: float) -> str:
    """A duration with a fitting unit: `532 µs`, `12.3 ms`."""
    if value < 1000:
        return f"{value:.3g} µs"
    return f"{value / 1000:.3g} ms" if value < 1e6 else f"{value / 1e6:.3g} s"


def ratio(value: float | None) -> str:
    """A speedup: `2.31×`; a dash for none."""
    return "–" if value is None else f"{value:.2f}×"


def interval(bounds: tuple[float, float] | None) -> str:
    """A confidence interval of a speedup, or nothing."""
    return "" if bounds is None else f"[{_bound(bounds[0])}, {_bound(bounds[1])}]"


def _bound(value: float) -> str:
    """With as many digits as it takes to see on which side of 1 it lies."""
    digits = next((count for count in (2, 3, 4) if float(f"{value:.{count}f}") != 1.0), 2)
    return f"{value:.{digits}f}"
