import torch
from torch import nn

from kernelwright_rt import compile_cpp

SOURCE = r"""
#include <cmath>
#include <cstdint>

extern "C" void layer_norm_silu(const float* x, const float* weight, const float* bias, float* out, int64_t rows,
                                int64_t columns, double eps) {
    for (int64_t row = 0; row < rows; ++row) {
        const float* from = x + row * columns;
        float* to = out + row * columns;
        double sum = 0.0, squares = 0.0;
        for (int64_t i = 0; i < columns; ++i) sum += from[i];
        const double mean = sum / columns;
        for (int64_t i = 0; i < columns; ++i) squares += (from[i] - mean) * (from[i] - mean);
        const double scale = 1.0 / std::sqrt(squares / columns + eps);
        for (int64_t i = 0; i < columns; ++i) {
            const double y = (from[i] - mean) * scale * weight[i] + bias[i];
            to[i] = float(y / (1.0 + std::exp(-y)));
        }
    }
}
"""
LIBRARY = compile_cpp(SOURCE)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        columns = x.shape[-1]
        LIBRARY.layer_norm_silu(x, self.weight, self.bias, out, x.numel() // columns, columns, 1e-5)
        return out
