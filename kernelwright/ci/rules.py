"""What is decided from a report, a threshold and the figure that was recorded."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kernelwright.ci.plan import Task
from services.domain.evaluations import EvaluationReport, Verdict
from services.domain.gates import GateStatus
from services.domain.measurements import Gain, Speedup, gain_of


class Colour(StrEnum):
    """How an entry ended."""

    GREEN = "green"
    """Surely faster than the fastest baseline, and above its threshold."""
    HOLDS = "holds"
    """Above its own threshold, which is below 1, and not surely faster."""
    RED = "red"
    UNKNOWN = "unknown"
    """The machine failed: nothing is known about the kernel."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What judging an entry gave."""

    report: EvaluationReport | None
    """Of the kernel, or of the best one found; None where there is none."""
    link: str | None = None
    """Where people can look at it."""
    message: str = ""
    """Why there is no report."""
    failed: bool = False
    """Whether the machine is to blame for that."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """An entry's outcome."""

    task: Task
    judged: Judged
    colour: Colour
    reason: str
    """One sentence for a reviewer."""

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong with it."""
        return self.colour in (Colour.GREEN, Colour.HOLDS)

    @property
    def speedup(self) -> Speedup | None:
        """Of an accepted kernel."""
        report = self.judged.report
        return report.speedup if report is not None and report.accepted else None


def decide(task: Task, judged: Judged) -> Result:
    """A kernel is red when it is not accepted, not surely above its threshold, or slower than recorded beyond noise."""
    colour, reason = _decision(task, judged)
    return Result(task=task, judged=judged, colour=colour, reason=reason)


def exit_code(results: list[Result]) -> int:
    """0 all hold, 1 some red, 2 none red but some unknown."""
    colours = {result.colour for result in results}
    return 1 if Colour.RED in colours else 2 if Colour.UNKNOWN in colours else 0


def _decision(task: Task, judged: Judged) -> tuple[Colour, str]:
    report = judged.report
    if report is None:
        return (Colour.UNKNOWN if judged.failed else Colour.RED), judged.message
    if report.verdict is Verdict.INFRASTRUCTURE_ERROR:
        return Colour.UNKNOWN, f"could not be judged: {_detail(report) or 'the machine failed'}"
    if not report.accepted:
        gate = f" at {report.failed_gate.value}" if report.failed_gate else ""
        return Colour.RED, f"{report.verdict.value}{gate}: {_detail(report)}"
    if task.kernel is None and gain_of(report.speedup) in (Gain.WITHIN_NOISE, Gain.NONE):
        return Colour.RED, f"no gain: {judged.message or 'the best kernel is not surely faster than the best baseline'}"
    return _figures(task, report.speedup)


def _figures(task: Task, speedup: Speedup) -> tuple[Colour, str]:
    measured = speedup.best_baseline
    if measured is None:
        return Colour.RED, "no speedup was measured: ask for at least one baseline"
    lowest, highest = speedup.ci95 or (measured, measured)
    if lowest <= task.min_speedup:
        below = "is" if highest <= task.min_speedup else "may be"
        return Colour.RED, (
            f"{measured:.2f}× the fastest baseline {below} below the threshold {task.min_speedup:.2f}×: "
            f"the interval starts at {lowest:.2f}×"
        )
    if task.recorded is not None and highest < task.recorded * (1 - task.max_regression):
        lost = 1 - measured / task.recorded
        return Colour.RED, (
            f"regressed: {measured:.2f}× is {lost:.0%} below the recorded {task.recorded:.2f}× "
            f"(at most {task.max_regression:.0%} is allowed, and the interval ends at {highest:.2f}×)"
        )
    if task.kernel is not None and gain_of(speedup) is not Gain.SURELY:
        return Colour.HOLDS, f"accepted, not surely faster than the fastest baseline ({task.min_speedup:.2f}× suffices)"
    return Colour.GREEN, "accepted"


def _detail(report: EvaluationReport) -> str:
    """What the gate that decided says."""
    bad = (GateStatus.FAILED, GateStatus.SUSPICIOUS)
    return next((gate.detail for gate in report.gates if gate.status in bad and gate.detail), "")
