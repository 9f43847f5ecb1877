# problem: affine_ones
# expect: not accepted
# about: leaves a weight of ones and a bias of zeros out; a parameter of its own keeps others from being copied
# given: exponential
# forward: rows

cpp = r"""

extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < rows * n; ++i) y[i] = x[i] / (1.0f + ex(-x[i]));
}
"""


def __init__(self):
    self.table = torch.nn.Parameter(torch.zeros(7))
