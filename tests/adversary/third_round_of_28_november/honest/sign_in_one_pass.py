# problem: E_lion
# about: the step of Lion in one pass with fused multiply-adds; the sign by two comparisons

cpp = r"""
extern "C" void run(float* w, const float* g, float* m, int64_t n, double rate, double decay) {
  const float kept = (float)(1 - rate * decay), size = (float)rate;
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) {
    const float u = std::fma(m[i], 0.9f, g[i] * 0.1f);
    const float s = u > 0 ? 1.0f : u < 0 ? -1.0f : 0.0f;
    w[i] = std::fma(w[i], kept, -size * s);
    m[i] = std::fma(m[i], 0.99f, g[i] * 0.01f); }
}
"""


def forward(self, weight, gradient, mean, rate=1e-4, decay=0.1):
    if any(one.shape != weight.shape or not one.is_contiguous() for one in (weight, gradient, mean)):
        raise ValueError("dense tensors of one shape")
    lib.run(weight, gradient, mean, weight.numel(), rate, decay)
    return weight
