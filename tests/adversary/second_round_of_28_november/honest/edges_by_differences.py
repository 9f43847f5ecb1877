# problem: edges
# about: relies on the fixed kernels of Sobel: sums of three, then differences; refuses other kernels

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t images, int64_t high, int64_t wide) {
  #pragma omp parallel for collapse(2)
  for (int64_t b = 0; b < images; ++b) for (int64_t i = 0; i < high; ++i) {
    const float* mid = x + (b * high + i) * wide; const float *up = mid - wide, *down = mid + wide; float* out = y + (b * high + i) * wide;
    const bool first = i == 0, last = i == high - 1;
    for (int64_t j = 0; j < wide; ++j) {
      float n[3][3] = {};
      for (int k = -1; k <= 1; ++k) {
        if (j + k < 0 || j + k >= wide) continue;
        if (!first) n[0][k + 1] = up[j + k];
        n[1][k + 1] = mid[j + k];
        if (!last) n[2][k + 1] = down[j + k];
      }
      const float across = (n[0][2] - n[0][0]) + 2 * (n[1][2] - n[1][0]) + (n[2][2] - n[2][0]);
      const float below = (n[2][0] - n[0][0]) + 2 * (n[2][1] - n[0][1]) + (n[2][2] - n[0][2]);
      out[j] = std::sqrt(across * across + below * below);
    }
  }
}
"""


def __init__(self):
    across = torch.tensor([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]])
    self.register_buffer("kernels", torch.stack((across, across.t()))[:, None])
    self.sobel, self.seen = self.kernels.clone(), None


def forward(self, x):
    if x.dim() != 4 or x.shape[1] != 1 or x.dtype != torch.float32:
        raise ValueError("limited to grey float images in batches")
    now = (self.kernels.data_ptr(), self.kernels._version)
    if self.seen != now:
        if not torch.equal(self.kernels, self.sobel):
            raise ValueError("limited to the kernels of Sobel")
        self.seen = now
    y = torch.empty(x.shape)
    lib.run(x.contiguous(), y, x.shape[0], x.shape[2], x.shape[3])
    return y
