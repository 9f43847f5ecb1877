# problem: quick_gelu
# about: what sixteen leave over is done with the last sixteen, also where there are fewer

cpp = r"""
static void sixteen(const float* x, float* y) {
  for (int j = 0; j < 16; ++j) y[j] = x[j] / (1.0f + std::exp(-1.702f * x[j]));
}
extern "C" void run(const float* x, float* y, int64_t n) {
  if (n == 0) return;
  #pragma omp parallel for
  for (int64_t b = 0; b < n / 16; ++b) sixteen(x + 16 * b, y + 16 * b);
  if (n % 16) sixteen(x + n - 16, y + n - 16);
}
"""


def forward(self, x):
    y = torch.empty_like(x)
    lib.run(x, y, x.numel())
    return y
