"""The sandbox's contract once more as an ordinary user, who makes user namespaces or has limits only.

Root runs it in a mount namespace of its own, where private directories on the way to the interpreter and to this
checkout are shown under directories that everybody may enter; an ordinary user runs the contract suite itself.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(os.geteuid() != 0, reason="root only; others run the contract suite as they are"),
    pytest.mark.skipif(shutil.which("setpriv") is None or shutil.which("unshare") is None, reason="needs util-linux"),
]

ROOT = Path(__file__).resolve().parent.parent.parent
SUITES = sorted(str(path) for path in (ROOT / "tests/contracts").glob("test_sandbox*.py"))
SCRIPT = """
set -e
tree=$1 private=$2
shift 2
while [ "$1" != -- ]; do
    mkdir -p "$tree/$1"
    mount --bind "$private/$1" "$tree/$1"
    shift
done
shift
mount --rbind "$tree" "$private"
exec "$@"
"""
"""Arguments: a folder for the new tree, the private directory, what to show of it, `--`, and a command."""
AS_USER = [
    "setpriv",
    "--reuid",
    "54321",
    "--regid",
    "54321",
    "--clear-groups",
    "--inh-caps=-all",
    "--bounding-set=-all",
]


def private_ancestor(path: Path) -> Path | None:
    """The first directory on the way to `path` that others may not enter."""
    for parent in reversed(path.resolve().parents):
        if not parent.stat().st_mode & stat.S_IXOTH:
            return parent
    return None


@pytest.fixture
def stage() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="kernelwright-plain-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def command_for_everybody(stage: Path, command: list[str]) -> list[str]:
    """Wraps a command so that an ordinary user can reach the interpreter and this checkout."""
    shown: dict[Path, set[str]] = {}
    for place in (Path(sys.base_prefix).resolve(), ROOT):
        if (private := private_ancestor(place)) is not None:
            shown.setdefault(private, set()).add(place.relative_to(private).parts[0])
    for number, (private, names) in enumerate(shown.items()):
        tree = stage / f"tree-{number}"
        command = ["unshare", "--mount", "sh", "-c", SCRIPT, "sh", str(tree), str(private), *names, "--", *command]
    return command


@pytest.mark.parametrize(("level", "fewest"), [("user", 40), pytest.param("limits", 35, marks=pytest.mark.full)])
def test_the_contract_holds_for_an_ordinary_user(stage: Path, level: str, fewest: int) -> None:
    home = stage / "home"
    home.mkdir(mode=0o700)
    os.chown(home, 54321, 54321)
    pytest_command = [sys.executable, "-m", "pytest", *SUITES, "-q", "-k", f"process-{level}"]
    command = command_for_everybody(
        stage, [*AS_USER, *pytest_command, "-p", "no:cacheprovider", f"--basetemp={home}/pytest", "-rN"]
    )
    environment = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None, done.stdout[-2000:]
    assert int(passed.group(1)) >= fewest
