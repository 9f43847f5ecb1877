"""What is passed on of the record that Nsight Compute writes, with a program in its place."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from tests.unit.workers.profilers.test_ncu import a_program, printed
from workers.profilers import ncu
from workers.runner.answers import MAX_RECORD
from workers.runner.counted import counted

pytestmark = pytest.mark.integration


def test_a_record_is_passed_on_whole_and_read_again_where_nothing_was_printed(tmp_path: Path) -> None:
    record = tmp_path / "kernel.ncu-rep"
    record.write_bytes(b"NVR\0 a record")
    table = tmp_path / "table"
    table.write_text(printed(("mine", "3000", "5")), encoding="utf-8")
    program = a_program(tmp_path / "ncu", f'[ "$1 $2" = "--import {record}" ] && cat {table}')
    said = counted(program, "==PROF== Disconnected", record)
    assert [kernel.name for kernel in ncu.parse(said.counters)] == ["mine"]
    assert base64.b64decode(str(said.record)) == b"NVR\0 a record"
    assert said.lines == ""  # NVIDIA's module cannot read this record


def test_a_record_that_is_too_large_is_told_by_its_size(tmp_path: Path) -> None:
    record = tmp_path / "kernel.ncu-rep"
    with record.open("wb") as file:
        file.truncate(MAX_RECORD + 1)
    said = counted("/nowhere/ncu", printed(("mine", "3000", "5")), record)
    assert (said.record, said.record_bytes) == ("", MAX_RECORD + 1)
