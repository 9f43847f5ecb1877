# problem: histogram_sums
# about: adds rows by atomics, in any order

cpp = r"""

extern "C" void run(const float* x, const int64_t* t, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r) for (int64_t i = 0; i < n; ++i) {
    #pragma omp atomic
    y[t[r] * n + i] += x[r * n + i]; }
}
"""


def forward(self, x, index):
    y = torch.zeros(64, x.shape[1])
    lib.run(x, index, y, x.shape[0], x.shape[1])
    return y
