"""`TUNABLES = {"BLOCK": [128, 256], …}` in a candidate's module: read, chosen from, written back with one value each.

Pure functions over the source's text: the module is not imported. What an export writes and what a worker tries are
made by the same function, so a tried setting is the very source that ships.
"""

from __future__ import annotations

import ast
import hashlib
import itertools
import math
import random
from collections.abc import Iterator, Mapping

from services.domain.python_source import parsed, split_lines

Plain = int | float | str | bool
Setting = Mapping[str, Plain]
"""One value for each parameter."""

NAME = "TUNABLES"
REMEDY = f'write {NAME} once, at module level, as in {NAME} = {{"BLOCK": [128, 256], "UNROLL": [1, 2, 4]}}'
MAX_PARAMETERS = 16
MAX_VALUES = 256
MAX_TEXT = 200


class TunablesError(ValueError):
    """`TUNABLES` cannot be searched. `line` is where it stands."""

    def __init__(self, line: int, reason: str) -> None:
        self.line = line
        super().__init__(f"{reason}: {REMEDY}")


def declared(source: str) -> dict[str, tuple[Plain, ...]] | None:
    """The declared values by parameter, in order and each once; None where nothing is declared.

    Raises `TunablesError` for anything but a dict of non-empty lists of numbers, texts and truth values, and
    `SyntaxError` where the source is no Python."""
    found = _dict_of(parsed(source))
    if found is None:
        return None
    if len(found.keys) > MAX_PARAMETERS:
        raise TunablesError(found.lineno, f"{NAME} has {len(found.keys)} parameters, more than {MAX_PARAMETERS}")
    values = {_name(key, found): _values(key, node) for key, node in zip(found.keys, found.values, strict=True)}
    if len(values) != len(found.keys):
        raise TunablesError(found.lineno, f"{NAME} names a parameter twice")
    return values


def with_values(source: str, setting: Setting) -> str:
    """The source with one-element lists in the place of the declared ones. Later lines keep their numbers.

    A parameter that the setting leaves out stays as it is."""
    found = _dict_of(parsed(source))
    if found is None:
        return source
    lines = split_lines(source)
    for key, node in reversed(list(zip(found.keys, found.values, strict=True))):
        name = _name(key, found)
        if name in setting:
            _replace(lines, node, f"{setting[name]!r}")
    return "".join(lines)


def combinations(values: Mapping[str, tuple[Plain, ...]]) -> int:
    """How many settings there are."""
    return math.prod(len(options) for options in values.values())


def settings(values: Mapping[str, tuple[Plain, ...]], most: int) -> list[dict[str, Plain]]:
    """At most `most` settings, the first one that of all first values.

    All of them where they are few enough; else those that change one parameter of the first, then others spread over
    the rest. The same values always give the same settings."""
    names = list(values)
    if combinations(values) <= most:
        return [dict(zip(names, chosen, strict=True)) for chosen in itertools.product(*values.values())]
    found: dict[tuple[Plain, ...], None] = {}
    neighbours = itertools.islice(_neighbours(values), max(1, most // 2))
    for chosen in itertools.chain(neighbours, _scattered(values)):
        found.setdefault(chosen)
        if len(found) == most:
            break
    return [dict(zip(names, chosen, strict=True)) for chosen in found]


def described(setting: Setting) -> str:
    """A setting in words: `BLOCK=128, UNROLL=4`."""
    return ", ".join(f"{name}={value!r}" for name, value in setting.items())


def _neighbours(values: Mapping[str, tuple[Plain, ...]]) -> Iterator[tuple[Plain, ...]]:
    first = [options[0] for options in values.values()]
    yield tuple(first)
    for column in itertools.zip_longest(*(options[1:] for options in values.values())):
        for position, option in enumerate(column):
            if option is not None:
                yield (*first[:position], option, *first[position + 1 :])


def _scattered(values: Mapping[str, tuple[Plain, ...]]) -> Iterator[tuple[Plain, ...]]:
    seed = hashlib.sha256(repr(sorted(values.items())).encode(errors="replace")).digest()
    generator = random.Random(seed)  # noqa: S311 - variety that repeats itself
    while True:
        yield tuple(generator.choice(options) for options in values.values())


def _dict_of(tree: ast.Module) -> ast.Dict | None:
    """The dict that is assigned to the name. Raises `TunablesError` for anything else under it."""
    assigned = [node for node in tree.body if NAME in _targets(node)]
    if not assigned:
        return None
    if len(assigned) > 1:
        raise TunablesError(assigned[1].lineno, f"{NAME} is assigned twice")
    value = getattr(assigned[0], "value", None)
    if not isinstance(value, ast.Dict) or not value.keys:
        raise TunablesError(assigned[0].lineno, f"{NAME} is not a dict written out with its values")
    return value


def _targets(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Assign):
        return [ast.unparse(target) for target in node.targets]
    return [ast.unparse(node.target)] if isinstance(node, ast.AnnAssign | ast.AugAssign) else []


def _name(key: ast.expr | None, found: ast.Dict) -> str:
    if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
        raise TunablesError(found.lineno, f"the names in {NAME} are not all texts")
    return key.value


def _values(key: ast.expr | None, node: ast.expr) -> tuple[Plain, ...]:
    name = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""
    try:
        given = ast.literal_eval(node) if isinstance(node, ast.List | ast.Tuple) else ()
    except (ValueError, TypeError, MemoryError, RecursionError):
        given = ()
    if not given or not all(_is_plain(value) for value in given):
        raise TunablesError(
            node.lineno, f'{NAME}["{name}"] is not a non-empty list of numbers, short texts and truth values'
        )
    if len(given) > MAX_VALUES:
        raise TunablesError(node.lineno, f'{NAME}["{name}"] has {len(given)} values, more than {MAX_VALUES}')
    return tuple({(type(value), value): value for value in given}.values())


def _is_plain(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= MAX_TEXT
    return isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value))


def _replace(lines: list[str], node: ast.expr, value: str) -> None:
    """Put `[value]` where a list stood, with as many line ends."""
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    first, last = node.lineno - 1, node.end_lineno - 1
    before = lines[first].encode()[: node.col_offset].decode()
    after = lines[last].encode()[node.end_col_offset :].decode()
    text = f"{before}[{value}{chr(10) * (last - first)}]{after}"
    lines[first : last + 1] = split_lines(text)
