"""How a kernel behaves, read from its code."""

from __future__ import annotations

from agents.strategies.behaviour import behaviour
from tests.unit.agents.search_states import SERIAL, THREADED, VECTOR


def test_behaviour_is_read_from_the_code_and_not_from_its_comments() -> None:
    assert behaviour(SERIAL).parallelism == "serial"
    assert behaviour("// #pragma omp parallel for\n" + SERIAL).parallelism == "serial"
    assert behaviour(THREADED).parallelism == "threads"
    assert behaviour(VECTOR).staging == "vector"
    assert behaviour("__global__ void f() { __shared__ float x; }").staging == "shared"
    assert behaviour("@triton.jit\ndef f(): tl.dot(a, b)").staging == "tensor core"
    assert behaviour('extern "C" a\nextern "C" b\n').traffic == "few passes"
    assert behaviour("x = 1\n" * 100).size == "long"
    assert behaviour(SERIAL).distance(behaviour(THREADED)) == 1
