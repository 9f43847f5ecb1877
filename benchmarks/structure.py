"""How the product's code is arranged: modules per folder, import circles, and class names that mean two things.

Every import counts, also within functions and under `TYPE_CHECKING`. Circles are looked for in each package among what
lies directly in it: a subpackage counts as one, with everything below it. Two modules that import each other are thus
a circle, and so are two folders whose modules do.

    python -m benchmarks.structure
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("kernelwright", "web", "orchestrator", "workers", "agents", "storage", "services")
SINGLE_MODULES = ("kernelwright_rt.py",)
CLASS = re.compile(r"\bclass\s+(\w+)")
"""Every class, and what looks like one in a text: only files with a name that occurs twice have to be parsed."""


def modules() -> list[Path]:
    """The product's modules, relative to the checkout."""
    found = [path.relative_to(ROOT) for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    return sorted(path for path in found if "node_modules" not in path.parts) + [Path(name) for name in SINGLE_MODULES]


def modules_per_folder() -> dict[str, int]:
    """Folder to the number of modules directly in it, without `__init__.py`."""
    return dict(sorted(Counter(str(path.parent) for path in modules() if path.name != "__init__.py").items()))


def class_names_defined_twice() -> dict[str, list[str]]:
    """Class name to the modules that define a class of that name, where there are two or more."""
    texts = {path: (ROOT / path).read_text() for path in modules()}
    named = {path: CLASS.findall(text) for path, text in texts.items()}
    often = {name for name, count in Counter(name for names in named.values() for name in names).items() if count > 1}
    definitions: defaultdict[str, list[str]] = defaultdict(list)
    for path, text in texts.items():
        if often.isdisjoint(named[path]):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                definitions[node.name].append(str(path))
    return {name: places for name, places in sorted(definitions.items()) if len(places) > 1}


def import_circles(*packages: str) -> list[str]:
    """A circle, as `a -> b -> a`, for each package that has one, and one among `packages` (default: the product's)."""
    graph = grimp.build_graph(*(packages or PACKAGES), cache_dir=None)
    found = [circle_among(siblings) for siblings in _imports_among_siblings(graph).values()]
    return [" -> ".join(circle) for circle in found if circle]


def circle_among(imports: Mapping[str, set[str]]) -> list[str]:
    """A circle among names and what each imports, with its first name repeated at its end; empty if there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        importers: list[str] = error.args[1][::-1]  # graphlib lists what is imported before what imports it
        return importers
    return []


def _imports_among_siblings(graph: grimp.ImportGraph) -> dict[str, dict[str, set[str]]]:
    """Package ("" holds the packages) to which of its direct members import which others."""
    within: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for importer in graph.modules:
        for imported in graph.find_modules_directly_imported_by(importer):
            package, one, other = _siblings(importer, imported)
            if one != other:
                within[package][one].add(other)
    return {package: dict(imports) for package, imports in sorted(within.items())}


def _siblings(importer: str, imported: str) -> tuple[str, str, str]:
    """The package in which two modules part, and its members that hold them; the same twice if one holds the other."""
    ours, theirs = importer.split("."), imported.split(".")
    depth = next((at for at, pair in enumerate(zip(ours, theirs, strict=False)) if len(set(pair)) > 1), None)
    if depth is None:
        shared = min(importer, imported, key=len)
        return shared.rpartition(".")[0], shared, shared
    return ".".join(ours[:depth]), ".".join(ours[: depth + 1]), ".".join(theirs[: depth + 1])


def main() -> None:
    """Print all three."""
    folders = modules_per_folder()
    for folder, count in folders.items():
        print(f"{count:4}  {folder}")
    print(f"{sum(folders.values())} modules in {len(folders)} folders")
    circles = import_circles()
    print(f"{len(circles)} import circles", *circles, sep="\n  ")
    twice = class_names_defined_twice()
    print(
        f"{len(twice)} class names defined twice",
        *(f"{name}: {', '.join(at)}" for name, at in twice.items()),
        sep="\n  ",
    )


if __name__ == "__main__":
    main()
