"""Lists every design with its family and what became of it: `python -m tests.adversary.table [FAMILY …] [docker]`."""

from __future__ import annotations

import sys
from collections import Counter

from tests.adversary.designs import KINDS, Design, designs, judged, outcome
from tests.contracts.sandboxes import docker_sandbox
from tests.integrity.conftest import an_evaluator
from workers.evaluation.evaluator import Evaluator


def main(arguments: list[str]) -> int:
    """Judge the families named, or all; 1 where an outcome is not what it has to be."""
    families = [name for name in arguments if name != "docker"] or ["*"]
    chosen = [design for family in families for kind in KINDS for design in designs(kind, family)]
    with an_evaluator(docker_sandbox() if "docker" in arguments else None) as evaluator:
        return _tabulate(evaluator, chosen)


def _tabulate(evaluator: Evaluator, chosen: list[Design]) -> int:
    _say("| family | kind | design | what it does | outcome | as it has to be |\n|---|---|---|---|---|---|")
    counts: Counter[str] = Counter()
    for design in chosen:
        found = outcome(design, judged(evaluator, design))
        counts[f"{design.kind}: {'right' if found.right else 'WRONG'}"] += 1
        text = found.text.replace("|", "/").replace("\n", " ")[:160]
        mark = "yes" if found.right else "**NO**"
        _say(f"| {design.family} | {design.kind} | {design.name} | {design.about} | {text} | {mark} |")
    _say("\n" + ", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    return 1 if any(name.endswith("WRONG") for name in counts) else 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
