"""Record what batches of calls take on this machine's GPU, for tests that replay it.

`python -m tests.gpu.record FILE TIMES honest/tiny.triton.txt …` appends a line of JSON to FILE for each candidate that
came to be timed, as `tests/unit/workers/referee/recorded/device_batches.jsonl` has them (with the load of the host
besides). The referee is a process of its own and says nothing but its report; so it runs from a copy of this tree,
whose integrity gate appends what was recorded to its finding.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
MARK = " RECORDED "
INSIDE = "KERNELWRIGHT_TEST_RECORDING"
STOPWATCH = """
RECORDED = []
_hidden_s = hidden_s


def hidden_s(ours, theirs):
    def side(batches):
        return {
            "seconds": [float(f"{value:.4g}") for value in batches.seconds],
            "pairs": [[float(f"{value:.5g}") for value in pair] for pair in batches.pairs],
            "long_walls": [float(f"{value:.5g}") for value in batches.long_walls],
            "slots": len(batches.slots),
        }

    RECORDED.append({"candidate": side(ours), "baseline": side(theirs)})
    return _hidden_s(ours, theirs)
"""
GATE = f"""
import json
from workers.referee.timing import cuda_events
_examine = IntegrityGate.examine


def examine(self, trial):
    found = _examine(self, trial)
    told = json.dumps(cuda_events.RECORDED[-1:])
    cuda_events.RECORDED.clear()
    return replace(found, detail=found.detail + {MARK!r} + told)


IntegrityGate.examine = examine
"""


def copied(folder: Path) -> Path:
    """A copy of the tree whose referee tells what it recorded."""
    tree = folder / "tree"
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".git", ".venv", "node_modules", "build", ".whl"))
    for file, text in (("timing/cuda_events.py", STOPWATCH), ("gates/integrity.py", GATE)):
        with (tree / "workers" / "referee" / file).open("a") as source:
            source.write(text)
    return tree


def record(file: Path, times: int, names: list[str]) -> None:
    """Judge the candidates and append what was recorded."""
    from kernelwright.wiring.workbench import devices, make_workbench
    from tests.gpu.judge import HERE, judge

    bench = make_workbench(Path(tempfile.gettempdir()) / "kernelwright-gpu", devices()[-1])
    with file.open("a") as out:
        for turn in range(times):
            for name in names:
                report = judge(bench, HERE / name, devices()[-1])
                gate = next(gate for gate in report.gates if gate.name.value == "integrity")
                recorded = json.loads(gate.detail.partition(MARK)[2] or "[]")
                kind, _, text = name.partition("/")
                told = {"name": text.partition(".")[0], "kind": kind, "turn": turn, "status": gate.status.value}
                out.writelines(json.dumps({**told, **one}) + "\n" for one in recorded)
                out.flush()
    bench.close()


def main(file: str, times: str, *names: str) -> None:
    """Record in a copy, or here where this is the copy."""
    if INSIDE in os.environ:
        record(Path(file), int(times), list(names))
        return
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tests.gpu.record", str(Path(file).absolute()), times, *names]
        subprocess.run(command, cwd=copied(Path(folder)), env={**os.environ, INSIDE: "1"}, check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
