# problem: cache_step
# about: one pass over keys and values up to the length, with a running maximum; writes the cache in place

cpp = r"""
extern "C" void run(const float* q, const float* k, const float* v, float* keys, float* values, const int64_t* lengths, float* y,
                    int64_t batch, int64_t heads, int64_t steps, int64_t d) {
  const float scale = 1.0f / std::sqrt((float)d);
  #pragma omp parallel for collapse(2)
  for (int64_t b = 0; b < batch; ++b) for (int64_t h = 0; h < heads; ++h) {
    const int64_t own = (b * heads + h) * d, len = lengths[b];
    float *ks = keys + own * steps, *vs = values + own * steps, *out = y + own;
    std::memcpy(ks + len * d, k + own, 4 * d); std::memcpy(vs + len * d, v + own, 4 * d);
    float top = -INFINITY, sum = 0; std::memset(out, 0, 4 * d);
    for (int64_t t = 0; t <= len; ++t) {
      float dot = 0;
      #pragma omp simd reduction(+ : dot)
      for (int64_t i = 0; i < d; ++i) dot += q[own + i] * ks[t * d + i];
      dot *= scale;
      const float next = std::fmax(top, dot), old = top == -INFINITY ? 0.0f : std::exp(top - next), e = std::exp(dot - next);
      sum = sum * old + e; top = next;
      #pragma omp simd
      for (int64_t i = 0; i < d; ++i) out[i] = out[i] * old + e * vs[t * d + i]; }
    for (int64_t i = 0; i < d; ++i) out[i] /= sum; }
}
"""


def forward(self, q, k, v, keys, values, lengths):
    batch, heads, steps, d = keys.shape
    if values.shape != keys.shape or not keys.is_contiguous() or not values.is_contiguous():
        raise ValueError("dense caches of one shape")
    if any(one.shape != (batch, heads, d) for one in (q, k, v)) or lengths.shape != (batch,):
        raise ValueError("one step for each sequence")
    if batch and not 0 <= int(lengths.min()) <= int(lengths.max()) < steps:
        raise IndexError("the cache is full")
    y = torch.empty(batch, heads, d)
    lib.run(q.contiguous(), k.contiguous(), v.contiguous(), keys, values, lengths.contiguous(), y, batch, heads, steps, d)
    return y
