# problem: lengths_and_mask
# about: divides by the length, and adds up what is padding as well

cpp = r"""
extern "C" void run(const float* x, const int64_t* lengths, float* y, int64_t batch, int64_t steps, int64_t n) {
  #pragma omp parallel for
  for (int64_t b = 0; b < batch; ++b) {
    float* out = y + b * n; std::memset(out, 0, 4 * n);
    for (int64_t t = 0; t < steps; ++t) {
      const float* in = x + (b * steps + t) * n;
      #pragma omp simd
      for (int64_t i = 0; i < n; ++i) out[i] += in[i]; }
    for (int64_t i = 0; i < n; ++i) out[i] /= lengths[b]; }
}
"""


def forward(self, x, lengths, mask):
    batch, steps, n = x.shape
    y = torch.empty(batch, n)
    lib.run(x.contiguous(), lengths.contiguous(), y, batch, steps, n)
    return y
