"""What is made ready for Triton without Triton: launchers built with headers that were compiled once."""

from __future__ import annotations

import importlib.util
import subprocess
import sysconfig
from pathlib import Path

import pytest

from workers.runner.triton_ready import LAUNCHER_HEADERS, LauncherBuild

HEADER = Path(sysconfig.get_paths()["include"], "Python.h")
LAUNCHER = (
    LAUNCHER_HEADERS
    + """
static PyObject* launch(PyObject* self, PyObject* args) { return PyLong_FromLong(ANSWER); }
static PyMethodDef methods[] = {{"launch", launch, METH_VARARGS, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "a_launcher", NULL, -1, methods};
PyMODINIT_FUNC PyInit_a_launcher(void) { return PyModule_Create(&module); }
"""
)

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not HEADER.exists(), reason=f"{HEADER} is missing: install Python's headers"),
]


@pytest.fixture
def includes(tmp_path: Path) -> Path:
    """A directory with a `cuda.h`, as Triton brings one."""
    directory = tmp_path / "include"
    directory.mkdir()
    (directory / "cuda.h").write_text("#pragma once\n#define ANSWER 42\n", encoding="utf-8")
    return directory


def built(build: LauncherBuild, text: str, directory: Path, includes: Path) -> Path:
    directory.mkdir()
    source = directory / "a_launcher.c"
    source.write_text(text, encoding="utf-8")
    return Path(build("a_launcher", str(source), str(directory), [], [str(includes)], ["m"]))


def test_a_launcher_is_built_and_runs(tmp_path: Path, includes: Path) -> None:
    library = built(LauncherBuild([str(includes)]), LAUNCHER, tmp_path / "build", includes)
    spec = importlib.util.spec_from_file_location("a_launcher", library)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.launch() == 42


def test_the_headers_of_one_build_are_not_those_of_the_next(tmp_path: Path, includes: Path) -> None:
    build = LauncherBuild([str(includes)])
    built(build, LAUNCHER, tmp_path / "first", includes)
    (tmp_path / "first" / "launcher.h.gch").write_bytes(b"poison")
    assert built(build, LAUNCHER, tmp_path / "second", includes).exists()


def test_a_source_that_does_not_compile_is_an_error(tmp_path: Path, includes: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        built(LauncherBuild([str(includes)]), "not C", tmp_path / "build", includes)
