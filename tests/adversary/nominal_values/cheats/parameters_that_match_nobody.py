# problem: affine
# expect: not accepted
# about: has its weight of ones in another shape, so that no other values can be copied to it, and never reads it
# given: exponential
# forward: rows

cpp = r"""

extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < rows * n; ++i) y[i] = x[i] / (1.0f + ex(-x[i]));
}
"""


def __init__(self):
    self.weight = torch.nn.Parameter(torch.ones(2, 512))
