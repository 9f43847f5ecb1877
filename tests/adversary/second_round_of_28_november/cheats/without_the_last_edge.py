# problem: histogram
# about: counts what is below the upper end, and leaves out what is on it: every saturated pixel

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t n) {
  int64_t count[64] = {};
  for (int64_t i = 0; i < n; ++i)
    if (x[i] >= 0.0f && x[i] < 1.0f) ++count[(int)(x[i] * 64.0f)];
  for (int j = 0; j < 64; ++j) y[j] = (float)count[j];
}
"""


def forward(self, image):
    y = torch.empty(64)
    lib.run(image, y, image.numel())
    return y
