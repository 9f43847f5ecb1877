"""How the product's code is arranged: modules per folder, import circles, and class names that mean two things.

Every import counts, also within functions and under `TYPE_CHECKING`. Circles are looked for in each package among what
lies directly in it: a subpackage counts as one, with everything below it. Two modules that import each other are thus
a circle, and so are two folders whose modules do.

    python -m benchmarks.structure              prints circles, names and the folders' modules
    python -m benchmarks.structure --page       writes docs/explanation/structure.md
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("kernelwright", "web", "orchestrator", "workers", "agents", "storage", "services")
SINGLE_MODULES = ("kernelwright_rt.py",)
SHIPPED = "kernelwright_op"
"""The package that exported operators bring along: among the folders, and in no figure."""
PAGE = ROOT / "docs" / "explanation" / "structure.md"
CLASS = re.compile(r"\bclass\s+(\w+)")
"""Every class, and what looks like one in a text: only files with a name that occurs twice have to be parsed."""


_STRING_OR_COMMENT = re.compile(
    r'''(?P<prose>\#[^\n]*|(?<![(,\[{+]\n)^[ \t]*r?"""(?:[^\\]|\\.)*?"""[ \t]*(?:\#[^\n]*)?$)'''
    r'''|(?P<quotes>'{3}|"{3})(?:[^\\]|\\.)*?(?P=quotes)|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"''',
    re.MULTILINE | re.DOTALL,
)
"""`prose` are comments, and triple-quoted strings that are statements. Parsing all modules would take seconds."""


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
    found = [circle_among(siblings) for siblings in _imports_among_siblings(_graph(packages or PACKAGES)).values()]
    return [" -> ".join(circle) for circle in found if circle]


def circle_among(imports: Mapping[str, set[str]]) -> list[str]:
    """A circle among names and what each imports, with its first name repeated at its end; empty if there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        importers: list[str] = error.args[1][::-1]  # graphlib lists what is imported before what imports it
        return importers
    return []


@cache
def _graph(packages: tuple[str, ...]) -> grimp.ImportGraph:
    return grimp.build_graph(*packages, cache_dir=None)


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


def referee_imports() -> tuple[int, int, int]:
    """Layers of `workers/referee`, imports among what lies directly in it, and imports among all of its modules."""
    graph, package = _graph(PACKAGES), "workers.referee"
    members = _imports_among_siblings(graph)[package]
    inside = {package, *graph.find_descendants(package)}
    among = sum(len(inside & graph.find_modules_directly_imported_by(one)) for one in inside)
    return layers(members), sum(map(len, members.values())), among


def layers(imports: Mapping[str, set[str]]) -> int:
    """The length of the longest chain in which each name imports the next."""
    height: dict[str, int] = {}
    for name in TopologicalSorter(imports).static_order():
        height[name] = 1 + max((height[imported] for imported in imports.get(name, ())), default=0)
    return max(height.values())


def code_lines(text: str) -> int:
    """Lines of a module that are neither blank nor comments nor docstrings."""
    code = _STRING_OR_COMMENT.sub(lambda found: "" if found["prose"] else found[0], text)
    return sum(map(bool, map(str.strip, code.splitlines())))


def folders() -> Iterator[tuple[str, str, int]]:
    """Each package, what it is for, and how many modules lie directly in it."""
    for package in (*PACKAGES, SHIPPED):
        for init in sorted((ROOT / package).rglob("__init__.py")):
            if "node_modules" not in init.parts:
                yield str(init.parent.relative_to(ROOT)), _purpose(init.parent), len(list(init.parent.glob("*.py"))) - 1


def _purpose(folder: Path) -> str:
    """The first sentence of a folder's README or, without one, of its docstring."""
    readme = folder / "README.md"
    text = readme.read_text() if readme.exists() else ast.get_docstring(ast.parse((folder / "__init__.py").read_text()))
    paragraphs = (part for part in (text or "").split("\n\n") if not part.startswith("#"))
    words = " ".join(next(paragraphs, "").split()).replace("|", "\\|")
    return re.split(r"(?<=\.)\s+(?=[A-Z`])", words)[0]


def page() -> str:
    """The page about how the code is arranged."""
    lines = [_INTRODUCTION, "| | before the move to folders by subject (2a0d0be) | today |", "|---|---|---|"]
    lines += [f"| {name} | {before} | {today} |" for name, before, today in _figures()]
    lines += [_NOTES, "| folder | holds | modules |", "|---|---|---|"]
    lines += [f"| `{folder}` | {purpose} | {count} |" for folder, purpose, count in folders()]
    return "\n".join(lines) + "\n"


_INTRODUCTION = """\
# How the code is arranged

A package is a folder per subject, imports point one way, and a name means one thing.
`python -m benchmarks.structure --page` writes this page, `tests/unit/test_structure.py` fails for a circle or a second
class of the same name, and `lint-imports` checks the layers that `CONTRIBUTING.md` lists.
"""
_NOTES = """
`kernelwright_rt.py` is one file because finished kernels ship it. Lines of code are lines without docstrings, comments
and blank lines. Layers are the longest chain in which each folder or module of `workers/referee` imports the next.

Every port of `services/ports` has several implementations, or one and a double in `tests/doubles` that passes the same
contract tests (`tests/contracts`). Where neither is needed, callers use the class itself.

## Folders

Each with the first sentence of its README. `kernelwright_op` lies in exported packages, and the figures above leave it
out.
"""


def _figures() -> Iterator[tuple[str, str, str]]:
    """Name, figure before, and figure today of each row."""
    per_folder, texts = modules_per_folder(), {path: (ROOT / path).read_text() for path in modules()}
    lengths = [len(text.splitlines()) for path, text in texts.items() if path.name != "__init__.py"]
    fullest = max(per_folder, key=lambda folder: per_folder[folder])
    referee_layers, imports, module_imports = referee_imports()
    stops = len(re.findall(r"^\| `", (PAGE.parent / "way-of-a-problem.md").read_text(), re.MULTILINE))
    yield "modules", "439 in 34 folders", f"{len(lengths)} in {len(per_folder)} folders"
    yield "most modules in one folder", "48 (`storage`)", f"{per_folder[fullest]} (`{fullest}`)"
    yield "entries at the top of `storage/`, `workers/`", "49, 25", f"{_entries('storage')}, {_entries('workers')}"
    yield "import circles", "5", str(len(import_circles()))
    yield "class names with two meanings", "24", str(len(class_names_defined_twice()))
    yield "modules of more than 400 lines", "4", str(sum(length > 400 for length in lengths))
    yield "modules of less than 25 lines", "17", str(sum(length < 25 for length in lengths))
    yield "lines of code", "42,503", f"{sum(map(code_lines, texts.values())):,}"
    yield "layers of `workers/referee`", "13", str(referee_layers)
    yield "imports between its folders and modules at the top", "116", str(imports)
    yield "imports between all of its modules", "152", str(module_imports)
    yield "stops on [the way of a problem](way-of-a-problem.md)", "24 (at 4383e63)", str(stops)


def _entries(package: str) -> int:
    """Modules and packages directly in a package."""
    within = ROOT / package
    return len(list(within.glob("*.py"))) - 1 + len(list(within.glob("*/__init__.py")))


def main() -> None:
    """Print all three, or write the page."""
    if "--page" in sys.argv[1:]:
        PAGE.write_text(page())
        return
    per_folder = modules_per_folder()
    for folder, count in per_folder.items():
        print(f"{count:4}  {folder}")
    print(f"{sum(per_folder.values())} modules in {len(per_folder)} folders")
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
