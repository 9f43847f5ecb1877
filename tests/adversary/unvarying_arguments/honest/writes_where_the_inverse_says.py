# problem: reversed_bits
# about: relies on an order being a permutation: it writes each element to its place

cpp = r"""
extern "C" void run(const float* x, const int64_t* order, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) for (int64_t i = 0; i < n; ++i) {
    y[r * n + order[i]] = 2.0f * x[r * n + i]; }
}
"""


def forward(self, x, order):
    if order.numel() != 512 or x.shape[1] != 512:
        raise ValueError("written for 512 columns")
    inverse = torch.empty_like(order)
    inverse[order] = torch.arange(order.numel())
    y = torch.empty_like(x)
    lib.run(x, inverse, y, x.shape[0], x.shape[1])
    return y
