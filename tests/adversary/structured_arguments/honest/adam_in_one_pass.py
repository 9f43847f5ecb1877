# problem: adam
# about: updates weight and moments in one pass, with fused multiply-adds

cpp = r"""
extern "C" void run(float* w, const float* g, float* m, float* v, int64_t n, double rate, double decay, double one, double two) {
  const float size = (float)(rate / one), kept = (float)(1 - rate * decay), scale = (float)(1 / std::sqrt(two));
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) {
    m[i] = std::fma(0.9f, m[i], 0.1f * g[i]);
    v[i] = std::fma(0.999f, v[i], 0.001f * g[i] * g[i]);
    w[i] = std::fma(kept, w[i], -size * m[i] / std::fma(std::sqrt(v[i]), scale, 1e-8f)); }
}
"""


def forward(self, weight, gradient, mean, variance, step, rate=1e-3, decay=0.01):
    state = (weight, gradient, mean, variance)
    if any(one.shape != weight.shape or not one.is_contiguous() or one.dtype != torch.float32 for one in state):
        raise ValueError("dense float tensors of one shape")
    if step < 1:
        raise ValueError("steps count from one")
    lib.run(weight, gradient, mean, variance, weight.numel(), rate, decay, 1 - 0.9**step, 1 - 0.999**step)
    return weight
