"""Modules import each other in one direction, and a class name means one thing.

A circle makes two modules one that is in two files; a name with two meanings makes a search useless.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import structure

UNIT = Path(__file__).parent
MIRRORED = ("agents", "benchmarks", "kernelwright", "orchestrator", "services", "storage", "web", "workers")
"""Folders of unit tests whose files are named after modules or folders of the checkout."""


@pytest.mark.parametrize("package", MIRRORED)
def test_unit_tests_are_named_after_what_they_test(package: str) -> None:
    found = [path.relative_to(UNIT) for path in (UNIT / package).rglob("test_*.py")]
    assert found
    assert [str(path) for path in found if not _names_its_subject(path)] == []


def _names_its_subject(test: Path) -> bool:
    """A module, maybe with a word on what of it is tested, a folder, or the folder that the test's own stands for."""
    subject = structure.ROOT / test.parent / test.stem.removeprefix("test_")
    names = [path.stem for path in subject.parent.glob("*.py")]
    is_module = any(subject.name == name or subject.name.startswith(f"{name}_") for name in names)
    return is_module or subject.is_dir() or subject.name == subject.parent.name


def test_no_modules_or_folders_import_each_other_in_a_circle() -> None:
    assert structure.import_circles() == []


def test_no_class_name_is_defined_twice() -> None:
    assert structure.class_names_defined_twice() == {}


def test_every_folder_says_what_it_is_for() -> None:
    assert [folder for folder, purpose, _ in structure.folders() if not purpose] == []


def test_the_page_about_the_structure_is_current() -> None:
    assert structure.PAGE.read_text() == structure.page(), "run: python -m benchmarks.structure --page"


def test_the_longest_chain_of_imports_counts_as_layers() -> None:
    assert structure.layers({"a": {"b", "d"}, "b": {"c"}, "c": {"d"}}) == 4


def test_lines_of_code_are_neither_blank_nor_comments_nor_docstrings() -> None:
    assert structure.code_lines('"""One.\n\nTwo."""\n\n# three\nSOURCE = """\n#include\n"""\n') == 3


def test_a_circle_is_told_in_the_order_of_its_imports() -> None:
    imports = {"a": {"b"}, "b": {"c"}, "c": {"b"}}
    assert structure.circle_among(imports) in (["b", "c", "b"], ["c", "b", "c"])
    three = structure.circle_among({"a": {"b"}, "b": {"c"}, "c": {"a"}})
    assert {"a": "b", "b": "c", "c": "a"}[three[0]] == three[1]


def test_imports_in_functions_and_for_types_are_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "arranged"
    (package / "lower").mkdir(parents=True)
    for init in (package / "__init__.py", package / "lower" / "__init__.py"):
        init.touch()
    (package / "upper.py").write_text("def late():\n    from arranged.lower import part\n    return part\n")
    (package / "lower" / "part.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from arranged.upper import late\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    circles = structure.import_circles("arranged")
    assert len(circles) == 1
    assert set(circles[0].split(" -> ")) == {"arranged.upper", "arranged.lower"}
