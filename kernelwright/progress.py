"""A job's events as lines for people, on standard error."""

from __future__ import annotations

import textwrap
from typing import Any

from rich.console import Console
from rich.markup import escape

from services.domain.evaluations import EvaluationReport
from services.domain.events import Event
from services.domain.gates import GateStatus
from services.domain.measurements import Gain
from services.domain.texts import microseconds, percent, ratio

MARGIN = 12
"""Columns before what an agent says: two blanks, its name, blanks."""
MOST_LINES = 2
"""Lines of a terminal that one agent's words may take; the whole text is in the trajectory."""

_VERDICTS = {
    "accepted": "accepted",
    "suspicious": "[yellow]suspicious[/]",
    "rejected": "[red]rejected[/]",
    "infrastructure_error": "[magenta]machine failed[/]",
}


class Progress:
    """Prints what happens to one job, as it happens, with a spinner for what is under way on terminals."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last_words = ""
        """What an agent said last: not said again where it is why the step failed."""
        self._is_written = False
        """Whether an agent had a part in the round's kernel; else it is said whose it is."""
        self._spinner = console.status("waiting for an orchestrator") if console.is_terminal else None

    def __enter__(self) -> Progress:
        if self._spinner:
            self._spinner.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._spinner:
            self._spinner.stop()

    def listen(self, event: Event, report: EvaluationReport | None) -> None:
        """One event of a job in this process."""
        self.show(event.kind.value, event.data, report)

    def show(self, kind: str, data: dict[str, Any], report: EvaluationReport | None = None) -> None:
        """One event; `report` is its candidate's, for `evaluation.finished`."""
        handler = getattr(self, f"_{kind.replace('.', '_')}", None)
        if kind == "evaluation.finished":
            self._judged(data, report)
        elif handler is not None:
            handler(data)

    def _print(self, text: str) -> None:
        self._console.print(text)

    def _say(self, who: str, words: str, *, style: str = "", most_lines: int = MOST_LINES) -> None:
        """A speaker and plain words: on a terminal wrapped under one another and cut, elsewhere one whole line."""
        lines = self._wrapped(" ".join(words.split()), most_lines)
        for number, line in enumerate(lines):
            name = f"[cyan]{who:{MARGIN - 2}}[/]" if number == 0 else " " * (MARGIN - 2)
            text = f"[{style}]{escape(line)}[/]" if style else escape(line)
            self._print(f"  {name}{text}")

    def _wrapped(self, words: str, most_lines: int) -> list[str]:
        if not self._console.is_terminal:
            return [words]
        width = max(self._console.width - MARGIN, 20)
        return textwrap.wrap(words, width, max_lines=most_lines, placeholder=" …") or [""]

    def _now(self, text: str) -> None:
        if self._spinner:
            self._spinner.update(text)

    def _job_status(self, data: dict[str, Any]) -> None:
        if data.get("status") == "validating":
            self._now("validating: running the reference, measuring baselines")

    def _job_validated(self, data: dict[str, Any]) -> None:
        baselines = data.get("baselines") or {}
        figures = ", ".join(
            f"{name} {microseconds(found['median_us'])}" for name, found in baselines.items() if found is not None
        )
        operators = len(data.get("operators") or [])
        self._print(
            f"[bold]validated[/]  {escape(str(data['family']))}: {operators} operators, "
            f"{data['bytes'] / 1e6:.1f} MB, roofline floor {microseconds(data['floor_us'])}"
        )
        if figures:
            self._say("", f"to beat: {figures}")

    def _step_started(self, data: dict[str, Any]) -> None:
        self._is_written = False
        self._print(f"\n[bold]round {data['step'] + 1}[/]  [dim]{escape(str(data['stage']))}[/]")

    def _agent_started(self, data: dict[str, Any]) -> None:
        self._now(f"{data['agent']} is thinking")

    def _agent_finished(self, data: dict[str, Any]) -> None:
        tokens = f" ({data['tokens']} tokens)" if data.get("tokens") else ""
        self._is_written = True
        self._last_words = str(data.get("summary") or "")
        self._say(data["agent"], f"{self._last_words}{tokens}")

    def _candidate_created(self, data: dict[str, Any]) -> None:
        if not self._is_written and data.get("summary"):
            self._say("kernel", str(data["summary"]))

    def _evaluation_started(self, _data: dict[str, Any]) -> None:
        self._now("the referee compiles, checks and times the candidate")

    def _judged(self, data: dict[str, Any], report: EvaluationReport | None) -> None:
        verdict = _VERDICTS.get(data["verdict"], escape(str(data["verdict"])))
        if data["verdict"] == "accepted" and data.get("gain") == Gain.SURELY:
            verdict = f"[green]{verdict}[/]"
        self._print(f"  [cyan]{'referee':{MARGIN - 2}}[/]{verdict}{_gates(report)}")
        if data.get("verdict") != "accepted" and data.get("detail"):
            self._say("", str(data["detail"]), style="dim", most_lines=4)
        if report is not None and report.latency is not None:
            self._say("", figures_line(report))

    def _step_finished(self, data: dict[str, Any]) -> None:
        failure = str(data.get("failure") or "")
        if failure and not (self._last_words and failure.endswith(self._last_words)):
            self._say("stopped", failure, style="yellow", most_lines=4)
        if data.get("best_speedup") is not None:
            self._say("best", f"{ratio(data['best_speedup'])} the fastest baseline")

    def _job_notice(self, data: dict[str, Any]) -> None:
        self._say("notice", str(data["message"]), style="yellow")

    def _job_finished(self, data: dict[str, Any]) -> None:
        status, message = str(data["status"]), str(data.get("message") or "")
        if message.lower().startswith(status):
            self._print(f"\n[bold]{escape(message)}[/]")
        else:
            self._print(f"\n[bold]{status}[/]{escape(f': {message}') if message else ''}")


def _gates(report: EvaluationReport | None) -> str:
    """How far the candidate came, in a few words."""
    if report is None or not report.gates:
        return ""
    if report.failed_gate is not None:
        passed = sum(gate.status is GateStatus.PASSED for gate in report.gates)
        return f" at the gate {report.failed_gate.value} (gates passed: {passed})"
    doubts = [gate.name.value for gate in report.gates if gate.status is GateStatus.SUSPICIOUS]
    if doubts:
        return f" at {', '.join(doubts)}"
    return f": {len(report.gates)} gates passed" if report.accepted else ""


def figures_line(report: EvaluationReport) -> str:
    """Latency, speedups and roofline of a report in one line that fits 80 columns."""
    parts = [microseconds(report.latency.median_us)] if report.latency else []
    speedup = report.speedup
    for name, value in (("eager", speedup.eager), ("compile", speedup.compile), ("max-autotune", speedup.compile_max)):
        if value is not None:
            parts.append(f"{ratio(value)} {name}")
    if speedup.best_baseline not in (None, speedup.eager, speedup.compile, speedup.compile_max):
        parts.append(f"{ratio(speedup.best_baseline)} the fastest")  # another baseline on each input set
    if speedup.seed is not None:
        parts.append(f"{ratio(speedup.seed)} the seed")
    if report.roofline is not None:
        of = " (first input set)" if len(report.shapes) > 1 else ""
        parts.append(f"{percent(report.roofline.fraction)} of the {report.roofline.bound} roof{of}")
    return ", ".join(parts)
