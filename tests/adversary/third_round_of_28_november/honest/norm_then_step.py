# problem: E_clipped_step
# about: the norm in double, then one pass; what does not fit into a float's square does into a double's

cpp = r"""
extern "C" void run(float* w, const float* g, float* s, int64_t n, double most, double rate, float* told) {
  double sum = 0;
  #pragma omp parallel for simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += (double)g[i] * (double)g[i];
  const float norm = (float)std::sqrt(sum), share = (float)most / (norm + 1e-6f), by = share > 1 ? 1 : share, size = (float)rate;
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) {
    const float c = g[i] * by; s[i] = std::fma(0.01f * c, c, 0.99f * s[i]);
    w[i] -= size * c / (std::sqrt(s[i]) + 1e-8f); }
  *told = norm;
}
"""


def forward(self, weight, gradient, square, most=1.0, rate=1e-3):
    if any(one.shape != weight.shape or not one.is_contiguous() for one in (weight, gradient, square)):
        raise ValueError("dense tensors of one shape")
    norm = torch.empty(())
    lib.run(weight, gradient, square, weight.numel(), most, rate, norm)
    return norm
