"""`kernelwright spool`, `worker --spool` and the doctor's look at a spool: what they say, and what they refuse."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from kernelwright import cli
from kernelwright.distribution import version
from kernelwright.doctor.spool import check_spool
from kernelwright.settings import Settings, load_settings
from kernelwright.wiring.installation import open_installation
from kernelwright.wiring.queues import open_queue
from services.adapters.queues.by_device import DeviceRouter
from services.adapters.spool.claims import SpoolClaims
from services.adapters.spool.layout import SpoolLayout
from services.adapters.spool.messages import SpoolKey
from services.domain.errors import ConfigurationError
from services.domain.jobs import JobSpec
from services.domain.nodes import Offer
from services.runtime.clock import SystemClock
from tests.doubles import a_problem, a_report

SECRET = "5" * 64


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELWRIGHT_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "relu.py").write_text(a_problem().source)
    for name in ("a", "b"):
        (tmp_path / f"{name}.py").write_text(f"class ModelNew: ...  # {name}")


def run(*arguments: str, code: int = 0) -> None:
    assert cli.execute(list(arguments)) == code


def add(*candidates: str) -> None:
    run("spool", "add", "spool", "--problem", "relu.py", *(part for one in candidates for part in ("--candidate", one)))


def a_node(owner: str = "node") -> SpoolClaims:
    key = SpoolKey((Path("home") / "spool.key").read_text())
    offer = Offer(device="cpu", backends=("cpp",), evaluator="this CPU")
    return SpoolClaims(SpoolLayout(Path("spool")), key, SystemClock(), offer=offer, version=version(), owner=owner)


def collect(capsys: pytest.CaptureFixture[str], code: int) -> dict[str, dict[str, Any]]:
    capsys.readouterr()
    run("spool", "collect", "spool", "--json", code=code)
    return {row["label"]: row for row in json.loads(capsys.readouterr().out)}


def test_a_list_goes_in_and_verdicts_with_intervals_come_out(capsys: pytest.CaptureFixture[str]) -> None:
    run("spool", "key")
    add("a.py", "b.py")
    assert capsys.readouterr().err.startswith("3 orders wait in spool, 0 are being done, 0 have reports")
    node = a_node()
    validation = node.take()
    assert validation is not None
    node.fail(validation, "no g++")
    first = node.take()
    assert first is not None
    node.answer(first, a_report())
    rows = collect(capsys, 1)
    assert {label: row["state"] for label, row in rows.items()} == {
        "relu": "failed", "relu/a.py": "judged", "relu/b.py": "waiting"
    }  # fmt: skip
    assert rows["relu"]["detail"] == "no g++"
    run("spool", "collect", "spool", code=1)
    shown = capsys.readouterr().out
    assert "accepted" in shown
    assert "[98 µs, 102 µs]" in shown
    assert "[1.94, 2.06]" in shown
    add("a.py", "b.py")  # what failed is placed again, what was judged is not
    assert capsys.readouterr().err.startswith("2 orders wait in spool, 0 are being done, 1 have reports")


def test_what_was_refused_is_collected_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    run("spool", "key")
    add("a.py")
    forged = next(path for path in Path("spool/orders").iterdir() if path.name.startswith("eval-"))
    forged.write_bytes(forged.read_bytes().replace(b"# a", b"# x"))
    assert a_node("one").take() is not None  # the validation
    assert a_node("two").take() is None
    refused = [row for row in collect(capsys, 1).values() if row["state"] == "refused"]
    assert len(refused) == 1
    assert "signature is wrong" in refused[0]["detail"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["spool", "add", "spool", "--problem", "relu.py", "--candidate", "a.py"], "`kernelwright spool key`"),
        (["spool", "collect", "spool"], "spool is no spool"),
        (["spool", "export", "spool", "x.tar"], "spool is no spool"),
        (["spool", "import", "spool", "missing.tar"], "there is no missing.tar"),
        (["worker", "--once"], "name its directory with --spool"),
        (["worker", "--idle-exit", "3"], "name its directory with --spool"),
        (["worker", "--spool", "spool", "--device", "compile"], "no device to judge on"),
        (["worker", "--spool", "typo"], "typo is no spool"),
        (["worker"], "KERNELWRIGHT_QUEUE=celery, --server URL or --spool DIR"),
    ],
)
def test_wrong_use_is_refused_in_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run(*arguments, code=2)
    said = capsys.readouterr()
    assert said.out == ""
    assert message in said.err
    assert said.err.count("\n") == 1


def test_a_key_is_private_and_never_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    run("spool", "key", "my.key")
    assert Path("my.key").stat().st_mode & 0o777 == 0o600
    known = Path("my.key").read_text()
    run("spool", "key", "my.key", code=2)
    assert "exists already" in capsys.readouterr().err
    assert Path("my.key").read_text() == known


def test_a_new_key_goes_where_the_setting_will_look_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELWRIGHT_SPOOL_KEY_FILE", str(tmp_path / "secrets" / "spool.key"))
    run("spool", "key")
    found = load_settings().spool_key
    assert found is not None
    assert found.get_secret_value() == (tmp_path / "secrets" / "spool.key").read_text().strip()
    run("spool", "key", code=2)


def test_archives_go_there_and_back(capsys: pytest.CaptureFixture[str]) -> None:
    run("spool", "key")
    add("a.py")
    run("spool", "export", "spool", "orders.tar.gz")
    run("spool", "import", "there", "orders.tar.gz")
    assert "took in 2 orders and 0 reports; 0 were known, 0 were refused" in capsys.readouterr().out
    run("spool", "import", "there", "orders.tar.gz")
    assert "took in 0 orders and 0 reports; 2 were known" in capsys.readouterr().out
    Path("other.key").write_text("9" * 64)
    run("spool", "import", "elsewhere", "orders.tar.gz", "--key", "other.key", code=1)
    assert capsys.readouterr().err.count("its signature is wrong") == 2


def test_the_doctor_counts_what_lies_there_and_tells_refusals() -> None:
    assert check_spool(load_settings()).used is False
    nowhere = check_spool(load_settings(), Path("nowhere"))
    assert nowhere.state == "missing"
    run("spool", "key")
    assert "there is no spool" in check_spool(load_settings(), Path("nowhere")).detail
    add("a.py", "b.py")
    fine = check_spool(load_settings(), Path("spool"))
    assert (fine.state, "3 waiting, 0 being done, 0 reports" in fine.detail) == ("ok", True)
    garbage = Path("spool/orders") / "val-garbage@job"
    garbage.write_text("?")
    os.utime(garbage, (1, 1))  # the oldest: it is looked at first
    a_node().take()
    Path("home/spool.key").chmod(0o644)
    found = check_spool(load_settings(), Path("spool"))
    assert found.state == "warning"
    assert "chmod 600" in found.detail
    assert "garbage@job: it is no file of a spool" in found.detail
    Path("home/spool.key").write_text("9" * 64)
    assert "another key's" in check_spool(load_settings(), Path("spool")).detail


async def test_a_job_for_the_spools_device_is_accepted_without_any_node(tmp_path: Path) -> None:
    settings = Settings(
        home=tmp_path / "home", spool=tmp_path / "spool", spool_device="h200", spool_key=SecretStr(SECRET)
    )
    async with open_installation(settings) as installation:
        installation.service.check(JobSpec(problem=a_problem(), device="h200", backend="triton"))
        with pytest.raises(ConfigurationError, match="does not run on the device h200"):
            installation.service.check(JobSpec(problem=a_problem(), device="h200", backend="cpp"))


async def test_orders_of_the_device_go_through_the_spool_and_the_folders_are_made(tmp_path: Path) -> None:
    settings = Settings(
        home=tmp_path / "home", spool=tmp_path / "spool", spool_device="cpu", spool_key=SecretStr(SECRET)
    )
    async with open_installation(settings) as installation, open_queue(installation) as queue:
        assert isinstance(queue, DeviceRouter)
        assert (tmp_path / "spool" / "orders").is_dir()


async def test_a_server_without_the_key_does_not_start(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home", spool=tmp_path / "spool")
    with pytest.raises(ConfigurationError, match="there is no key at"):
        async with open_installation(settings):
            pass
