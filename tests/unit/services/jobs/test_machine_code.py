"""Machine code: taken apart by function, kept as an artefact beside the report, told plainly where there is none."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from services.domain.errors import NotFoundError, SandboxError, StorageError, ToolchainError
from services.domain.evaluations import EvaluationRequest
from services.domain.profiles import Disassembly, Profile, ProfilerFile
from services.jobs.machine_code import read_listing, read_profiler_file, with_machine_code_kept, without_text
from services.ports.sandboxes import ExitStatus, Mount, Sandbox, SandboxLimits
from tests.doubles import InMemoryArtefactStore, InMemoryDatabase, a_problem, a_report
from workers.backends import disassembly
from workers.backends.disassembly import OBJDUMP, disassembled, no_listing

DUMP = """
kernel.so:     file format elf64-x86-64

0000000000001040 <deregister_tm_clones>:
    1040:\tret

0000000000001139 <kernel_0>:
    1139:\tvmovups (%rdi),%zmm0
    113f:\tret

0000000000001150 <at::Tensor::sum() const>:
    1150:\tret

0000000000001160 <kernel_0._omp_fn.0>:
    1160:\tret
"""


class Printing:
    """A sandbox whose programs print what the test says."""

    def __init__(self, output: str, code: int = 0, fault: Exception | None = None) -> None:
        self._output, self._code, self._fault = output, code, fault

    def run(
        self,
        command: Sequence[str],
        limits: SandboxLimits,
        *,
        directory: Path,
        mounts: Sequence[Mount] = (),
        environment: Mapping[str, str] = {},
    ) -> ExitStatus:
        assert (directory / command[-1]).read_bytes() == b"library"
        if self._fault is not None:
            raise self._fault
        return ExitStatus(
            code=self._code,
            signal=None,
            timed_out=False,
            out_of_memory=False,
            output=self._output,
            output_cut=False,
        )


def shown(sandbox: Printing, library: Path) -> Disassembly:
    return disassembled(cast("Sandbox", sandbox), OBJDUMP, [library])


@pytest.fixture
def library(tmp_path: Path) -> Path:
    path = tmp_path / "abc.so"
    path.write_bytes(b"library")
    return path


def test_only_the_candidates_own_functions_are_kept(library: Path) -> None:
    found = shown(Printing(DUMP), library)
    assert (found.form, found.tool, found.functions) == ("assembly", "objdump", ("kernel_0", "kernel_0._omp_fn.0"))
    assert "vmovups" in found.text
    assert "at::Tensor" not in found.text
    assert (found.cut, found.note, found.hash) == (False, "", None)


def test_what_does_not_fit_is_left_out_by_whole_functions_and_said(library: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(disassembly, "MAX_BYTES", 80)
    found = shown(Printing(DUMP), library)
    assert (found.functions, found.cut) == (("kernel_0",), True)
    monkeypatch.setattr(disassembly, "MAX_BYTES", 40)
    shortened = shown(Printing(DUMP), library)
    assert (shortened.text, shortened.cut) == ("0000000000001139 <kernel_0>:\n", True)


@pytest.mark.parametrize(
    ("sandbox", "told"),
    [
        (Printing("", fault=ToolchainError("cannot run objdump")), "objdump is not installed: install binutils"),
        (Printing("", fault=SandboxError("no room")), "could not be run: no room"),
        (Printing("objdump: kernel.so: file format not recognized", 1), "file format not recognized"),
        (Printing("nothing here"), "finds no function"),
    ],
)
def test_a_tool_that_gives_nothing_is_a_note_and_no_failure(sandbox: Printing, told: str, library: Path) -> None:
    found = shown(sandbox, library)
    assert (found.form, found.text) == ("none", "")
    assert told in found.note


def test_lines_of_the_candidates_source_are_marked_and_those_of_headers_left_out() -> None:
    text = (
        "0000000000001139 <kernel_0>:\nkernel_0():\n/tmp/kw-1/kernel.cpp:12\n    1139:\tpush   %rbp\n"
        "/tmp/kw-1/kernel.cpp:12 (discriminator 2)\n    113a:\tnop\n/usr/include/c++/12/cmath:40\n    113b:\tret\n"
        "./kernel.cpp:13\n    113c:\tret\n\n0000000000001140 <other>:\nkernel.cpp:13\n    1140:\tret"
    )
    assert disassembly.line_marks(text).splitlines() == [
        "0000000000001139 <kernel_0>:",
        "; line 12",
        "    1139:\tpush   %rbp",
        "    113a:\tnop",
        "    113b:\tret",
        "; line 13",
        "    113c:\tret",
        "",
        "0000000000001140 <other>:",
        "; line 13",
        "    1140:\tret",
    ]


def a_request() -> EvaluationRequest:
    return EvaluationRequest(
        evaluation_id="eval-1",
        job_id="job-1",
        team_id="local",
        candidate_id="cand-1",
        problem=a_problem(),
        source="x",
        device="cpu",
        backend="cpp",
    )


LISTING = Disassembly(
    form="assembly", tool="objdump", functions=("f",), cut=False, note="", hash=None, text="<f>:\n ret\n"
)


async def test_a_listing_is_kept_by_its_hash_and_read_by_its_own_team() -> None:
    artefacts = InMemoryArtefactStore(InMemoryDatabase())
    report = await with_machine_code_kept(replace(a_report(), listing=LISTING), a_request(), artefacts)
    assert report.listing is not None
    assert re.fullmatch("[0-9a-f]{64}", report.listing.hash or "")
    assert report.listing.text == ""
    assert await with_machine_code_kept(report, a_request(), artefacts) == report
    assert await read_listing("local", report, artefacts) == LISTING.text
    with pytest.raises(NotFoundError, match="expired"):
        await read_listing("theirs", report, artefacts)


async def test_a_store_that_fails_costs_the_listing_and_never_the_report() -> None:
    class Full(InMemoryArtefactStore):
        async def put(self, team_id: str, content: bytes, *, job_id: str | None = None) -> str:
            raise StorageError("its disk is full")

    report = await with_machine_code_kept(replace(a_report(), listing=LISTING), a_request(), Full(InMemoryDatabase()))
    assert report == replace(a_report(), listing=report.listing)
    assert report.listing is not None
    assert "its disk is full" in report.listing.note


async def test_a_report_without_listing_says_why_there_is_none() -> None:
    artefacts = InMemoryArtefactStore(InMemoryDatabase())
    for report, told in (
        (a_report(), "not built"),
        (None, "still being judged"),
        (replace(a_report(), listing=no_listing("install binutils")), "install binutils"),
        (without_text(replace(a_report(), listing=LISTING)), "candidates of jobs"),
    ):
        with pytest.raises(NotFoundError, match=told):
            await read_listing("local", report, artefacts)


PROFILE = Profile(
    source="ncu",
    metrics={},
    bottleneck="memory",
    reason="",
    file=ProfilerFile(name="kernel.ncu-rep", bytes=8, hash=None, content=base64.b64encode(b"NVR\0\1\2\3\4").decode()),
)


async def test_ptx_and_the_profilers_file_are_kept_beside_the_machine_code() -> None:
    artefacts = InMemoryArtefactStore(InMemoryDatabase())
    given = replace(a_report(), listing=replace(LISTING, form="sass", ptx="ret;\n"), profile=PROFILE)
    report = await with_machine_code_kept(given, a_request(), artefacts)
    assert await read_listing("local", report, artefacts, ptx=True) == "ret;\n"
    assert await read_listing("local", report, artefacts) == LISTING.text
    assert await read_profiler_file("local", report, artefacts) == ("kernel.ncu-rep", b"NVR\0\1\2\3\4")
    assert report.profile is not None
    assert report.profile.file is not None
    assert report.profile.file.content == ""
    with pytest.raises(NotFoundError, match="profile has expired"):
        await read_profiler_file("theirs", report, artefacts)


async def test_where_there_is_no_ptx_or_no_file_it_is_said_why() -> None:
    artefacts = InMemoryArtefactStore(InMemoryDatabase())
    report = await with_machine_code_kept(replace(a_report(), listing=LISTING), a_request(), artefacts)
    with pytest.raises(NotFoundError, match="has no PTX"):
        await read_listing("local", report, artefacts, ptx=True)
    large = ProfilerFile(name="kernel.ncu-rep", bytes=9 << 20, hash=None, note="at 9 MiB it is too large to keep")
    for profile, told in (
        (None, "Nsight Compute writes one"),
        (replace(PROFILE, file=large), "too large"),
        (without_text(replace(a_report(), profile=PROFILE)).profile, "candidates of jobs"),
    ):
        with pytest.raises(NotFoundError, match=told):
            await read_profiler_file("local", replace(a_report(), profile=profile), artefacts)


async def test_a_file_that_is_no_base64_is_not_kept_and_costs_nothing_else() -> None:
    assert PROFILE.file is not None
    broken = replace(PROFILE, file=replace(PROFILE.file, content="?"))
    artefacts = InMemoryArtefactStore(InMemoryDatabase())
    report = await with_machine_code_kept(replace(a_report(), profile=broken), a_request(), artefacts)
    with pytest.raises(NotFoundError, match="could not be kept"):
        await read_profiler_file("local", report, artefacts)
