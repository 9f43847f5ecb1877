"""What a reviewer reads: a Markdown table, and annotations where GitHub shows them."""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright.ci.rules import Colour, Result
from services.domain.texts import interval, ratio

_MARKS = {Colour.GREEN: "✅", Colour.HOLDS: "☑️", Colour.RED: "❌", Colour.UNKNOWN: "⚠️"}
_HEADINGS = ("", "kernel", "verdict", "vs the fastest", "95 %", "recorded", "at least", "why")

_FOOTNOTE = (
    "Speedups are against the fastest of the measured baselines, timed in turns with the kernel by a referee outside "
    "its process."
)


def markdown(results: Sequence[Result]) -> str:
    """The step summary."""
    lines = [
        f"### Kernelwright: {_headline(results)}",
        "",
        "| " + " | ".join(_HEADINGS) + " |",
        "|" + "---|" * len(_HEADINGS),
        *("| " + " | ".join(_escaped(cell) for cell in _cells(result)) + " |" for result in results),
        "",
        _FOOTNOTE,
    ]
    return "\n".join(lines) + "\n"


def workflow_commands(results: Sequence[Result]) -> list[str]:
    """Workflow commands of GitHub Actions, one for each entry that does not hold."""
    return [
        f"::{'error' if result.colour is Colour.RED else 'warning'} "
        f"file={_property(result.task.shown)},line=1,title={_property('Kernelwright: ' + result.task.name)}::"
        f"{_data(result.reason)}"
        for result in results
        if not result.holds
    ]


def _headline(results: Sequence[Result]) -> str:
    red = sum(result.colour is Colour.RED for result in results)
    unknown = sum(result.colour is Colour.UNKNOWN for result in results)
    parts = [f"{len(results) - red - unknown} of {len(results)} kernels hold"]
    parts += [f"{red} failed"] if red else []
    parts += [f"{unknown} could not be judged"] if unknown else []
    return ", ".join(parts)


def _cells(result: Result) -> tuple[str, ...]:
    report, speedup, task = result.judged.report, result.speedup, result.task
    name = f"`{task.shown}`"
    return (
        _MARKS[result.colour],
        f"[{name}]({result.judged.link})" if result.judged.link else name,
        report.verdict.value if report is not None else "–",
        ratio(speedup.best_baseline) if speedup is not None else "–",
        (interval(speedup.ci95) if speedup is not None else "") or "–",
        ratio(task.recorded) if task.recorded is not None else "–",
        ratio(task.min_speedup),
        result.reason,
    )


def _escaped(cell: str) -> str:
    """Text inside a table's cell: candidates' own output may be in it."""
    flat = " ".join(cell.split())
    return flat.replace("|", "\\|").replace("<", "&lt;")[:500]


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
