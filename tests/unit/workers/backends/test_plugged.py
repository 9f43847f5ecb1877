"""Backends that other packages plug in: found by name, refused with a reason, never in the place of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from kernelwright.wiring.workbench import backends, check_device
from services.domain.errors import ConfigurationError
from services.ports.sandboxes import Sandbox
from workers.backends.plugged import OURS, plugged_in
from workers.backends.registry import FACTORIES, make_backend

NOBODY = cast("Sandbox", None)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package as pip would install it, with good and bad entry points."""
    folder = tmp_path / "site"
    described = folder / "some_backends-1.0.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: some-backends\nVersion: 1.0\n")
    points = ["c = some_backends:make", "cpp = some_backends:make", "lost = some_backends:nothing", "No good = x:y"]
    (described / "entry_points.txt").write_text("\n".join(["[kernelwright.backends]", *points]) + "\n")
    (folder / "some_backends.py").write_text("def make(sandbox, folder):\n    return ('made for', folder)\n")
    monkeypatch.syspath_prepend(str(folder))


def test_our_own_are_those_that_the_registry_makes() -> None:
    assert set(FACTORIES) == OURS


@pytest.mark.usefixtures("installed")
def test_a_package_adds_backends_for_the_cpu_and_takes_no_name_of_ours() -> None:
    assert list(plugged_in()) == ["c", "lost"]
    assert backends("cpu")[0] == "cpp"
    assert "c" in backends("cpu")
    assert "c" not in backends("h200")
    check_device("cpu", "c")


@pytest.mark.usefixtures("installed")
def test_a_worker_makes_it_from_what_the_entry_point_names(tmp_path: Path) -> None:
    assert cast("Any", make_backend("c", NOBODY, tmp_path)) == ("made for", tmp_path)


@pytest.mark.usefixtures("installed")
def test_a_package_that_is_broken_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="`lost` of some_backends:nothing cannot be used: AttributeError"):
        make_backend("lost", NOBODY, tmp_path)


def test_an_unknown_backend_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="unknown backend `fortran`; known: cpp, cuda, triton"):
        make_backend("fortran", NOBODY, tmp_path)
