"""What can be read and run of published suites: `python -m benchmarks.suites NAME=CHECKOUT@REVISION …`.

With `--validate`, the referee validates each problem as it does for a job: see `benchmarks.suite_validation`.

Every problem is read, checked by `lint_problem`, and its model built and called in a sandbox on tensors without
values, which takes no memory, however large its shapes are. `kernelbench` stands for its four levels. Nothing is timed,
and no kernel is written.
"""

from __future__ import annotations

import collections
import math
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.suite_scaling import Cost
from kernelwright.suites.kernelbench import LEVELS
from kernelwright.suites.known import open_suite
from kernelwright.suites.suite import SuiteProblem
from kernelwright.wiring.workbench import make_sandbox
from services.domain.errors import ProblemError
from services.ports.sandboxes import Mount, SandboxLimits
from services.problems.lint import lint_problem
from workers.ipc.wire import Channel, WireError
from workers.sandboxes.forked import ForkedProcess
from workers.sandboxes.process import ProcessSandbox

LIMITS = SandboxLimits(wall_s=3600.0, memory_bytes=4 << 30)
PROBLEM_S = 60.0
REASON = 110


_HEAD = """
Written by `python -m benchmarks.suites`; no kernel is written and nothing is timed. *Runnable* means read, without a
fault that reading finds, and its model built and called in a sandbox on tensors without values, on a CPU. That takes no
memory, so problems count whose inputs fit no CPU machine. What needs values to decide what it computes (`.item()`,
masks as indices) cannot be called so and is *untraced*, though it may run; so is what needs a package that is missing
here, or a GPU.
""".strip().splitlines()


@dataclass(frozen=True)
class Outcome:
    """What became of one problem."""

    key: str
    stage: str
    """`refused` when read, `fault` found by lint, `untraced`, or `runnable`."""
    reason: str = ""


class Tracer:
    """A sandboxed process for one problem after the other; a new one after each that it did not survive."""

    def __init__(self, sandbox: ProcessSandbox) -> None:
        self._sandbox = sandbox
        self._running: tuple[ForkedProcess, Channel] | None = None

    def cost(self, source: str, *, sets: bool = False) -> Cost:
        """What calling the problem costs, on all its open input sets with `sets`, and why it cannot be called."""
        if self._running is None:
            here = Mount(path=Path(__file__).resolve().parent)
            process = self._sandbox.fork("benchmarks.suite_tracing:trace", LIMITS, mounts=[here])
            self._running = (process, Channel(process.socket))
        process, channel = self._running
        try:
            channel.send({"source": source, "sets": sets})
            found = channel.receive(timeout_s=PROBLEM_S).body
            return Cost(float(str(found["cost"])), str(found["reason"]))
        except WireError as error:
            process.kill()
            self._running = None
            return Cost(math.inf, f"no answer: {error}")

    def close(self) -> None:
        """End the process."""
        if self._running is not None:
            self._running[0].kill()


def outcome(item: SuiteProblem, tracer: Tracer) -> Outcome:
    """Read, lint, trace."""
    if item.refusal is not None:
        return Outcome(item.key, "refused", item.refusal.reason)
    try:
        lint_problem(item.problem)
    except ProblemError as error:
        return Outcome(item.key, "fault", error.reason)
    reason = tracer.cost(item.problem.source).reason
    return Outcome(item.key, "untraced" if reason else "runnable", reason)


def problems_of(name: str, checkout: Path) -> Iterator[SuiteProblem]:
    """All problems of a checkout."""
    for level in LEVELS if name == "kernelbench" else (None,):
        yield from open_suite(name, checkout, level).problems()


def page(found: Sequence[tuple[str, str, Sequence[Outcome]]]) -> str:
    """The table, and under it every reason with its number and an example."""
    lines = [
        "# Published suites: what is read and what runs",
        "",
        *_HEAD,
        "",
        "| suite | revision | problems | refused when read | faults | untraced | runnable |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, revision, outcomes in found:
        counts = collections.Counter(one.stage for one in outcomes)
        cells = [str(counts[stage]) for stage in ("refused", "fault", "untraced", "runnable")]
        lines.append(f"| {name} | {revision} | {len(outcomes)} | {' | '.join(cells)} |")
    for name, _, outcomes in found:
        reasons: dict[tuple[str, str], list[str]] = {}
        for one in outcomes:
            if one.stage != "runnable":
                reasons.setdefault((one.stage, short(one.reason)), []).append(one.key)
        if reasons:
            lines += ["", f"## {name}", "", "| stage | problems | reason | for example |", "|---|---|---|---|"]
            ordered = sorted(reasons.items(), key=lambda entry: (entry[0][0], -len(entry[1])))
            lines += [f"| {stage} | {len(keys)} | {text} | `{keys[0]}` |" for (stage, text), keys in ordered]
    return "\n".join(lines) + "\n"


def short(reason: str) -> str:
    """A reason without sizes and addresses, so that equal ones are counted together."""
    plain = re.sub(r"0x[0-9a-f]+|\d{3,}", "…", " ".join(reason.split())).replace("|", "\\|").replace("<", "&lt;")
    return plain if len(plain) <= REASON else plain[:REASON] + "…"


def main(arguments: Sequence[str]) -> int:
    """Write the page for the checkouts that are named."""
    if "--validate" in arguments:
        from benchmarks import suite_validation

        return suite_validation.main([one for one in arguments if one != "--validate"])
    sandbox = make_sandbox()
    found = []
    for argument in arguments:
        name, _, place = argument.partition("=")
        checkout, _, revision = place.rpartition("@")
        tracer = Tracer(sandbox)
        outcomes = [outcome(item, tracer) for item in problems_of(name, Path(checkout))]
        tracer.close()
        found.append((name, revision, outcomes))
        counts = collections.Counter(one.stage for one in outcomes)
        sys.stderr.write(f"{name}: {len(outcomes)} problems, {dict(counts)}\n")
    sandbox.close()
    sys.stdout.write(page(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
