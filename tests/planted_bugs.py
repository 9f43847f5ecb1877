"""Plants one bug at a time into a copy of the last commit, and prints which test of `make test` finds it.

`python -m tests.planted_bugs [a word of its name]`. A bug that no test finds exits with 1.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIMIT_S = 600


@dataclass(frozen=True)
class Bug:
    """A text of the product that is replaced by another, and the tests that should find it."""

    name: str
    file: str
    text: str
    planted: str
    tests: tuple[str, ...]


BUGS = (
    Bug(
        name="lease fencing: an old token still writes",
        file="storage/jobs/leases.py",
        text="if row is None or row.lease_token != lease.token or row.lease_owner != lease.owner:",
        planted="if row is None:",
        tests=("tests/contracts/test_job_store.py", "tests/contracts/test_checkpoints.py"),
    ),
    Bug(
        name="comparison: a tolerance of float32 a hundred times as wide",
        file="workers/referee/comparison/tolerance.py",
        text='"float32": Tolerance(atol=1e-4, rtol=1e-4, error_floor=2e-5)',
        planted='"float32": Tolerance(atol=1e-2, rtol=1e-2, error_floor=2e-3)',
        tests=("tests/unit/workers/referee",),
    ),
    Bug(
        name="screen: a candidate may reach every module",
        file="workers/referee/screen/binary_rules.py",
        text='return name.split(".")[0] in PERMITTED_MODULES',
        planted="return True",
        tests=("tests/unit/workers", "tests/adversary"),
    ),
    Bug(
        name="quota: one more than the limit",
        file="services/domain/quotas.py",
        text="self.used >= self.quota.most",
        planted="self.used > self.quota.most",
        tests=("tests/contracts/test_limits.py", "tests/contracts/test_quota_store.py", "tests/unit/web"),
    ),
    Bug(
        name="migration: a column is forgotten",
        file="storage/migrations/versions/0025_faults_of_nodes.py",
        text='op.add_column("nodes", sa.Column("fault", sa.Text()))',
        planted="pass",
        tests=("tests/contracts/test_migrations.py",),
    ),
    Bug(
        name="pages: scripts from everywhere",
        file="web/frontend.py",
        text="script-src 'self';",
        planted="script-src *;",
        tests=("tests/unit/web",),
    ),
)


def found_by(bug: Bug, folder: Path) -> str:
    """The first test that fails on a copy with the bug; an empty text where all pass."""
    copy = folder / str(BUGS.index(bug))
    subprocess.run(["git", "clone", "--quiet", ROOT, copy], check=True)
    file = copy / bug.file
    source = file.read_text()
    if source.count(bug.text) != 1:
        raise ValueError(f"{bug.file} has {bug.text!r} {source.count(bug.text)} times: adapt the bug")
    file.write_text(source.replace(bug.text, bug.planted))
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-n", "2", "-m", "not full and not gpu and not live", *bug.tests],
        cwd=copy,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", ran.stdout, re.MULTILINE)
    if ran.returncode and not failed:
        raise RuntimeError(f"{bug.name}: the tests did not run\n{ran.stdout[-2000:]}")
    return failed[1] if failed else ""


def main(word: str = "") -> int:
    """Plant those whose name has the word, and print a table."""
    found = True
    with tempfile.TemporaryDirectory() as folder:
        for bug in (bug for bug in BUGS if word in bug.name):
            test = found_by(bug, Path(folder))
            found &= bool(test)
            sys.stdout.write(f"{bug.name:60} {test or 'NO TEST FINDS IT'}\n")
            sys.stdout.flush()
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
