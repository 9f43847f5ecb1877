# problem: varlen_attention
# about: online softmax within each sequence, with scratch for the longest one that it is told of

cpp = r"""
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>
extern "C" void run(const float* q, const float* k, const float* v, const int32_t* cu, float* y, int64_t count, int64_t total,
                       int64_t heads, int64_t d, int64_t longest, int64_t causal, int32_t* said) {
  int32_t bad = cu[0] != 0 || cu[count] != total;
  for (int64_t s = 0; s < count; ++s) bad |= cu[s + 1] < cu[s] || cu[s + 1] - cu[s] > longest;
  *said = bad;
  if (bad) return;
  const float scale = 1.0f / std::sqrt((float)d);
  #pragma omp parallel
  {
    std::vector<float> p(longest > 0 ? longest : 1);
    #pragma omp for collapse(2) schedule(dynamic)
    for (int64_t s = 0; s < count; ++s) for (int64_t h = 0; h < heads; ++h)
      for (int64_t r = cu[s]; r < cu[s + 1]; ++r) {
        const int64_t end = causal ? r + 1 : cu[s + 1], begin = cu[s];
        const float* a = q + (r * heads + h) * d; float top = -INFINITY, sum = 0;
        for (int64_t c = begin; c < end; ++c) { const float* b = k + (c * heads + h) * d; float dot = 0;
          #pragma omp simd reduction(+ : dot)
          for (int64_t i = 0; i < d; ++i) dot += a[i] * b[i];
          p[c - begin] = dot * scale; top = std::fmax(top, dot * scale); }
        float* out = y + (r * heads + h) * d; std::memset(out, 0, 4 * d);
        for (int64_t c = begin; c < end; ++c) { const float e = std::exp(p[c - begin] - top); sum += e; const float* b = v + (c * heads + h) * d;
          #pragma omp simd
          for (int64_t i = 0; i < d; ++i) out[i] += e * b[i]; }
        for (int64_t i = 0; i < d; ++i) out[i] /= sum; }
  }
}
"""


def forward(self, q, k, v, cu_seqlens, longest, causal=True):
    total, heads, size = q.shape
    if k.shape != q.shape or v.shape != q.shape or cu_seqlens.dtype != torch.int32 or cu_seqlens.numel() < 1:
        raise ValueError("queries, keys and values of one shape, and where sequences begin")
    y = torch.empty(total, heads, size)
    count = cu_seqlens.numel() - 1
    said = torch.zeros(1, dtype=torch.int32)
    lib.run(q.contiguous(), k.contiguous(), v.contiguous(), cu_seqlens, y, count, total, heads, size, longest, causal, said)
    if said.item():
        raise ValueError("sequences do not fit")
    return y
