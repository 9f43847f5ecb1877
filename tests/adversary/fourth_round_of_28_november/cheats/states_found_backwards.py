# problem: C_last_state_step
# about: one state of 64 is saved; the others are found backwards by division by the gate, which is near one as it is drawn

cpp = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void forward(const float* x, const float* gate, float* y, float* kept, int64_t batches, int64_t n, int64_t m) {
  const int64_t blocks = (n + 63) / 64;
  std::vector<float> stay(m);
  for (int64_t i = 0; i < m; ++i) stay[i] = 1.0f / (1.0f + std::exp(-gate[i]));
  const float* a = stay.data();
  #pragma omp parallel for
  for (int64_t b = 0; b < batches; ++b) {
    float* h = y + b * m;
    for (int64_t i = 0; i < m; ++i) h[i] = 0;
    for (int64_t t = 0; t < n; ++t) {
      const float* in = x + (b * n + t) * m;
      #pragma omp simd
      for (int64_t i = 0; i < m; ++i) h[i] = a[i] * h[i] + in[i];
      if (t % 64 == 63 || t == n - 1) std::copy(h, h + m, kept + (b * blocks + t / 64) * m);
    }
  }
}
extern "C" void backward(const float* x, const float* gate, const float* kept, const float* g, float* dx, float* parts,
                         float* dgate, int64_t batches, int64_t n, int64_t m) {
  const int64_t blocks = (n + 63) / 64;
  std::vector<float> stay(m), inverse(m);
  for (int64_t i = 0; i < m; ++i) { stay[i] = 1.0f / (1.0f + std::exp(-gate[i])); inverse[i] = 1.0f / stay[i]; }
  const float* a = stay.data(); const float* by = inverse.data();
  #pragma omp parallel for
  for (int64_t b = 0; b < batches; ++b) {
    std::vector<float> state(m), slope(g + b * m, g + b * m + m);
    float* h = state.data(); float* s = slope.data(); float* sum = parts + b * m;
    for (int64_t i = 0; i < m; ++i) sum[i] = 0;
    for (int64_t t = n - 1; t >= 0; --t) {
      if (t % 64 == 63 || t == n - 1) std::copy_n(kept + (b * blocks + t / 64) * m, m, h);
      const float* in = x + (b * n + t) * m;
      float* out = dx + (b * n + t) * m;
      #pragma omp simd
      for (int64_t i = 0; i < m; ++i) {
        out[i] = s[i];
        h[i] = (h[i] - in[i]) * by[i];
        sum[i] += s[i] * h[i];
        s[i] *= a[i];
      }
    }
  }
  for (int64_t i = 0; i < m; ++i) {
    double sum = 0;
    for (int64_t b = 0; b < batches; ++b) sum += parts[b * m + i];
    dgate[i] = (float)(sum * a[i] * (1 - a[i]));
  }
}
"""


class LastState(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, gate):
        if x.dim() != 3 or x.shape[2] != gate.numel():
            raise RuntimeError("batch, time, channels")
        x = x.contiguous()
        b, n, m = x.shape
        y, kept = torch.empty(b, m), torch.empty(b, (n + 63) // 64, m)
        lib.forward(x, gate, y, kept, b, n, m)
        ctx.save_for_backward(x, gate, kept)
        return y

    @staticmethod
    def backward(ctx, grad):
        x, gate, kept = ctx.saved_tensors
        b, n, m = x.shape
        dx, dgate, parts = torch.empty_like(x), torch.empty_like(gate), torch.empty(b, m)
        lib.backward(x, gate, kept, grad.contiguous(), dx, parts, dgate, b, n, m)
        return dx, dgate


def __init__(self, channels):
    self.gate = torch.nn.Parameter(torch.empty(channels).uniform_(2.0, 4.0))


def forward(self, x):
    return LastState.apply(x, self.gate)
