"""Errors of outputs as people read them."""

from __future__ import annotations

from services.domain.evaluations import EvaluationReport
from services.domain.gates import OutputError

NOT_RECORDED = "not recorded"
"""Of reports from before errors were recorded, and of evaluations that the machine broke off."""
NOTHING_COMPARED = "no outputs were compared"


def allowance(share: float | None) -> str:
    """A share of an allowance: `2.3 %`, `under 0.1 %`, `over 1000 %`; `not finite` where no figure says it."""
    if share is None:
        return "not finite"
    percent = 100 * share
    if percent == 0:
        return "0 %"
    if percent < 0.1:
        return "under 0.1 %"
    return "over 1000 %" if percent > 1000 else f"{percent:.1f} %" if percent < 10 else f"{percent:.0f} %"


def units(error: OutputError) -> str:
    """The worst element's error in units in the last place, or a dash."""
    if error.max_abs == 0:
        return "0"
    if error.worst is None or error.worst.ulp is None:
        return "–"
    return f"{error.worst.ulp}" if error.worst.ulp < 100_000 else f"{error.worst.ulp:.1e}"


def number(value: float | None) -> str:
    """An error, to two significant digits; a dash for none."""
    return "–" if value is None else f"{value:.2g}"


def tensor_of(error: OutputError) -> str:
    """The draw, with the tensor's name where a call has several."""
    return error.draw if error.tensor == "output" else f"{error.draw}, {error.tensor}"


def worst_error(report: EvaluationReport) -> str:
    """The one that came closest to its allowance, in a line."""
    if report.errors is None:
        return NOT_RECORDED
    if not report.errors:
        return NOTHING_COMPARED
    worst = report.errors[0]
    return f"{_sentence(worst)} ({worst.gate.value}, {tensor_of(worst)})"


def _sentence(worst: OutputError) -> str:
    if worst.share is None:
        return "not finite where the reference is, or the other way round"
    if worst.share == 0:
        return "none: every value equals the reference's"
    ulp = units(worst)
    figures = f"{number(worst.max_abs)} absolute" + (f", {ulp} ULP" if ulp != "–" else "")
    return f"{allowance(worst.share)} of the allowance: {figures}"
