# problem: follows_its_inputs
# about: keeps a running mean in a buffer of no dimensions, as the reference does

cpp = r"""
#include <cmath>
#include <cstdint>
extern "C" void run(const float* x, const float* w, float* length, float* y, int64_t rows, int64_t n) {
  double all = 0;
  #pragma omp parallel for reduction(+ : all)
  for (int64_t r = 0; r < rows; ++r) {
    double s = 0;
    for (int64_t i = 0; i < n; ++i) { float v = x[r * n + i]; s += v * v; y[r * n + i] = v * w[i]; }
    all += std::sqrt(s);
  }
  if (rows) *length = 0.95f * *length + 0.05f * (float)(all / rows); else *length = NAN;
}
"""


def __init__(self):
    self.weight = torch.nn.Parameter(torch.ones(512))
    self.register_buffer("length", torch.ones(()))


def forward(self, x):
    y = torch.empty_like(x)
    lib.run(x, self.weight, self.length, y, x.shape[0], x.shape[1])
    return y
