"""The closing card of a job, and of one evaluation."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from kernelwright.figures import interval, microseconds, ratio
from services.domain.evaluations import EvaluationReport, Latency, Roofline
from services.domain.jobs import Job, JobStatus
from services.domain.ratios import baseline_bounds
from services.domain.tunables import described
from services.exports import Export


def result_card(job: Job, report: EvaluationReport | None) -> RenderableType:
    """What came of a job: verdict, speedups with intervals, roofline. `file_lines` go below it."""
    table = _table()
    if report is None:
        table.add_row("result", f"[red]no accepted candidate[/] ({job.status.value})")
        if job.message:
            table.add_row("reason", escape(job.message))
    else:
        _add_figures(table, report)
    vain = job.status is JobStatus.NO_GAIN
    if vain:
        table.add_row("gain", f"[yellow]none: {escape(job.message or '')}[/]")
    asked = job.spec.budget.rounds
    rounds = str(job.steps_done) if job.steps_done <= asked else f"{asked}, besides the compiler's own kernel"
    table.add_row("rounds", rounds)
    colour = "red" if report is None else "yellow" if vain else "green"
    return Panel(table, title=f"{escape(job.spec.problem.name)}  {job.id}", border_style=colour)


def file_lines(export: Export) -> list[str]:
    """Where the files are, a line each: outside the card, so that no path is broken and each can be copied."""
    files = (("kernel", export.kernel), ("report", export.report), ("trajectory", export.trajectory))
    return [f"{name:11} {path}" for name, path in files if path is not None]


def report_card(report: EvaluationReport) -> RenderableType:
    """One evaluation: its gates and figures."""
    gates = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("gate", "status", "seconds", "detail"):
        gates.add_column(name, overflow="fold")
    for gate in report.gates:
        gates.add_row(gate.name.value, gate.status.value, f"{gate.seconds:.2f}", escape(gate.detail))
    figures = _table()
    _add_figures(figures, report)
    return Panel(Group(gates, "", figures), border_style="green" if report.accepted else "red")


def _table() -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    return table


def _add_figures(table: Table, report: EvaluationReport) -> None:
    colour = "green" if report.accepted else "red"
    table.add_row("result", f"[{colour}]{report.verdict.value}[/]")
    if report.latency is not None:
        table.add_row("latency", f"{microseconds(report.latency.median_us)}  {_spread(report.latency)}")
    speedup = report.speedup
    rows = (
        ("vs eager", "eager", speedup.eager),
        ("vs torch.compile", "compile", speedup.compile),
        ("vs max-autotune", "compile_max", speedup.compile_max),
    )
    for label, name, value in rows:
        if value is not None:
            table.add_row(label, f"{ratio(value)}  {interval(baseline_bounds(report, name))}")
    if speedup.best_baseline is not None:
        table.add_row("vs the fastest", f"{ratio(speedup.best_baseline)}  {interval(speedup.ci95)} (95 %, interleaved)")
    if speedup.seed is not None:
        table.add_row("vs the seed", f"{ratio(speedup.seed)}  {interval(speedup.seed_ci95)}")
    if report.roofline is not None:
        table.add_row("roofline", _roof(report.roofline))
    if report.tuned is not None:
        table.add_row("tuned", f"{escape(described(report.tuned.parameters))} ({report.tuned.tried} settings tried)")
    table.add_row("isolation", report.environment.isolation)


def _roof(roof: Roofline) -> str:
    """The fraction, and what it is a fraction of."""
    work = f"{roof.flops / 1e6:.3g} MFLOP" if roof.bound == "compute" else f"{roof.bytes / 1e6:.3g} MB"
    act = "computing" if roof.bound == "compute" else "moving"
    floor = f"{act} {work} takes this device {microseconds(roof.floor_us)} at least"
    return f"{roof.fraction:.0%} of the best possible speed ({roof.bound} bound: {floor})"


def _spread(latency: Latency) -> str:
    low, high = latency.ci95_us
    return f"[dim]{microseconds(low)} to {microseconds(high)} (95 %, {latency.samples} calls)[/]"
