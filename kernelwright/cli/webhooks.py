"""`kernelwright webhooks`: who is told of a server's events, and the log of what was told. A client of the REST API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from kernelwright.cli.client import LOCAL, Server, open_client
from kernelwright.cli.output import AsJson, print_json, print_list, say
from services.domain.jobs import JobStatus

app = typer.Typer(help="Signed messages about jobs, to addresses of your own.", no_args_is_help=True)
CONDITIONS = "Conditions"
WebhookId = Annotated[str, typer.Argument(metavar="WEBHOOK", help="Webhook id.")]


@app.command("create")
def create(
    url: Annotated[str, typer.Argument(metavar="URL", help="URL to send messages to.")],
    kind: Annotated[
        list[str] | None, typer.Option(help="Event to send; can be repeated (default job.finished).")
    ] = None,
    status: Annotated[
        list[JobStatus] | None,
        typer.Option(help="Fire only in this state of the job; can be repeated.", rich_help_panel=CONDITIONS),
    ] = None,
    min_speedup: Annotated[
        float | None,
        typer.Option(
            help="Fire only from this speedup over the fastest baseline, for example 1.2.", rich_help_panel=CONDITIONS
        ),
    ] = None,
    faster: Annotated[
        bool,
        typer.Option(
            "--faster",
            help="Fire only if the whole 95 % interval is above the fastest baseline.",
            rich_help_panel=CONDITIONS,
        ),
    ] = False,
    first_place: Annotated[
        bool,
        typer.Option(
            "--first-place",
            help="Fire only when a job takes first place on the leaderboard for its problem and device.",
            rich_help_panel=CONDITIONS,
        ),
    ] = False,
    tag: Annotated[
        list[str] | None,
        typer.Option(help="Fire only for jobs with this tag; can be repeated (all).", rich_help_panel=CONDITIONS),
    ] = None,
    as_json: AsJson = False,
    server: Server = LOCAL,
) -> None:
    """Create a webhook and print its id and secret.

    The secret is shown only once. Where several conditions are given, all must hold."""
    given = {"statuses": status, "min_speedup": min_speedup, "faster": faster, "first_place": first_place, "tags": tag}
    conditions = {name: value for name, value in given.items() if value not in (None, False, [])}
    with open_client(server) as client:
        made = client.create_webhook(url, kind, conditions)
    if as_json:
        print_json(made)
        return
    typer.echo(f"{made['id']} {made['secret']}")
    say(f"Copy the secret now, it is not shown again. Test it: kernelwright webhooks test {made['id']}")


@app.command("list")
def list_(as_json: AsJson = False, server: Server = LOCAL) -> None:
    """List webhooks, oldest first."""
    with open_client(server) as client:
        found = client.webhooks()

    def cells(one: dict[str, Any]) -> Sequence[str]:
        return one["id"], one["url"], ", ".join(one["kinds"]), _conditions(one), _state(one)

    headings = ("webhook", "URL", "events", "conditions", "state")
    none = "No webhooks yet. Create one: kernelwright webhooks create URL"
    print_list(found, headings, cells, as_json=as_json, folding=headings[1:], none=none)


@app.command("log")
def log(
    webhook_id: WebhookId,
    limit: Annotated[int, typer.Option(min=1, max=200, help="Maximum number of entries.")] = 50,
    as_json: AsJson = False,
    server: Server = LOCAL,
) -> None:
    """List a webhook's deliveries, newest first."""
    with open_client(server) as client:
        found = client.deliveries(webhook_id, limit)

    def cells(one: dict[str, Any]) -> Sequence[str]:
        return one["id"], one["kind"], one["job_id"] or "", one["status"], str(one["attempts"]), one["fault"] or ""

    headings = ("message", "event", "job", "status", "attempts", "last fault")
    print_list(found, headings, cells, as_json=as_json, folding=("event", "status", "attempts", "last fault"))


@app.command("test")
def try_(webhook_id: WebhookId, server: Server = LOCAL) -> None:
    """Send a test message (webhook.test)."""
    with open_client(server) as client:
        client.test_webhook(webhook_id)
    say(f"Queued. See its delivery: kernelwright webhooks log {webhook_id}")


@app.command("resend")
def resend(
    webhook_id: WebhookId,
    message_id: Annotated[str, typer.Argument(metavar="MESSAGE", help="Message id.")],
    server: Server = LOCAL,
) -> None:
    """Redeliver a message, with the same id."""
    with open_client(server) as client:
        client.resend_delivery(webhook_id, message_id)
    say(f"Queued. See its delivery: kernelwright webhooks log {webhook_id}")


@app.command("enable")
def enable(webhook_id: WebhookId, server: Server = LOCAL) -> None:
    """Enable a webhook."""
    with open_client(server) as client:
        client.switch_webhook(webhook_id, enabled=True)
    say("Webhook enabled")


@app.command("disable")
def disable(webhook_id: WebhookId, server: Server = LOCAL) -> None:
    """Disable a webhook until it is enabled again."""
    with open_client(server) as client:
        client.switch_webhook(webhook_id, enabled=False)
    say("Webhook disabled")


@app.command("remove")
def remove(webhook_id: WebhookId, server: Server = LOCAL) -> None:
    """Remove a webhook and its delivery log."""
    with open_client(server) as client:
        client.remove_webhook(webhook_id)
    say("Webhook removed")


def _conditions(webhook: dict[str, Any]) -> str:
    """When it fires, in words; servers of the last release know no conditions."""
    given = webhook.get("conditions") or {}
    least = given.get("min_speedup")
    words = [
        "/".join(given.get("statuses", ())),
        "" if least is None else f"≥ {least:g}×",
        "surely faster" if given.get("faster") else "",
        "first place" if given.get("first_place") else "",
        *(f"tag {tag}" for tag in given.get("tags", ())),
    ]
    return ", ".join(word for word in words if word) or "always"


def _state(webhook: dict[str, object]) -> str:
    return "on" if webhook["enabled"] else str(webhook["note"] or "off")
