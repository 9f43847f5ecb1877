"""FlashInfer-Bench: `definitions/**/NAME.json`, and `workloads/**/NAME.jsonl` with one trace a line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kernelwright.suites.definitions import Definition, problem_source
from kernelwright.suites.literals import json_file, json_lines
from kernelwright.suites.suite import Reading
from services.domain.errors import ProblemError

FOLDER = "definitions"


class FlashInferBench:
    """A FlashInfer trace set: definitions and workloads; recorded solutions and evaluations are not read."""

    name = "flashinfer-bench"
    advice = "download a trace set (huggingface.co/datasets/flashinfer-ai/flashinfer-trace), and name it with --path"

    def find(self, checkout: Path) -> Sequence[Path]:
        """Definition files."""
        return [path for path in sorted(checkout.rglob("*.json")) if self.holds(path)]

    def holds(self, path: Path) -> bool:
        """Whether a path is a definition file."""
        return path.suffix == ".json" and FOLDER in path.parent.parts and path.is_file()

    def read(self, item: Path) -> Sequence[Reading]:
        """The definition's one problem."""
        data = json_file(item)
        if not isinstance(data, dict) or not isinstance(data.get("reference"), str):
            raise ProblemError("it holds no definition with a reference", remedy="Download it anew.", path=str(item))
        root = next(folder.parent for folder in item.parents if folder.name == FOLDER)
        found = sorted((root / "workloads").rglob(f"{item.stem}.jsonl"))
        if not found:
            reason = f"there are no workloads/**/{item.stem}.jsonl"
            raise ProblemError(reason, remedy="Download the trace set's workloads too.", path=str(item))
        traces = [trace for path in found for trace in json_lines(path)]
        workloads = [trace["workload"] for trace in traces if isinstance(trace, dict) and "workload" in trace]
        definition = Definition(path=item, data=data, reference=data["reference"], blobs=root)
        return [Reading(source=problem_source(definition, workloads), group=data.get("op_type"))]
