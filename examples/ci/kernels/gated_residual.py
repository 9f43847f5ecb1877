"""a + relu(a) · b in one pass over memory."""

import torch

from kernelwright_rt import compile_cpp

LIBRARY = compile_cpp(r"""
#include <cstdint>

extern "C" void gated_residual(const float* a, const float* b, float* y, int64_t n) {
    #pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < n; ++i) {
        y[i] = a[i] + (a[i] > 0.0f ? a[i] : 0.0f) * b[i];
    }
}
""")


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        a, b = a.contiguous(), b.contiguous()
        y = torch.empty_like(a)
        LIBRARY.gated_residual(a, b, y, a.numel())
        return y
