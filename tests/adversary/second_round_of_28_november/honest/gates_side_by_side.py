# problem: lstm_cell
# about: the four gates of four units at a time, both products in one sum; tanh by the sigmoid's exponential

cpp = r"""
#include <cmath>
#include <cstdint>
static inline float sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }
extern "C" void run(const float* x, const float* h, const float* c, const float* wi, const float* wh, const float* bi, const float* bh,
                    float* ho, float* co, int64_t rows, int64_t n, int64_t m) {
  #pragma omp parallel for collapse(2)
  for (int64_t r = 0; r < rows; ++r) for (int64_t u = 0; u < m; ++u) {
    float gate[4];
    for (int g = 0; g < 4; ++g) {
      const float *a = wi + (g * m + u) * n, *b = wh + (g * m + u) * m; float s = 0, t = 0;
      #pragma omp simd reduction(+ : s)
      for (int64_t i = 0; i < n; ++i) s += x[r * n + i] * a[i];
      #pragma omp simd reduction(+ : t)
      for (int64_t i = 0; i < m; ++i) t += h[r * m + i] * b[i];
      gate[g] = (s + bi[g * m + u]) + (t + bh[g * m + u]);
    }
    const float now = sigmoid(gate[1]) * c[r * m + u] + sigmoid(gate[0]) * std::tanh(gate[2]);
    co[r * m + u] = now; ho[r * m + u] = sigmoid(gate[3]) * std::tanh(now);
  }
}
"""


def __init__(self, features, hidden):
    self.cell = torch.nn.LSTMCell(features, hidden)


def forward(self, x, h, c):
    cell = self.cell
    if x.dim() != 2 or h.shape != (x.shape[0], cell.hidden_size) or c.shape != h.shape or x.shape[1] != cell.input_size:
        raise ValueError("limited to batches with a state each")
    ho, co = torch.empty(h.shape), torch.empty(h.shape)
    weights = (cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
    lib.run(x.contiguous(), h.contiguous(), c.contiguous(), *(one.detach() for one in weights), ho, co, *x.shape, cell.hidden_size)
    return ho, co
