# problem: saturation
# about: an image of other than three channels is refused

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t images, int64_t n) {
  #pragma omp parallel for
  for (int64_t b = 0; b < images; ++b) {
    const float *r = x + 3 * b * n, *g = r + n, *l = g + n; float *o = y + 3 * b * n, *p = o + n, *q = p + n;
    for (int64_t i = 0; i < n; ++i) {
      float high = r[i] > g[i] ? r[i] : g[i], low = r[i] > g[i] ? g[i] : r[i];
      if (!(l[i] <= high)) high = l[i];
      if (!(l[i] >= low)) low = l[i];
      if (r[i] != r[i] || g[i] != g[i]) high = low = NAN;
      float d = high - low + 1e-3f;
      o[i] = (high - r[i]) / d; p[i] = (high - g[i]) / d; q[i] = (high - l[i]) / d;
    }
  }
}
"""


def forward(self, image):
    if image.shape[1] != 3:
        raise ValueError("three channels are needed")
    y = torch.empty_like(image)
    lib.run(image, y, image.shape[0], image.shape[2] * image.shape[3])
    return y
