"""What an installation without a checkout has: the wheel is built, unpacked and asked."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("setuptools", reason="setuptools builds the wheel: pip install 'setuptools>=80'")

ROOT = Path(__file__).resolve().parents[2]
ASKED = """
from kernelwright.distribution import built_ui, example, examples
print(len(examples()), example("rmsnorm"), built_ui() is not None)
"""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "source"
    names = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(names, capture_output=True, text=True, check=True).stdout.rstrip("\0").split("\0")
    for name in listed:
        if (ROOT / name).is_file() and not name.startswith(("tests/", "docs/", "benchmarks/")):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes((ROOT / name).read_bytes())
    (copy / "web/ui/dist/assets").mkdir(parents=True)
    (copy / "web/ui/dist/index.html").write_text("<title>Kernelwright</title>", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(folder)]
    subprocess.run([*command, str(copy)], check=True, timeout=240)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(folder / "site")
    return folder / "site"


def test_a_wheel_has_the_example_problems_and_the_built_ui(unpacked: Path) -> None:
    asked = subprocess.run(
        [sys.executable, "-P", "-c", ASKED],
        cwd=unpacked,
        env={"PYTHONPATH": str(unpacked)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert asked.returncode == 0, asked.stderr
    number, path, has_ui = asked.stdout.split()
    assert int(number) == len(list((ROOT / "examples/problems").glob("*.py")))
    assert Path(path) == unpacked / "kernelwright/example_problems/rmsnorm.py"
    assert has_ui == "True"


def test_a_wheel_adds_no_package_of_a_common_name_for_its_examples(unpacked: Path) -> None:
    assert not (unpacked / "examples").exists()
    assert not (unpacked / "tests").exists()
