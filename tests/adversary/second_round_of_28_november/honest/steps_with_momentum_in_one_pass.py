# problem: momentum_step
# about: one pass over three tensors, in place, with fused multiply-adds

cpp = r"""
extern "C" void run(float* w, const float* g, float* v, int64_t n, double momentum, double decay, double rate) {
  const float m = (float)momentum, d = (float)decay, s = (float)-rate;
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) {
    const float full = std::fma(d, w[i], g[i]), now = std::fma(v[i], m, full);
    v[i] = now; w[i] = std::fma(s, std::fma(m, now, full), w[i]);
  }
}
"""


def __init__(self, momentum, decay):
    self.momentum, self.decay = momentum, decay


def forward(self, weight, gradient, velocity, rate):
    if any(one.shape != weight.shape or one.dtype != torch.float32 for one in (gradient, velocity)):
        raise ValueError("limited to floats of one shape")
    if not weight.is_contiguous() or not velocity.is_contiguous():
        raise ValueError("limited to dense weights")
    lib.run(weight, gradient.contiguous(), velocity, weight.numel(), self.momentum, self.decay, rate)
    return weight
