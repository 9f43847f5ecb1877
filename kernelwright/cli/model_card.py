"""What a profiled model looks like to people: the ranking of its parts, and the closing card of a run."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from kernelwright.cli.card import facts_table
from kernelwright.whole_model.run import ModelOutcome, PartOutcome
from services.domain.measurements import Gain, gain_within
from services.domain.models import ModelPart, ModelProfile, amdahl
from services.domain.texts import interval, microseconds, ratio

NARROW = 100
"""Columns of a terminal in which the table has room for all of its words."""
LITTLE = 1.1
"""A model that perfect kernels would speed up by less has little to win."""


def ranking(profile: ModelProfile, width: int) -> Table:
    """The parts, by what they could win for the whole model. Names and lines are wrapped where a terminal is narrow,
    figures never; below 100 columns what bounds a part is left out."""
    narrow = width < NARROW
    table = Table(box=None, padding=(0, 1 if narrow else 2, 0, 0))
    for name in ("part", "places", "time", "share", "floor", "own speedup", "model's", "lines"):
        words = name in ("part", "lines")
        table.add_column(name, justify="left" if words else "right", overflow="fold", no_wrap=not words)
    for part in profile.parts:
        table.add_row(*_cells(part, bound="" if narrow else f" ({part.bound})"))
    return table


def summary(profile: ModelProfile) -> list[str]:
    """What the table is of, and what could be won at all."""
    best = amdahl([(part.share, part.achievable) for part in profile.parts])
    taken = f"{profile.operators} operators take {microseconds(profile.time_us)}"
    whole = f"{microseconds(profile.eager_us)} end to end (medians of {profile.runs} runs)"
    lines = [
        f"{profile.name} on {profile.device}: {taken}, {whole}",
        f"all parts at the roofline: {ratio(best)} end to end, by Amdahl's law; no kernels can do better",
    ]
    return [*lines, "little is to be had here"] if best < LITTLE else lines


def outcome_card(profile: ModelProfile, outcome: ModelOutcome) -> RenderableType:
    """Each part and the whole, with intervals."""
    parts = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("part", "share", "kernel over eager", "swapped", "why not"):
        parts.add_column(name, overflow="fold", no_wrap=name == "part")
    for part in outcome.parts:
        parts.add_row(*_result_cells(part))
    whole = facts_table()
    for name, text in _whole(outcome):
        whole.add_row(name, text)
    faster = gain_within(outcome.eager_ci95) is Gain.SURELY and outcome.source_path is not None
    colour = "red" if outcome.source_path is None else "green" if faster else "yellow"
    title = f"{escape(profile.name)}  {outcome.job_id}"
    return Panel(Group(parts, "", whole), title=title, border_style=colour)


def _cells(part: ModelPart, bound: str) -> tuple[str, ...]:
    return (
        escape(part.name),
        str(part.count),
        microseconds(part.time_us),
        f"{part.share:.1%}",
        f"{microseconds(part.floor_us)}{bound}",
        "–" if part.analysis is None else f"≤ {part.achievable:.1f}×",
        f"≤ {part.ceiling:.3f}×",
        ", ".join(map(str, part.lines)) if part.note is None else escape(part.note),
    )


def _result_cells(part: PartOutcome) -> tuple[str, ...]:
    eager = part.speedup.eager if part.speedup is not None else None
    figure = f"{ratio(eager)} {interval(part.eager_ci95)}".strip()
    swapped = "[green]yes[/]" if part.swapped else "no"
    return escape(part.name), f"{part.share:.1%}", figure, swapped, escape(part.reason or "")


def _whole(outcome: ModelOutcome) -> list[tuple[str, str]]:
    rows = [("result", outcome.verdict.value if outcome.verdict is not None else "the model as it was")]
    if outcome.message:
        rows.append(("ended", escape(outcome.message)))
    if any(part.swapped for part in outcome.parts):
        rows.append(("promised", f"{ratio(outcome.predicted)} over eager, by the parts' shares and speedups"))
    speedup = outcome.speedup
    if speedup is not None:
        rows.append(("vs eager", f"{ratio(speedup.eager)}  {interval(outcome.eager_ci95)}  end to end"))
        if speedup.compile is not None:
            rows.append(("vs torch.compile", f"{ratio(speedup.compile)}  of the whole model"))
        rows.append(("vs the fastest", f"{ratio(speedup.best_baseline)}  {interval(speedup.ci95)} (95 %, interleaved)"))
        if gain_within(outcome.eager_ci95) in (Gain.WITHIN_NOISE, Gain.NONE):
            rows.append(("", "not surely faster end to end: keep the model as it was"))
    rows.append(("rounds", f"{outcome.rounds} in all jobs"))
    return rows
