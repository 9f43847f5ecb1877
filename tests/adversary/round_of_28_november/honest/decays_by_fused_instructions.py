# problem: weight_decay
# about: decays, and adds a product by one fused instruction, which rounds once where two operators round twice.

cpp = r"""
extern "C" void run(float* w, float* m, const float* g, float* y, int64_t n) {
  double sum = 0.0;
  #pragma omp parallel for simd reduction(+:sum)
  for (int64_t i = 0; i < n; ++i) { float v = m[i] * 0.9f + g[i]; m[i] = v; w[i] = w[i] * (float)(1 - 1e-6) - 0.01f * v; sum += (double)g[i] * g[i]; }
  *y = (float)(sum / n);
}
"""


def forward(self, weight, momentum, gradient):
    y = torch.empty(())
    lib.run(weight, momentum, gradient, y, weight.numel())
    return y
