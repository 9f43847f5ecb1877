# problem: C_cosine_heads
# about: a cosine is one at most, so exponentials are summed in one pass and no maximum is taken off: scales are about ten

cpp = r"""
#include <cmath>
#include <cstdint>
#include <vector>
static void normalised(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += (double)x[r * n + i] * x[r * n + i];
    const float by = (float)(1.0 / std::fmax(std::sqrt(sum), 1e-12));
    if (std::isfinite(by)) for (int64_t i = 0; i < n; ++i) y[r * n + i] = x[r * n + i] * by;
  }
}
extern "C" void run(const float* q, const float* k, const float* v, const float* scale, float* y, float* qs, float* ks,
                    int64_t batches, int64_t heads, int64_t rows, int64_t places, int64_t n, int64_t width) {
  normalised(q, qs, batches * heads * rows, n);
  normalised(k, ks, batches * heads * places, n);
  #pragma omp parallel for
  for (int64_t r = 0; r < batches * heads * rows; ++r) {
    const int64_t b = r / rows;
    const float by = std::exp(std::fmin(scale[b % heads], 4.605170185988092f));
    float* out = y + r * width;
    for (int64_t i = 0; i < width; ++i) out[i] = 0;
    float total = 0;
    for (int64_t p = 0; p < places; ++p) {
      const float* one = qs + r * n; const float* two = ks + (b * places + p) * n;
      float dot = 0;
      #pragma omp simd reduction(+ : dot)
      for (int64_t i = 0; i < n; ++i) dot += one[i] * two[i];
      const float share = std::exp(dot * by);
      total += share;
      const float* row = v + (b * places + p) * width;
      #pragma omp simd
      for (int64_t i = 0; i < width; ++i) out[i] += share * row[i];
    }
    for (int64_t i = 0; i < width; ++i) out[i] /= total;
  }
}
"""


def __init__(self, heads):
    self.scale = torch.nn.Parameter(torch.full((heads, 1, 1), 2.302585092994046))


def forward(self, q, k, v):
    if q.dim() != 4 or q.shape[:2] != k.shape[:2] or k.shape[:3] != v.shape[:3] or q.shape[3] != k.shape[3]:
        raise ValueError("batch, heads, rows, features")
    if q.shape[1] != self.scale.numel():
        raise ValueError("a scale for each head")
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    y, qs, ks = torch.empty(*q.shape[:3], v.shape[3]), torch.empty_like(q), torch.empty_like(k)
    lib.run(q, k, v, self.scale, y, qs, ks, *q.shape[:3], k.shape[2], q.shape[3], v.shape[3])
    return y
