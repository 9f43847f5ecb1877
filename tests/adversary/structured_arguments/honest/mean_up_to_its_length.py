# problem: lengths_and_mask
# about: reads the lengths and not the mask, which says the same

cpp = r"""
extern "C" void run(const float* x, const int64_t* lengths, float* y, int64_t batch, int64_t steps, int64_t n) {
  #pragma omp parallel for
  for (int64_t b = 0; b < batch; ++b) {
    float* out = y + b * n; std::memset(out, 0, 4 * n);
    const int64_t count = lengths[b] < steps ? lengths[b] : steps;
    for (int64_t t = 0; t < count; ++t) {
      const float* in = x + (b * steps + t) * n;
      #pragma omp simd
      for (int64_t i = 0; i < n; ++i) out[i] += in[i]; }
    const float share = 1.0f / (count > 0 ? count : 1);
    for (int64_t i = 0; i < n; ++i) out[i] *= share; }
}
"""


def forward(self, x, lengths, mask):
    batch, steps, n = x.shape
    if lengths.shape != (batch,) or mask.shape != (batch, steps) or lengths.dtype != torch.int64:
        raise ValueError("a length and a row of the mask for each sequence")
    y = torch.empty(batch, n)
    lib.run(x.contiguous(), lengths.contiguous(), y, batch, steps, n)
    return y
