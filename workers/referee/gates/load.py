"""The load gate: the candidate's model is built and given the reference's parameters."""

from __future__ import annotations

from workers.referee.gates.finding import GateFinding, passed, suspicious
from workers.referee.trial import Trial

SHOWN = 4
"""Of names that are listed."""


def examine(trial: Trial) -> GateFinding:
    """Passes when the model is built and given the reference's parameters. One that cannot be given all of them is
    built under the reference's own seed, and is suspicious: it was judged with those weights alone."""
    if not trial.load():
        return suspicious(unmatched(trial))
    copied = len(trial.state.problem.state())
    if copied == 0:
        return passed("loaded")
    return passed(f"loaded; {copied} {'parameter or buffer' if copied == 1 else 'parameters and buffers'} copied")


def unmatched(trial: Trial) -> str:
    """What a model cannot be given, and what to do about it."""
    names = [f"`{name}`" for name in trial.missing]
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    listed = f"{', '.join(names[:SHOWN])}{more}" if names else "its parameters"
    return (
        f"built; its parameters do not match the reference's: nothing has the name or place, and shape, of {listed}. "
        "So it was built under the reference's seed, and not judged with other weights. Register the reference's by "
        "name and shape, and compute packed or transposed copies from them when they change"
    )
