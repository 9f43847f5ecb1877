"""Options that several commands share: how many calls a round makes, and the budgets that stop a job."""

from __future__ import annotations

from typing import Annotated

import typer

from services.domain.jobs import AgentsMode

CALLS = (
    "What a round costs: with --agents full three or four calls of the model (Planner, Coder, Judge; a Profiler where "
    "there are hardware counters to choose from), with lean two, plus one when a kernel takes the lead (a second "
    "opinion), plus one for each reply that has to be asked for again. The playbook costs nothing."
)
"""Under the help of commands that start jobs."""

AgentsOption = Annotated[
    AgentsMode, typer.Option("--agents", help="Model calls a round: lean (2, one plans and diagnoses) or full (3-4).")
]
VerifyFirst = Annotated[
    bool, typer.Option("--verify-first", help="Ask for a second opinion before a candidate is run, not after.")
]
Tokens = Annotated[int | None, typer.Option(min=1, help="Input plus output tokens at most.")]
Dollars = Annotated[float | None, typer.Option(min=1e-6, help="Price of all model calls at most, in dollars.")]
DeviceSeconds = Annotated[float | None, typer.Option(min=1.0, help="Seconds of device time at most.")]

CompilerDraftOption = Annotated[
    bool | None,
    typer.Option(
        "--compiler-draft/--no-compiler-draft",
        help="Judge torch.compile's own code first and start from it (default: on).",
        show_default=False,
    ),
]


__all__ = ["CALLS", "AgentsOption", "CompilerDraftOption", "DeviceSeconds", "Dollars", "Tokens", "VerifyFirst"]
