# problem: logarithms_of_sums
# about: keeps the maximum so far and the sum below it, in double, one logarithm an element

cpp = r"""
extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    double top = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double v = x[r * n + i];
      if (v > top) { sum = sum * std::exp(top - v) + 1.0; top = v; }
      else if (v == top) { if (v > -INFINITY) sum += 1.0; }
      else if (v != v) { top = v; sum = v; }
      else if (v > -INFINITY) sum += std::exp(v - top);
      y[r * n + i] = (float)(top == -INFINITY ? top : top == INFINITY ? top : top + std::log(sum));
    }
  }
}
"""


def forward(self, x):
    if x.dim() < 1 or x.shape[-1] == 0 or x.dtype != torch.float32:
        raise ValueError("limited to rows of floats")
    y = torch.empty(x.shape)
    lib.run(x.contiguous(), y, x.numel() // x.shape[-1], x.shape[-1])
    return y
