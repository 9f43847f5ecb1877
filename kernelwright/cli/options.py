"""Options that several commands share: what a job asks for, how many calls a round makes, and what stops a job."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer

from services.domain.errors import ConfigurationError, UserError
from services.domain.jobs import AgentsMode
from services.domain.measurements import BASELINES, default_baselines

CALLS = (
    "What a round costs: with --agents full three or four calls of the model (Planner, Coder, Judge; a Profiler where "
    "there are hardware counters to choose from), with lean two, plus one when a kernel takes the lead (a second "
    "opinion), plus one for each reply that has to be asked for again. The playbook costs nothing."
)
"""Under the help of commands that start jobs."""
STRATEGIES = ("greedy", "islands", "map_elites", "tree", "value_driven", "world_model")
"""The names of `agents.strategies`, which takes too long to import for a command that sends a name."""
BACKENDS = ("cpp", "cuda", "triton")
"""Without those that other packages plug in."""
TARGET = "Target"
SEARCH = "Search"
START = "Starting point"
BUDGET = "Budget"
"""Panels of options: columns are aligned within each, so that 80 columns leave room for what options mean."""


def check_strategy(name: str) -> str:
    """The name of a strategy as it is. Raises `ConfigurationError`."""
    _check("strategy", name, STRATEGIES)
    return name


def check_baselines(text: str | None) -> str | None:
    """A list of baselines as it is. Raises `ConfigurationError`."""
    for name in listed(text or ""):
        _check("baseline", name, BASELINES)
    return text


def chosen_baselines(text: str | None, device: str) -> tuple[str, ...]:
    """The baselines that `--baselines` lists, or those of the device."""
    return default_baselines(device) if text is None else listed(text)


def listed(text: str) -> tuple[str, ...]:
    """The parts of a comma-separated list."""
    return tuple(filter(None, (part.strip() for part in text.split(","))))


def refuse_beside_resume(context: typer.Context, *kept: str) -> None:
    """Raise `UserError` for an option beside --resume that would change nothing; `kept` are parameters that do."""
    refuse_but(context, (*kept, "resume"), "a resumed job keeps what it was started with")


def refuse_but(context: typer.Context, kept: Collection[str], reason: str) -> None:
    """Raise `UserError` with a reason for an option on the command line whose parameter is not among `kept`."""
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if source is not None and source.name == "COMMANDLINE" and parameter.name not in kept:
            raise UserError(f"{reason}: leave out {parameter.opts[0]}")


def _check(what: str, name: str, known: tuple[str, ...]) -> None:
    if name not in known:
        raise ConfigurationError(f"unknown {what} {name!r}; known: {', '.join(known)}")


ItemOption = Annotated[
    str | None,
    typer.Option(help="Problem to take from a suite's item that holds several: its number, or the end of its name."),
]
BackendOption = Annotated[
    str,
    typer.Option(
        help=f"Kernel language: {', '.join(BACKENDS)} or a plug-in's.",
        autocompletion=lambda: list(BACKENDS),
        rich_help_panel=TARGET,
    ),
]
DeviceOption = Annotated[
    str, typer.Option(help="Device to run on: cpu, or a GPU's short name, for example h200.", rich_help_panel=TARGET)
]
MODELS = (
    "Chat model: playbook (offline; cpp and triton), manual, openai:NAME, anthropic:NAME or compatible:NAME; "
    "by role: playbook,coder=openai:NAME."
)
ModelOption = Annotated[str, typer.Option(help=MODELS, rich_help_panel=SEARCH)]
BeamOption = Annotated[
    int, typer.Option(min=1, max=16, help="Candidates per step; each counts as one round.", rich_help_panel=SEARCH)
]
SeedCandidate = Annotated[Path | None, typer.Option(help="Seed kernel to start from.", rich_help_panel=START)]
Guidance = Annotated[
    str,
    typer.Option(
        metavar="TEXT|@FILE",
        help="What the agents should know about this problem, in your words; @FILE reads them from a file.",
        rich_help_panel=START,
    ),
]
AllowLibrary = Annotated[str, typer.Option(help="Allowed library operators, comma-separated.", rich_help_panel=TARGET)]
ObjectiveOption = Annotated[
    str,
    typer.Option(
        help="Figure that counts over input sets: geometric_mean, geometric_mean:NAME=WEIGHT,…, worst, or set:NAME.",
        show_default="the problem's own, else geometric_mean",
        rich_help_panel=TARGET,
    ),
]
StrategyOption = Annotated[
    str,
    typer.Option(
        help=f"Search strategy: {', '.join(STRATEGIES)}.",
        callback=check_strategy,
        autocompletion=lambda: list(STRATEGIES),
        rich_help_panel=SEARCH,
    ),
]
BaselinesOption = Annotated[
    str | None,
    typer.Option(
        help=f"Baselines to beat, comma-separated: {', '.join(BASELINES)} (default: eager,compile; on GPUs all three).",
        callback=check_baselines,
        rich_help_panel=TARGET,
    ),
]
AgentsOption = Annotated[
    AgentsMode,
    typer.Option(
        help="Model calls per round: lean (2: one both diagnoses and plans) or full (3-4).", rich_help_panel=SEARCH
    ),
]
VerifyFirst = Annotated[
    bool,
    typer.Option(
        "--verify-first", help="Ask for a second opinion before a candidate is run, not after.", rich_help_panel=SEARCH
    ),
]
Wall = Annotated[
    float | None,
    typer.Option(
        min=1,
        help="Maximum wall-clock time of each job in seconds, including pauses (default: no limit).",
        rich_help_panel=BUDGET,
    ),
]
Tokens = Annotated[
    int | None,
    typer.Option(
        min=1, help="Maximum number of tokens, input plus output (default: no limit).", rich_help_panel=BUDGET
    ),
]
Dollars = Annotated[
    float | None,
    typer.Option(
        min=1e-6, help="Maximum cost of all model calls in US dollars (default: no limit).", rich_help_panel=BUDGET
    ),
]
DeviceSeconds = Annotated[
    float | None,
    typer.Option(min=1.0, help="Maximum device time in seconds (default: no limit).", rich_help_panel=BUDGET),
]

CompilerDraftOption = Annotated[
    bool | None,
    typer.Option(
        "--compiler-draft/--no-compiler-draft",
        help="Judge torch.compile's own code first and start from it (default: on).",
        show_default=False,
        rich_help_panel=START,
    ),
]
