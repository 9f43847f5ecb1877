import torch
from torch import nn

from kernelwright_rt import compile_cpp

SOURCE = r"""
#include <cmath>
#include <cstdint>

extern "C" void rms_norm(const float* x, const float* weight, float* out, int64_t rows, int64_t columns, double eps) {
    #pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows; ++row) {
        const float* from = x + row * columns;
        float* to = out + row * columns;
        float squares = 0.0f;
        #pragma omp simd reduction(+ : squares)
        for (int64_t i = 0; i < columns; ++i) squares += from[i] * from[i];
        const float scale = float(1.0 / std::sqrt(double(squares) / columns + eps));
        #pragma omp simd
        for (int64_t i = 0; i < columns; ++i) to[i] = from[i] * scale * weight[i];
    }
}
"""
LIBRARY = compile_cpp(SOURCE)


class ModelNew(nn.Module):
    def __init__(self, features, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(features))

    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        columns = x.shape[-1]
        LIBRARY.rms_norm(x, self.weight, out, x.numel() // columns, columns, self.eps)
        return out
