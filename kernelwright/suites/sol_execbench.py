"""SOL-ExecBench: folders of `definition.json` and `workload.jsonl`, the reference inside or beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kernelwright.problem_files import read_source
from kernelwright.suites.definitions import Definition, problem_source
from kernelwright.suites.literals import json_file, json_lines
from kernelwright.suites.suite import Reading, outdated


class SolExecBench:
    """A checkout of SOL-ExecBench, or its downloaded data."""

    name = "sol-execbench"
    advice = "git clone https://github.com/NVIDIA/SOL-ExecBench, download its data, and name the folder with --path"

    def find(self, checkout: Path) -> Sequence[Path]:
        """Folders with a definition."""
        return [path.parent for path in sorted(checkout.rglob("definition.json"))]

    def holds(self, path: Path) -> bool:
        """Whether a folder has a definition."""
        return (path / "definition.json").is_file()

    def read(self, item: Path) -> Sequence[Reading]:
        """The definition's one problem."""
        path = item / "definition.json"
        data = json_file(path)
        if not isinstance(data, dict):
            raise outdated("it holds no object", path)
        text = data.get("reference") or read_source(item / "reference.py", "reference")
        definition = Definition(path=path, data=data, reference=str(text), blobs=item)
        source = problem_source(definition, json_lines(item / "workload.jsonl"))
        return [Reading(source=source, group=data.get("op_type") or item.parent.name)]
