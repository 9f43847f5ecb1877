"""Pages that follow from the code are current; every page the site names is there; the tutorial's problem is one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from kernelwright.cli.app import app
from kernelwright.documentation import ROOT, pages
from services.domain.problems import Problem
from services.problems.lint import lint_problem
from workers.referee.screen.screen import screen


@pytest.mark.parametrize("name", ["settings.md", "report.md", "commands.md"])
def test_the_committed_reference_is_current(name: str) -> None:
    committed = ROOT / "docs" / "reference" / name
    assert committed.read_text() == pages()[name], "run: python -m kernelwright.documentation"


def _named(entry: object) -> list[str]:
    if isinstance(entry, str):
        return [entry]
    if isinstance(entry, dict):
        return [path for value in entry.values() for path in _named(value)]
    return [path for item in entry for path in _named(item)] if isinstance(entry, list) else []


def test_every_page_of_the_site_exists() -> None:
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    paths = _named(site["nav"])
    assert len(paths) > 10
    assert [path for path in paths if not (ROOT / "docs" / path).is_file()] == []


FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def _links(page: Path) -> list[Path]:
    text = FENCED.sub("", page.read_text())  # code may look like a link
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
    return [page.parent / target for target in targets if "://" not in target]


def test_links_between_pages_lead_somewhere() -> None:
    broken = [
        f"{page.relative_to(ROOT)}: {link}" for page in (ROOT / "docs").rglob("*.md") for link in _links(page)
        if not link.exists()
    ]  # fmt: skip
    assert broken == []


def test_the_tutorials_problem_is_accepted_as_one() -> None:
    text = (ROOT / "docs" / "tutorials" / "first-kernel.md").read_text()
    source = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)[0]
    lint_problem(Problem(name="scale", source=source, path="scale.py"))


def _commands(page: str) -> list[list[str]]:
    """The words of every line of the page's shell blocks that calls the program."""
    text = (ROOT / "docs" / page).read_text()
    lines = [line for language, block in FENCED.findall(text) if language in ("", "sh") for line in block.splitlines()]
    return [line.split() for line in lines if line.startswith("kernelwright ")]


TUTORIALS = ("tutorials/first-kernel.md", "tutorials/gpu-node.md", "tutorials/ci.md", "tutorials/new-backend.md")


@pytest.mark.parametrize("page", ["bench.md", "job-kinds.md", *TUTORIALS])
def test_the_commands_of_a_page_exist_with_their_options(page: str) -> None:
    commands = getattr(get_command(app), "commands")  # noqa: B009 -- typer calls it a group of its own
    found = _commands(page)
    assert found
    for _program, name, *words in found:
        inner = getattr(commands[name], "commands", None)
        command = commands[name] if inner is None else inner.get(words[0], inner.get("run"))
        known = {option for item in command.params for option in item.opts}
        assert [word for word in words if word.startswith("--") and word not in known] == []


def test_the_files_of_the_page_on_job_kinds_exist() -> None:
    words = [word for line in _commands("job-kinds.md") for word in line if word.endswith(".py")]
    assert words
    assert [word for word in words if not (ROOT / word).is_file()] == []


def test_every_setting_that_a_tutorial_names_is_one() -> None:
    known = set(re.findall(r"KERNELWRIGHT_[A-Z_]+", pages()["settings.md"])) | {"KERNELWRIGHT_HOME"}
    named = {
        name for page in TUTORIALS for name in re.findall(r"KERNELWRIGHT_[A-Z_]+", (ROOT / "docs" / page).read_text())
    }
    assert named
    assert {name.removesuffix("_FILE") for name in named} <= known


def test_the_gpu_tutorials_kernel_passes_the_screen() -> None:
    text = (ROOT / "docs" / "tutorials" / "gpu-node.md").read_text()
    (source,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert screen(source, frozenset()) == []
