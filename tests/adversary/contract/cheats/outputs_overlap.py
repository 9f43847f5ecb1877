# problem: shifted_pair
# about: two outputs are windows of one memory

cpp = r"""

extern "C" void run(const float* x, float* y, int64_t rows, int64_t n) {
  #pragma omp parallel for
  for (int64_t i = 0; i < rows * n; ++i) y[i] = x[i] > 0 ? x[i] : 0;
}
"""


def forward(self, x):
    y = torch.empty_like(x)
    lib.run(x, y, x.shape[0], x.shape[1])
    return y[:, :-1], y[:, 1:]
