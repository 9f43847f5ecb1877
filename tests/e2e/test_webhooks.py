"""Webhooks of a real service, over its command line, a receiver that is away and a server that is killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.browsing import serving
from tests.e2e.programs import WELL, run
from tests.receiver import receiving
from tests.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


def test_a_jobs_end_is_told_although_the_receiver_was_away_and_the_server_was_killed(tmp_path: Path) -> None:
    with receiving() as first:
        port = first.port
    with serving(tmp_path, KERNELWRIGHT_WEBHOOK_PRIVATE_HOSTS="true") as service:
        made = service.post("/webhooks", url=f"http://127.0.0.1:{port}/hook")
        job_id = service.submit(budget={"rounds": 1})
        service.ended(job_id)
        log = f"/webhooks/{made['id']}/deliveries"
        until(lambda: any(one["attempts"] for one in service.items(log)))
        (before,) = service.items(log)
        service.kill()
        with receiving(port) as receiver:
            service.start()
            service.post(f"{log}/{before['id']}/resend")
            until(lambda: any(one["status"] == "delivered" for one in service.items(log)))
            assert {message.id for message in receiver.came} == {before["id"]}
            told = receiver.came[0].verified(made["secret"])
            assert (told["type"], told["data"]["job_id"]) == ("job.finished", job_id)
            assert told["data"]["status"] in WELL


def test_a_webhook_is_made_tried_and_removed_from_the_command_line(tmp_path: Path) -> None:
    with serving(tmp_path, KERNELWRIGHT_WEBHOOK_PRIVATE_HOSTS="true") as service, receiving() as receiver:
        at = ("--server", service.address)
        made = run("webhooks", "create", f"{receiver.address}/hook", *at, home=tmp_path)
        assert made.returncode == 0, made.stderr
        name, secret = made.stdout.split()
        assert run("webhooks", "test", name, *at, home=tmp_path).returncode == 0
        until(lambda: bool(receiver.came))
        assert receiver.came[0].verified(secret)["type"] == "webhook.test"
        until(lambda: "delivered" in run("webhooks", "log", name, *at, home=tmp_path).stdout)
        listed = run("webhooks", "list", *at, home=tmp_path)
        assert name in listed.stdout
        assert secret not in listed.stdout
        assert run("webhooks", "remove", name, *at, home=tmp_path).returncode == 0
        gone = run("webhooks", "log", name, *at, home=tmp_path)
        assert (gone.returncode, gone.stderr.strip()) == (2, f"kernelwright: no webhook {name}")
