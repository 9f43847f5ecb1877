import torch
from torch import nn

from kernelwright_rt import compile_cpp

SOURCE = r"""
#include <cmath>
#include <cstdint>
#include <cstring>

// e to the x by 2^n times a polynomial (Cephes), in plain arithmetic that the compiler turns into vectors.
static inline float exponential(float x) {
    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    const float n = (x * 1.44269504f + 12582912.0f) - 12582912.0f;
    const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    const int32_t bits = (int32_t(n) + 127) << 23;
    float power;
    std::memcpy(&power, &bits, 4);
    return p * power;
}

extern "C" void layer_norm_silu(const float* x, const float* weight, const float* bias, float* out, int64_t rows,
                                int64_t columns, double eps) {
    #pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows; ++row) {
        const float* from = x + row * columns;
        float* to = out + row * columns;
        float sum = 0.0f, squares = 0.0f;
        #pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < columns; ++i) sum += from[i];
        const float mean = sum / float(columns);
        #pragma omp simd reduction(+ : squares)
        for (int64_t i = 0; i < columns; ++i) squares += (from[i] - mean) * (from[i] - mean);
        const float scale = float(1.0 / std::sqrt(double(squares) / columns + eps));
        #pragma omp simd
        for (int64_t i = 0; i < columns; ++i) {
            const float y = (from[i] - mean) * scale * weight[i] + bias[i];
            to[i] = y / (1.0f + exponential(-y));
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
