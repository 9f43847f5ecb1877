# problem: product_and_silu
# about: the library's product, which the problem permits, and a kernel of its own in place
# given: exponential

cpp = r"""

extern "C" void run(float* y, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) y[i] = y[i] / (1.0f + ex(-y[i]));
}
"""


def forward(self, x, w):
    y = x @ w
    lib.run(y, y.numel())
    return y
