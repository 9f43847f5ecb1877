"""The Dockerfiles pass their linter, and each installs what its requirements list."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "docker"


def names(file: str) -> dict[str, str | None]:
    """Packages of a list with the version that it pins."""
    lines = [line for line in (DOCKER / file).read_text().splitlines() if line and not line.startswith("#")]
    found = [re.fullmatch(r"([\w-]+)(?:===?(.+))?", line) for line in lines]
    assert all(found), file
    return {one.group(1): one.group(2) for one in found if one}


@pytest.mark.parametrize("file", ["requirements-cpu.txt", "requirements-cuda.txt"])
def test_every_sandbox_image_reads_sources_with_tree_sitter(file: str) -> None:
    assert {"tree-sitter", "tree-sitter-cpp", "tree-sitter-cuda", "torch"} <= names(file).keys()


def test_both_images_have_the_torch_that_the_suite_is_run_with() -> None:
    constraints = dict(
        line.split("==", 1) for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line
    )
    assert names("requirements-cuda.txt")["torch"] == constraints["torch"]


def test_the_toolkit_is_one_release_of_cuda() -> None:
    releases = {version.rsplit(".", 1)[0] for version in names("cuda-toolkit.txt").values() if version is not None}
    assert releases == {"13.0"}
