import torch
from torch import nn

from kernelwright_rt import compile_cpp

SOURCE = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void chain(const float* x, const float* y, const float* scale, float* out, int64_t rows, int64_t columns) {
    #pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows; ++row) {
        for (int64_t i = 0; i < columns; ++i) {
            const int64_t at = row * columns + i;
            const float mixed = std::clamp(std::tanh(x[at] * scale[i]) + 0.5f * y[at], -1.0f, 1.0f);
            out[at] = std::fabs(x[at]) / (1.0f + std::exp(-mixed)) - y[at];
        }
    }
}
"""
LIBRARY = compile_cpp(SOURCE)


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(columns))

    def forward(self, x, y):
        x, y = x.contiguous(), y.contiguous()
        out = torch.empty_like(x)
        columns = x.shape[-1]
        LIBRARY.chain(x, y, self.scale, out, x.numel() // columns, columns)
        return out
