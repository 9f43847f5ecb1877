# problem: rotary_tables
# about: reads the first half of each row of the tables, which the second one repeats

cpp = r"""
extern "C" void run(const float* x, const float* cos, const float* sin, float* y, int64_t batch, int64_t steps, int64_t half) {
  #pragma omp parallel for collapse(2)
  for (int64_t b = 0; b < batch; ++b) for (int64_t t = 0; t < steps; ++t) {
    const float *in = x + (b * steps + t) * 2 * half, *c = cos + t * 2 * half, *s = sin + t * 2 * half; float* out = y + (b * steps + t) * 2 * half;
    #pragma omp simd
    for (int64_t i = 0; i < half; ++i) {
      const float u = in[i], v = in[i + half];
      out[i] = u * c[i] - v * s[i]; out[i + half] = v * c[i] + u * s[i]; } }
}
"""


def forward(self, x, cos, sin):
    batch, steps, n = x.shape
    if cos.shape != (steps, n) or sin.shape != (steps, n) or n % 2:
        raise ValueError("a row of the tables for each step")
    y = torch.empty(x.shape)
    lib.run(x.contiguous(), cos.contiguous(), sin.contiguous(), y, batch, steps, n // 2)
    return y
