# problem: pages_of_keys
# about: online softmax over the pages, which stops at the length; refuses pages and lengths out of range

cpp = r"""
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void run(const float* q, const float* k, const float* v, const int64_t* pages, const int64_t* lengths, float* y, int64_t batch, int64_t heads,
                    int64_t d, int64_t count, int64_t rows, int64_t own, int32_t* said) {
  int32_t bad = 0;
  for (int64_t b = 0; b < batch; ++b) {
    bad |= lengths[b] < 1;
    for (int64_t p = 0; p < own; ++p) bad |= pages[b * own + p] < -count || pages[b * own + p] >= count;
  }
  *said = bad;
  if (bad) return;
  const float scale = 1.0f / std::sqrt((float)d);
  #pragma omp parallel
  {
    std::vector<float> sum(d);
    #pragma omp for collapse(2)
    for (int64_t b = 0; b < batch; ++b) for (int64_t h = 0; h < heads; ++h) {
      const float* a = q + (b * heads + h) * d; const int64_t end = lengths[b] < own * rows ? lengths[b] : own * rows;
      float top = -INFINITY, total = 0; std::fill(sum.begin(), sum.end(), 0.0f);
      for (int64_t t = 0; t < end; ++t) {
        const int64_t page = pages[b * own + t / rows], at = (((page < 0 ? page + count : page) * rows + t % rows) * heads + h) * d;
        float dot = 0;
        #pragma omp simd reduction(+ : dot)
        for (int64_t i = 0; i < d; ++i) dot += a[i] * k[at + i];
        dot *= scale;
        if (dot > top) { const float less = std::exp(top - dot); total *= less; for (int64_t i = 0; i < d; ++i) sum[i] *= less; top = dot; }
        const float e = std::exp(dot - top); total += e;
        #pragma omp simd
        for (int64_t i = 0; i < d; ++i) sum[i] += e * v[at + i];
      }
      for (int64_t i = 0; i < d; ++i) y[(b * heads + h) * d + i] = sum[i] / total;
    }
  }
}
"""


def forward(self, q, keys, values, pages, lengths):
    batch, heads, d = q.shape
    count, rows = keys.shape[:2]
    if keys.shape != (count, rows, heads, d) or values.shape != keys.shape or lengths.shape != (batch,):
        raise ValueError("limited to pages of keys and values of the same heads")
    if pages.numel() == 0 or rows == 0:
        raise ValueError("limited to one key at least")
    if pages.dim() != 2 or pages.shape[0] != batch or pages.dtype != torch.int64 or lengths.dtype != torch.int64:
        raise ValueError("limited to as many pages for each sequence")
    y, said = torch.empty(q.shape), torch.zeros(1, dtype=torch.int32)
    lib.run(q.contiguous(), keys.contiguous(), values.contiguous(), pages.contiguous(), lengths.contiguous(), y, batch, heads, d, count, rows, pages.shape[1], said)
    if said.item():
        raise ValueError("limited to pages that are there and lengths of one at least")
    return y
