# problem: named_arguments
# about: an argument with named fields

cpp = r"""
extern "C" void run(const float* x, const float* w, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < n; ++i) y[r * n + i] = x[r * n + i] * w[i];
}
"""


def forward(self, batch):
    x = batch.values
    y = torch.empty_like(x)
    lib.run(x, batch.weight, y, x.shape[0], x.shape[1])
    return y
