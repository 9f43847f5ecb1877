"""Building CUDA sources with nvcc, which needs no GPU."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import kernelwright_rt
from kernelwright_rt import CompileError, compile_cuda
from tests.unit.kernelwright_rt.test_kernelwright_rt_cuda import has_nvcc

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not has_nvcc(), reason="nvcc is not installed on this machine"),
]


SOURCE = """
#include <cstdint>
__global__ void scale_kernel(const float* x, float* y, int64_t n, float factor) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * factor;
}
extern "C" void scale(const float* x, float* y, int64_t n, double factor, cudaStream_t stream) {
    scale_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n, (float)factor);
}
"""


@pytest.fixture(autouse=True)
def hopper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kernelwright_rt.ARCHITECTURE_VARIABLE, "90a")
    monkeypatch.setenv(kernelwright_rt.CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.delenv(kernelwright_rt.ARTEFACTS_VARIABLE, raising=False)


def test_a_source_becomes_a_library_without_a_gpu(tmp_path: Path) -> None:
    library = compile_cuda(SOURCE)
    assert library.scale.name == "scale"
    assert len(list((tmp_path / "cache").glob("*/*.so"))) == 1


def test_tensors_that_are_not_on_the_gpu_are_refused() -> None:
    x = torch.zeros(4)
    with pytest.raises(ValueError, match="argument 0 is on cpu, not on the GPU"):
        compile_cuda(SOURCE).scale(x, x, 4, 1.0)


def test_what_nvcc_says_is_in_the_error() -> None:
    with pytest.raises(CompileError, match=r'kernel.cu\(\d+\): error: identifier "m" is undefined'):
        compile_cuda(SOURCE.replace("i < n", "i < m"))


def test_without_gpu_and_architecture_it_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(kernelwright_rt.ARCHITECTURE_VARIABLE)
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU to build for")
    with pytest.raises(CompileError, match="no GPU to build for; set KERNELWRIGHT_RT_CUDA_ARCH"):
        compile_cuda(SOURCE)
