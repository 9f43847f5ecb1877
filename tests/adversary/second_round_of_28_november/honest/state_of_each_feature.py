# problem: selective_scan
# about: a feature's state stays in registers over all steps; softplus as PyTorch bounds it

cpp = r"""
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void run(const float* x, const float* step, const float* a, const float* b, const float* c, float* y, int64_t batch, int64_t length,
                    int64_t features, int64_t n) {
  #pragma omp parallel
  {
    std::vector<float> state(n);
    #pragma omp for collapse(2)
    for (int64_t s = 0; s < batch; ++s) for (int64_t f = 0; f < features; ++f) {
      std::fill(state.begin(), state.end(), 0.0f);
      for (int64_t t = 0; t < length; ++t) {
        const int64_t at = (s * length + t) * features + f; const float z = step[at], width = z > 20.0f ? z : std::log1p(std::exp(z));
        const float in = width * x[at], *gain = b + (s * length + t) * n, *out = c + (s * length + t) * n; float sum = 0;
        #pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < n; ++i) { state[i] = std::exp(width * a[f * n + i]) * state[i] + in * gain[i]; sum += state[i] * out[i]; }
        y[at] = sum;
      }
    }
  }
}
"""


def forward(self, x, step, a, b, c):
    batch, length, features = x.shape
    n = a.shape[1]
    if step.shape != x.shape or a.shape != (features, n) or b.shape != (batch, length, n) or c.shape != b.shape:
        raise ValueError("limited to a step for each element and gains for each step")
    if length == 0:
        raise ValueError("limited to one step at least")
    y = torch.empty(x.shape)
    lib.run(x.contiguous(), step.contiguous(), a.contiguous(), b.contiguous(), c.contiguous(), y, batch, length, features, n)
    return y
