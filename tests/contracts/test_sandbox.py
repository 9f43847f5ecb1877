"""What any `Sandbox` must do."""

from __future__ import annotations

import errno
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.domain.errors import SandboxError
from services.ports.sandboxes import Mount, Sandbox, SandboxLimits
from tests.contracts.sandboxes import LIMITS, SANDBOXES, Bench, bench_of
from workers.ipc.wire import WireClosedError

pytestmark = pytest.mark.contracts


@pytest.fixture(scope="module", params=sorted(SANDBOXES))
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    made = SANDBOXES[request.param]()
    yield made
    made.close()


@pytest.fixture
def bench(sandbox: Sandbox) -> Iterator[Bench]:
    yield from bench_of(sandbox)


def test_the_level_reached_is_reported(sandbox: Sandbox) -> None:
    assert sandbox.isolation in {"docker", "namespaces", "limits"}


def test_an_entry_runs_and_answers_over_its_socket(bench: Bench) -> None:
    inside = bench.run("result = 6 * 7")
    assert inside.answer() == 42
    status = inside.end()
    assert (status.code, status.signal, status.timed_out, status.out_of_memory) == (0, None, False, False)


def test_a_fork_takes_no_new_start_of_torch(bench: Bench) -> None:
    assert bench.result_of("import sys; result = 'torch' in sys.modules") is True


def test_the_interpreter_inside_has_our_torch(bench: Bench) -> None:
    import torch

    code = "import torch; result = [torch.__version__, torch.__file__, torch.ones(3).sum().item()]"
    assert bench.result_of(code) == [torch.__version__, torch.__file__, 3.0]


def test_an_exception_is_printed_and_ends_with_code_1(bench: Bench) -> None:
    status = bench.run("raise ValueError('the reason')").end()
    assert status.code == 1
    assert "ValueError: the reason" in status.output


@pytest.mark.parametrize(("code", "expected"), [("import os; os._exit(0)", 0), ("import sys; sys.exit(3)", 3)])
def test_an_early_exit_is_reported_with_its_code(bench: Bench, code: str, expected: int) -> None:
    inside = bench.run(code)
    assert inside.end().code == expected
    with pytest.raises(WireClosedError):
        inside.answer(5.0)


def test_a_crash_is_reported_with_its_signal(bench: Bench) -> None:
    status = bench.run("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)").end()
    assert (status.code, status.signal) == (None, signal.SIGSEGV)


def test_an_abort_is_reported_with_its_signal(bench: Bench) -> None:
    status = bench.run("import os; os.abort()").end()
    assert (status.code, status.signal) == (None, signal.SIGABRT)


def test_an_unknown_entry_is_printed(bench: Bench) -> None:
    process = bench.sandbox.fork("workers.no_such_module:serve", LIMITS)
    status = process.wait(30.0)
    process.socket.close()
    assert status is not None
    assert status.code == 1
    assert "no_such_module" in status.output


def test_its_user_is_neither_ours_nor_root(bench: Bench) -> None:
    uids = bench.result_of("import os; result = [os.getuid(), os.geteuid(), os.getgid(), os.getgroups()]")
    assert isinstance(uids, list)
    assert 0 not in uids
    assert set(os.getgroups()).isdisjoint(uids[3]) or os.geteuid() != 0
    if bench.has_namespaces or os.geteuid() == 0:
        assert os.getuid() not in uids


def test_two_processes_have_different_users(bench: Bench) -> None:
    if not bench.has_namespaces and os.geteuid() != 0:
        pytest.skip("without namespaces and root there is one user only")
    assert bench.result_of("import os; result = os.getuid()") != bench.result_of("import os; result = os.getuid()")


def test_it_has_no_capabilities_and_cannot_gain_any(bench: Bench) -> None:
    status = bench.result_of("result = open('/proc/self/status').read()")
    assert isinstance(status, str)
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert {fields[name].strip() for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {"0" * 16}
    assert fields["NoNewPrivs"].strip() == "1"


def test_the_environment_holds_nothing_of_ours(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELWRIGHT_SECRET", "planted")
    code = "import os; result = [dict(os.environ), open('/proc/self/environ').read()]"
    environment, initial = bench.result_of(code, {"GIVEN": "yes"})
    assert environment["GIVEN"] == "yes"
    assert "planted" not in str(environment) + str(initial)
    assert set(environment) <= {"GIVEN", "PATH", "HOME", "TMPDIR", "TRITON_HOME", "USER", "LOGNAME", "LANG"}


def test_there_is_no_network(bench: Bench) -> None:
    if not bench.has_namespaces:
        pytest.skip("this level has the machine's network")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        code = f"""
import socket
result = []
for address in (("127.0.0.1", {listener.getsockname()[1]}), ("192.0.2.1", 80)):
    try:
        socket.create_connection(address, timeout=2)
    except OSError as error:
        result.append(error.strerror)
"""
        assert bench.result_of(code) == ["Network is unreachable"] * 2


def test_abstract_sockets_of_the_machine_are_out_of_reach(bench: Bench) -> None:
    if not bench.has_namespaces:
        pytest.skip("this level has the machine's network")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("\0kernelwright-contract")
        listener.listen()
        code = """
import socket
try:
    socket.socket(socket.AF_UNIX).connect(chr(0) + "kernelwright-contract")
except OSError as error:
    result = error.strerror
"""
        assert bench.result_of(code) == "Connection refused"


def test_a_secret_in_our_home_cannot_be_read(bench: Bench) -> None:
    if not bench.has_namespaces and os.geteuid() != 0:
        pytest.skip("without namespaces and root it has our user")
    secret = Path.home() / ".kernelwright-contract-secret"
    secret.touch(mode=0o600)
    try:
        secret.write_text("planted")
        code = f"""
import pathlib
try:
    result = pathlib.Path({str(secret)!r}).read_text()
except OSError as error:
    result = type(error).__name__
"""
        assert bench.result_of(code) in {"FileNotFoundError", "PermissionError"}
    finally:
        secret.unlink()


def test_only_the_temporary_directory_can_be_written(bench: Bench) -> None:
    code = """
import os, pathlib, tempfile
result = []
private = [tempfile.gettempdir()]
for place in [*private, "/", "/usr", "/etc", "/proc", "/sys/devices/system/cpu", os.path.dirname(os.__file__)]:
    try:
        (pathlib.Path(place) / "planted").write_text("x")
        result.append(place)
    except OSError:
        pass
result = [result, private]
"""
    written, private = bench.result_of(code)
    assert written == private


def test_temporary_directories_are_not_shared(bench: Bench) -> None:
    first = bench.run("import os; open(os.environ['TMPDIR'] + '/mine', 'w').close(); result = os.environ['TMPDIR']")
    directory = first.answer()
    assert bench.result_of(f"import os; result = os.path.exists('{directory}/mine')") is (not bench.has_namespaces) or (
        bench.result_of("import os; result = os.environ['TMPDIR']") != directory
    )


def test_the_temporary_directory_is_gone_afterwards(bench: Bench) -> None:
    inside = bench.run("import os; result = os.environ['TMPDIR'] + '/left'; open(result, 'w').close()")
    left = inside.answer()
    inside.end()
    assert not Path(str(left)).exists()


def test_a_file_larger_than_the_limit_is_refused(bench: Bench) -> None:
    limits = SandboxLimits(wall_s=30, file_bytes=1 << 20)
    code = """
import os
try:
    with open(os.environ["TMPDIR"] + "/big", "wb") as file:
        for _ in range(64):
            file.write(bytes(1 << 20))
except OSError as error:
    result = error.strerror
"""
    assert bench.run(code, limits).answer() == "File too large"


def test_other_processes_cannot_be_seen_or_signalled(bench: Bench) -> None:
    code = f"""
import os
result = []
try:
    os.kill({os.getpid()}, 0)
    result.append("signalled")
except OSError as error:
    result.append(type(error).__name__)
result.append(sorted(int(name) for name in os.listdir("/proc") if name.isdigit()))
"""
    outcome, processes = bench.result_of(code)
    if bench.has_namespaces:
        assert outcome == "ProcessLookupError"
        assert len(processes) <= 2
    elif os.geteuid() == 0:
        assert outcome == "PermissionError"


def test_its_supervisor_cannot_be_read_traced_or_stopped(bench: Bench) -> None:
    if not bench.has_namespaces:
        pytest.skip("PID 1 is the machine's at this level")
    code = """
import ctypes, os, signal
result = []
for name in ("environ", "mem", "maps", "fd"):
    try:
        path = f"/proc/1/{name}"
        os.listdir(path) if name == "fd" else open(path, "rb").read(1)
        result.append(name)
    except OSError:
        pass
if ctypes.CDLL(None, use_errno=True).ptrace(16, 1, None, None) == 0:
    result.append("traced")
for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGKILL):
    try:
        os.kill(1, number)
    except PermissionError:
        pass
"""
    inside = bench.run(code)
    assert inside.answer() == []
    assert inside.end().code == 0


def test_it_can_make_no_namespaces_and_mounts_of_its_own(sandbox: Sandbox, bench: Bench) -> None:
    if sandbox.isolation == "limits":
        pytest.skip("without namespaces nothing filters system calls")
    code = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
asked = {"user": 0x10000000, "mount": 0x00020000, "process": 0x20000000}
result = {name: (libc.unshare(flags), ctypes.get_errno()) for name, flags in asked.items()}
result["tmpfs"] = (libc.mount(b"tmpfs", b"/tmp", b"tmpfs", 0, None), ctypes.get_errno())
"""
    refused = [-1, errno.EPERM]
    assert {name: list(told) for name, told in bench.result_of(code).items()} == dict.fromkeys(
        ("user", "mount", "process", "tmpfs"), refused
    )


def test_descriptors_are_not_inherited(bench: Bench) -> None:
    with socket.socket() as extra, Path(__file__).open() as file:
        os.set_inheritable(extra.fileno(), True)
        os.set_inheritable(file.fileno(), True)
        code = """
import os
result = {}
for name in os.listdir("/proc/self/fd"):
    try:
        result[name] = os.readlink(f"/proc/self/fd/{name}")
    except OSError:
        pass
"""
        descriptors = bench.result_of(code)
    assert isinstance(descriptors, dict)
    kinds = sorted(str(target).split(":")[0] for target in descriptors.values())
    assert kinds == ["/dev/null", "pipe", "pipe", "socket"]


def test_a_mount_is_readable_and_not_writable(bench: Bench, tmp_path: Path) -> None:
    if not bench.has_namespaces:
        pytest.skip("this level shows the machine's files as they are")
    tmp_path.chmod(0o755)  # permission bits hold inside: what is shown must be readable by others
    (tmp_path / "given").write_text("shown")
    (tmp_path.parent / "beside").write_text("hidden")
    code = f"""
import os, pathlib
given = pathlib.Path({str(tmp_path)!r})
result = [(given / "given").read_text(), (given.parent / "beside").exists()]
for act in (lambda: (given / "new").write_text("x"), lambda: (given / "given").chmod(0o777)):
    try:
        act()
    except OSError as error:
        result.append(error.strerror)
"""
    answer = bench.run(code, mounts=(Mount(path=tmp_path),)).answer()
    assert answer == ["shown", False, "Read-only file system", "Read-only file system"]


def test_a_mount_may_lie_behind_a_link_that_another_mount_shows(bench: Bench, tmp_path: Path) -> None:
    if not bench.has_namespaces:
        pytest.skip("this level shows the machine's files as they are")
    for folder in ("toolkit-13", "links"):
        (tmp_path / folder).mkdir()
    (tmp_path / "toolkit-13" / "tool").write_text("found")
    (tmp_path / "links" / "toolkit").symlink_to(tmp_path / "toolkit-13")
    for path in (tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o755)
    tool = tmp_path / "links" / "toolkit" / "tool"
    mounts = tuple(Mount(path=path) for path in (tmp_path / "toolkit-13", tmp_path / "links", tool))
    answer = bench.run(f"import pathlib; result = pathlib.Path({str(tool)!r}).read_text()", mounts=mounts).answer()
    assert answer == "found"


def test_a_mount_that_does_not_exist_is_refused(bench: Bench) -> None:
    with pytest.raises(SandboxError, match="nowhere"):
        bench.run("result = 1", mounts=(Mount(path=Path("/nowhere")),))


def test_a_sandboxed_process_can_run_programs(bench: Bench) -> None:
    code = """
import subprocess, tempfile, pathlib
folder = pathlib.Path(tempfile.mkdtemp())
(folder / "a.cpp").write_text("#include <cstdio>\\nint main() { puts(\\"compiled\\"); }")
subprocess.run(["g++", "a.cpp", "-o", "a"], cwd=folder, check=True)
result = subprocess.run([str(folder / "a")], capture_output=True, text=True, check=True).stdout
"""
    assert bench.result_of(code) == "compiled\n"
