"""Record what the referee measured of candidates on this machine, for tests that replay it.

`python -m tests.recording cpu FILE TIMES LOAD honest/silu_simd …` appends a line of JSON to FILE for each evaluation,
as `calls.jsonl` in `tests/unit/workers/referee/gates/checks/recorded/` has them; `… gpu FILE TIMES LOAD
honest/tiny.triton.txt …` one for each that came to be timed, as `device_batches.jsonl` there. LOAD is a word on what
else the machine does.

The referee is a process of its own and says nothing but its report; so it runs from a copy of this tree, whose
integrity gate appends what was recorded to its finding.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from services.domain.evaluations import EvaluationReport

ROOT = Path(__file__).parents[1]
MARK = " RECORDED "
INSIDE = "KERNELWRIGHT_TEST_RECORDING"
SHORTER = """
def _short(value):
    return [_short(one) for one in value] if isinstance(value, (list, tuple)) else float(f"{value:.4g}")
"""
DEVICE_CLOCK = f"""
{SHORTER}
RECORDED = []
_hidden_s = hidden_s


def hidden_s(ours, theirs):
    def side(batches):
        return {{
            "means": _short(batches.means),
            "pairs": _short(batches.pairs),
            "long_walls": _short(batches.long_walls),
            "slots": len(batches.slots),
        }}

    RECORDED.append({{"candidate": side(ours), "baseline": side(theirs)}})
    return _hidden_s(ours, theirs)
"""
IDLE_WINDOWS = """
RECORDED = []
_seen_window = _window
_look_outside, _look_later = _work_outside, still_working


def _window(trial):
    seen = _seen_window(trial)
    RECORDED[-1].append([seen.cpu_s, seen.turns, seen.running_share])
    return seen


def _work_outside(*given):
    RECORDED.append([])
    return _look_outside(*given)


def still_working(trial):
    RECORDED.append([])
    return _look_later(trial)
"""
GATE = f"""
{SHORTER}
import json
from workers.referee.gates.checks import background_work
from dataclasses import replace
from workers.referee.gates.checks import measurement
from workers.referee.timing import cuda_events
RECORDED = []
_measure_once, _examine_it = measurement.measure, examine


def _recorded(trial, number):
    found = _measure_once(trial, number)
    samples = found.samples
    RECORDED.append({{
        "input_set": number,
        "batched": samples.batched,
        "fresh": samples.fresh,
        "off": [samples.off.shorter_s, samples.off.longer_s, samples.off.by_chance],
        **{{name: _short(getattr(samples, name)) for name in
           ("candidate", "baseline", "claimed", "candidate_fetch", "baseline_fetch")}},
    }})
    return found


def examine(trial):
    found = _examine_it(trial)
    recorded = {{"calls": RECORDED, "windows": background_work.RECORDED, "batches": cuda_events.RECORDED[-1:]}}
    detail = found.detail + {MARK!r} + json.dumps(recorded)
    for kept in (RECORDED, background_work.RECORDED, cuda_events.RECORDED):
        kept.clear()
    return replace(found, detail=detail)


measurement.measure = measure = _recorded
"""
FILES = {
    "timing/cuda_events.py": DEVICE_CLOCK,
    "gates/checks/background_work.py": IDLE_WINDOWS,
    "gates/integrity.py": GATE,
}


def copied(folder: Path) -> Path:
    """A copy of the tree whose referee reports what it recorded."""
    tree = folder / "tree"
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".git", ".venv", "node_modules", "build", ".whl"))
    for file, text in FILES.items():
        with (tree / "workers" / "referee" / file).open("a") as source:
            source.write(text)
    return tree


@contextmanager
def gpu() -> Iterator[Callable[[str], EvaluationReport]]:
    """Judges `honest/tiny.triton.txt` of `tests/gpu` on the last GPU."""
    from kernelwright.wiring.workbench import devices, make_workbench
    from tests.gpu.judge import HERE, judge

    bench = make_workbench(Path(tempfile.gettempdir()) / "kernelwright-gpu", devices()[-1])
    yield lambda name: judge(bench, HERE / name, devices()[-1])
    bench.close()


@contextmanager
def cpu() -> Iterator[Callable[[str], EvaluationReport]]:
    """Judges `honest/silu_simd` of `tests/integrity` on this machine's cores."""
    from tests.integrity.conftest import an_evaluator
    from tests.integrity.test_candidates import ROOT, declared, judge

    with an_evaluator() as evaluator:
        yield lambda name: judge(evaluator, declared(ROOT / f"{name}.txt"))


def record(place: str, file: Path, times: int, load: str, names: list[str]) -> None:
    """Judge the candidates and append what was recorded."""
    with file.open("a") as out, {"gpu": gpu, "cpu": cpu}[place]() as judge:
        for turn in range(times):
            for name in names:
                for line in recorded(judge(name), place):
                    kind, _, text = name.partition("/")
                    about = {"name": text.partition(".")[0], "kind": kind, "load": load, "turn": turn}
                    out.write(json.dumps({**about, **line}) + "\n")
                    out.flush()


def recorded(report: EvaluationReport, place: str) -> list[dict[str, Any]]:
    """The lines of a report: none where the evaluation ended before the gate."""
    gate = next((gate for gate in report.gates if MARK in gate.detail), None)
    if gate is None:
        return []
    parts = json.loads(gate.detail.partition(MARK)[2])
    lines = parts["batches"] if place == "gpu" else [{"calls": parts["calls"], "windows": parts["windows"]}]
    return [{"status": gate.status.value, **line} for line in lines]


def main(place: str, file: str, times: str, load: str, *names: str) -> None:
    """Record in a copy, or here where this is the copy."""
    if INSIDE in os.environ:
        record(place, Path(file), int(times), load, list(names))
        return
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tests.recording", place, str(Path(file).absolute()), times, load, *names]
        subprocess.run(command, cwd=copied(Path(folder)), env={**os.environ, INSIDE: "1"}, check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
