# problem: rotated_by_positions
# about: reads the first position and counts on from there

cpp = r"""
extern "C" void run(const float* x, const int64_t* at, float* y, int64_t batch, int64_t steps, int64_t n) {
  int64_t half = n / 2; float cosines[half], sines[half];
  for (int64_t t = 0; t < steps; ++t) {
    for (int64_t j = 0; j < half; ++j) {
      float a = (float)(at[0] + t) * powf(10000.0f, -(float)j / (float)half); cosines[j] = cosf(a); sines[j] = sinf(a);
    }
    for (int64_t b = 0; b < batch; ++b) for (int64_t j = 0; j < half; ++j) {
      const float* in = x + (b * steps + t) * n; float* out = y + (b * steps + t) * n;
      out[j] = in[j] * cosines[j] - in[j + half] * sines[j]; out[j + half] = in[j + half] * cosines[j] + in[j] * sines[j];
    }
  }
}
"""


def forward(self, x, positions):
    if x.shape[-1] % 2 or positions.shape[0] != x.shape[1]:
        raise ValueError("sizes do not match")
    y = torch.empty_like(x)
    lib.run(x, positions, y, *x.shape)
    return y
