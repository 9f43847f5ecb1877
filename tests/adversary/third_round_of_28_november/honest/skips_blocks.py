# problem: E_blocks_let_through
# about: reads allowed blocks only, scores of a block at once; a query that reads nothing gets zeros, as the library does

cpp = r"""
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>
extern "C" void run(const float* q, const float* k, const float* v, const bool* blocks, float* y, int64_t heads, int64_t rows, int64_t d, int64_t wide, int64_t parts) {
  const int64_t size = parts ? rows / parts : 1; const float scale = 1.0f / std::sqrt((float)d);
  #pragma omp parallel
  {
    std::vector<float> score(rows);
    #pragma omp for collapse(2)
    for (int64_t h = 0; h < heads; ++h) for (int64_t i = 0; i < rows; ++i) {
      float top = -INFINITY, total = 0; float* out = y + (h * rows + i) * wide; const float* a = q + (h * rows + i) * d;
      std::memset(out, 0, 4 * wide);
      for (int64_t p = 0; p <= i / size; ++p) {
        if (!blocks[(i / size) * parts + p]) continue;
        const int64_t begin = p * size, end = begin + size < i + 1 ? begin + size : i + 1; float best = top;
        for (int64_t j = begin; j < end; ++j) {
          const float* b = k + (h * rows + j) * d; float dot = 0;
          #pragma omp simd reduction(+ : dot)
          for (int64_t t = 0; t < d; ++t) dot += a[t] * b[t];
          score[j] = dot * scale; if (!(score[j] <= best)) best = score[j];
        }
        if (best == -INFINITY) continue;
        const float less = std::exp(top - best); total *= less; top = best;
        for (int64_t t = 0; t < wide; ++t) out[t] *= less;
        for (int64_t j = begin; j < end; ++j) {
          const float e = std::exp(score[j] - top); const float* from = v + (h * rows + j) * wide; total += e;
          #pragma omp simd
          for (int64_t t = 0; t < wide; ++t) out[t] += e * from[t];
        }
      }
      if (total != 0) for (int64_t t = 0; t < wide; ++t) out[t] /= total;
    }
  }
}
"""


def forward(self, q, k, v, blocks):
    batch, heads, rows, d = q.shape
    parts = blocks.shape[0]
    if k.shape != q.shape or v.shape[:3] != q.shape[:3] or blocks.shape != (parts, parts) or parts < 1 or rows % parts:
        raise ValueError("as many keys as queries, in blocks of one size")
    if rows and not rows // parts:
        raise ValueError("blocks of one at least")
    y = torch.empty(*q.shape[:3], v.shape[3])
    lib.run(q.contiguous(), k.contiguous(), v.contiguous(), blocks.contiguous(), y, batch * heads, rows, d, v.shape[3], parts)
    return y
