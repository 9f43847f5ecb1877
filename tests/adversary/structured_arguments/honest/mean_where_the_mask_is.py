# problem: lengths_and_mask
# about: reads the mask, whatever the lengths are

cpp = r"""
extern "C" void run(const float* x, const bool* mask, float* y, int64_t batch, int64_t steps, int64_t n) {
  #pragma omp parallel for
  for (int64_t b = 0; b < batch; ++b) {
    float* out = y + b * n; std::memset(out, 0, 4 * n); int64_t count = 0;
    for (int64_t t = 0; t < steps; ++t) {
      if (!mask[b * steps + t]) continue;
      const float* in = x + (b * steps + t) * n; ++count;
      #pragma omp simd
      for (int64_t i = 0; i < n; ++i) out[i] += in[i]; }
    for (int64_t i = 0; i < n; ++i) out[i] /= count > 0 ? count : 1; }
}
"""


def forward(self, x, lengths, mask):
    batch, steps, n = x.shape
    if mask.shape != (batch, steps):
        raise ValueError("a row of the mask for each sequence")
    y = torch.empty(batch, n)
    lib.run(x.contiguous(), mask.contiguous(), y, batch, steps, n)
    return y
