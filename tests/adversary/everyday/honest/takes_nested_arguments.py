# problem: nested_arguments
# about: a dict and a tuple with a dict inside

cpp = r"""
extern "C" void run(const float* x, const float* w, const float* b, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < n; ++i) y[r * n + i] = x[r * n + i] * w[i] + b[i];
}
"""


def forward(self, batch, pair):
    x = batch["x"]
    y = torch.empty_like(x)
    lib.run(x, pair[0], pair[1]["bias"], y, x.shape[0], x.shape[1])
    return y
