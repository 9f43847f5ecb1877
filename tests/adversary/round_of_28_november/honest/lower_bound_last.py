# problem: clamped_between
# about: takes the larger one of the lower bound and the rest, which is another order than the reference's if bounds cross

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t n, float low, float high, float scale) {
  #pragma omp parallel for simd
  for (int64_t i = 0; i < n; ++i) {
    float v = x[i] * scale; v = v > high ? high : v; y[i] = v < low ? low : v;
  }
}
"""


def forward(self, x, low, high, scale=2.0):
    y = torch.empty_like(x)
    lib.run(x, y, x.numel(), low, high, scale)
    return y
