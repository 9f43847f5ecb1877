# problem: E_sampled_image
# about: weights of four corners once for all channels; places far outside are told by comparisons of floats

cpp = r"""
extern "C" void run(const float* x, const float* grid, float* y, int64_t batch, int64_t channels, int64_t high, int64_t wide, int64_t places) {
  #pragma omp parallel for collapse(2)
  for (int64_t b = 0; b < batch; ++b) for (int64_t p = 0; p < places; ++p) {
    const float u = ((grid[(b * places + p) * 2] + 1.0f) * (float)wide - 1.0f) * 0.5f, v = ((grid[(b * places + p) * 2 + 1] + 1.0f) * (float)high - 1.0f) * 0.5f;
    float* out = y + b * channels * places + p; const float* from = x + b * channels * high * wide;
    if (!(u > -1.0f && u < (float)wide && v > -1.0f && v < (float)high)) {
      const bool none = u != u || v != v;
      for (int64_t c = 0; c < channels; ++c) out[c * places] = none ? NAN : 0.0f;
      continue;
    }
    const float left = std::floor(u), above = std::floor(v), r = u - left, s = v - above;
    const int64_t i = (int64_t)left, j = (int64_t)above;
    const bool w = i >= 0, e = i + 1 < wide, n = j >= 0, o = j + 1 < high;
    for (int64_t c = 0; c < channels; ++c) {
      const float* own = from + c * high * wide + j * wide + i; float sum = 0;
      if (n && w) sum += own[0] * ((1 - r) * (1 - s));
      if (n && e) sum += own[1] * (r * (1 - s));
      if (o && w) sum += own[wide] * ((1 - r) * s);
      if (o && e) sum += own[wide + 1] * (r * s);
      out[c * places] = sum;
    }
  }
}
"""


def forward(self, x, grid):
    batch, channels, high, wide = x.shape
    if grid.dim() != 4 or grid.shape[0] != batch or grid.shape[3] != 2 or high < 1 or wide < 1:
        raise ValueError("a grid for each image")
    y = torch.empty(batch, channels, grid.shape[1], grid.shape[2])
    lib.run(x.contiguous(), grid.contiguous(), y, batch, channels, high, wide, grid.shape[1] * grid.shape[2])
    return y
