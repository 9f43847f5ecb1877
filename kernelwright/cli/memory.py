"""`kernelwright memory`: the team's experiences, what they are worth, and what they bring."""

from __future__ import annotations

import getpass
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from kernelwright.cli.local import run_over
from kernelwright.cli.output import AsJson, answers, print_json, say
from services.domain.errors import UserError
from services.domain.jobs import LOCAL_TEAM

if TYPE_CHECKING:
    from services.domain.experiences import Experience
    from services.memory.effect import Effect, Interval
    from services.team_memory.service import ExperienceService, Worth

app = typer.Typer(help="The experience memory.", no_args_is_help=True)
T = TypeVar("T")
_STATES = {"active": "in use", "forgotten": "retired"}
Team = Annotated[str, typer.Option(help="Team that owns the experiences.")]
Limit = Annotated[int, typer.Option(min=1, max=200, help="Maximum number of entries.")]


@app.command("list")
def list_(
    kind: Annotated[str | None, typer.Option(help="api_template, best_practice, success, failure or trace.")] = None,
    family: Annotated[str | None, typer.Option(help="Operator family.")] = None,
    backend: Annotated[str | None, typer.Option(help="Kernel language.")] = None,
    job: Annotated[str | None, typer.Option(help="Show only experiences from this job.")] = None,
    limit: Limit = 50,
    cursor: Annotated[str | None, typer.Option(help="Cursor from the previous page.")] = None,
    as_json: AsJson = False,
) -> None:
    """List experiences with their learned values, newest first."""
    from services.domain.experiences import ExperienceFilter, ExperienceKind

    if kind is not None and kind not in {str(known) for known in ExperienceKind}:
        raise UserError(f"unknown kind {kind!r}; known: {', '.join(ExperienceKind)}")
    chosen = ExperienceKind(kind) if kind is not None else None
    wanted = ExperienceFilter(kind=chosen, family=family, backend=backend, job_id=job)
    page = _with_memory(lambda memory: memory.page(LOCAL_TEAM, wanted, limit=limit, cursor=cursor))
    if as_json:
        print_json(page)
        return
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading, width in (("experience", 24), ("kind", 13), ("family", 9), ("backend", 7), ("value", 1), ("title", 1)):
        table.add_column(heading, no_wrap=True, min_width=width)
    for item in page.items:
        known = item.experience
        table.add_row(
            known.id, known.kind, known.family, known.backend, _values(item.worth), _mark(known) + known.title
        )
    answers().print(table)
    if page.next_cursor:
        say(f"more: --cursor {page.next_cursor}")


@app.command("search")
def search(
    text: Annotated[str, typer.Argument(help="Text to search for.")], limit: Limit = 20, as_json: AsJson = False
) -> None:
    """Find the experiences nearest to a text."""
    found = _with_memory(lambda memory: memory.search(LOCAL_TEAM, text, limit))
    if as_json:
        print_json(found)
        return
    for item in found:
        typer.echo(f"{item.similarity:6.3f}  {item.experience.id}  {item.experience.title}")


@app.command("show")
def show(experience: Annotated[str, typer.Argument(help="Experience id.")], as_json: AsJson = False) -> None:
    """Show an experience with its value history and uses."""
    card = _with_memory(lambda memory: memory.show(LOCAL_TEAM, experience))
    if as_json:
        print_json(card)
        return
    item = card.experience
    typer.echo(f"{item.id}  {item.kind}  {item.family}  {item.backend}{'  RETRACTED' if card.retracted else ''}")
    typer.echo(f"{_mark(item)}{item.title}\n\n{item.text}\n")
    if item.code:
        typer.echo(item.code)
    typer.echo(f"value: {_values(card.worth)}")
    for change in card.history:
        typer.echo(
            f"  {change.seq:6d} {change.stage} {change.scope.family} {change.scope.site}: "
            f"{change.before:+.4f} → {change.after:+.4f} (reward {change.reward:+.3f}, weight {change.weight:.3f})"
        )
    for use in card.uses:
        typer.echo(f"  used by {use.job_id} step {use.step} ({use.stage}): {use.verdict or 'no candidate'}")


@app.command("practices")
def practices(team: Team = LOCAL_TEAM, as_json: AsJson = False) -> None:
    """List what jobs taught, and its worth.

    Merged and retired ones are listed too."""
    found = _with_memory(lambda memory: memory.practices(team))
    if as_json:
        print_json(found)
        return
    for item in found:
        made, worth = item.practice, item.standing
        state = f"merged into {item.merged_into}" if item.merged_into else _STATES.get(item.state, item.state)
        figures = f"{worth.value:+.2f} [{worth.low:+.2f}, {worth.high:+.2f}] in {worth.uses} uses"
        typer.echo(f"{made.id}  {item.verdict}  {state}  {figures}  {made.family}, {made.backend}, {made.job_id}")
        typer.echo(f"  {made.title}")
        for line in made.text.splitlines():
            typer.echo(f"    {line}")
    if not found:
        say("no job has taught a practice yet: jobs of chat models propose some when they end")


@app.command("effect")
def effect(
    backend: Annotated[
        str | None, typer.Option(help="Show only this backend (default: overall and per backend).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the effect of memory.

    Steps with it against held-out steps, with 95 % intervals."""

    async def work(memory: ExperienceService) -> dict[str, Effect]:
        if backend is not None:
            return {backend: await memory.effect(LOCAL_TEAM, backend)}
        return {"all": await memory.effect(LOCAL_TEAM), **await memory.effects(LOCAL_TEAM)}

    found = _with_memory(work)
    if as_json:
        whole = found.pop("all", None)
        print_json({**vars(whole), "backends": found} if whole else next(iter(found.values())))
        return
    for name, one in found.items():
        _print_effect(name, one)


def _print_effect(name: str, found: Effect) -> None:
    typer.echo(f"{name}: steps with memory {found.steps_with}, held out {found.steps_without}")
    rows = (
        ("drafts accepted, with", found.success_with),
        ("drafts accepted, without", found.success_without),
        ("difference", found.success_difference),
        ("rounds to the first accepted, with", found.rounds_with),
        ("rounds to the first accepted, without", found.rounds_without),
        ("rounds saved", found.rounds_saved),
        ("speedup, with over without", found.speedup_ratio),
    )
    for title, interval in rows:
        typer.echo(f"  {title:38s} {_interval(interval)}")


@app.command("retract")
def retract(
    subject: Annotated[str, typer.Argument(help="Id of an experience, candidate or evaluation.")],
    reason: Annotated[str, typer.Option(help="Reason, recorded in the audit log.")],
    as_json: AsJson = False,
) -> None:
    """Retract what a cheat taught, and reverse all credit it gave."""
    gone = _with_memory(lambda memory: memory.retract(LOCAL_TEAM, subject, reason, _actor()))
    if as_json:
        print_json({"subject": subject, "experiences": list(gone)})
    else:
        typer.echo(f"retracted {len(gone)} experiences: {', '.join(gone)}")


@app.command("add")
def add(
    note: Annotated[Path, typer.Argument(metavar="NOTE.md", help="First line: what it is about; below: what to do.")],
    family: Annotated[str, typer.Option(help="Operator family it is about.")] = "any",
    backend: Annotated[str, typer.Option(help="Language of the kernels it is about.")] = "any",
    team: Team = LOCAL_TEAM,
    as_json: AsJson = False,
) -> None:
    """Add a note of your own.

    Agents read it where its family and backend fit, and its value is learned."""
    from services.team_memory.notes import Note

    if note.suffix == ".py":
        raise UserError(
            f"{note}: kernels come into memory by proof: start a job from it (kernelwright run --seed-candidate {note})"
        )
    try:
        text = note.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{note}: cannot be read: {error}") from None
    kept = _with_memory(lambda memory: memory.add(team, Note(text=text, family=family, backend=backend)))
    print_json(kept) if as_json else typer.echo(kept.id)


@app.command("audit")
def audit(limit: Limit = 50, as_json: AsJson = False) -> None:
    """List manual changes, newest first."""
    actions = _with_memory(lambda memory: memory.audit(LOCAL_TEAM, limit))
    if as_json:
        print_json(actions)
        return
    for action in actions:
        typer.echo(f"{action.at:%Y-%m-%d %H:%M}  {action.action}  {action.subject}  {action.actor}: {action.reason}")


@app.command("export")
def export(
    out: Annotated[Path | None, typer.Option(help="File to write to (default: standard output).")] = None,
) -> None:
    """Export the memory as JSON lines, with values and without secrets.

    What only an older referee accepted is left out, and counted."""

    async def work(memory: ExperienceService) -> tuple[int, int]:
        count = 0
        with out.open("wb") if out is not None else sys.stdout.buffer as file:
            lines = await memory.export(LOCAL_TEAM)
            header = next(lines)
            file.write(header)
            for line in lines:
                file.write(line)
                count += 1
        return count, json.loads(header)["left_out"]

    count, left_out = _with_memory(work)
    if out is not None:
        say(f"{count} experiences in {out.absolute()}")
    if left_out:
        say(f"{left_out} left out, which only an older referee accepted: run kernelwright reverify")


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE.jsonl", help="File written by `memory export`.")],
    as_json: AsJson = False,
) -> None:
    """Import experiences exported elsewhere, all or none.

    Exit code 1 if a line is refused."""
    from services.team_memory.service import ImportRefusedError

    async def work(memory: ExperienceService) -> int:
        with file.open("rb") as stream:
            return await memory.import_(LOCAL_TEAM, stream, _actor())

    try:
        new = _with_memory(work)
    except FileNotFoundError:
        raise UserError(f"{file}: no such file") from None
    except ImportRefusedError as error:
        for refusal in error.refusals:
            say(f"{file}:{refusal.line}: {refusal.reason}")
        say("Nothing imported")
        raise typer.Exit(1) from None
    print_json({"imported": new}) if as_json else typer.echo(f"Imported {new} new experiences")


@app.command("tidy")
def tidy(
    cap: Annotated[
        int | None, typer.Option(min=1, help="Experiences to keep per backend (default: the setting).")
    ] = None,
) -> None:
    """Merge near-duplicates, and remove the least valuable experiences.

    As many are kept per backend as the limit allows."""
    from kernelwright.settings import load_settings

    keep = cap or load_settings().memory_cap
    done = _with_memory(lambda memory: memory.tidy(LOCAL_TEAM, keep, _actor()))
    merged = f"merged {done.merged} near-duplicates, retired {done.retired} refuted practices"
    typer.echo(f"{merged}, removed {done.forgotten} experiences")


@app.command("share")
def share(
    reader: Annotated[str, typer.Argument(metavar="TEAM", help="Team that may recall them.")],
    revoke: Annotated[bool, typer.Option("--revoke", help="Revoke the share.")] = False,
    team: Team = LOCAL_TEAM,
) -> None:
    """Let another team recall this team's experiences."""
    if revoke:
        _with_memory(lambda memory: memory.unshare(team, reader, _actor()))
        typer.echo(f"{reader} can no longer recall the experiences of {team}")
    else:
        _with_memory(lambda memory: memory.share(team, reader, _actor()))
        typer.echo(f"{reader} can now recall the experiences of {team}")


@app.command("shares")
def shares(team: Team = LOCAL_TEAM, as_json: AsJson = False) -> None:
    """List the teams this team shares with, in both directions."""
    found = _with_memory(lambda memory: memory.shares(team))
    if as_json:
        print_json(found)
        return
    for one in found:
        typer.echo(f"{one.reader} recalls {one.team_id}  (granted by {one.granted_by}, {one.at:%Y-%m-%d %H:%M})")


def _with_memory(work: Callable[[ExperienceService], Awaitable[T]]) -> T:
    from kernelwright.wiring.installation import open_installation

    return run_over(open_installation, lambda installation: work(installation.experiences))


def _actor() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def _mark(item: Experience) -> str:
    if item.is_self_attested:
        return "(self-attested) "
    return "(proven by an older referee: reverify) " if item.is_unproven else ""


def _values(worth: tuple[Worth, ...]) -> str:
    return ", ".join(f"{one.stage} {one.value:+.2f} ({one.visits:.3g})" for one in worth) or "–"


def _interval(interval: Interval) -> str:
    if interval.estimate is None:
        return "not enough data"
    bounds = "" if interval.low is None or interval.high is None else f"  [{interval.low:.3g}, {interval.high:.3g}]"
    return f"{interval.estimate:.3g}{bounds}"
