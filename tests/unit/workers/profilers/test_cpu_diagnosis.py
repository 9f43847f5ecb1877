"""Rules on samples name the cause, with its figures."""

from collections.abc import Mapping

import pytest

from services.domain.profiles import Profile, Roofline
from workers.profilers.cpu_diagnosis import CpuEvidence, diagnose_cpu
from workers.profilers.hot_spots import HotSpots, hot_spots, missed_vectorisation

LISTING = """
0000000000001130 <run._omp_fn.0>:
run._omp_fn.0():
/tmp/work/kernel.cpp:7
    1130:\tvmovups (%rdi),%ymm0
    1134:\tvfmadd213ps %ymm2,%ymm1,%ymm0
/tmp/work/kernel.cpp:9 (discriminator 3)
    1138:\tvmulss %xmm1,%xmm0,%xmm0
/usr/include/c++/12/cmath:300
    113c:\tvaddss %xmm1,%xmm0,%xmm0
    1140:\tvmovss %xmm0,-0x8(%rsp)
    1144:\tmov    %rax,%rbx
0000000000001200 <other>:
other():
    1200:\tret
"""


def roof(fraction: float = 0.1, bound: str = "memory") -> Roofline:
    return Roofline(bytes=1 << 20, flops=1 << 20, floor_us=fraction * 100, fraction=fraction, bound=bound)


def spots(vector: int = 0, scalar: int = 0, spills: int = 0) -> HotSpots:
    total = vector + scalar + spills
    return HotSpots(samples=total, lines={9: total}, functions={}, vector=vector, scalar=scalar, spills=spills)


def diagnosed(
    roofline: Roofline | None = None,
    *,
    by_thread: Mapping[int, int] | None = None,
    faults: float = 0.0,
    seen: HotSpots | None = None,
    missed: Mapping[int, str] | None = None,
    **owners: int,
) -> Profile:
    evidence = CpuEvidence(
        by_owner=owners,
        by_thread={1: 50, 2: 50} if by_thread is None else by_thread,
        threads=2,
        functions={"mkl_sgemm": 3},
        faults_per_call=faults,
        spots=seen,
        missed=missed or {},
    )
    return diagnose_cpu(roofline or roof(), evidence, {})


@pytest.mark.parametrize(
    ("profile", "cause"),
    [
        (diagnosed(own=20, library=80), "library"),
        (diagnosed(own=20, python=200), "overhead"),
        (diagnosed(own=100, kernel=90, faults=4000.0, seen=spots(vector=90)), "page_faults"),
        (diagnosed(own=100, kernel=90, faults=3.0, seen=spots(vector=90)), "neither"),
        (diagnosed(roof(0.8), own=100, seen=spots(vector=90)), "memory"),
        (diagnosed(roof(0.1, "latency"), own=100), "latency"),
        (diagnosed(own=40, math=60, seen=spots(scalar=30)), "scalar"),
        (diagnosed(own=100, seen=spots(vector=80, scalar=20), by_thread={1: 98, 2: 2}), "imbalance"),
        (diagnosed(own=100, seen=spots(vector=60, spills=40)), "spills"),
        (diagnosed(roof(0.4), own=100, seen=spots(vector=90)), "memory"),
        (diagnosed(roof(0.07), own=100, seen=spots(vector=90)), "neither"),
        (diagnosed(roof(0.07), own=3), "neither"),
    ],
)
def test_the_cause_is_named(profile: Profile, cause: str) -> None:
    assert profile.bottleneck == cause, profile
    assert profile.source == "samples"


def test_neither_roof_binds_at_seven_percent() -> None:
    assert "neither roof binds: it reaches 7 % of the memory roof" in diagnosed(roof(0.07), own=100).reason


def test_the_line_and_the_compiler_s_remark_are_named() -> None:
    profile = diagnosed(own=40, math=60, seen=spots(scalar=30), missed={8: "`expf` is called for each element"})
    assert "line 9 of the C++ source" in profile.reason
    assert "the compiler on line 8: `expf` is called" in profile.reason


def test_hot_lines_come_hottest_first_with_their_shares() -> None:
    profile = diagnosed(own=40, seen=spots(scalar=30))
    shares = [one.share for one in profile.lines]
    assert profile.lines[0].line == 9
    assert shares == sorted(shares, reverse=True)
    assert 0 < sum(shares) <= 1 + 1e-9
    assert diagnosed(own=40).lines == ()


def test_samples_are_laid_on_lines_and_kinds_of_instructions() -> None:
    found = hot_spots(LISTING, {0x1130: 5, 0x1138: 3, 0x113C: 2, 0x1140: 4, 0x1144: 1, 0x9999: 7})
    assert found.samples == 15
    assert found.lines == {9: 10, 7: 5}
    assert (found.vector, found.scalar, found.spills) == (5, 5, 4)
    assert found.hottest == 9


def test_nothing_is_found_without_a_listing() -> None:
    found = hot_spots("", {0x1130: 5})
    assert (found.samples, found.hottest) == (0, None)


def test_the_compiler_s_most_telling_remark_is_kept() -> None:
    remarks = """\
kernel.cpp:9:43: missed: couldn't vectorize loop
kernel.cpp:9:54: missed: not vectorized: complicated access pattern.
kernel.cpp:12:54: missed: couldn't vectorize loop
kernel.cpp:12:60: missed:   statement clobbers memory: _28 = expf (_27);
/usr/include/c++/12/bits/stl_heap.h:140:59: missed: couldn't vectorize loop
"""
    found = missed_vectorisation(remarks)
    assert found[9] == "complicated access pattern."
    assert found[12].startswith("`expf` is called for each element")
    assert set(found) == {9, 12}
