"""robust-kbench: `config_forward.json` and `config_backward.json` beside `func_forward.py` and `func_backward.py`.

A configuration has single settings (timed by the suite) and several (checked by it): lists of inputs', constructor's
and shared arguments, of which every combination is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from kernelwright.suites.composition import init_function, input_functions, module, split_by, variant
from kernelwright.suites.literals import json_file
from kernelwright.suites.modules import bundled, portable
from kernelwright.suites.suite import Reading, outdated

_CONFIG = re.compile(r"config_(forward|backward)\.json")
_KINDS = ("single", "multi")


class RobustKBench:
    """A checkout of robust-kbench."""

    name = "robust-kbench"
    advice = "git clone https://github.com/SakanaAI/robust-kbench, and name its folder with --path"

    def find(self, checkout: Path) -> Sequence[Path]:
        """Configuration files with a function beside them."""
        return [path for path in sorted(checkout.rglob("config_*.json")) if self.holds(path)]

    def holds(self, path: Path) -> bool:
        """Whether a path is a configuration with its function beside it."""
        return path.is_file() and _CONFIG.fullmatch(path.name) is not None and _function(path).is_file()

    def read(self, item: Path) -> Sequence[Reading]:
        """One problem for each way to build the model; backward ones ask for gradients."""
        config = json_file(item)
        settings = [
            {"init": init, "inputs": inputs} for kind in _KINDS for init, inputs in _settings(config, kind, item)
        ]
        if not settings:
            raise outdated("it has no settings", item)
        text = bundled(_function(item), ["Model", "get_inputs"], {})
        groups = split_by(settings, ["init"])
        backward = "BACKWARD = True" if item.name == "config_backward.json" else ""
        readings = []
        for group in groups:
            calls = [f"_drawn(**{shape['inputs']!r})" for shape in group]
            init = init_function(repr(group[0]["init"]))
            source = portable(module(text, "_drawn = get_inputs", input_functions(calls), init, backward))
            named = variant([group[0]["init"]], [[one[0]["init"]] for one in groups])
            readings.append(Reading(source=source, variant=named, group=_label(item.parent / "filter_results.json")))
        return readings


def _function(config: Path) -> Path:
    return config.with_name(config.name.replace("config_", "func_").replace(".json", ".py"))


def _settings(config: Any, kind: str, item: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Constructor's and inputs' arguments, shared ones in both; `multi` settings that are all empty say nothing."""
    lists = [config.get(f"{kind}_{what}_configs") if isinstance(config, dict) else None for what in _WHAT]
    if any(not isinstance(one, list) or not all(isinstance(entry, Mapping) for entry in one) for one in lists):
        raise outdated(f"it has no lists of {kind} settings", item)
    if kind == "multi" and not any(entry for one in lists for entry in one or []):
        return
    for inputs, init, shared in product(*(one or [{}] for one in lists)):
        yield {**init, **shared}, {**inputs, **shared}


_WHAT = ("input", "init", "shared")


def _label(path: Path) -> str | None:
    """What the suite's own filters found: `clean`, or their names. None where it was not filtered."""
    if not path.is_file():
        return None
    found = json_file(path)
    flags = [name.removeprefix("filter_") for name, value in found.items() if value is True]
    return "clean" if not flags else f"flagged: {', '.join(flags)}"
