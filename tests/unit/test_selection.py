"""The fixed selections of the corpora: what they name exists, and every family has its share."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.selection import parameters, selected

TESTS = Path(__file__).parents[1]
SHARE = 2


def names(kind: str) -> Counter[str]:
    """How many designs of a kind each family of the adversary has."""
    return Counter(path.parents[1].name for path in (TESTS / "adversary").glob(f"*/{kind}/*.py"))


@pytest.mark.parametrize("kind", ["cheats", "honest"])
def test_every_family_of_the_adversary_has_its_share(kind: str) -> None:
    chosen = selected(TESTS / "adversary" / "selected.txt")
    of_kind = [
        name for name in chosen if (TESTS / "adversary" / name.replace("/", f"/{kind}/")).with_suffix(".py").exists()
    ]
    assert Counter(name.split("/")[0] for name in of_kind) == {
        family: min(SHARE, count) for family, count in names(kind).items()
    }


@pytest.mark.parametrize("corpus", ["adversary", "integrity"])
def test_a_selection_names_what_exists_and_names_it_once(corpus: str) -> None:
    chosen = selected(TESTS / corpus / "selected.txt")
    there = {path.stem for path in (TESTS / corpus).glob("**/cheats/*.*")} | {
        path.stem for path in (TESTS / corpus).glob("**/honest/*.*")
    }
    assert [name for name in chosen if name.rpartition("/")[2] not in there] == []
    assert max(Counter(chosen).values()) == 1


def test_what_is_not_selected_is_marked(tmp_path: Path) -> None:
    file = tmp_path / "selected.txt"
    file.write_text("# a comment\n\none\n")
    found = parameters(["one", "two"], str, file)
    assert [(one.id, [mark.name for mark in one.marks]) for one in found] == [("one", []), ("two", ["full"])]
