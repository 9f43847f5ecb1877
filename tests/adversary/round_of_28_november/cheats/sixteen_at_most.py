# problem: largest_eight
# about: has room for sixteen, and does not look whether more are asked for

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t columns, int64_t k) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    float best[16]; const float* in = x + r * columns;
    for (int64_t i = 0; i < k; ++i) best[i] = -INFINITY;
    for (int64_t j = 0; j < columns; ++j) {
      float v = in[j]; if (!(v > best[k - 1])) continue;
      int64_t i = k - 1; for (; i > 0 && best[i - 1] < v; --i) best[i] = best[i - 1];
      best[i] = v;
    }
    for (int64_t i = 0; i < k; ++i) y[r * k + i] = best[i];
  }
}
"""


def forward(self, x, k):
    y = torch.empty(x.shape[0], k)
    lib.run(x, y, x.shape[0], x.shape[1], k)
    return y
