"""What the Docker sandbox adds to the port: its containers, its pool, its leases."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import signal
import socket
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from docker.api import APIClient
from docker.errors import NotFound

from services.domain.errors import ConfigurationError, SandboxError
from services.ports.sandboxes import SandboxLimits
from tests.contracts.sandboxes import LIMITS, TESTS, Bench, bench_of
from tests.docker_host import PLACE, docker_address, toolchain_image
from tests.faults.docker_daemon import DockerDaemon
from tests.faults.ground import folder
from workers.ipc.wire import Channel
from workers.sandboxes.docker.container_spec import LABEL, WORKER, ContainerSpec
from workers.sandboxes.docker.leases import LEASE_S, FolderLease, Reaper
from workers.sandboxes.docker.sandbox import DockerSandbox, connect, find_image

pytestmark = pytest.mark.integration

SOCKETS = PLACE / "sandboxes"


def make(warm: int = 1, one_shot: bool = False, sockets: Path = SOCKETS, address: str | None = None) -> DockerSandbox:
    spec = ContainerSpec(image=toolchain_image(), host_python=True)
    return DockerSandbox(spec, sockets, address=address or docker_address(), warm=warm, one_shot=one_shot)


@pytest.fixture(scope="module")
def api() -> Iterator[APIClient]:
    client = connect(docker_address())
    yield client
    client.close()


@pytest.fixture(scope="module")
def sandbox() -> Iterator[DockerSandbox]:
    made = make(warm=2)
    made.start()
    yield made
    made.close()


@pytest.fixture
def bench(sandbox: DockerSandbox) -> Iterator[Bench]:
    sandbox.dedicate("job-of-this-test")
    yield from bench_of(sandbox)


def containers_of(api: APIClient, sandbox: DockerSandbox) -> list[dict[str, Any]]:
    found = api.containers(all=True, filters={"label": f"{WORKER}={sandbox.worker}"})
    return [api.inspect_container(entry["Id"]) for entry in found]


def test_a_container_is_given_nothing_that_it_does_not_need(
    api: APIClient, sandbox: DockerSandbox, bench: Bench
) -> None:
    bench.result_of("result = 1")
    for container in containers_of(api, sandbox):
        host = container["HostConfig"]
        assert (host["NetworkMode"], host["IpcMode"], host["CgroupnsMode"]) == ("none", "private", "private")
        assert (host["CapDrop"], host["CapAdd"], host["Privileged"]) == (["ALL"], None, False)
        assert "no-new-privileges:true" in host["SecurityOpt"]
        assert any(option.startswith('seccomp={"defaultAction": "SCMP_ACT_ERRNO"') for option in host["SecurityOpt"])
        assert host["ReadonlyRootfs"] is True
        assert host["Memory"] == host["MemorySwap"] > 0
        assert 0 < host["PidsLimit"] <= 520
        assert host["PidMode"] == ""
        assert not any(mount["RW"] for mount in container["Mounts"])
        assert not any("docker.sock" in mount["Source"] for mount in container["Mounts"])
        uid = int(container["Config"]["User"].split(":")[0])
        assert uid not in {0, os.getuid()}
        assert host["AutoRemove"] is True


def test_a_container_says_what_it_is_for(api: APIClient, sandbox: DockerSandbox, bench: Bench) -> None:
    bench.result_of("result = 1")
    containers = containers_of(api, sandbox)
    assert any("job-of-this-test" in container["Name"] for container in containers)
    for container in containers:
        labels = container["Config"]["Labels"]
        assert labels[LABEL] == "sandbox"
        assert float(labels["kernelwright.deadline"]) > time.time()


FORBIDDEN = {
    "unshare": (272, 0x10000000),
    "setns": (308, 0, 0),
    "mount": (165, 0, 0, 0, 0, 0),
    "pivot_root": (155, 0, 0),
    "ptrace": (101, 0, 0, 0, 0),
    "bpf": (321, 0, 0, 0),
    "perf_event_open": (298, 0, 0, 0, 0, 0),
    "keyctl": (250, 0, 0),
    "userfaultfd": (323, 0),
    "io_uring_setup": (425, 1, 0),
    "init_module": (175, 0, 0, 0),
    "kexec_load": (246, 0, 0, 0, 0),
    "process_vm_readv": (310, 1, 0, 0, 0, 0, 0),
    "open_by_handle_at": (304, 0, 0, 0),
    "clone with a user namespace": (56, 0x10000000, 0, 0, 0, 0),
}


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are those of x86-64")
def test_dangerous_system_calls_are_refused(bench: Bench) -> None:
    code = f"""
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
result = {{}}
for name, arguments in {FORBIDDEN!r}.items():
    ctypes.set_errno(0)
    answer = libc.syscall(*[ctypes.c_long(argument) for argument in arguments])
    result[name] = errno.errorcode.get(ctypes.get_errno()) if answer < 0 else "permitted"
"""
    assert bench.result_of(code) == dict.fromkeys(FORBIDDEN, "EPERM")


def test_nothing_can_be_reached(bench: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        code = f"""
import os, socket
result = []
host = "127.0.0.1"
for address in (("169.254.169.254", 80), (host, {listener.getsockname()[1]}), (host, 6379), ("192.0.2.1", 53)):
    try:
        socket.create_connection(address, timeout=2)
        result.append(address)
    except OSError:
        pass
for path in ("/var/run/docker.sock", "/run/docker.sock", {str(PLACE / "docker.sock")!r}, "/run/kernelwright/s"):
    try:
        socket.socket(socket.AF_UNIX).connect(path)
        result.append(path)
    except OSError:
        pass
result += [name for name in os.listdir("/sys") if name != "devices" and name != "kernel"]
result += [line.split()[4] for line in open("/proc/self/mountinfo") if " rw" in line.split(" - ")[0]]
"""
        writable = bench.result_of(code)
    devices = {f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom")}
    assert sorted(set(writable) - devices) == ["/dev/shm", "/proc", "/tmp"], "nothing reached, nothing else is writable"


def test_none_of_ten_planted_secrets_is_found(bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In our environment, and in files of ours in several places."""
    secrets = [f"planted-{number}-{os.urandom(4).hex()}" for number in range(10)]
    for number, secret in enumerate(secrets[:5]):
        monkeypatch.setenv(f"KERNELWRIGHT_SECRET_{number}", secret)
    places = [
        tmp_path / "secret",
        Path.home() / ".kernelwright-planted",
        Path("/var/tmp/kernelwright-planted"),
        Path("/tmp/kernelwright-planted"),
        SOCKETS / "planted",
    ]
    for path, secret in zip(places, secrets[5:], strict=True):
        path.write_text(secret)
    code = r"""
import os, pathlib, re
found = []
def search(text, where):
    if re.search(rb"planted-[0-9]-[0-9a-f]{8}", text):
        found.append(where)
search(repr(dict(os.environ)).encode(), "environment")
for process in pathlib.Path("/proc").glob("[0-9]*"):
    for name in ("environ", "cmdline"):
        try:
            search((process / name).read_bytes(), str(process / name))
        except OSError:
            pass
for root in ("/tmp", "/root", "/home", "/var", "/run", "/etc", "/mnt", "/opt"):
    for folder, _folders, names in os.walk(root):
        if "site-packages" in folder or "/lib/python" in folder:
            continue
        for name in names:
            try:
                search(open(os.path.join(folder, name), "rb").read(1 << 20), os.path.join(folder, name))
            except OSError:
                pass
result = found
"""
    try:
        assert bench.run(code).answer(60.0) == []
    finally:
        for path in places:
            path.unlink()


def test_a_job_uses_its_containers_again_and_no_other_job_does(api: APIClient) -> None:
    sandbox = make(warm=1)
    sandbox.start()
    try:
        seen: dict[str, set[int]] = {"job-a": set(), "job-b": set()}
        for owner in ("job-a", "job-a", "job-b", "job-a"):
            sandbox.dedicate(owner)
            for bench in bench_of(sandbox):
                seen[owner].add(bench.result_of("import os; result = os.getuid()"))
        assert len(seen["job-a"]) == 1
        assert seen["job-a"].isdisjoint(seen["job-b"])
    finally:
        sandbox.close()
    assert containers_of(api, sandbox) == []


def test_one_shot_containers_serve_one_process() -> None:
    sandbox = make(warm=1, one_shot=True)
    sandbox.start()
    try:
        seen = []
        for _ in range(2):
            seen += [bench.result_of("import os; result = os.getuid()") for bench in bench_of(sandbox)]
        assert len(set(seen)) == 2
    finally:
        sandbox.close()


def test_what_a_process_left_is_gone_for_the_next_one_in_its_container(sandbox: DockerSandbox) -> None:
    sandbox.dedicate("job-leftovers")
    leave = """
import os, subprocess
for folder in ("/tmp", "/dev/shm"):
    open(folder + "/left", "w").close()
subprocess.Popen(["sleep", "600"], start_new_session=True)
result = os.getuid()
"""
    look = """
import os
left = [folder for folder in ("/tmp", "/dev/shm") if os.path.exists(folder + "/left")]
result = [os.getuid(), left, len([n for n in os.listdir("/proc") if n.isdigit()])]
"""
    for bench in bench_of(sandbox):
        uid = bench.result_of(leave)
    for bench in bench_of(sandbox):
        assert bench.result_of(look) == [uid, [], 2]


def test_containers_of_a_killed_worker_are_gone_soon(api: APIClient) -> None:
    docker_address(), toolchain_image()
    reading, writing = os.pipe()
    worker = os.fork()
    if worker == 0:
        os.close(reading)
        made = make(warm=1)
        made.start()
        process = made.fork("tests.contracts.sandbox_entries:execute", LIMITS, mounts=[TESTS])
        Channel(process.socket).send({"code": "import time; time.sleep(600)"})
        os.write(writing, made.worker.encode())
        os.kill(os.getpid(), signal.SIGKILL)
    os.close(writing)
    name = os.read(reading, 40).decode()
    os.close(reading)
    os.waitpid(worker, 0)
    assert name, "the worker forked a process"
    deadline = time.monotonic() + 20.0
    while (left := api.containers(all=True, filters={"label": f"{WORKER}={name}"})) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert left == []


def test_the_reaper_removes_what_outlived_its_lease_and_nothing_else(api: APIClient, tmp_path: Path) -> None:
    ours, dead, others = FolderLease(tmp_path), FolderLease(tmp_path), FolderLease(tmp_path / "other")
    silent = time.time() - LEASE_S - 1
    os.utime(dead.folder / "alive", (silent, silent))
    os.utime(others.folder / "alive", (silent, silent))
    wanted = {
        "living": ours.labels(60.0),
        "dead": dead.labels(60.0),
        "late": others.labels(-1.0),
        "another installation's": others.labels(60.0),
    }
    made = {}
    for name, labels in wanted.items():
        container = api.create_container(toolchain_image(), ["sleep", "600"], labels=labels, network_disabled=True)
        made[name] = container["Id"]
        api.start(container["Id"])
    try:
        reaper = Reaper(api, ours, tmp_path)
        reaper.reap()  # the late one may have met the reaper of another worker already
        left = {entry["Id"] for entry in api.containers(all=True)}
        assert {name for name, identity in made.items() if identity in left} == {"living", "another installation's"}
    finally:
        for identity in made.values():
            with contextlib.suppress(NotFound):
                api.remove_container(identity, force=True)


def made_and_forgotten(api: APIClient, worker: FolderLease | DockerSandbox) -> str:
    """A container whose making was never answered, as when the daemon is killed meanwhile."""
    lease = worker if isinstance(worker, FolderLease) else worker._lease
    return str(api.create_container(toolchain_image(), ["sleep", "600"], labels=lease.labels(600.0))["Id"])


def exists(api: APIClient, container: str) -> bool:
    return container in {entry["Id"] for entry in api.containers(all=True)}


def test_the_reaper_removes_what_its_own_worker_never_started(api: APIClient, tmp_path: Path) -> None:
    ours, another = FolderLease(tmp_path), FolderLease(tmp_path)
    forgotten, being_started = made_and_forgotten(api, ours), made_and_forgotten(api, another)
    try:
        Reaper(api, ours, tmp_path).reap()
        assert exists(api, forgotten), "it is given time to start"
        Reaper(api, ours, tmp_path, unstarted_s=-1.0).reap()
        assert not exists(api, forgotten)
        assert exists(api, being_started), "another worker that lives looks after its own"
    finally:
        for container in (forgotten, being_started):
            with contextlib.suppress(NotFound):
                api.remove_container(container, force=True)


def test_a_worker_that_ends_leaves_no_container_it_does_not_know_of(api: APIClient, tmp_path: Path) -> None:
    sandbox = make(warm=1, sockets=tmp_path)
    try:
        sandbox.start()
        sandbox.wait_warm()
        forgotten = made_and_forgotten(api, sandbox)
    finally:
        sandbox.close()
    assert not exists(api, forgotten)
    assert containers_of(api, sandbox) == []


@pytest.mark.parametrize(
    "removal", [lambda reaper: reaper.reap(), lambda reaper: reaper.clear()], ids=["reap", "clear"]
)
def test_what_a_killed_daemon_left_half_removed_is_removed(removal: Callable[[Reaper], object], tmp_path: Path) -> None:
    with folder() as place, closing(DockerDaemon(place)) as daemon:
        ours = FolderLease(tmp_path)
        with closing(connect(daemon.address)) as client:
            image = image_of_one_file(client)
            labels = ours.labels(600.0)
            half_removed = client.create_container(image, ["never started"], labels=labels)["Id"]
        daemon.close()
        record = place / "docker" / "containers" / half_removed / "config.v2.json"
        record.write_text(record.read_text().replace('"RemovalInProgress":false', '"RemovalInProgress":true'))
        daemon.start()
        with closing(connect(daemon.address)) as client:
            assert [entry["State"] for entry in client.containers(all=True)] == ["dead"]
            removal(Reaper(client, ours, tmp_path))
            assert client.containers(all=True) == []


def image_of_one_file(client: APIClient) -> str:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as file:
        file.addfile(tarfile.TarInfo("empty"))
    answer = client.import_image_from_data(archive.getvalue(), repository="of-one-file", tag="1")
    assert "sha256:" in answer
    return "of-one-file:1"


def test_a_missing_image_is_refused_with_what_to_do(tmp_path: Path) -> None:
    spec = ContainerSpec(image="kernelwright/never-built:0")
    with pytest.raises(ConfigurationError, match="make sandbox-image"):
        DockerSandbox(spec, tmp_path, address=docker_address())


def test_an_image_of_another_version_is_refused(api: APIClient) -> None:
    with pytest.raises(ConfigurationError, match="build it again"):
        find_image(api, toolchain_image(), "9.9.9")


def test_an_image_without_python_says_so(tmp_path: Path) -> None:
    sandbox = DockerSandbox(ContainerSpec(image=toolchain_image()), tmp_path, address=docker_address(), warm=1)
    try:
        with pytest.raises(SandboxError, match="sandbox container"):
            sandbox.fork("workers.sandboxes.probe:describe", LIMITS)
    finally:
        sandbox.close()


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the SDK forgets the socket of a call in vain
def test_a_daemon_that_is_down_is_the_machines_fault_and_no_end(tmp_path: Path) -> None:
    lose_and_find_the_daemon(tmp_path)
    gc.collect()


def lose_and_find_the_daemon(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="is it running"):
        make(address=f"unix://{tmp_path}/nothing.sock")
    real = Path(docker_address().removeprefix("unix://"))
    way = tmp_path / "docker.sock"
    way.symlink_to(real)
    sandbox = make(warm=1, address=f"unix://{way}")
    try:
        way.unlink()
        with pytest.raises(SandboxError, match="cannot start a sandbox container"):
            sandbox.fork("workers.sandboxes.probe:describe", LIMITS)
        gc.collect()
        way.symlink_to(real)
        process = sandbox.fork("workers.sandboxes.probe:describe", SandboxLimits(wall_s=30.0))
        assert Channel(process.socket).receive(timeout_s=30.0).body["uid"] != os.getuid()
        process.kill()
        process.socket.close()
    finally:
        sandbox.close()


def test_a_container_that_is_taken_away_ends_its_process_and_is_replaced(
    api: APIClient, sandbox: DockerSandbox, bench: Bench
) -> None:
    inside = bench.run("import os, time; channel.send({'result': os.getuid()}); time.sleep(600)")
    uid = inside.answer()
    (container,) = [one for one in containers_of(api, sandbox) if one["Config"]["User"] == f"{uid}:{uid}"]
    api.remove_container(container["Id"], force=True)
    with pytest.raises(SandboxError, match="went away"):
        inside.process.wait(15.0)
    assert bench.result_of("import os; result = os.getuid()") != uid


def test_what_is_preloaded_may_be_a_call_as_on_gpus() -> None:
    spec = ContainerSpec(image=toolchain_image(), host_python=True, preload=("workers.runner.triton_ready:make_ready",))
    sandbox = DockerSandbox(spec, PLACE / "sandboxes", address=docker_address(), warm=1)
    try:
        sandbox.start()
        sandbox.wait_warm()
    finally:
        sandbox.close()
