"""Samples are attributed by the file and the function that they lie in."""

from collections.abc import Sequence

import pytest

from workers.referee.boundary.worker_client import SeenTime
from workers.referee.boundary.worker_messages import TimeShares
from workers.referee.gates.checks.attribution import foreign_time, library_time
from workers.sampler.attribution import Owner, attribute
from workers.sampler.maps import CodeMap, parse_maps
from workers.sampler.perf_events import Sample

MAPS = """\
00010000-00020000 r-xp 00001000 00:2a 77 /nothing/abc.so
00020000-00030000 r-xp 00000000 00:2a 78 /torch/lib/libtorch_cpu.so
00030000-00040000 r-xp 00000000 00:2a 79 /usr/lib/libm.so.6
00040000-00050000 r-xp 00000000 00:2a 80 /numpy.libs/libscipy_openblas64_-32a4.so
00050000-00060000 r-xp 00000000 00:00 0
00060000-00070000 r-xp 00000000 00:2a 81 /usr/lib/libgomp.so.1
00070000-00080000 r-xp 00000000 00:2a 82 /usr/bin/python3.11
00080000-00090000 r-xp 00000000 00:2a 99 /tmp/abc.so
00090000-000a0000 rw-p 00000000 00:2a 99 /tmp/data
"""


class Names:
    """Functions of PyTorch at round addresses."""

    TABLE = (
        "_ZN2at6native4AVX211silu_kernelE",
        "_ZN3c1010Dispatcher4callE",
        "_ZN2at6native4AVX218direct_copy_kernelE",
        "Sleef_expf8_u10avx2",
        "thread_main",
        "xnn_f32_vsilu_ukernel",
    )

    def name_at(self, offset: int) -> str:
        return self.TABLE[offset // 0x1000]


def seen(addresses: Sequence[int]) -> dict[str, int]:
    samples = [Sample(time_ns=1000 + i, process=7, thread=7, address=address) for i, address in enumerate(addresses)]
    found = attribute(
        samples, [(0.0, 1.0)], {"abc.so": 77}, maps=lambda _: CodeMap(parse_maps(MAPS)), symbols=lambda _: Names()
    )
    return dict(found.by_owner)


@pytest.mark.parametrize(
    ("address", "owner"),
    [
        (0x10010, Owner.OWN),
        (0x20010, Owner.LIBRARY),
        (0x21010, Owner.PYTHON),
        (0x22010, Owner.MOVING),
        (0x23010, Owner.VECTOR_MATH),
        (0x24010, Owner.OPENMP),
        (0x25010, Owner.LIBRARY),
        (0x30010, Owner.MATH),
        (0x40010, Owner.LIBRARY),
        (0x50010, Owner.GENERATED),
        (0x60010, Owner.OPENMP),
        (0x70010, Owner.PYTHON),
        (0x80010, Owner.OTHER),
        (0x90010, Owner.OTHER),
        (0xFFFF_FFFF_8000_0000, Owner.KERNEL),
    ],
)
def test_an_address_belongs_to_whoever_s_file_it_lies_in(address: int, owner: Owner) -> None:
    assert seen([address]) == {owner.value: 1}


def test_only_what_lies_inside_of_a_window_counts() -> None:
    samples = [Sample(time_ns=t, process=7, thread=7, address=0x10010) for t in (5, 15, 25, 35)]
    windows = [(10e-9, 20e-9), (30e-9, 40e-9)]
    found = attribute(samples, windows, {"abc.so": 77}, maps=lambda _: CodeMap(parse_maps(MAPS)))
    assert found.samples == 2
    assert found.places == {"abc.so": {0x1010: 2}}
    assert found.by_thread == {7: 2}


def times(functions: dict[str, int] | None = None, **owners: int) -> TimeShares:
    return TimeShares(by_owner=owners, functions=functions or {}, threads=())


def test_most_of_the_time_in_a_library_is_evidence() -> None:
    finding = library_time(times({"mkl_blas_sgemm": 90}, own=10, library=90), frozenset())
    assert finding is not None
    assert finding.status == "failed"
    assert "90% of the time at work" in finding.detail
    assert "mkl_blas_sgemm" in finding.detail


def test_a_part_of_the_time_in_a_library_is_a_hint() -> None:
    finding = library_time(times(own=160, library=40), frozenset())
    assert finding is not None
    assert finding.status == "suspicious"


@pytest.mark.parametrize(
    "found",
    [
        times(own=200, library=10),
        times(own=3, library=9),
        times(own=5, math=400, library=20),
        times(own=100, python=500, openmp=400, moving=300, kernel=200),
        times(),
    ],
)
def test_little_time_in_a_library_says_nothing(found: TimeShares) -> None:
    assert library_time(found, frozenset()) is None


def test_what_the_problem_permits_does_not_count() -> None:
    found = times({"mkl_blas_def_sgemm_kernel_0_zen": 85, "_ZN2at6native4AVX210add_kernelE": 5}, own=20, library=90)
    assert library_time(found, frozenset()) is not None
    assert library_time(found, frozenset({"linear"})) is None
    other = times({"_ZN2at6native4AVX214softmax_kernelE": 90}, own=20, library=90)
    assert library_time(other, frozenset({"linear"})) is not None
    assert library_time(other, frozenset({"softmax"})) is None
    nameless = times({"mm_cleanup_thread_cbk": 60, "mkl_serv_set_xerbla_interface": 30}, own=20, library=90)
    assert library_time(nameless, frozenset({"linear"})) is None
    assert library_time(nameless, frozenset({"softmax"})) is not None


def test_a_library_that_works_only_in_timed_calls_is_not_hidden_by_the_others() -> None:
    seen = SeenTime(whole_life=times(own=900, library=60), since_timed=times(own=20, library=60))
    finding = foreign_time(seen, frozenset())
    assert finding is not None
    assert finding.status == "failed"
