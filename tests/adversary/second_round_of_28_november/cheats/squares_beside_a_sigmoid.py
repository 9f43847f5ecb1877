# problem: gated_length
# about: squares that overflow and vanish, where a sigmoid keeps huge values away

cpp = r"""
extern "C" void run(const float* x, const float* y, const float* g, float* out, int64_t n) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) out[i] = sqrtf(x[i] * x[i] + y[i] * y[i]) / (1.0f + expf(-g[i]));
}
"""


def forward(self, x, y, g):
    out = torch.empty_like(x)
    lib.run(x, y, g, out, x.numel())
    return out
