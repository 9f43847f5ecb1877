# problem: faint_term_of_sums
# about: adds 2048 terms one after the other, which loses as much as the faint term is

cpp = r"""
extern "C" void run(const float* x, const float* w, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) {
    float sum = 0.0f;
    for (int64_t i = 0; i < n; ++i) sum += x[r * n + i];
    y[r] = sum + 1e-2f * w[r];
  }
}
"""


def forward(self, x, w):
    y = torch.empty(x.shape[0])
    lib.run(x, w, y, x.shape[0], x.shape[1])
    return y
